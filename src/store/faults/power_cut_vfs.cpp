#include "store/faults/power_cut_vfs.h"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/mutex.h"

namespace corral::store::faults {

namespace fs = std::filesystem;

struct PowerCutVfs::State {
  sqlite3_vfs vfs{};
  sqlite3_vfs* real = nullptr;

  mutable Mutex mutex;
  // Guarded by mutex.
  std::optional<fs::path> directory GUARDED_BY(mutex);
  std::vector<DiskEvent> events GUARDED_BY(mutex);
  std::optional<DiskFault> fault GUARDED_BY(mutex);
  std::uint64_t calls GUARDED_BY(mutex) = 0;  // calls that the fault or the stop counts
  std::optional<std::uint64_t> stop GUARDED_BY(mutex);
  bool met GUARDED_BY(mutex) = false;

  // Returns the name of a file that is recorded, else nullopt.
  std::optional<std::string> name_of(const char* path) const {
    const Lock lock(mutex);
    if (path == nullptr || !directory || fs::path(path).parent_path() != *directory)
      return std::nullopt;
    return fs::path(path).filename().string();
  }
  void add(DiskEvent event) {
    const Lock lock(mutex);
    events.push_back(std::move(event));
  }
  // SQLITE_OK, or the error that the call must return.
  int verdict(DiskCall call, bool changes);
};

namespace {

using State = PowerCutVfs::State;

int io_error(DiskCall call) {
  switch (call) {
    case DiskCall::kOpen:
      return SQLITE_CANTOPEN;
    case DiskCall::kRead:
      return SQLITE_IOERR_READ;
    case DiskCall::kWrite:
      return SQLITE_IOERR_WRITE;
    case DiskCall::kSync:
      return SQLITE_IOERR_FSYNC;
    case DiskCall::kTruncate:
      return SQLITE_IOERR_TRUNCATE;
    case DiskCall::kDelete:
      return SQLITE_IOERR_DELETE;
    case DiskCall::kShm:
      break;
  }
  return SQLITE_IOERR_SHMSIZE;
}

// SQLite gives the memory: made and unmade in place.
struct File {
  sqlite3_file base{};
  State* state = nullptr;
  std::optional<std::string> name;  // none: not recorded
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
File* file_of(sqlite3_file* handle) { return reinterpret_cast<File*>(handle); }
sqlite3_file* real_of(sqlite3_file* handle) { return file_of(handle)->real(); }
const sqlite3_io_methods* methods_of(sqlite3_file* handle) { return real_of(handle)->pMethods; }

void record(File* file, DiskEvent event) {
  if (!file->name) return;
  event.file = *file->name;
  file->state->add(std::move(event));
}

int write_and_record(sqlite3_file* handle, const void* data, int size, sqlite3_int64 offset) {
  const int rc = methods_of(handle)->xWrite(real_of(handle), data, size, offset);
  if (rc == SQLITE_OK) {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    record(file_of(handle), {.kind = DiskEvent::Kind::kWrite,
                             .file = {},
                             .offset = offset,
                             .bytes = {bytes, bytes + size},
                             .directory_synced = false});
  }
  return rc;
}

// ---- sqlite3_io_methods
int io_close(sqlite3_file* handle) {
  const int rc = methods_of(handle)->xClose(real_of(handle));
  std::destroy_at(file_of(handle));
  return rc;
}
int io_read(sqlite3_file* handle, void* data, int size, sqlite3_int64 offset) {
  const int failed = file_of(handle)->state->verdict(DiskCall::kRead, false);
  if (failed != SQLITE_OK) return failed;
  return methods_of(handle)->xRead(real_of(handle), data, size, offset);
}
int io_write(sqlite3_file* handle, const void* data, int size, sqlite3_int64 offset) {
  const int failed = file_of(handle)->state->verdict(DiskCall::kWrite, true);
  if (failed == SQLITE_OK) return write_and_record(handle, data, size, offset);
  const int error = errno;
  // The bytes that fit are written, as write(2) does; a process that was killed writes nothing
  // more.
  if (failed != SQLITE_ABORT && size > 1) write_and_record(handle, data, size / 2, offset);
  errno = error;
  return failed == SQLITE_ABORT ? SQLITE_IOERR_WRITE : failed;
}
int io_truncate(sqlite3_file* handle, sqlite3_int64 size) {
  const int failed = file_of(handle)->state->verdict(DiskCall::kTruncate, true);
  if (failed != SQLITE_OK) return SQLITE_IOERR_TRUNCATE;
  const int rc = methods_of(handle)->xTruncate(real_of(handle), size);
  if (rc == SQLITE_OK) {
    record(file_of(handle), {.kind = DiskEvent::Kind::kTruncate,
                             .file = {},
                             .offset = size,
                             .bytes = {},
                             .directory_synced = false});
  }
  return rc;
}
int io_sync(sqlite3_file* handle, int) {
  const int failed = file_of(handle)->state->verdict(DiskCall::kSync, true);
  const bool good = failed == SQLITE_OK;
  if (failed == SQLITE_ABORT) return SQLITE_IOERR_FSYNC;
  record(file_of(handle), {.kind = good ? DiskEvent::Kind::kSync : DiskEvent::Kind::kFailedSync,
                           .file = {},
                           .offset = 0,
                           .bytes = {},
                           .directory_synced = false});
  return failed;
}
int io_file_size(sqlite3_file* handle, sqlite3_int64* size) {
  return methods_of(handle)->xFileSize(real_of(handle), size);
}
int io_lock(sqlite3_file* handle, int level) {
  return methods_of(handle)->xLock(real_of(handle), level);
}
int io_unlock(sqlite3_file* handle, int level) {
  return methods_of(handle)->xUnlock(real_of(handle), level);
}
int io_check_reserved(sqlite3_file* handle, int* result) {
  return methods_of(handle)->xCheckReservedLock(real_of(handle), result);
}
// SIZE_HINT and CHUNK_SIZE would change the file past the record.
int io_control(sqlite3_file* handle, int op, void* argument) {
  if (op == SQLITE_FCNTL_SIZE_HINT || op == SQLITE_FCNTL_CHUNK_SIZE) return SQLITE_NOTFOUND;
  return methods_of(handle)->xFileControl(real_of(handle), op, argument);
}
int io_sector_size(sqlite3_file* handle) {
  return methods_of(handle)->xSectorSize(real_of(handle));
}
int io_characteristics(sqlite3_file* handle) {
  return methods_of(handle)->xDeviceCharacteristics(real_of(handle));
}
int io_shm_map(sqlite3_file* handle, int page, int size, int extend, void volatile** out) {
  const int failed = file_of(handle)->state->verdict(DiskCall::kShm, false);
  if (failed != SQLITE_OK) return failed;
  return methods_of(handle)->xShmMap(real_of(handle), page, size, extend, out);
}
int io_shm_lock(sqlite3_file* handle, int offset, int count, int flags) {
  return methods_of(handle)->xShmLock(real_of(handle), offset, count, flags);
}
void io_shm_barrier(sqlite3_file* handle) { methods_of(handle)->xShmBarrier(real_of(handle)); }
int io_shm_unmap(sqlite3_file* handle, int remove) {
  return methods_of(handle)->xShmUnmap(real_of(handle), remove);
}

// Version 2: shared memory for the log, no memory mapping of the database.
constexpr sqlite3_io_methods kMethods = {2,
                                         &io_close,
                                         &io_read,
                                         &io_write,
                                         &io_truncate,
                                         &io_sync,
                                         &io_file_size,
                                         &io_lock,
                                         &io_unlock,
                                         &io_check_reserved,
                                         &io_control,
                                         &io_sector_size,
                                         &io_characteristics,
                                         &io_shm_map,
                                         &io_shm_lock,
                                         &io_shm_barrier,
                                         &io_shm_unmap,
                                         nullptr,
                                         nullptr};

// ---- sqlite3_vfs
State* state_of(sqlite3_vfs* vfs) { return static_cast<State*>(vfs->pAppData); }

int vfs_open(sqlite3_vfs* vfs, const char* path, sqlite3_file* handle, int flags, int* given) {
  State* state = state_of(vfs);
  handle->pMethods = nullptr;
  const int failed = state->verdict(DiskCall::kOpen, (flags & SQLITE_OPEN_CREATE) != 0);
  if (failed != SQLITE_OK) return SQLITE_CANTOPEN;
  int there = 1;
  if (path != nullptr) state->real->xAccess(state->real, path, SQLITE_ACCESS_EXISTS, &there);
  File* file = std::construct_at(file_of(handle));
  const int rc = state->real->xOpen(state->real, path, file->real(), flags, given);
  if (rc != SQLITE_OK) {
    std::destroy_at(file);
    handle->pMethods = nullptr;
    return rc;
  }
  file->base.pMethods = &kMethods;
  file->state = state;
  file->name = state->name_of(path);
  if (there == 0) {
    record(file, {.kind = DiskEvent::Kind::kCreate,
                  .file = {},
                  .offset = 0,
                  .bytes = {},
                  .directory_synced = false});
  }
  return rc;
}
int vfs_delete(sqlite3_vfs* vfs, const char* path, int sync_directory) {
  State* state = state_of(vfs);
  const int failed = state->verdict(DiskCall::kDelete, true);
  if (failed != SQLITE_OK) return SQLITE_IOERR_DELETE;
  const int rc = state->real->xDelete(state->real, path, 0);
  if (const auto name = state->name_of(path); name && rc == SQLITE_OK) {
    state->add({.kind = DiskEvent::Kind::kDelete,
                .file = *name,
                .offset = 0,
                .bytes = {},
                .directory_synced = sync_directory != 0});
  }
  return rc;
}
int vfs_access(sqlite3_vfs* vfs, const char* path, int flags, int* result) {
  sqlite3_vfs* real = state_of(vfs)->real;
  return real->xAccess(real, path, flags, result);
}
int vfs_full_path(sqlite3_vfs* vfs, const char* path, int size, char* out) {
  sqlite3_vfs* real = state_of(vfs)->real;
  return real->xFullPathname(real, path, size, out);
}
int vfs_randomness(sqlite3_vfs* vfs, int size, char* out) {
  sqlite3_vfs* real = state_of(vfs)->real;
  return real->xRandomness(real, size, out);
}
int vfs_sleep(sqlite3_vfs* vfs, int microseconds) {
  sqlite3_vfs* real = state_of(vfs)->real;
  return real->xSleep(real, microseconds);
}
int vfs_time(sqlite3_vfs* vfs, double* out) {
  sqlite3_vfs* real = state_of(vfs)->real;
  return real->xCurrentTime(real, out);
}
int vfs_time_int64(sqlite3_vfs* vfs, sqlite3_int64* out) {
  sqlite3_vfs* real = state_of(vfs)->real;
  return real->xCurrentTimeInt64(real, out);
}
int vfs_last_error(sqlite3_vfs*, int, char*) { return errno; }

}  // namespace

int PowerCutVfs::State::verdict(DiskCall call, bool changes) {
  const Lock lock(mutex);
  if (stop) {
    if (!changes || calls++ < *stop) return SQLITE_OK;
    met = true;
    errno = EIO;
    return SQLITE_ABORT;
  }
  if (!fault || fault->call != call) return SQLITE_OK;
  ++calls;
  if (calls < fault->at || (calls > fault->at && !fault->lasting)) return SQLITE_OK;
  met = true;
  errno = fault->full ? ENOSPC : EIO;
  return fault->full && call == DiskCall::kWrite ? SQLITE_FULL : io_error(call);
}

PowerCutVfs::PowerCutVfs() : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.real = sqlite3_vfs_find(nullptr);
  sqlite3_vfs& vfs = state.vfs;
  vfs.iVersion = 2;
  vfs.szOsFile = static_cast<int>(sizeof(File)) + state.real->szOsFile;
  vfs.mxPathname = state.real->mxPathname;
  vfs.zName = "corral-power-cut";
  vfs.pAppData = &state;
  vfs.xOpen = &vfs_open;
  vfs.xDelete = &vfs_delete;
  vfs.xAccess = &vfs_access;
  vfs.xFullPathname = &vfs_full_path;
  vfs.xRandomness = &vfs_randomness;
  vfs.xSleep = &vfs_sleep;
  vfs.xCurrentTime = &vfs_time;
  vfs.xGetLastError = &vfs_last_error;
  vfs.xCurrentTimeInt64 = &vfs_time_int64;
  sqlite3_vfs_register(&vfs, 1);
}

PowerCutVfs::~PowerCutVfs() {
  sqlite3_vfs_unregister(&state_->vfs);
  sqlite3_vfs_register(state_->real, 1);
}

void PowerCutVfs::record(const fs::path& directory) {
  const Lock lock(state_->mutex);
  state_->directory = directory;
  state_->events.clear();
}
std::size_t PowerCutVfs::event_count() const {
  const Lock lock(state_->mutex);
  return state_->events.size();
}
std::vector<DiskEvent> PowerCutVfs::events() const {
  const Lock lock(state_->mutex);
  return state_->events;
}
void PowerCutVfs::inject(const DiskFault& fault) {
  const Lock lock(state_->mutex);
  state_->fault = fault;
  state_->stop.reset();
  state_->calls = 0;
  state_->met = false;
}
void PowerCutVfs::stop_after(std::uint64_t calls) {
  const Lock lock(state_->mutex);
  state_->stop = calls;
  state_->fault.reset();
  state_->calls = 0;
  state_->met = false;
}
bool PowerCutVfs::clear() {
  const Lock lock(state_->mutex);
  state_->fault.reset();
  state_->stop.reset();
  return std::exchange(state_->met, false);
}

}  // namespace corral::store::faults
