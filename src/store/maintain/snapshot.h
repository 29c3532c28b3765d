// Snapshot: long reads see one state of the store for at most a few seconds and take a newer one
// between two units of work, so that a server beside them can empty its log (SQLite) or clean up
// (PostgreSQL).
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

  // Call before each unit. It may see a newer state than the units before it.
  Result<> next_unit() {
    const auto now = std::chrono::steady_clock::now();
    if (db_.in_transaction() && now - begun_ < kLongest) return {};
    if (db_.in_transaction()) TRY(db_.script("COMMIT"));
    begun_ = now;
    return db_.script(std::string(db_.dialect().begin_read));
  }
  // Ends the snapshot, also after an error; the next unit takes a new one.
  void end() {
    if (db_.in_transaction()) static_cast<void>(db_.script("ROLLBACK"));
  }

 private:
  static constexpr std::chrono::seconds kLongest{5};
  sql::Connection& db_;
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace corral::store::maintain
