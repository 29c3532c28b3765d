#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/text.h"
#include "store/maintain/check_parts.h"
#include "store/maintain/tables.h"

namespace corral::store::maintain {
namespace {

// The owner of a row, as far as its columns say.
enum class Owner { kNone, kRun, kSession, kSeries };

struct Rule {
  const char* table;
  const char* what;
  Owner owner;
  const char* sql;  // gives the owner's key and how many rows
};

constexpr std::array kRules = {
    Rule{"sessions", "rows name another workload than their run", Owner::kSession,
         "SELECT s.key, 1, 0 FROM sessions s JOIN runs r ON r.key = s.run WHERE r.workload <> "
         "s.workload LIMIT 100"},
    Rule{"batches", "rows cover numbers that were never acknowledged", Owner::kSession,
         "SELECT b.session, count(*), 0 FROM batches b JOIN sessions s ON s.key = b.session WHERE "
         "b.last_seq > s.durable_seq OR b.first_seq > b.last_seq GROUP BY b.session LIMIT 100"},
    Rule{"batches", "rows cover numbers that another row has, too", Owner::kSession,
         "SELECT session, count(*), 0 FROM (SELECT session, first_seq, lag(last_seq) OVER "
         "(PARTITION "
         "BY session ORDER BY id) AS before FROM batches) AS numbered WHERE before >= first_seq "
         "GROUP BY session LIMIT 100"},
    Rule{"row_groups", "rows end before they begin", Owner::kSession,
         "SELECT session, count(*), 0 FROM row_groups WHERE t0 > t1 GROUP BY session LIMIT 100"},
    Rule{"row_groups", "rows belong to a slice that has no statistics", Owner::kSession,
         "SELECT g.session, count(*), 0 FROM row_groups g WHERE NOT EXISTS (SELECT 1 FROM slices s "
         "WHERE s.session = g.session AND s.slice = g.slice) GROUP BY g.session LIMIT 100"},
    Rule{"block_times", "rows are no block's", Owner::kSession,
         "SELECT session, count(*), 0 FROM block_times WHERE id NOT IN (SELECT times FROM blocks) "
         "AND session NOT IN (SELECT key FROM sessions WHERE removed <> 0) GROUP BY session LIMIT "
         "100"},
    Rule{"phases", "rows name another run than their session", Owner::kSession,
         "SELECT p.session, count(*), 0 FROM phases p JOIN sessions s ON s.key = p.session WHERE "
         "p.run <> s.run GROUP BY p.session LIMIT 100"},
    Rule{"events", "rows name another run than their session", Owner::kSession,
         "SELECT e.session, count(*), 0 FROM events e JOIN sessions s ON s.key = e.session WHERE "
         "e.run <> s.run GROUP BY e.session LIMIT 100"},
    Rule{"logs", "rows have not the bytes that they say", Owner::kRun,
         "SELECT run, count(*), 0 FROM logs WHERE length <> length(bytes) GROUP BY run LIMIT 100"},
    Rule{"logs", "rows lie beyond the end of their stream", Owner::kRun,
         "SELECT l.run, count(*), 0 FROM logs l LEFT JOIN log_streams s ON s.run = l.run AND "
         "s.stream "
         "= l.stream WHERE s.length IS NULL OR l.start + l.length > s.length GROUP BY l.run LIMIT "
         "100"},
    Rule{"logs", "rows overlap", Owner::kRun,
         "SELECT run, count(*), 0 FROM (SELECT run, start, lag(start + length) OVER (PARTITION BY "
         "run, "
         "stream ORDER BY start) AS before FROM logs) AS placed WHERE before > start GROUP BY run "
         "LIMIT 100"},
};

void add(CheckWork& work, const std::string& table, const std::string& what, Owner owner,
         std::int64_t key) {
  switch (owner) {
    case Owner::kSession:
      return work.findings.add_session(table, what, key);
    case Owner::kSeries:
      return work.findings.add_series(table, what, SeriesId{key});
    case Owner::kRun:
      return work.findings.add_run(table, what, key);
    case Owner::kNone:
      return work.findings.add(table, what);
  }
}

struct Hit {
  std::int64_t missing = 0, rows = 0, owner = 0;  // a rule's first column, its second one, and 0
};

Result<std::vector<Hit>> hits_of(sql::Connection& db, const std::string& sql) {
  std::vector<Hit> hits;
  sql::Statement row = TRY(db.query(sql));
  while (TRY(row.step()))
    hits.push_back({.missing = row.integer(0), .rows = row.integer(1), .owner = row.integer(2)});
  return hits;
}

// Another column of the table, which names the owner of the rows.
std::pair<Owner, std::string> owner_of(const Reference& reference) {
  static constexpr std::array<std::pair<Owner, std::string_view>, 3> kOwners = {
      {{Owner::kSession, "session"}, {Owner::kSeries, "series"}, {Owner::kRun, "run"}}};
  const auto table = std::ranges::find(tables(), reference.table, &Table::name);
  const auto columns = split(table->columns, ' ');
  for (const auto& [owner, column] : kOwners) {
    if (column != reference.column && std::ranges::find(columns, column) != columns.end())
      return {owner, std::string(column)};
  }
  return {Owner::kNone, std::string(reference.column)};
}

Result<> check_reference(CheckWork& work, const Reference& reference) {
  const auto [owner, column] = owner_of(reference);
  const auto hits = TRY(hits_of(
      work.db,
      fmt::format("SELECT {1}, count(*), min({2}) FROM {0} WHERE {3} GROUP BY {1} LIMIT 100",
                  reference.table, reference.column, column, orphans_of(reference))));
  for (const Hit& hit : hits) {
    add(work, std::string(reference.table),
        fmt::format("{} rows refer to row {} of {}, which is gone", hit.rows, hit.missing,
                    reference.to),
        owner, hit.owner);
  }
  return {};
}

}  // namespace

Result<> check_tables(CheckWork& work) {
  const auto total = static_cast<std::int64_t>(references().size() + kRules.size());
  std::int64_t done = 0;
  for (const Reference& reference : references()) {
    TRY(work.watch.at("tables", done++, total));
    TRY(work.unit([&] { return check_reference(work, reference); }));
  }
  for (const Rule& rule : kRules) {
    TRY(work.watch.at("tables", done++, total));
    const auto apply = [&]() -> Result<> {
      for (const Hit& hit : TRY(hits_of(work.db, rule.sql)))
        add(work, rule.table, fmt::format("{} {}", hit.rows, rule.what), rule.owner, hit.missing);
      return {};
    };
    TRY(work.unit(apply));
  }
  const auto lost = [&]() -> Result<> {
    const auto hits = TRY(hits_of(
        work.db, fmt::format("SELECT id, owner, 0 FROM series WHERE {} LIMIT 100", kLostSeries)));
    for (const Hit& hit : hits)
      work.findings.add_series(
          "series", fmt::format("belongs to a run or workload ({}) that is gone", hit.rows),
          SeriesId{hit.missing});
    return {};
  };
  TRY(work.unit(lost));
  return work.unit([&]() -> Result<> {
    work.report.runs = TRY(work.db.number("SELECT count(*) FROM runs")).value_or(0);
    return {};
  });
}

}  // namespace corral::store::maintain
