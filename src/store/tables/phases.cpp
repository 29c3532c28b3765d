#include "store/tables/phases.h"

#include <fmt/core.h>

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
    return sql::read_phase_rows(
        db.query(select(sql::kPhaseColumns, {kInWindow, kNotShorter, kByStart}), run, window.from,
                 window.to, least_length(choice)));
  }
  auto phases = TRY(sql::read_phase_rows(
      db.query(select(sql::kPhaseColumns, {kInWindow, kNotShorter, kLongest}), run, window.from,
               window.to, least_length(choice), *choice.limit)));
  std::ranges::sort(phases, {}, [](const Phase& phase) {
    return std::tuple(phase.start, phase.session, phase.id);
  });
  return phases;
}

}  // namespace

Result<ChosenPhases> choose_phases(Reading& reading, RunId run, const PhaseChoice& choice) {
  ChosenPhases chosen{.phases = TRY(read_chosen(reading, run, choice))};
  chosen.total = TRY(reading->number("SELECT count(*) FROM phases WHERE run = (SELECT key FROM "
                                     "runs WHERE id = ?1)",
                                     run))
                     .value_or(0);
  const bool all =
      choice.shortest <= Nanos(0) && (!choice.limit || chosen.phases.size() < *choice.limit);
  if (all) return chosen;
  const auto count = TRY(reading->number(select("SELECT count(*) ", {kInWindow}), run,
                                         choice.window.from, choice.window.to));
  chosen.left_out = count.value_or(0) - static_cast<std::int64_t>(chosen.phases.size());
  return chosen;
}

Result<std::vector<PhaseSpan>> phase_spans(Reading& reading, RunId run, UtcTime to,
                                           std::size_t limit) {
  return sql::read_all(
      reading->query("SELECT session, id, parent, started, ended, name, lane FROM phases WHERE run "
                     "= (SELECT key FROM runs WHERE id = ?1) AND started < ?2 LIMIT ?3",
                     run, to, limit),
      [](const Statement& row) {
        return PhaseSpan{.session = row.integer(0),
                         .id = static_cast<std::uint64_t>(row.integer(1)),
                         .parent = static_cast<std::uint64_t>(row.integer(2)),
                         .start = row.utc(3),
                         .end = row.maybe_utc(4),
                         .name = row.text(5),
                         .lane = row.text(6)};
      });
}

namespace {

// By the primary key: by the index of runs each row would be looked up on its own.
constexpr std::string_view kBegun =
    "SELECT started, ended, kind, name, type, lane, attributes FROM phases WHERE session IN "
    "(SELECT "
    "key FROM sessions WHERE run = (SELECT key FROM runs WHERE id = ?1)) AND started IS NOT NULL ";

// For each row lower() or a list would cost as much as reading it.
std::string may_be_unit() {
  std::string sql = "AND (name LIKE 'e%' OR name LIKE 'E%'";
  for (const std::string_view name : kStepNames) sql += fmt::format(" OR name = '{}'", name);
  return sql + ") ";
}

}  // namespace

Result<std::size_t> each_phase(Reading& reading, RunId run, const PhaseScan& scan,
                               const std::function<Result<>(const PhaseFields&)>& each) {
  static const std::string units = may_be_unit();
  Statement row = TRY(
      reading->query(select(kBegun, {scan.units_only ? units : "", "LIMIT ?2"}), run, scan.limit));
  std::size_t count = 0;
  for (PhaseFields fields; TRY(row.step()); ++count) {
    fields.start = row.utc(0);
    fields.end = row.maybe_utc(1);
    fields.kind = static_cast<codec::PhaseKind>(row.integer(2));
    fields.name = row.view(3);
    fields.type = row.view(4);
    fields.lane = row.view(5);
    fields.attributes = row.view(6);
    TRY(each(fields));
  }
  return count;
}

// ---- by name
namespace {

constexpr std::string_view kNamedColumns =
    "SELECT name, lane, started, ended, attributes FROM phases WHERE run = (SELECT key FROM runs "
    "WHERE id = ?1) AND started IS NOT NULL AND ";

NamedPhase named_phase(const Statement& row) {
  return {.name = row.text(0),
          .lane = row.text(1),
          .start = row.utc(2),
          .end = row.maybe_utc(3),
          .attributes = parse_attributes(row.text(4))};
}

}  // namespace

Result<std::vector<NamedPhase>> epoch_phases(Reading& reading, RunId run, std::size_t limit) {
  return sql::read_all(
      reading->query(std::string(kNamedColumns) +
                         "lower(name) LIKE 'epoch%' ORDER BY started, session, id LIMIT ?2",
                     run, limit),
      named_phase);
}

Result<std::optional<NamedPhase>> nth_phase(Reading& reading, RunId run, const std::string& name,
                                            std::size_t index) {
  return sql::read_first(
      reading->query(
          std::string(kNamedColumns) +
              "name = ?2 AND lane = (SELECT lane FROM phases WHERE run = (SELECT key FROM runs "
              "WHERE id = ?1) AND started IS NOT NULL AND name = ?2 ORDER BY started, session, id "
              "LIMIT 1) ORDER BY started, session, id LIMIT 1 OFFSET ?3",
          run, name, index),
      named_phase);
}

Result<bool> has_phases(Reading& reading, RunId run, const PhaseWindow& window) {
  const auto one =
      TRY(reading->number("SELECT 1 FROM phases WHERE run = (SELECT key FROM runs WHERE id = ?1) "
                          "AND started >= ?2 AND started < ?3 LIMIT 1",
                          run, ns_of(window.from), ns_of(window.to)));
  return one.has_value();
}

Result<std::optional<UtcTime>> first_step(Reading& reading, RunId run) {
  static const std::string sql = [] {
    std::string names;
    for (const std::string_view name : kStepNames)
      names += (names.empty() ? "'" : ", '") + std::string(name) + "'";
    return "SELECT min(started) FROM phases WHERE run = (SELECT key FROM runs WHERE id = ?1) AND "
           "lower(name) IN (" +
           names + ")";
  }();
  const auto first = TRY(reading->number(sql, run));
  return first ? std::optional(utc_time(*first)) : std::nullopt;
}

}  // namespace corral::store::page
