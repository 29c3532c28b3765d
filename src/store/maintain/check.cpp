#include "store/maintain/check.h"

#include "store/engine/schema.h"
#include "store/maintain/check_parts.h"

namespace corral::store::maintain {
namespace {

Result<> check_engine(CheckWork& work) {
  TRY(work.watch.at("the database's own check", 0, 0));
  return work.unit([&]() -> Result<> {
    for (const std::string& problem : TRY(work.db.integrity()))
      work.findings.add("database", problem);
    return {};
  });
}

}  // namespace

Result<std::vector<std::int64_t>> keys_after(sql::Connection& db, const char* sql,
                                             std::int64_t after) {
  std::vector<std::int64_t> keys;
  sql::Statement row = TRY(db.query(sql, after));
  while (TRY(row.step())) keys.push_back(row.integer(0));
  return keys;
}

Result<CheckReport> check_store(sql::Connection& db, const Watch& watch) {
  TRY(sql::schema_version(db));
  CheckWork work{
      .db = db, .watch = watch, .findings = Findings(db), .snapshot = Snapshot(db), .report = {}};
  TRY(check_engine(work));
  TRY(check_tables(work));
  TRY(check_sessions(work));
  TRY(check_series(work));
  work.report.findings = work.findings.kept();
  work.report.problems = work.findings.count();
  return std::move(work.report);
}

}  // namespace corral::store::maintain
