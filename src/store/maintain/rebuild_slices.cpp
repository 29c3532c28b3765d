#include "store/maintain/rebuild_slices.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "codec/block/row_group.h"
#include "store/maintain/stored_blocks.h"
#include "store/seal/slice_statistics.h"

namespace corral::store::maintain {
namespace {

using sql::Blob;
using sql::Connection;
using sql::Statement;

// But for sums, whose rounding depends on the order.
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

class SessionSlices {
 public:
  SessionSlices(Connection& db, Findings& findings, std::int64_t session)
      : db_(db), findings_(findings), session_(session) {}

  Result<std::int64_t> run() {
    TRY(read_series());
    for (const auto& [slice, series] : slices_) {
      for (const SeriesId id : series) TRY(add_blocks(slice, id));
      TRY(add_row_groups(slice));
    }
    std::int64_t written = 0;
    for (const auto& [slice, series] : slices_) {
      if (TRY(write(slice))) ++written;
    }
    return written;
  }

 private:
  Result<> read_series();
  Result<> add_blocks(std::int64_t slice, SeriesId id);
  Result<> add_row_groups(std::int64_t slice);
  Result<bool> write(std::int64_t slice);

  Connection& db_;
  Findings& findings_;
  const std::int64_t session_;
  std::map<std::int64_t, std::set<SeriesId>> slices_;
  std::map<std::int64_t, SliceStatistics> made_;
  std::set<std::int64_t> damaged_;
};

Result<> SessionSlices::read_series() {
  Statement row = TRY(
      db_.query("SELECT slice, series FROM session_series WHERE session = ?1 AND slice IS NOT NULL",
                session_));
  while (TRY(row.step())) slices_[row.integer(0)].insert(SeriesId{row.integer(1)});
  return {};
}

// Blocks hold what arrived before the row groups.
Result<> SessionSlices::add_blocks(std::int64_t slice, SeriesId id) {
  const auto take = [&](const StoredBlock& block) -> Result<> {
    if (!block.problem.empty()) {
      damaged_.insert(slice);
      return {};
    }
    const codec::SamplingGroup group{.times = block.times,
                                     .steps = block.steps,
                                     .columns = {{.series = id, .values = block.values}}};
    add_groups(made_[slice], std::span(&group, 1));
    return {};
  };
  return each_block(db_, id, take, session_);
}

Result<> SessionSlices::add_row_groups(std::int64_t slice) {
  std::vector<std::int64_t> rows;
  {
    Statement row =
        TRY(db_.query("SELECT id FROM row_groups WHERE session = ?1 AND slice = ?2 ORDER BY id",
                      session_, slice));
    while (TRY(row.step())) rows.push_back(row.integer(0));
  }
  for (const std::int64_t id : rows) {
    Statement row = TRY(db_.query("SELECT data FROM row_groups WHERE id = ?1", id));
    if (!TRY(row.step())) continue;
    const auto groups = codec::decode_row_group(row.blob(0));
    if (groups) {
      add_groups(made_[slice], *groups);
      continue;
    }
    damaged_.insert(slice);
    findings_.add_session("row_groups",
                          fmt::format("row {} of slice {}: {}", id, slice, groups.error().message),
                          session_);
  }
  return {};
}

Result<bool> SessionSlices::write(std::int64_t slice) {
  {
    Statement row = TRY(db_.query("SELECT statistics FROM slices WHERE session = ?1 AND slice = ?2",
                                  session_, slice));
    const bool there = TRY(row.step());
    const auto known = there ? decode_statistics(row.blob(0)) : Result<SliceStatistics>();
    const bool good = there && known.has_value();
    if (good && (damaged_.contains(slice) || same(*known, made_[slice]))) return false;
    if (!there && made_[slice].empty()) return false;
  }
  const std::string data = encode_statistics(made_[slice]);
  TRY(db_.exec(
      "INSERT INTO slices (session, slice, statistics) VALUES (?1, ?2, ?3) ON CONFLICT "
      "(session, slice) DO UPDATE SET statistics = excluded.statistics",
      session_, slice, Blob(reinterpret_cast<const std::uint8_t*>(data.data()), data.size())));
  return true;
}

}  // namespace

Result<std::int64_t> rebuild_slices(Connection& db, Findings& findings, std::int64_t session) {
  return SessionSlices(db, findings, session).run();
}

}  // namespace corral::store::maintain
