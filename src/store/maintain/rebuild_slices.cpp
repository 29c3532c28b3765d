#include "store/maintain/rebuild_slices.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "codec/block/row_group.h"
#include "store/maintain/stored_blocks.h"
#include "store/model/slice_statistics.h"

namespace corral::store::maintain {
namespace {

using sql::Blob;
using sql::Connection;
using sql::Statement;

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
struct Content {
  std::map<SeriesId, std::int64_t> blocks;
  std::vector<std::int64_t> row_groups;
  bool operator==(const Content&) const = default;
};

struct Stored {
  bool there = false;
  std::vector<std::uint8_t> data;
  Result<SliceStatistics> statistics;
};

tl::unexpected<Error> moved_on() {
  return fail(Code::kConflict, "another server sealed what was to be counted");
}

Blob blob_of(const std::string& bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
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
  Result<Content> content_of(std::int64_t slice, const std::set<SeriesId>& series);
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

Result<Content> SessionSlices::content_of(std::int64_t slice, const std::set<SeriesId>& series) {
  Content content;
  for (const SeriesId id : series) {
    content.blocks[id] = TRY(db_.number("SELECT blocks FROM series WHERE id = ?1", id)).value_or(0);
  }
  Statement row = TRY(db_.query(
      "SELECT id FROM row_groups WHERE session = ?1 AND slice = ?2 ORDER BY id", session_, slice));
  while (TRY(row.step())) content.row_groups.push_back(row.integer(0));
  return content;
}

// True when it was written.
Result<bool> SessionSlices::make(std::int64_t slice, const std::set<SeriesId>& series,
                                 const Stored& stored) {
  made_.clear();
  damaged_ = false;
  const Content content = TRY(content_of(slice, series));
  // Points of blocks arrived before those of row groups.
  for (const auto& [id, blocks] : content.blocks) TRY(add_blocks(id, blocks));
  for (const std::int64_t id : content.row_groups) TRY(add_row_group(slice, id));
  // Each statement may have seen a later state than the one before.
  if (db_.dialect().shared && TRY(content_of(slice, series)) != content) return moved_on();
  const bool good = stored.there && stored.statistics;
  if (good && (damaged_ || same(*stored.statistics, made_))) return false;
  if (!stored.there && made_.empty()) return false;
  TRY(write(slice, stored));
  return true;
}

Result<> SessionSlices::add_blocks(SeriesId id, std::int64_t blocks) {
  const auto take = [&](const StoredBlock& block) -> Result<> {
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
  return each_block(db_, id, take, {.session = session_, .first = 0, .end = blocks});
}

Result<> SessionSlices::add_row_group(std::int64_t slice, std::int64_t id) {
  Statement row = TRY(db_.query("SELECT data FROM row_groups WHERE id = ?1", id));
  if (!TRY(row.step())) return moved_on();
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
                           session_, slice, blob_of(data), Blob(stored.data)))
          : TRY(db_.number("INSERT INTO slices (session, slice, statistics) VALUES (?1, ?2, ?3) ON "
                           "CONFLICT (session, slice) DO NOTHING RETURNING slice",
                           session_, slice, blob_of(data)));
  if (!written) return moved_on();
  return {};
}

}  // namespace

Result<std::int64_t> rebuild_slices(Connection& db, Findings& findings, std::int64_t session,
                                    Slices which) {
  return SessionSlices(db, findings, session).run(which);
}

}  // namespace corral::store::maintain
