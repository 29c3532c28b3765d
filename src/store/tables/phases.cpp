#include "store/tables/phases.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <tuple>

#include "store/engine/database.h"
#include "store/read/reads.h"

namespace corral::store::page {
namespace {

using sql::Connection;
using sql::Statement;

// ?1 is the run, ?2 and ?3 the window.
constexpr std::string_view kInWindow =
    "FROM phases WHERE run = (SELECT key FROM runs WHERE id = ?1) AND coalesce(started, ended) < "
    "?3 AND (ended IS NULL OR ended > ?2 OR coalesce(started, ended) >= ?2) ";
constexpr std::string_view kNotShorter =
    "AND (started IS NULL OR ended IS NULL OR ended - started >= ?4) ";
constexpr std::string_view kByStart = "ORDER BY started NULLS FIRST, session, id";
// Phases without a known length come first.
constexpr std::string_view kLongest =
    "ORDER BY CASE WHEN started IS NULL OR ended IS NULL THEN 0 ELSE 1 END, ended - started DESC, "
    "started, session, id LIMIT ?5";

std::string select(std::string_view columns, std::initializer_list<std::string_view> parts) {
  std::string sql(columns);
  for (const std::string_view part : parts) sql += part;
  return sql;
}

// Phases that end before they begin are shorter than any, and none where any will do.
std::int64_t least_length(const PhaseChoice& choice) {
  return choice.shortest > Nanos(0) ? choice.shortest.count()
                                    : std::numeric_limits<std::int64_t>::min();
}

Result<std::vector<Phase>> read_chosen(Connection& db, RunId run, const PhaseChoice& choice) {
  const PhaseWindow& window = choice.window;
  if (!choice.limit) {
    return sql::read_phase_rows(db.query(select(sql::kPhaseColumns, {kInWindow, kNotShorter, kByStart}),
                                   run, window.from, window.to, least_length(choice)));
  }
  auto phases = TRY(
      sql::read_phase_rows(db.query(select(sql::kPhaseColumns, {kInWindow, kNotShorter, kLongest}), run,
                              window.from, window.to, least_length(choice), *choice.limit)));
  std::ranges::sort(phases, {}, [](const Phase& phase) {
    return std::tuple(phase.start, phase.session, phase.id);
  });
  return phases;
}

}  // namespace

Result<ChosenPhases> choose_phases(Reading& reading, RunId run, const PhaseChoice& choice) {
  sql::Connection& db = reading;
  ChosenPhases chosen{.phases = TRY(read_chosen(db, run, choice))};
  const bool all =
      choice.shortest <= Nanos(0) && (!choice.limit || chosen.phases.size() < *choice.limit);
  if (all) return chosen;
  const auto count = TRY(db.number(select("SELECT count(*) ", {kInWindow}), run, choice.window.from,
                                   choice.window.to));
  chosen.left_out = count.value_or(0) - static_cast<std::int64_t>(chosen.phases.size());
  return chosen;
}

Result<std::vector<PhaseSpan>> phase_spans(Reading& reading, RunId run, UtcTime to,
                                           std::size_t limit) {
  sql::Connection& db = reading;
  Statement row =
      TRY(db.query("SELECT session, id, parent, started, ended, name, lane FROM phases WHERE run = "
                   "(SELECT key FROM runs WHERE id = ?1) AND started < ?2 LIMIT ?3",
                   run, to, limit));
  std::vector<PhaseSpan> spans;
  while (TRY(row.step())) {
    spans.push_back({.session = row.integer(0),
                     .id = static_cast<std::uint64_t>(row.integer(1)),
                     .parent = static_cast<std::uint64_t>(row.integer(2)),
                     .start = row.utc(3),
                     .end = row.is_null(4) ? std::nullopt : std::optional(row.utc(4)),
                     .name = row.text(5),
                     .lane = row.text(6)});
  }
  return spans;
}

}  // namespace corral::store::page
