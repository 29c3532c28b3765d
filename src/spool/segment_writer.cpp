#include "spool/segment_writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

#include "spool/segment_format.h"
#include "spool/segment_identity.h"
#include "spool/segment_series.h"

namespace corral::spool {
namespace {

// ---- Files

constexpr std::size_t kPathBytes = 4096;

bool ends_with(const char* name, const char* suffix) {
  const std::size_t n = std::strlen(name);
  const std::size_t m = std::strlen(suffix);
  return n >= m && std::strcmp(name + n - m, suffix) == 0;
}

// Sum of the sizes of all segments in the directory, finished or not; UINT64_MAX when it cannot be
// read.
std::uint64_t spool_bytes(const char* directory) {
  DIR* dir = ::opendir(directory);
  if (dir == nullptr) return UINT64_MAX;
  std::uint64_t sum = 0;
  while (const dirent* entry = ::readdir(dir)) {
    struct stat info {};
    if ((ends_with(entry->d_name, ".seg") || ends_with(entry->d_name, ".tmp")) &&
        ::fstatat(::dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0) {
      sum += static_cast<std::uint64_t>(info.st_size);
    }
  }
  ::closedir(dir);
  return sum;
}

// A new file, reserved whole and locked; its descriptor, or -1. Never a signal: the size is checked
// against RLIMIT_FSIZE first.
int reserve_file(const char* path, std::uint64_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      bytes > limit.rlim_cur) {
    return -1;
  }
  int fd = ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  // When the script closed a standard stream, its output must not land here.
  if (fd >= 0 && fd <= STDERR_FILENO) {
    const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    ::close(fd);
    if (moved < 0) ::unlink(path);
    fd = moved;
  }
  if (fd < 0) return -1;
  int failed = EINTR;
  for (int i = 0; i < 100 && failed == EINTR; ++i) {
    failed = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  }
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  if (failed == 0 && ::fcntl(fd, F_SETLK, &lock) == 0) return fd;
  ::close(fd);
  ::unlink(path);
  return -1;
}

// The shared counter of refused calls, mapped; null when there is none or no room for it.
std::uint64_t* map_drops(const char* directory) {
  char path[kPathBytes];
  std::snprintf(path, sizeof path, "%s/%s", directory, kDropsName);
  const int fd = ::open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return nullptr;
  struct stat info {};
  void* memory = MAP_FAILED;
  if (::fstat(fd, &info) == 0 && info.st_size >= static_cast<off_t>(kDropsBytes) &&
      ::posix_fallocate(fd, 0, kDropsBytes) == 0) {
    memory = ::mmap(nullptr, kDropsBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  ::close(fd);
  return memory == MAP_FAILED ? nullptr : static_cast<std::uint64_t*>(memory);
}

// ---- Slots

// Added to a segment's counter of slots when it is closed: far above any number of slots, far below
// overflow.
constexpr std::uint64_t kClosed = std::uint64_t{1} << 40;
// Pages are brought in this far ahead, so that a log call does not take the fault.
constexpr std::uint64_t kPrefaultSlots = (256u << 10) / kSlotBytes;
constexpr std::uint64_t kPrefaultMargin = kPrefaultSlots / 4;
// After a segment could not be opened, calls are refused at once for this long.
constexpr std::int64_t kRetryAfter = 1'000'000'000;
// A call goes round at most this often when other threads fill each segment before it gets a slot.
constexpr int kTries = 64;
// Payloads up to this are put together on the stack: a phase with ordinary names.
constexpr std::size_t kGatheredBytes = 512;

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

class Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) { ::pthread_mutex_lock(&mutex_); }
  ~Lock() { ::pthread_mutex_unlock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

void commit(unsigned char* slot, const CommitWord& word) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &word, sizeof bits);
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(slot), bits, __ATOMIC_RELEASE);
}

}  // namespace

struct SegmentWriter::Page {
  pthread_mutex_t mutex;  // all zero = unlocked: the state after a fork
  std::atomic<Session*> session;
  std::uint32_t owner;      // pid
  std::uint32_t check_pid;  // the kernel cannot wipe the page: compare pids instead
};

// `next` and `filled` outlive the mapping, so that a thread which comes late finds the segment full
// and goes on.
struct alignas(64) SegmentWriter::Segment {
  std::atomic<std::uint64_t> next;        // first free slot; kClosed and above once closed
  std::atomic<std::uint64_t> filled;      // slots whose commit words are stored
  std::atomic<std::uint64_t> prefaulted;  // slots whose pages are in memory
  unsigned char* map;
  std::uint64_t bytes;
  std::uint64_t slots;
  std::uint64_t base;
  std::uint64_t used;  // once closed
  Segment* older;      // in the list of retired ones
  std::uint32_t index;
  int fd;
  bool closed;
  char name[64];

  [[nodiscard]] unsigned char* slot(std::uint64_t i) const {
    return map + kSegmentHeaderBytes + i * kSlotBytes;
  }
  // Returns the first of `n` adjacent free slots; false if there are not that many.
  bool reserve(std::uint64_t n, std::uint64_t& first) {
    first = next.load(std::memory_order_relaxed);
    do {
      if (first + n > slots) return false;
    } while (!next.compare_exchange_weak(first, first + n, std::memory_order_relaxed));
    return true;
  }
  void prefault(std::uint64_t at) {
    std::uint64_t done = prefaulted.load(std::memory_order_relaxed);
    if (at + kPrefaultMargin < done || done >= slots) return;
    if (!prefaulted.compare_exchange_strong(done, done + kPrefaultSlots, std::memory_order_relaxed))
      return;
    const std::uint64_t begin = (kSegmentHeaderBytes + done * kSlotBytes) & ~std::uint64_t{4095};
    const std::uint64_t length = bytes - begin < (256u << 10) ? bytes - begin : 256u << 10;
    ::madvise(map + begin, length,
              MADV_POPULATE_WRITE);  // an older kernel takes the faults one by one
  }
  // Nobody gets a slot any more.
  void close() {
    const std::uint64_t taken = next.fetch_add(kClosed, std::memory_order_acq_rel);
    used = taken < slots ? taken : slots;
    closed = true;
  }
  void note_used(std::uint64_t value) {
    auto* place = reinterpret_cast<std::uint64_t*>(map + offsetof(SegmentHeaderLayout, used));
    __atomic_store_n(place, value, __ATOMIC_RELEASE);
  }
  void unmap() {
    ::munmap(map, bytes);
    ::close(fd);
  }
};

struct SegmentWriter::Session {
  // Constant after construction.
  std::uint64_t key;
  SegmentHeaderLayout header;  // all but index, base, slots, crc
  std::uint64_t* drops;        // shared, may be null

  std::atomic<Segment*> current;  // null before the first
  std::atomic<std::uint64_t> next_phase;
  std::atomic<std::uint64_t> dropped;
  std::atomic<std::int64_t> refuse_until;

  // Under Page::mutex.
  SeriesTable series;
  std::uint32_t next_index;
  std::uint64_t next_base;
  Segment* retired;
  char path[kPathBytes];
  char final_path[kPathBytes];
};

// The parts of a text record's payload, copied into slots without being put together first.
struct SegmentWriter::Pieces {
  static constexpr std::size_t kMost = 16;
  TextView parts[kMost];
  std::size_t count = 0;
  std::size_t size = 0;

  Pieces& add(const void* data, std::size_t n) {
    parts[count++] = {static_cast<const char*>(data), n};
    size += n;
    return *this;
  }
  [[nodiscard]] std::uint32_t crc() const {
    std::uint32_t crc = 0;
    for (std::size_t i = 0; i < count; ++i) crc = codec::crc32c(parts[i].data, parts[i].size, crc);
    return crc;
  }
  // Takes `n` bytes off the front, or all that are left.
  void take(std::uint8_t* out, std::size_t n) {
    for (std::size_t i = 0; i < count && n > 0; ++i) {
      const std::size_t now = parts[i].size < n ? parts[i].size : n;
      if (now > 0) std::memcpy(out, parts[i].data, now);
      parts[i] = {parts[i].data + now, parts[i].size - now};
      out += now;
      n -= now;
    }
  }
  // Copies the parts into `buffer`, if that is large enough, and is one piece from then on: short
  // records are then summed and cut into slots in one go.
  void gather(std::uint8_t* buffer, std::size_t capacity) {
    if (size > capacity) return;
    const std::size_t all = size;
    take(buffer, all);
    count = 0;
    size = 0;
    add(buffer, all);
  }
};

WriterOptions options_from_environment() {
  WriterOptions options;
  options.directory = std::getenv("CORRAL_SEGMENT_DIR");
  parse_hex_id(std::getenv("CORRAL_RUN_ID"), options.run);
  const std::int64_t limit = number_or(std::getenv("CORRAL_SPOOL_LIMIT"), -1);
  if (limit >= 0) options.spool_limit = static_cast<std::uint64_t>(limit);
  options.rank_of_environment = true;
  return options;
}

SegmentWriter::SegmentWriter(const WriterOptions& options)
    : rank_(options.rank),
      rank_of_environment_(options.rank_of_environment),
      spool_limit_(options.spool_limit),
      first_bytes_(options.first_bytes == 0 ? kFirstSegmentBytes : options.first_bytes),
      largest_bytes_(options.largest_bytes == 0 ? kLargestSegmentBytes : options.largest_bytes) {
  constexpr std::uint64_t kSmallest = kSegmentHeaderBytes + kSmallestSegmentSlots * kSlotBytes;
  if (first_bytes_ < kSmallest) first_bytes_ = kSmallest;
  if (largest_bytes_ < first_bytes_) largest_bytes_ = first_bytes_;
  std::memcpy(run_, options.run, sizeof run_);
  const std::size_t length = options.directory == nullptr ? 0 : std::strlen(options.directory);
  if (length > 0 && length < sizeof directory_ && make_page()) {
    std::memcpy(directory_, options.directory, length + 1);
  }
}

bool SegmentWriter::make_page() {
  page_ = static_cast<Page*>(map_private(kDropsBytes));
  if (page_ == nullptr) return false;
  if (::madvise(page_, kDropsBytes, MADV_WIPEONFORK) != 0) page_->check_pid = 1;
  return true;
}

SegmentWriter::~SegmentWriter() {
  if (page_ == nullptr) return;
  if (Session* s = page_->session.load(std::memory_order_acquire)) {
    Segment* current = s->current.load(std::memory_order_acquire);
    if (current != nullptr) {
      if (!current->closed) current->close();
      current->note_used(current->used | kSessionEnded);
      current->unmap();
      ::munmap(current, sizeof(Segment));
    }
    while (s->retired != nullptr) {
      Segment* older = s->retired->older;
      s->retired->unmap();
      ::munmap(s->retired, sizeof(Segment));
      s->retired = older;
    }
    if (s->drops != nullptr) ::munmap(s->drops, kDropsBytes);
    s->~Session();
    ::munmap(s, sizeof(Session));
  }
  ::munmap(page_, kDropsBytes);
}

std::int64_t SegmentWriter::now() {
  timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

std::uint64_t SegmentWriter::session_key() const {
  if (!enabled()) return 0;
  const Session* s = page_->session.load(std::memory_order_acquire);
  if (s == nullptr) return 0;
  if (page_->check_pid != 0 && page_->owner != static_cast<std::uint32_t>(::getpid())) return 0;
  return s->key;
}

std::uint64_t SegmentWriter::dropped() const {
  const Session* s = session_key() == 0 ? nullptr : page_->session.load(std::memory_order_acquire);
  return s == nullptr ? 0 : s->dropped.load(std::memory_order_relaxed);
}

SegmentWriter::Session* SegmentWriter::session() {
  if (session_key() != 0) return page_->session.load(std::memory_order_acquire);
  return enabled() ? start_session() : nullptr;
}

SegmentWriter::Session* SegmentWriter::start_session() {
  if (page_->check_pid != 0 && page_->owner != static_cast<std::uint32_t>(::getpid())) {
    std::memset(static_cast<void*>(page_), 0, sizeof(Page));
    page_->check_pid = 1;
  }
  const Lock lock(page_->mutex);
  Session* s = page_->session.load(std::memory_order_acquire);
  if (s != nullptr) return s;
  void* memory = map_private(sizeof(Session));
  if (memory == nullptr) return nullptr;
  s = ::new (memory) Session{};
  fill_identity(*s);
  s->drops = map_drops(directory_);
  s->next_base = 1;
  s->next_phase.store(1, std::memory_order_relaxed);
  page_->owner = s->header.pid;
  page_->session.store(s, std::memory_order_release);
  return s;
}

bool SegmentWriter::fill_identity(Session& s) const {
  SegmentHeaderLayout& h = s.header;
  std::memcpy(h.magic, kSegmentMagic, sizeof h.magic);
  h.version = kSegmentVersion;
  h.header_bytes = kSegmentHeaderBytes;
  h.slot_bytes = kSlotBytes;
  random_bytes(h.session, sizeof h.session);
  std::memcpy(&s.key, h.session, sizeof s.key);
  if (s.key == 0) s.key = 1;
  std::memcpy(h.run, run_, sizeof h.run);
  h.pid = static_cast<std::uint32_t>(::getpid());
  h.start_time = process_start(h.pid).ticks;
  const Anchor anchor = segment_anchor();
  h.utc_minus_boot = anchor.utc_minus_boot;
  h.anchor_error = anchor.error;
  h.session_began = now();
  h.rank =
      rank_of_environment_ ? rank_of([](const char* name) { return std::getenv(name); }) : rank_;
  read_boot_id(h.boot_id);
  return ::gethostname(h.host, sizeof h.host - 1) == 0;
}

bool SegmentWriter::drop(Session* s) {
  if (s == nullptr) return false;
  s->dropped.fetch_add(1, std::memory_order_relaxed);
  if (s->drops != nullptr) __atomic_fetch_add(s->drops, 1, __ATOMIC_RELAXED);
  return false;
}

Series* SegmentWriter::series(TextView name) {
  Session* s = session();
  if (s == nullptr) return nullptr;
  Series* found = nullptr;
  if (name.size > 0 && name.size <= kSegmentNameBytes) {
    const Lock lock(page_->mutex);
    found = s->series.find_or_add(name.data, name.size);
  }
  if (found == nullptr) drop(s);
  return found;
}

bool SegmentWriter::point(Series* series, std::int64_t time, double value,
                          const std::int64_t* step) {
  Session* s = session();
  if (s == nullptr || series == nullptr) return false;
  for (int i = 0; i < kTries; ++i) {
    Segment* segment = s->current.load(std::memory_order_acquire);
    if (segment == nullptr ||
        series->declared_in.load(std::memory_order_acquire) != segment->index + 1) {
      if (!declare(*s, *series)) break;
      continue;
    }
    const std::uint64_t at = segment->next.fetch_add(1, std::memory_order_relaxed);
    if (at < segment->slots) {
      const PointBody body{.time = time, .step = step == nullptr ? 0 : *step, .value = value};
      unsigned char* slot = segment->slot(at);
      std::memcpy(slot + sizeof(CommitWord), &body, sizeof body);
      commit(slot, {.kind = static_cast<std::uint8_t>(SlotKind::kPoint),
                    .detail = step == nullptr ? std::uint8_t{0} : kHasStep,
                    .check = point_check(series->id, body),
                    .number = series->id});
      segment->prefault(at);
      segment->filled.fetch_add(1, std::memory_order_release);  // the mapping may go from here on
      return true;
    }
    if (!roll(*s, segment)) break;
  }
  return drop(s);
}

bool SegmentWriter::declare(Session& s, Series& series) {
  const std::uint8_t gauge = 0;
  Pieces pieces;
  pieces.add(&series.id, sizeof series.id).add(&gauge, 1).add(series.name, series.length);
  const Segment* where = write_text(s, static_cast<std::uint8_t>(RecordType::kSeries), pieces);
  // Another thread may have noted a later segment already: then it declares there once more, which
  // is harmless.
  if (where != nullptr) series.declared_in.store(where->index + 1, std::memory_order_release);
  return where != nullptr;
}

// The segment that holds the record, or null.
SegmentWriter::Segment* SegmentWriter::write_text(Session& s, std::uint8_t type, Pieces& pieces) {
  const std::uint64_t slots = slots_of_text(pieces.size);
  if (pieces.size > kTextPayloadBytes ||
      slots > (largest_bytes_ - kSegmentHeaderBytes) / kSlotBytes) {
    return nullptr;
  }
  std::uint8_t gathered[kGatheredBytes];
  pieces.gather(gathered, sizeof gathered);
  for (int i = 0; i < kTries; ++i) {
    Segment* segment = s.current.load(std::memory_order_acquire);
    std::uint64_t first = 0;
    if (segment == nullptr || !segment->reserve(slots, first)) {
      if (!roll(s, segment)) return nullptr;
      continue;
    }
    TextHeadBody head{.crc = pieces.crc(), .payload = {}};
    pieces.take(head.payload, kHeadBytes);
    for (std::uint64_t k = 1; k < slots; ++k) {
      unsigned char* slot = segment->slot(first + k);
      pieces.take(slot + sizeof(CommitWord), kContinuationBytes);
      commit(slot, {.kind = static_cast<std::uint8_t>(SlotKind::kContinuation),
                    .detail = 0,
                    .check = 0,
                    .number = static_cast<std::uint32_t>(k)});
    }
    std::memcpy(segment->slot(first) + sizeof(CommitWord), &head, sizeof head);
    commit(segment->slot(first), {.kind = static_cast<std::uint8_t>(SlotKind::kText),
                                  .detail = type,
                                  .check = 0,
                                  .number = static_cast<std::uint32_t>(pieces.size)});
    segment->prefault(first + slots);
    segment->filled.fetch_add(slots, std::memory_order_release);
    return segment;
  }
  return nullptr;
}

bool SegmentWriter::keyed_text(std::uint8_t type, TextView key, TextView value) {
  Session* s = session();
  if (s == nullptr) return false;
  const auto length = static_cast<std::uint16_t>(key.size);
  Pieces pieces;
  pieces.add(&length, sizeof length).add(key.data, key.size).add(value.data, value.size);
  if (key.size == 0 || key.size > kSegmentNameBytes || write_text(*s, type, pieces) == nullptr) {
    return drop(s);
  }
  return true;
}

bool SegmentWriter::param(TextView key, TextView value) {
  return keyed_text(static_cast<std::uint8_t>(RecordType::kParam), key, value);
}

bool SegmentWriter::tag(TextView key, TextView value) {
  return keyed_text(static_cast<std::uint8_t>(RecordType::kTag), key, value);
}

bool SegmentWriter::event(TextView name, TextView attributes) {
  Session* s = session();
  if (s == nullptr) return false;
  const std::int64_t time = now();
  const auto length = static_cast<std::uint16_t>(name.size);
  Pieces pieces;
  pieces.add(&time, sizeof time).add(&length, sizeof length).add(name.data, name.size);
  pieces.add(attributes.data, attributes.size);
  if (name.size == 0 || name.size > kSegmentNameBytes ||
      write_text(*s, static_cast<std::uint8_t>(RecordType::kEvent), pieces) == nullptr) {
    return drop(s);
  }
  return true;
}

std::uint64_t SegmentWriter::phase_begin(const PhaseBegin& phase) {
  Session* s = session();
  if (s == nullptr) return 0;
  const std::uint64_t id = s->next_phase.fetch_add(1, std::memory_order_relaxed);
  const std::int64_t time = phase.time != 0 ? phase.time : now();
  const std::uint16_t lengths[] = {
      static_cast<std::uint16_t>(phase.name.size), static_cast<std::uint16_t>(phase.type.size),
      static_cast<std::uint16_t>(phase.lane.size), static_cast<std::uint16_t>(phase.link_count)};
  Pieces pieces;
  pieces.add(&id, sizeof id).add(&phase.parent, sizeof phase.parent).add(&time, sizeof time);
  pieces.add(&phase.kind, 1);
  pieces.add(&lengths[0], 2).add(phase.name.data, phase.name.size);
  pieces.add(&lengths[1], 2).add(phase.type.data, phase.type.size);
  pieces.add(&lengths[2], 2).add(phase.lane.data, phase.lane.size);
  pieces.add(&lengths[3], 2).add(phase.links, phase.link_count * sizeof(std::uint64_t));
  pieces.add(phase.attributes.data, phase.attributes.size);
  const bool fits = phase.name.size > 0 && phase.name.size <= kSegmentNameBytes &&
                    phase.type.size <= UINT16_MAX && phase.lane.size <= UINT16_MAX &&
                    phase.link_count <= kSegmentLinks;
  if (!fits ||
      write_text(*s, static_cast<std::uint8_t>(RecordType::kPhaseBegin), pieces) == nullptr) {
    drop(s);
    return 0;
  }
  return id;
}

bool SegmentWriter::phase_end(std::uint64_t id, std::int64_t time) {
  Session* s = session();
  if (s == nullptr || id == 0) return false;
  if (time == 0) time = now();
  Pieces pieces;
  pieces.add(&id, sizeof id).add(&time, sizeof time);
  if (write_text(*s, static_cast<std::uint8_t>(RecordType::kPhaseEnd), pieces) == nullptr) {
    return drop(s);
  }
  return true;
}

// Makes the next segment the current one, unless another thread has done so; false if it cannot be
// made now.
bool SegmentWriter::roll(Session& s, const Segment* full) {
  if (s.refuse_until.load(std::memory_order_relaxed) > now()) return false;
  const Lock lock(page_->mutex);
  if (s.current.load(std::memory_order_acquire) != full) return true;
  if (s.refuse_until.load(std::memory_order_relaxed) > now()) return false;
  Segment* fresh = create_segment(s, s.next_index);
  if (fresh != nullptr && publish_segment(s, *fresh)) return true;
  s.refuse_until.store(now() + kRetryAfter, std::memory_order_relaxed);
  return false;
}

// Size of the next file within the rest of the limit; 0 if that is less than a first segment.
std::uint64_t SegmentWriter::next_size(std::uint32_t index) const {
  std::uint64_t wanted = first_bytes_;
  for (std::uint32_t i = 0; i < index && wanted < largest_bytes_; ++i) wanted *= 2;
  if (wanted > largest_bytes_) wanted = largest_bytes_;
  const std::uint64_t there = spool_bytes(directory_);
  const std::uint64_t left = there < spool_limit_ ? spool_limit_ - there : 0;
  while (wanted > left && wanted / 2 >= first_bytes_) wanted /= 2;
  return wanted <= left ? wanted : 0;
}

SegmentWriter::Segment* SegmentWriter::create_segment(Session& s, std::uint32_t index) {
  const std::uint64_t size = next_size(index);
  if (size == 0) return nullptr;
  auto* segment = static_cast<Segment*>(map_private(sizeof(Segment)));
  if (segment == nullptr) return nullptr;
  char session[33];
  format_hex_id(s.header.session, session);
  std::snprintf(segment->name, sizeof segment->name, "%s-%06u.seg", session, index);
  std::snprintf(s.path, sizeof s.path, "%s/.%s.tmp", directory_, segment->name);
  segment->fd = reserve_file(s.path, size);
  void* map = MAP_FAILED;
  if (segment->fd >= 0) {
    map = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, segment->fd, 0);
    if (map == MAP_FAILED) {
      ::unlink(s.path);
      ::close(segment->fd);
    }
  }
  if (map == MAP_FAILED) {
    ::munmap(segment, sizeof(Segment));
    return nullptr;
  }
  ::madvise(map, size, MADV_DONTFORK);  // a child has no use for it
  segment->map = static_cast<unsigned char*>(map);
  segment->bytes = size;
  segment->slots = (size - kSegmentHeaderBytes) / kSlotBytes;
  segment->index = index;
  segment->prefault(0);
  return segment;
}

// Order matters when the process is killed in between: the old segment says where it ends before
// the new one appears.
bool SegmentWriter::publish_segment(Session& s, Segment& fresh) {
  Segment* old = s.current.load(std::memory_order_acquire);
  if (old != nullptr && !old->closed) {
    old->close();
    s.next_base = old->base + old->used;
    old->note_used(old->used);
  }
  fresh.base = s.next_base;
  SegmentHeaderLayout header = s.header;
  header.index = fresh.index;
  header.base = fresh.base;
  header.slots = fresh.slots;
  header.crc = codec::crc32c(&header, offsetof(SegmentHeaderLayout, crc));
  std::memcpy(fresh.map, &header, sizeof header);
  std::snprintf(s.final_path, sizeof s.final_path, "%s/%s", directory_, fresh.name);
  if (::rename(s.path, s.final_path) != 0) {
    ::unlink(s.path);
    fresh.unmap();
    ::munmap(&fresh, sizeof(Segment));
    return false;
  }
  if (old != nullptr) {
    old->older = s.retired;
    s.retired = old;
  }
  // A retired mapping goes once every slot of it is stored; its Segment stays for threads that
  // still look at it.
  for (Segment** link = &s.retired; *link != nullptr;) {
    Segment* segment = *link;
    if (segment->filled.load(std::memory_order_acquire) == segment->used) {
      *link = segment->older;
      segment->unmap();
    } else {
      link = &segment->older;
    }
  }
  ++s.next_index;
  s.current.store(&fresh, std::memory_order_release);
  return true;
}

}  // namespace corral::spool
