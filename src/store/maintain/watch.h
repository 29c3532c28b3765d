// Long work on a whole store: Watch, to follow and to stop it, and Snapshot, in which it reads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "store/engine/database.h"

namespace corral::store::maintain {

// Reports the progress, and lets the caller stop the work. The caller keeps it alive; both
// functions are called from the thread that works, often.
struct Watch {
  // `total` 0: not known. May be empty.
  std::function<void(std::string_view what, std::int64_t done, std::int64_t total)> tell;
  // True: give up as soon as everything is in order. May be empty.
  std::function<bool()> stop;

  // kUnavailable when asked to stop.
  [[nodiscard]] Result<> at(std::string_view what, std::int64_t done, std::int64_t total) const {
    if (tell) tell(what, done, total);
    if (stop && stop()) return fail(Code::kUnavailable, "interrupted");
    return {};
  }
};

// Long reads see one state of the store for at most a few seconds and take a newer one between two
// units of work, so that a server beside them can empty its log (SQLite) or clean up (PostgreSQL).
class Snapshot {
 public:
  explicit Snapshot(sql::Connection& db) : db_(db) {}
  ~Snapshot() { end(); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  // Call before each unit. It may see a newer state than the units before it.
  Result<> next_unit() {
    const auto now = std::chrono::steady_clock::now();
    if (db_.in_transaction() && now - begun_ < kLongest) return {};
    if (db_.in_transaction()) TRY(db_.script("COMMIT"));
    begun_ = now;
    return db_.script(std::string(db_.dialect().begin_read));
  }
  // Ends the snapshot, also after an error; the next unit takes a new one.
  void end() { db_.roll_back(); }

 private:
  static constexpr std::chrono::seconds kLongest{5};
  sql::Connection& db_;
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace corral::store::maintain
