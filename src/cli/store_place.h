// Shared by the verbs of `corral store`: finding and opening a store beside its server or alone,
// a line of progress, Ctrl-C.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/progress_line.h"
#include "core/result.h"
#include "server/life.h"
#include "store/maintain/watch.h"
#include "store/open/raw_store.h"
#include "sys/file.h"

namespace corral::cli {

struct StoreLocation {
  std::string name;         // for messages, without passwords
  sys::fs::path directory;  // holds the lock; empty: a single file
  sys::fs::path file;       // SQLite; empty: a database server's
  std::string database;     // its URL
};

// `store` as --store takes it, or a file (a backup); empty: the default store.
Result<StoreLocation> find_store(const std::string& store);

struct HeldStore {
  std::optional<server::StoreLock> lock;  // this process has the store for itself
  std::optional<store::RawStore> db;
};
// Opens the store to read while another process may write. kNotFound: no store there; kUnsupported:
// not a store, or a newer schema.
Result<HeldStore> open_to_read(const StoreLocation& place);
// Opens it for this process alone. kAlreadyExists names the process that has it, and the remedy.
Result<std::optional<server::StoreLock>> lock_location(const StoreLocation& place);
Result<HeldStore> open_to_change(const StoreLocation& place);
// A store that a copy goes into; made when it is missing.
Result<HeldStore> open_to_fill(const StoreLocation& place);

// A line of progress, and its end: Ctrl-C and SIGTERM make its watch stop; a second one ends the
// process.
class Progress {
 public:
  Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  [[nodiscard]] const store::maintain::Watch& watch() const { return watch_; }
  // Statements that run long are ended too.
  void guard(const store::RawStore& store) const { store.stop_when(watch_.stop); }
  [[nodiscard]] static bool interrupted();
  // Takes the line away.
  void clear() { line_.clear(); }

 private:
  ProgressLine line_;
  store::maintain::Watch watch_;
};

// As report(); prints "interrupted" with the advice and gives kInterrupted when Progress was.
int store_failed(std::string_view command, const Error& error, std::string_view advice = "");

}  // namespace corral::cli
