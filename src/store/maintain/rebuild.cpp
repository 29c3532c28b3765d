#include "store/maintain/rebuild.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "codec/block/row_group.h"
#include "core/failpoint.h"
#include "metric/catalogue.h"
#include "store/engine/schema.h"
#include "store/model/content.h"
#include "store/model/statistics.h"

namespace corral::store::maintain {
namespace {

using sql::Blob;
using sql::Connection;
using sql::Statement;

// ---- gaps
Result<> report_gap(Connection& db, Findings& findings, SeriesId id, const StoredBlock& block,
                    std::int64_t time) {
  findings.add_series("blocks", fmt::format("block {}: {}", block.no, block.problem), id);
  if (block.session == 0) return {};  // it is missing
  std::string name;
  {
    Statement row = TRY(db.query("SELECT name FROM series WHERE id = ?1", id));
    if (TRY(row.step())) name = "8192 points of " + row.text(0) + " are damaged";
  }
  const std::string attributes =
      attributes_json({{"series", std::to_string(id.value)}, {"block", std::to_string(block.no)}});
  return db.exec(
      "INSERT INTO events (run, session, time, name, origin, attributes) SELECT s.run, s.key, "
      "CASE WHEN ?2 = 0 THEN s.started ELSE ?2 END, ?3, 'corral', ?4 FROM sessions s WHERE s.key = "
      "?1 AND NOT EXISTS (SELECT 1 FROM events e WHERE e.session = s.key AND e.name = ?3 AND "
      "e.attributes = ?4)",
      block.session, time, name, attributes);
}

}  // namespace

Result<> BlockFeed::add(const StoredBlock& block) {
  TRY(add_missing(block.no));
  if (!block.problem.empty()) return add_gap(block);
  reached_ = block.times.back();
  return maker_.add(block);
}

Result<> BlockFeed::add_missing(std::int64_t next) {
  while (maker_.blocks() < next) {
    StoredBlock missing;
    missing.no = maker_.blocks();
    missing.problem = "it is missing";
    TRY(add_gap(missing));
  }
  return {};
}

Result<> BlockFeed::add_gap(const StoredBlock& block) {
  const std::int64_t t0 = block.times.empty() ? reached_ : block.times.front();
  if (!block.times.empty()) reached_ = block.times.back();
  if (block.no >= first_) TRY(report_gap(db_, findings_, id_, block, t0));
  return maker_.add_gap(t0, reached_);
}

namespace {

// ---- the pyramid of a series
// Runs inside the caller's transaction and returns the number of rows written. If the row of the
// series counts far more blocks than exist (kMostMissing), the count is corrected.
Result<std::int64_t> rebuild_series(Connection& db, Findings& findings, SeriesId id,
                                    const Watch& watch) {
  std::int64_t blocks = 0;
  bool counter = false;
  {
    Statement row = TRY(db.query(
        "SELECT blocks, kind FROM series WHERE id = ?1" + std::string(db.dialect().lock_row), id));
    if (!TRY(row.step())) return 0;
    blocks = row.integer(0);
    counter = row.integer(1) == static_cast<std::int64_t>(metric::Kind::kCounter);
  }
  TRY(db.exec("DELETE FROM pyramid WHERE series = ?1", id));
  if (blocks == 0) return 0;
  PyramidMaker maker(counter, [&](const MadeRow& made) {
    const std::string data = codec::encode_pyramid_row(made.row);
    return db.defer(
        "INSERT INTO pyramid (series, channel, tier, no, data) VALUES (?1, ?2, ?3, ?4, ?5)", id,
        made.channel, made.tier, made.no, sql::to_blob(data));
  });
  BlockFeed feed(db, findings, id, maker);
  const auto too_many_missing = [&](std::int64_t next) {
    if (next - maker.blocks() <= kMostMissing) return false;
    findings.add_series("series",
                        fmt::format("blocks {} to {} are missing", maker.blocks(), next - 1), id);
    return true;
  };
  const auto add = [&](const StoredBlock& block) -> Result<> {
    TRY(watch.at("blocks of series " + std::to_string(id.value), block.no, blocks));
    if (block.no >= blocks || too_many_missing(block.no)) return {};
    return feed.add(block);
  };
  TRY(each_block(db, id, add));
  if (too_many_missing(blocks)) {
    TRY(db.exec("UPDATE series SET blocks = ?2 WHERE id = ?1", id, maker.blocks()));
  } else {
    TRY(feed.add_missing(blocks));
  }
  TRY(maker.finish());
  TRY(db.flush());
  return maker.rows();
}

// ---- the statistics of a session's slices
// Compares everything except sums, whose rounding depends on the order.
bool same(const SliceStatistics& a, const SliceStatistics& b) {
  return std::ranges::equal(a, b, [](const auto& left, const auto& right) {
    SeriesDelta mine = left.second, other = right.second;
    const double size = std::max(std::fabs(mine.min.value_or(0)), std::fabs(mine.max.value_or(0))) *
                        static_cast<double>(mine.points);
    const bool near = mine.sum == other.sum || std::fabs(mine.sum - other.sum) <= 1e-9 * size ||
                      (!std::isfinite(mine.sum) && !std::isfinite(other.sum));
    mine.sum = other.sum = 0;
    return left.first == right.first && near && mine == other;
  });
}

// The rows that hold a slice's points. As long as they are the same, its points are, too: rows are
// never rewritten, and blocks are only added.
struct SliceRows {
  std::map<SeriesId, std::int64_t> blocks;
  std::vector<std::int64_t> row_groups;
  bool operator==(const SliceRows&) const = default;
};

struct Stored {
  bool there = false;
  std::vector<std::uint8_t> data;
  Result<SliceStatistics> statistics;
};

tl::unexpected<Error> sealed_meanwhile() {
  return fail(Code::kConflict, "another server sealed what was to be counted");
}

class SessionSlices {
 public:
  SessionSlices(Connection& db, Findings& findings, std::int64_t session)
      : db_(db), findings_(findings), session_(session) {}

  Result<std::int64_t> run(Slices which) {
    TRY(db_.exec("SELECT key FROM sessions WHERE key = ?1" + std::string(db_.dialect().lock_row),
                 session_));
    std::int64_t written = 0;
    for (const auto& [slice, series] : TRY(read_series())) {
      const Stored stored = TRY(read(slice));
      if (which == Slices::kUnreadable && stored.statistics) continue;
      if (TRY(make(slice, series, stored))) ++written;
    }
    return written;
  }

 private:
  using SliceSeries = std::map<std::int64_t, std::set<SeriesId>>;
  Result<SliceSeries> read_series();
  Result<Stored> read(std::int64_t slice);
  Result<SliceRows> read_rows(std::int64_t slice, const std::set<SeriesId>& series);
  Result<bool> make(std::int64_t slice, const std::set<SeriesId>& series, const Stored& stored);
  Result<> add_blocks(SeriesId id, std::int64_t blocks);
  Result<> add_row_group(std::int64_t slice, std::int64_t id);
  Result<> write(std::int64_t slice, const Stored& stored);

  Connection& db_;
  Findings& findings_;
  const std::int64_t session_;
  // The slice that is being made.
  SliceStatistics made_;
  bool damaged_ = false;
};

Result<SessionSlices::SliceSeries> SessionSlices::read_series() {
  SliceSeries slices;
  Statement row = TRY(
      db_.query("SELECT slice, series FROM session_series WHERE session = ?1 AND slice IS NOT NULL",
                session_));
  while (TRY(row.step())) slices[row.integer(0)].insert(SeriesId{row.integer(1)});
  return slices;
}

// A missing one is empty, and readable as such.
Result<Stored> SessionSlices::read(std::int64_t slice) {
  Stored stored;
  Statement row = TRY(db_.query("SELECT statistics FROM slices WHERE session = ?1 AND slice = ?2",
                                session_, slice));
  stored.there = TRY(row.step());
  if (!stored.there) return stored;
  const Blob data = row.blob(0);
  stored.data.assign(data.begin(), data.end());
  stored.statistics = decode_statistics(data);
  return stored;
}

Result<SliceRows> SessionSlices::read_rows(std::int64_t slice, const std::set<SeriesId>& series) {
  SliceRows rows;
  for (const SeriesId id : series) {
    rows.blocks[id] = TRY(db_.number("SELECT blocks FROM series WHERE id = ?1", id)).value_or(0);
  }
  rows.row_groups = TRY(db_.numbers(
      "SELECT id FROM row_groups WHERE session = ?1 AND slice = ?2 ORDER BY id", session_, slice));
  return rows;
}

// True when it was written.
Result<bool> SessionSlices::make(std::int64_t slice, const std::set<SeriesId>& series,
                                 const Stored& stored) {
  made_.clear();
  damaged_ = false;
  const SliceRows rows = TRY(read_rows(slice, series));
  // Points of blocks arrived before those of row groups.
  for (const auto& [id, blocks] : rows.blocks) TRY(add_blocks(id, blocks));
  for (const std::int64_t id : rows.row_groups) TRY(add_row_group(slice, id));
  // Each statement may have seen a later state than the one before.
  if (db_.dialect().shared && TRY(read_rows(slice, series)) != rows) return sealed_meanwhile();
  const bool good = stored.there && stored.statistics;
  if (good && (damaged_ || same(*stored.statistics, made_))) return false;
  if (!stored.there && made_.empty()) return false;
  TRY(write(slice, stored));
  return true;
}

Result<> SessionSlices::add_blocks(SeriesId id, std::int64_t blocks) {
  const auto add = [&](const StoredBlock& block) -> Result<> {
    if (!block.problem.empty()) {
      damaged_ = true;
      return {};
    }
    const codec::SamplingGroup group{.times = block.times,
                                     .steps = block.steps,
                                     .columns = {{.series = id, .values = block.values}}};
    add_groups(made_, std::span(&group, 1));
    return {};
  };
  return each_block(db_, id, add, {.session = session_, .first = 0, .end = blocks});
}

Result<> SessionSlices::add_row_group(std::int64_t slice, std::int64_t id) {
  Statement row = TRY(db_.query("SELECT data FROM row_groups WHERE id = ?1", id));
  if (!TRY(row.step())) return sealed_meanwhile();
  const auto groups = codec::decode_row_group(row.blob(0));
  if (groups) {
    add_groups(made_, *groups);
    return {};
  }
  damaged_ = true;
  findings_.add_session("row_groups",
                        fmt::format("row {} of slice {}: {}", id, slice, groups.error().message),
                        session_);
  return {};
}

// Overwrites only the row that was read: a seal in between has newer statistics.
Result<> SessionSlices::write(std::int64_t slice, const Stored& stored) {
  const std::string data = encode_statistics(made_);
  const auto written =
      stored.there
          ? TRY(db_.number("UPDATE slices SET statistics = ?3 WHERE session = ?1 AND slice = ?2 "
                           "AND statistics = ?4 RETURNING slice",
                           session_, slice, sql::to_blob(data), Blob(stored.data)))
          : TRY(db_.number("INSERT INTO slices (session, slice, statistics) VALUES (?1, ?2, ?3) ON "
                           "CONFLICT (session, slice) DO NOTHING RETURNING slice",
                           session_, slice, sql::to_blob(data)));
  if (!written) return sealed_meanwhile();
  return {};
}

}  // namespace

Result<std::int64_t> rebuild_slices(Connection& db, Findings& findings, std::int64_t session,
                                    Slices which) {
  return SessionSlices(db, findings, session).run(which);
}

namespace {

constexpr const char* kSeries = "rebuilt_series";
constexpr const char* kSessions = "rebuilt_sessions";
constexpr int kAttempts = 5;

// ---- all of them
class Rebuild {
 public:
  Rebuild(Connection& db, const Watch& watch) : db_(db), watch_(watch), findings_(db) {}

  Result<RebuildReport> run(bool anew) {
    TRY(sql::schema_version(db_));
    if (anew) TRY(forget());
    report_.continued = TRY(reached(kSeries)) > 0;
    TRY(walk(kSeries, "SELECT id FROM series WHERE id > ?1 ORDER BY id LIMIT 1",
             "SELECT count(*) FROM series WHERE id > ?1",
             [this](std::int64_t id) { return one_series(SeriesId{id}); }));
    TRY(walk(kSessions, "SELECT key FROM sessions WHERE key > ?1 ORDER BY key LIMIT 1",
             "SELECT count(*) FROM sessions WHERE key > ?1",
             [this](std::int64_t key) { return one_session(key); }));
    TRY(forget());
    report_.gaps = findings_.kept();
    report_.problems = findings_.count();
    return std::move(report_);
  }

 private:
  Result<std::int64_t> reached(const char* mark) {
    return TRY(db_.number("SELECT value FROM meta WHERE key = ?1", mark)).value_or(0);
  }
  Result<> forget() {
    return db_.exec("DELETE FROM meta WHERE key IN ('rebuilt_series', 'rebuilt_sessions')");
  }
  Result<> one_series(SeriesId id) {
    report_.pyramid_rows += TRY(rebuild_series(db_, findings_, id, watch_));
    ++report_.series;
    return {};
  }
  Result<> one_session(std::int64_t key) {
    report_.slices += TRY(rebuild_slices(db_, findings_, key));
    return {};
  }
  template <class One>
  Result<> commit(const char* mark, std::int64_t key, const One& one);
  template <class One>
  Result<> walk(const char* mark, const char* next, const char* left, const One& one);

  Connection& db_;
  const Watch& watch_;
  Findings findings_;
  RebuildReport report_;
};

template <class One>
Result<> Rebuild::commit(const char* mark, std::int64_t key, const One& one) {
  return sql::transact(db_, [&]() -> Result<> {
    TRY(one(key));
    return db_.exec(
        "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = "
        "excluded.value",
        mark, key);
  });
}

template <class One>
Result<> Rebuild::walk(const char* mark, const char* next, const char* left, const One& one) {
  std::int64_t after = TRY(reached(mark));
  const std::int64_t total = TRY(db_.number(left, after)).value_or(0);
  for (std::int64_t done = 0;; ++done) {
    TRY(watch_.at(mark == std::string_view(kSeries) ? "series" : "sessions", done, total));
    const auto key = TRY(db_.number(next, after));
    if (!key) return {};
    after = *key;
    Result<> written = commit(mark, after, one);
    for (int again = 0; again < kAttempts && !written && written.error().code == Code::kConflict;
         ++again)
      written = commit(mark, after, one);
    if (!written) return written;
    failpoint::reach("rebuild.committed");
  }
}

}  // namespace

Result<RebuildReport> rebuild_store(Connection& db, bool anew, const Watch& watch) {
  return Rebuild(db, watch).run(anew);
}

}  // namespace corral::store::maintain
