#include "store/tables/run_state.h"

#include <fmt/core.h>

#include "store/engine/database.h"

namespace corral::store::page {

Result<std::string> run_state(Reading& reading, RunId run) {
  sql::Statement row = TRY(reading->query(
      "SELECT status, started, coalesce(ended, 0), newest, (SELECT count(*) FROM sessions s WHERE "
      "s.workload = r.workload), (SELECT CAST(coalesce(sum(durable_seq), 0) AS BIGINT) FROM "
      "sessions s WHERE s.workload = r.workload) FROM runs r WHERE id = ?1",
      run));
  if (!TRY(row.step())) return std::string();
  std::string state;
  for (int column = 0; column < 6; ++column) state += fmt::format("{} ", row.integer(column));
  return state;
}

}  // namespace corral::store::page
