// Snapshot: reads that take long see one state of the store at a time, and give way between units
// of work, so that a server beside them can empty its log (SQLite) or clean up (PostgreSQL).
#pragma once

#include <chrono>

#include "core/result.h"
#include "store/engine/database.h"

namespace corral::store::maintain {

class Snapshot {
 public:
  explicit Snapshot(sql::Connection& db) : db_(db) {}
  ~Snapshot() { end(); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  // Before each unit; what was read before may be older than what comes.
  Result<> next_unit() {
    const auto now = std::chrono::steady_clock::now();
    if (db_.in_transaction() && now - begun_ < kLongest) return {};
    if (db_.in_transaction()) TRY(db_.script("COMMIT"));
    begun_ = now;
    return db_.script(std::string(db_.dialect().begin_read));
  }
  // After an error, too: the next unit begins anew.
  void end() {
    if (db_.in_transaction()) static_cast<void>(db_.script("ROLLBACK"));
  }

 private:
  static constexpr std::chrono::seconds kLongest{5};
  sql::Connection& db_;
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace corral::store::maintain
