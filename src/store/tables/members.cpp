#include "store/tables/members.h"

#include "store/engine/database.h"
#include "store/model/content.h"
#include "store/read/reads.h"

namespace corral::store::page {
namespace {

std::optional<std::int32_t> small(const sql::Statement& row, int column) {
  const auto value = row.maybe_integer(column);
  return value ? std::optional(static_cast<std::int32_t>(*value)) : std::nullopt;
}

}  // namespace

Result<std::vector<RunMember>> run_members(Reading& reading, RunId run) {
  return sql::read_all(
      reading->query(
          "SELECT no, attempt, rank, host, started, ended, end_reason, exit_code, exit_signal, "
          "outcome, reason, session FROM members WHERE run = (SELECT key FROM runs WHERE id = ?1) "
          "ORDER BY attempt DESC, rank NULLS LAST, host, no",
          run),
      [](const sql::Statement& row) {
        RunMember member{.no = row.integer(0),
                         .session = row.integer(11),
                         .attempt = row.integer(1),
                         .rank = row.maybe_integer(2),
                         .host = row.text(3),
                         .start = row.utc(4),
                         .end = row.maybe_utc(5),
                         .exit_code = small(row, 7),
                         .exit_signal = small(row, 8),
                         .outcome = row.text(9),
                         .reason = row.text(10)};
        if (member.end)
          member.status = final_status({.time = {},
                                        .reason = static_cast<codec::EndReason>(row.integer(6)),
                                        .exit_code = member.exit_code,
                                        .exit_signal = member.exit_signal});
        return member;
      });
}

Result<std::vector<RankPlace>> rank_places(Reading& reading, RunId run) {
  return sql::read_all(
      reading->query("SELECT DISTINCT rank, host FROM sessions WHERE run = (SELECT key FROM runs "
                     "WHERE id = ?1) AND rank IS NOT NULL ORDER BY rank, host",
                     run),
      [](const sql::Statement& row) {
        return RankPlace{.rank = row.integer(0), .host = row.text(1)};
      });
}

}  // namespace corral::store::page
