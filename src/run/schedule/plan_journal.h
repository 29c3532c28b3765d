// PlanJournal: the events of a plan's runs, durable before anything relies on them.
//
//   <state>/plans/<plan id>/journal   a JSON line each, appended and synced:
//     {"begin": [{"key", "repetition", "run", "name"}]}   the runs of a workload, before they start
//     {"started": run}
//     {"end": run, "outcome", "reason", "tail"}
//     {"write": key, "status"}, {"written": key}   a row's Status in the file, before and after
//     {"forget": key}   the user has changed the row's Status: earlier attempts do not count
//   <state>/plans/<plan id>/lock      flock: held by the plan's scheduler; the text names it
//
// A last line that is torn counts for nothing. One thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "run/schedule/book.h"
#include "sys/private_directory.h"

namespace corral::run::schedule {

namespace fs = std::filesystem;

class PlanJournal {
 public:
  // Reads the journal; makes the directory if it is missing. The caller holds the PlanLock.
  static Result<PlanJournal> open(const fs::path& directory);

  // The same without making or locking anything.
  static Result<Book> read(const fs::path& directory);

  [[nodiscard]] const Book& book() const { return book_; }

  // These events are durable when the call returns.
  Result<> begin(const std::vector<Attempt>& attempts);
  Result<> ended(const std::string& run, const End& end);
  Result<> forget(const std::string& key);
  Result<> writing(const std::vector<std::pair<std::string, std::string>>& key_and_status);
  // These events are not synced: a lost one is found out again.
  Result<> started(const std::string& run);
  Result<> written(const std::vector<std::string>& keys);

 private:
  explicit PlanJournal(sys::Fd file) : file_(std::move(file)) {}
  Result<> append(std::span<const Json> lines, bool sync);
  sys::Fd file_;
  Book book_;
};

// PlanLock: allows one scheduler for each plan. The kernel releases it when its holder is gone for
// any reason; the file names the holder.
class PlanLock {
 public:
  // kUnavailable names the scheduler that runs the plan: process, host, start time.
  static Result<PlanLock> acquire(const std::filesystem::path& directory, UtcTime now);
  // Returns the schedulers of this host that run other plans, whose directories lie beside this
  // one.
  static std::vector<std::string> others(const std::filesystem::path& directory);
  // Returns the scheduler that runs the plan, in the same words; empty: none does.
  static std::string holder(const std::filesystem::path& directory);

 private:
  explicit PlanLock(sys::Fd file) : file_(std::move(file)) {}
  sys::Fd file_;
};

}  // namespace corral::run::schedule
