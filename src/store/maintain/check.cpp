#include "store/maintain/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "codec/block/row_group.h"
#include "codec/frame.h"
#include "core/text.h"
#include "metric/catalogue.h"
#include "store/engine/schema.h"
#include "store/engine/stored.h"
#include "store/maintain/blocks.h"
#include "store/maintain/tables.h"
#include "store/seal/levels.h"
#include "store/seal/plan.h"

namespace corral::store::maintain {
namespace {

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

// Calls `visit` with every key that `next` gives after the one before (?1), a page at a time.
template <class Visit>
Result<> for_each_key(CheckWork& work, const char* next, const Visit& visit) {
  for (std::int64_t after = 0;;) {
    TRY(work.snapshot.next_unit());
    const auto keys = TRY(work.db.numbers(next, after));
    if (keys.empty()) return {};
    after = keys.back();
    for (const std::int64_t key : keys) TRY(visit(key));
  }
}

// ---- references, and what one statement can tell
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
         "(PARTITION BY session ORDER BY id) AS before FROM batches) AS numbered WHERE before >= "
         "first_seq GROUP BY session LIMIT 100"},
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
         "s.stream = l.stream WHERE s.length IS NULL OR l.start + l.length > s.length GROUP BY "
         "l.run LIMIT 100"},
    Rule{"logs", "rows overlap", Owner::kRun,
         "SELECT run, count(*), 0 FROM (SELECT run, start, lag(start + length) OVER (PARTITION BY "
         "run, stream ORDER BY start) AS before FROM logs) AS placed WHERE before > start GROUP BY "
         "run LIMIT 100"},
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

Result<std::vector<Hit>> read_hits(sql::Connection& db, const std::string& sql) {
  return sql::read_all(db.query(sql), [](const sql::Statement& row) {
    return Hit{.missing = row.integer(0), .rows = row.integer(1), .owner = row.integer(2)};
  });
}

// Another column of the table, which names the owner of the rows.
std::pair<Owner, std::string> find_owner(const Reference& reference) {
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
  const auto [owner, column] = find_owner(reference);
  const auto hits = TRY(read_hits(
      work.db,
      fmt::format("SELECT {1}, count(*), min({2}) FROM {0} WHERE {3} GROUP BY {1} LIMIT 100",
                  reference.table, reference.column, column, orphan_condition(reference))));
  for (const Hit& hit : hits) {
    add(work, std::string(reference.table),
        fmt::format("{} rows refer to row {} of {}, which is gone", hit.rows, hit.missing,
                    reference.to),
        owner, hit.owner);
  }
  return {};
}

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
      for (const Hit& hit : TRY(read_hits(work.db, rule.sql)))
        add(work, rule.table, fmt::format("{} {}", hit.rows, rule.what), rule.owner, hit.missing);
      return {};
    };
    TRY(work.unit(apply));
  }
  const auto lost = [&]() -> Result<> {
    const auto hits = TRY(read_hits(
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

// ---- batch rows, row groups and statistics of each session
struct Batch {
  std::int64_t id = 0, first = 0, last = 0;
  bool set_aside = false;
};

class SessionCheck {
 public:
  SessionCheck(CheckWork& work, std::int64_t session)
      : work_(work), db_(work.db), session_(session) {}

  Result<> run() {
    TRY(read_series());
    TRY(check_batches());
    TRY(check_row_groups());
    return check_statistics();
  }

 private:
  struct OneSeries {
    std::int64_t slice = -1, blocks = 0, points = 0;  // points: in row groups
  };
  void report(const char* table, const std::string& what) {
    work_.findings.add_session(table, what, session_);
  }
  Result<> read_series();
  Result<> check_batches();
  Result<std::string> find_problem(const Batch& batch);
  Result<> check_row_groups();
  std::string find_problem(const sql::Statement& row);
  Result<> check_statistics();
  void check_slice(std::int64_t slice, const SliceStatistics& statistics);

  CheckWork& work_;
  sql::Connection& db_;
  const std::int64_t session_;
  SessionId id_;
  bool removed_ = false;  // the run was removed: some series are gone, others may exist
  std::set<std::uint32_t> locals_;
  std::map<SeriesId, OneSeries> series_;
  std::set<std::int64_t> damaged_slices_;
};

Result<> SessionCheck::read_series() {
  {
    sql::Statement row =
        TRY(db_.query("SELECT id, removed FROM sessions WHERE key = ?1", session_));
    if (TRY(row.step())) {
      id_ = row.id128<SessionId>(0);
      removed_ = row.integer(1) != 0;
    }
  }
  sql::Statement row = TRY(
      db_.query("SELECT m.local, m.series, m.slice, (SELECT count(*) FROM blocks b WHERE b.series "
                "= m.series AND b.session = m.session) FROM session_series m WHERE m.session = ?1",
                session_));
  while (TRY(row.step())) {
    locals_.insert(static_cast<std::uint32_t>(row.integer(0)));
    OneSeries& one = series_[SeriesId{row.integer(1)}];
    if (!row.is_null(2)) one.slice = row.integer(2);
    one.blocks = row.integer(3);
  }
  return {};
}

Result<> SessionCheck::check_batches() {
  const auto batches = TRY(sql::read_all(
      db_.query(
          "SELECT id, first_seq, last_seq, damaged FROM batches WHERE session = ?1 ORDER BY id",
          session_),
      [](const sql::Statement& row) {
        return Batch{.id = row.integer(0),
                     .first = row.integer(1),
                     .last = row.integer(2),
                     .set_aside = row.integer(3) != 0};
      }));
  for (const Batch& batch : batches) {
    const std::string problem = TRY(find_problem(batch));
    ++work_.report.batches;
    if (problem.empty()) continue;
    report("batches", fmt::format("row {}, numbers {} to {}: {}{}", batch.id, batch.first,
                                  batch.last, problem, batch.set_aside ? " (set aside)" : ""));
  }
  return {};
}

Result<std::string> SessionCheck::find_problem(const Batch& batch) {
  sql::Statement row = TRY(db_.query("SELECT frame FROM batches WHERE id = ?1", batch.id));
  if (!TRY(row.step())) return std::string();
  const auto frame = codec::decode_frame(row.blob(0));
  if (!frame) return frame.error().message;
  const auto samples = sql::decode_batch(row.blob(0));
  if (!samples) return samples.error().message;
  if (frame->header.session != id_ ||
      frame->header.first != static_cast<std::uint64_t>(batch.first) ||
      frame->header.last != static_cast<std::uint64_t>(batch.last))
    return std::string("its frame is another one");
  for (const codec::SamplesBody& body : *samples) {
    for (const auto& group : body.groups) {
      for (const auto& column : group.columns) {
        if (!removed_ && !locals_.contains(column.series))
          return fmt::format("series {} was never declared", column.series);
      }
    }
  }
  return std::string(batch.set_aside ? "it was damaged once and is good now" : "");
}

Result<> SessionCheck::check_row_groups() {
  const auto rows =
      TRY(db_.numbers("SELECT id FROM row_groups WHERE session = ?1 ORDER BY id", session_));
  for (const std::int64_t id : rows) {
    sql::Statement row = TRY(
        db_.query("SELECT slice, state, t0, t1, points, data FROM row_groups WHERE id = ?1", id));
    if (!TRY(row.step())) continue;
    ++work_.report.row_groups;
    const std::int64_t slice = row.integer(0);
    const std::string problem = find_problem(row);
    if (problem.empty()) continue;
    damaged_slices_.insert(slice);
    const bool aside = row.integer(1) == static_cast<std::int64_t>(RowGroupState::kSetAside);
    report("row_groups", fmt::format("row {} of slice {}: {}{}", id, slice, problem,
                                     aside ? " (set aside)" : ""));
  }
  return {};
}

std::string SessionCheck::find_problem(const sql::Statement& row) {
  const auto groups = codec::decode_row_group(row.blob(5));
  if (!groups) return groups.error().message;
  std::map<SeriesId, std::int64_t> points;
  std::int64_t most = 0;
  for (const auto& group : *groups) {
    const bool inside = std::ranges::is_sorted(group.times) &&
                        group.times.front() >= row.integer(2) &&
                        group.times.back() <= row.integer(3);
    if (!inside) return "its times are not as it says";
    for (const auto& column : group.columns) {
      const auto known = series_.find(column.series);
      if (!removed_ && (known == series_.end() || known->second.slice != row.integer(0)))
        return fmt::format("series {} is not in its slice", column.series.value);
      most = std::max(most, points[column.series] += static_cast<std::int64_t>(group.times.size()));
    }
  }
  if (most != row.integer(4)) return "it has not the points that it says";
  for (const auto& [series, count] : points) series_[series].points += count;
  return {};
}

Result<> SessionCheck::check_statistics() {
  sql::Statement row =
      TRY(db_.query("SELECT slice, statistics FROM slices WHERE session = ?1", session_));
  std::set<std::int64_t> slices;
  while (TRY(row.step())) {
    slices.insert(row.integer(0));
    const auto statistics = decode_statistics(row.blob(1));
    if (!statistics) {
      report("slices", fmt::format("slice {}: {}", row.integer(0), statistics.error().message));
    } else if (!removed_ && !damaged_slices_.contains(row.integer(0))) {
      check_slice(row.integer(0), *statistics);
    }
  }
  for (const auto& [id, one] : series_) {
    if (!removed_ && one.blocks > 0 && !slices.contains(one.slice))
      work_.findings.add_series("slices", fmt::format("no statistics of session {}", session_), id);
  }
  return {};
}

void SessionCheck::check_slice(std::int64_t slice, const SliceStatistics& statistics) {
  constexpr auto kPoints = static_cast<std::int64_t>(codec::kColumnEntries);
  for (const auto& [id, one] : series_) {
    if (one.slice != slice) continue;
    const auto known = statistics.find(id);
    const std::int64_t said = known == statistics.end() ? 0 : known->second.points;
    const std::int64_t there = one.points + one.blocks * kPoints;
    if (said == there) continue;
    work_.findings.add_series(
        "slices",
        fmt::format("session {}: its statistics count {} points, there are {}", session_, said,
                    there),
        id);
  }
}

Result<> check_sessions(CheckWork& work) {
  constexpr const char* kNext = "SELECT key FROM sessions WHERE key > ?1 ORDER BY key LIMIT 1000";
  TRY(work.snapshot.next_unit());
  const auto total = TRY(work.db.number("SELECT count(*) FROM sessions")).value_or(0);
  return for_each_key(work, kNext, [&](std::int64_t session) -> Result<> {
    TRY(work.watch.at("sessions", work.report.sessions++, total));
    return work.unit([&] { return SessionCheck(work, session).run(); });
  });
}

// ---- blocks and pyramid of each series
using codec::Bucket;

// Sums of the same points in another order.
bool same_sum(const Bucket& a, const Bucket& b) {
  if (a.sum == b.sum || (!std::isfinite(a.sum) && !std::isfinite(b.sum))) return true;
  const double size = std::max(std::fabs(a.min), std::fabs(a.max)) * a.count;
  return std::fabs(a.sum - b.sum) <= 1e-9 * size;
}

bool same(const Bucket& stored, const Bucket& made) {
  if (!same_sum(stored, made)) return false;
  Bucket with_its_sum = made;
  with_its_sum.sum = stored.sum;
  if (std::isnan(stored.sum)) with_its_sum.sum = 0;
  Bucket own = stored;
  if (std::isnan(own.sum)) own.sum = 0;
  return own == with_its_sum;
}

bool same_row(const codec::PyramidRow& stored, const MadeRow& made) {
  if (stored.lower.size() != made.row.lower.size() || stored.upper.size() != made.row.upper.size())
    return false;
  return made.vague || (std::ranges::equal(stored.lower, made.row.lower, same) &&
                        std::ranges::equal(stored.upper, made.row.upper, same));
}

class SeriesCheck {
 public:
  SeriesCheck(CheckWork& work, SeriesId id, std::int64_t total)
      : work_(work), id_(id), total_(total) {}

  Result<> run();

 private:
  void report(const char* table, const std::string& what) {
    work_.findings.add_series(table, what, id_);
  }
  Result<> check_block(PyramidMaker& maker, const StoredBlock& block);
  Result<> compare(const MadeRow& made);

  CheckWork& work_;
  const SeriesId id_;
  const std::int64_t total_;  // blocks of the store
};

Result<> SeriesCheck::run() {
  std::int64_t blocks = 0;
  bool counter = false;
  {
    sql::Statement row = TRY(
        work_.db.query("SELECT blocks, kind, (SELECT count(*) FROM removals d WHERE d.owner_kind = "
                       "s.owner_kind AND d.owner = s.owner) FROM series s WHERE s.id = ?1",
                       id_));
    if (!TRY(row.step()) || row.integer(2) > 0) return {};  // going
    blocks = row.integer(0);
    counter = row.integer(1) == static_cast<std::int64_t>(metric::Kind::kCounter);
  }
  PyramidMaker maker(counter, [&](const MadeRow& made) { return compare(made); });
  TRY(each_block(work_.db, id_,
                 [&](const StoredBlock& block) { return check_block(maker, block); }));
  if (maker.blocks() != blocks)
    report("blocks", fmt::format("it has {} blocks, its row says {}", maker.blocks(), blocks));
  TRY(maker.finish());
  const auto rows =
      TRY(work_.db.number("SELECT count(*) FROM pyramid WHERE series = ?1", id_)).value_or(0);
  if (rows > maker.rows())
    report("pyramid", fmt::format("{} rows are of no block", rows - maker.rows()));
  return {};
}

Result<> SeriesCheck::check_block(PyramidMaker& maker, const StoredBlock& block) {
  TRY(work_.watch.at("blocks", work_.report.blocks++, total_));
  if (block.no != maker.blocks()) {
    report("blocks",
           block.no == maker.blocks() + 1
               ? fmt::format("block {} is missing", maker.blocks())
               : fmt::format("blocks {} to {} are missing", maker.blocks(), block.no - 1));
    if (block.no < maker.blocks() || block.no - maker.blocks() > kMostMissing) return {};
    while (maker.blocks() < block.no) TRY(maker.add_gap(0, 0));
  }
  if (block.problem.empty()) return maker.add(block);
  report("blocks", fmt::format("block {}: {}", block.no, block.problem));
  return maker.add_gap(0, 0);
}

Result<> SeriesCheck::compare(const MadeRow& made) {
  ++work_.report.pyramid_rows;
  const auto stored = sql::read_pyramid_row(work_.db, {id_, made.channel, made.tier, made.no});
  const std::string where = fmt::format(
      "{}row {} of tier {}", made.channel == Channel::kRate ? "rates, " : "", made.no, made.tier);
  if (!stored && stored.error().code == Code::kNotFound) {
    report("pyramid", where + " is missing");
  } else if (!stored && stored.error().code != Code::kCorruption &&
             stored.error().code != Code::kUnsupported) {
    return tl::unexpected(stored.error());
  } else if (!stored) {
    report("pyramid", where + ": " + stored.error().message);
  } else if (!same_row(*stored, made)) {
    report("pyramid", where + " does not agree with its blocks");
  }
  return {};
}

Result<> check_series(CheckWork& work) {
  constexpr const char* kNext = "SELECT id FROM series WHERE id > ?1 ORDER BY id LIMIT 1000";
  TRY(work.snapshot.next_unit());
  const auto total =
      TRY(work.db.number("SELECT CAST(coalesce(sum(blocks), 0) AS BIGINT) FROM series"))
          .value_or(0);
  return for_each_key(work, kNext, [&](std::int64_t id) {
    ++work.report.series;
    return work.unit([&] { return SeriesCheck(work, SeriesId{id}, total).run(); });
  });
}

Result<> check_engine(CheckWork& work) {
  TRY(work.watch.at("the database's own check", 0, 0));
  return work.unit([&]() -> Result<> {
    for (const std::string& problem : TRY(work.db.integrity()))
      work.findings.add("database", problem);
    return {};
  });
}

}  // namespace

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
