// PowerCutVfs: a shim over SQLite's default VFS that records what reaches the disk, and fails on
// request.
//
// While one lives it is the default VFS, so that every connection which the store opens goes
// through it. It never really syncs: the state after a power cut is computed from the record
// (disk_image.h), and the tests stay fast. It records the files of one directory (database,
// journal, log; the shared memory does not outlive a crash). At most one at a time; make it before
// the first connection and drop it after the last. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace corral::store::faults {

struct DiskEvent {
  enum class Kind : std::uint8_t {
    kCreate,
    kWrite,
    kTruncate,    // to `offset` bytes
    kSync,        // earlier writes and the file's name are safe
    kFailedSync,  // earlier writes are lost unless they are repeated
    kDelete
  };
  Kind kind = Kind::kWrite;
  std::string file;  // name within the directory
  std::int64_t offset = 0;
  std::vector<std::uint8_t> bytes;
  bool directory_synced = false;  // kDelete
};

enum class DiskCall : std::uint8_t { kOpen, kRead, kWrite, kSync, kTruncate, kDelete, kShm };

struct DiskFault {
  DiskCall call = DiskCall::kWrite;
  std::uint64_t at = 1;  // the first, the second, ... such call from now on
  bool full = false;     // the disk is full; else an I/O error
  bool lasting = false;  // later ones fail too, until clear()
};

class PowerCutVfs {
 public:
  PowerCutVfs();
  ~PowerCutVfs();
  PowerCutVfs(const PowerCutVfs&) = delete;
  PowerCutVfs& operator=(const PowerCutVfs&) = delete;

  // Starts a new record for the directory; nothing is recorded before the first call.
  void record(const std::filesystem::path& directory);
  [[nodiscard]] std::size_t event_count() const;
  [[nodiscard]] std::vector<DiskEvent> events() const;

  void inject(const DiskFault& fault);
  // After `calls` more operations that change a file, all such operations fail without effect, as
  // if the process had been killed then.
  void stop_after(std::uint64_t calls);
  // Ends the fault or the stop; true when it was met.
  bool clear();

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace corral::store::faults
