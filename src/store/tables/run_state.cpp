#include "store/tables/run_state.h"

#include <fmt/core.h>

#include <functional>

#include "store/engine/database.h"

namespace corral::store::page {
namespace {

// Other clients change params and tags without a session.
Result<std::size_t> facts_hash(Reading& reading, RunId run) {
  sql::Statement row =
      TRY(reading->query("SELECT kind, key, value FROM facts WHERE run = (SELECT key FROM runs "
                         "WHERE id = ?1) ORDER BY "
                         "kind, key",
                         run));
  std::size_t hash = 0;
  while (TRY(row.step())) {
    const std::string fact = fmt::format("{} {} {}", hash, row.integer(0), row.text(1));
    hash = std::hash<std::string>{}(fact + '\0' + row.text(2));
  }
  return hash;
}

}  // namespace

Result<std::string> run_state(Reading& reading, RunId run) {
  sql::Statement row = TRY(reading->query(
      "SELECT status, started, coalesce(ended, 0), newest, (SELECT count(*) FROM sessions s WHERE "
      "s.workload = r.workload), (SELECT CAST(coalesce(sum(durable_seq), 0) AS BIGINT) FROM "
      "sessions s WHERE s.workload = r.workload) FROM runs r WHERE id = ?1",
      run));
  if (!TRY(row.step())) return std::string();
  std::string state;
  for (int column = 0; column < 6; ++column) state += fmt::format("{} ", row.integer(column));
  return state + fmt::format("{:x} ", TRY(facts_hash(reading, run)));
}

}  // namespace corral::store::page
