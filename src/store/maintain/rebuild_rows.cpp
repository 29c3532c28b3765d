#include "store/maintain/rebuild_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "metric/catalogue.h"
#include "store/maintain/pyramid_maker.h"
#include "store/maintain/rebuild_series.h"
#include "store/seal/levels.h"
#include "store/seal/plan.h"

namespace corral::store::maintain {
namespace {

using codec::Bucket;
using codec::PyramidRow;
using sql::Connection;
using sql::PyramidKey;

constexpr auto kRowBuckets = static_cast<std::int64_t>(codec::kLowerBuckets);

class LastRows {
 public:
  LastRows(Connection& db, Findings& findings, SeriesId id)
      : db_(db), findings_(findings), id_(id) {}

  Result<> run() {
    if (!TRY(read_series())) return {};
    TRY(last_rows(Channel::kValue));
    if (counter_) TRY(last_rows(Channel::kRate));
    return db_.flush();
  }

 private:
  Result<bool> read_series();
  Result<> last_rows(Channel channel);
  Result<PyramidRow> good_row(const PyramidKey& key);
  Result<PyramidRow> from_blocks(const PyramidKey& key);
  Result<PyramidRow> from_rows(const PyramidKey& key);

  Connection& db_;
  Findings& findings_;
  const SeriesId id_;
  std::int64_t blocks_ = 0;
  bool counter_ = false;
  int made_ = 0;
};

// Its row is locked: a seal of another server waits, or was before this one looked.
Result<bool> LastRows::read_series() {
  sql::Statement row = TRY(db_.query(
      "SELECT blocks, kind FROM series WHERE id = ?1" + std::string(db_.dialect().lock_row), id_));
  if (!TRY(row.step())) return false;
  blocks_ = row.integer(0);
  counter_ = row.integer(1) == static_cast<std::int64_t>(metric::Kind::kCounter);
  return true;
}

Result<> LastRows::last_rows(Channel channel) {
  std::int64_t children = blocks_;
  for (int tier = 0; tier < codec::kPyramidTiers && children > 0; ++tier) {
    const std::int64_t most = tier == 0 ? kRowBlocks : kTierRows;
    TRY(good_row({id_, channel, tier, (children - 1) / most}));
    children /= most;
  }
  return {};
}

// Returns the stored row if it is good, else remakes and stores it.
Result<PyramidRow> LastRows::good_row(const PyramidKey& key) {
  const auto buckets = static_cast<std::size_t>(buckets_in_row(blocks_, key.tier, key.no));
  auto stored = sql::read_pyramid_row(db_, key);
  if (stored && stored->lower.size() == buckets && stored->upper.size() == buckets / codec::kFanOut)
    return stored;
  if (!stored && stored.error().code != Code::kNotFound && stored.error().code != Code::kCorruption)
    return stored;
  if (++made_ > kMostRows)
    return fail(Code::kCorruption,
                fmt::format("much of the pyramid of series {} is damaged: `corral store rebuild` "
                            "makes it anew",
                            id_.value));
  PyramidRow row = TRY(key.tier == 0 ? from_blocks(key) : from_rows(key));
  const std::string data = codec::encode_pyramid_row(row);
  TRY(db_.defer(
      "INSERT INTO pyramid (series, channel, tier, no, data) VALUES (?1, ?2, ?3, ?4, ?5) ON "
      "CONFLICT (series, channel, tier, no) DO UPDATE SET data = excluded.data",
      id_, key.channel, key.tier, key.no,
      sql::Blob(reinterpret_cast<const std::uint8_t*>(data.data()), data.size())));
  return row;
}

Result<PyramidRow> LastRows::from_blocks(const PyramidKey& key) {
  const std::int64_t first = key.no * kRowBlocks;
  const std::int64_t end = std::min(blocks_, first + kRowBlocks);
  // A rate begins with the last point of the block before.
  const std::int64_t from = key.channel == Channel::kRate && first > 0 ? first - 1 : first;
  PyramidRow row;
  const auto pick = [&](const MadeRow& made) -> Result<> {
    if (made.channel == key.channel && made.tier == 0 && made.no == key.no) row = made.row;
    return {};
  };
  PyramidMaker maker(counter_, pick, from);
  std::int64_t reached = 0;
  const auto gap = [&](const StoredBlock& block) -> Result<> {
    const std::int64_t t0 = block.times.empty() ? reached : block.times.front();
    reached = block.times.empty() ? reached : block.times.back();
    if (block.no >= first) TRY(tell_of_gap(db_, findings_, id_, block, t0));
    return maker.add_gap(t0, reached);
  };
  const auto fill = [&](std::int64_t next) -> Result<> {
    while (maker.blocks() < next) {
      StoredBlock missing;
      missing.no = maker.blocks();
      missing.problem = "it is missing";
      TRY(gap(missing));
    }
    return {};
  };
  const auto take = [&](const StoredBlock& block) -> Result<> {
    TRY(fill(block.no));
    if (!block.problem.empty()) return gap(block);
    reached = block.times.back();
    return maker.add(block);
  };
  TRY(each_block(db_, id_, take, {.session = {}, .first = from, .end = end}));
  TRY(fill(end));
  TRY(maker.finish());
  return row;
}

Result<PyramidRow> LastRows::from_rows(const PyramidKey& key) {
  PyramidRow row;
  const std::int64_t children = buckets_in_row(blocks_, key.tier, key.no) * kTierRows / kRowBuckets;
  for (std::int64_t child = 0; child < children; ++child) {
    const PyramidRow below =
        TRY(good_row({id_, key.channel, key.tier - 1, key.no * kTierRows + child}));
    const std::span<const Bucket> upper(below.upper);
    std::vector<Bucket> buckets;
    for (std::size_t i = 0; i < upper.size(); i += codec::kFanOut)
      buckets.push_back(codec::join_buckets(upper.subspan(i, codec::kFanOut)));
    codec::extend_row(row, buckets);
  }
  return row;
}

}  // namespace

Result<> rebuild_last_rows(Connection& db, Findings& findings, SeriesId id) {
  return LastRows(db, findings, id).run();
}

}  // namespace corral::store::maintain
