// The parts of check_store, private to store/maintain. Each goes on after damage.
#pragma once

#include "store/maintain/check.h"
#include "store/maintain/snapshot.h"

namespace corral::store::maintain {

struct CheckWork {
  sql::Connection& db;
  const Watch& watch;
  Findings findings;
  Snapshot snapshot;
  CheckReport report;

  // Runs one unit in a snapshot; what the database itself cannot read becomes a finding.
  template <class Unit>
  Result<> unit(const Unit& work) {
    TRY(snapshot.next_unit());
    Result<> done = work();
    if (done) return {};
    snapshot.end();
    if (done.error().code != Code::kCorruption) return done;
    findings.add("database", done.error().message);
    return {};
  }
};

// References and what one statement can tell.
Result<> check_tables(CheckWork& work);
// Batch rows, row groups and statistics of each session.
Result<> check_sessions(CheckWork& work);
// Blocks and pyramid of each series.
Result<> check_series(CheckWork& work);

// The keys that follow `after` in a table, at most 1,000, ascending.
Result<std::vector<std::int64_t>> keys_after(sql::Connection& db, const char* sql,
                                             std::int64_t after);

}  // namespace corral::store::maintain
