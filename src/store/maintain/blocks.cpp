#include "store/maintain/blocks.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "codec/block/column.h"
#include "store/seal/plan.h"

namespace corral::store::maintain {
namespace {

using codec::Bucket;
using codec::kBucketPoints;
using sql::Blob;
using Buckets = std::array<Bucket, kBlockBuckets>;

constexpr std::int64_t kPage = 64;

struct Raw {
  std::int64_t no = 0, session = 0;
  bool has_times = false;
  std::int64_t times_session = 0;
  std::vector<std::uint8_t> times, values;
};

template <class T>
Result<std::vector<T>> whole(std::span<const std::uint8_t>& bytes) {
  const auto reader = TRY(codec::ColumnReader<T>::open(bytes));
  if (reader.entries() != codec::kColumnEntries)
    return fail(Code::kCorruption, "it has not 8,192 points");
  bytes = bytes.subspan(reader.bytes());
  return reader.read_all();
}

Result<> decode_times(const Raw& raw, StoredBlock& block) {
  if (!raw.has_times) return fail(Code::kCorruption, "its times are missing");
  std::span<const std::uint8_t> bytes(raw.times);
  block.times = TRY(whole<std::int64_t>(bytes));
  if (!bytes.empty()) block.steps = TRY(whole<std::int64_t>(bytes));
  if (!bytes.empty()) return fail(Code::kCorruption, "bytes behind its times");
  if (!std::ranges::is_sorted(block.times))
    return fail(Code::kCorruption, "its times do not ascend");
  if (raw.times_session != raw.session)
    return fail(Code::kCorruption, "its times are another session's");
  return {};
}

Result<> decode_values(const Raw& raw, StoredBlock& block) {
  std::span<const std::uint8_t> bytes(raw.values);
  block.values = TRY(whole<double>(bytes));
  if (!bytes.empty()) return fail(Code::kCorruption, "bytes behind its values");
  return {};
}

StoredBlock decode(const Raw& raw) {
  StoredBlock block{
      .no = raw.no, .session = raw.session, .problem = {}, .times = {}, .steps = {}, .values = {}};
  if (const auto times = decode_times(raw, block); !times) {
    block.problem = times.error().message;
    block.times.clear();
    block.steps.clear();
  }
  if (const auto values = decode_values(raw, block); !values) {
    if (block.problem.empty()) block.problem = values.error().message;
    block.values.clear();
  }
  return block;
}

Raw raw_block(const sql::Statement& row) {
  const Blob times = row.blob(3), values = row.blob(4);
  return {.no = row.integer(0),
          .session = row.integer(1),
          .has_times = !row.is_null(3),
          .times_session = row.integer(2),
          .times = {times.begin(), times.end()},
          .values = {values.begin(), values.end()}};
}

}  // namespace

Result<> each_block(sql::Connection& db, SeriesId series,
                    const std::function<Result<>(const StoredBlock&)>& visit,
                    const BlockRange& range) {
  for (std::int64_t next = range.first;;) {
    const auto page = TRY(sql::read_all(
        db.query("SELECT b.no, b.session, t.session, t.data, b.data FROM blocks b LEFT JOIN "
                 "block_times t ON t.id = b.times WHERE b.series = ?1 AND b.no >= ?2 AND (?4 IS "
                 "NULL OR b.session = ?4) AND b.no < ?5 ORDER BY b.no LIMIT ?3",
                 series, next, kPage, range.session, range.end),
        raw_block));
    if (page.empty()) return {};
    next = page.back().no + 1;
    for (const Raw& raw : page) TRY(visit(decode(raw)));
  }
}

Result<> PyramidMaker::add(const StoredBlock& block) {
  if (counter_) TRY(add_rates(block));
  const Buckets buckets = buckets_of_block(block.times, block.steps, block.values);
  TRY(extend(Channel::kValue, 0, blocks_, {.buckets = buckets, .vague = false}));
  ++blocks_;
  session_ = block.session;
  ended_finite_ = std::isfinite(block.values.back());
  return {};
}

Result<> PyramidMaker::add_rates(const StoredBlock& block) {
  const bool goes_on = session_ == block.session;
  if (!goes_on) rates_.start_after(std::nullopt);
  std::vector<double> rates(block.values.size());
  for (std::size_t i = 0; i < rates.size(); ++i)
    rates[i] = rates_.next(block.times[i], block.values[i]);
  const Buckets buckets = buckets_of_block(block.times, block.steps, rates);
  // After a gap the last value before it is unknown.
  const bool vague = (goes_on && !ended_finite_) || (!session_ && blocks_ > 0);
  return extend(Channel::kRate, 0, blocks_, {.buckets = buckets, .vague = vague});
}

Result<> PyramidMaker::add_gap(std::int64_t t0, std::int64_t t1) {
  Buckets buckets;
  for (Bucket& bucket : buckets) {
    bucket.count = bucket.nan = kBucketPoints;
    bucket.t0 = t0;
    bucket.t1 = t1;
  }
  const Children children{.buckets = buckets, .vague = true};
  if (counter_) TRY(extend(Channel::kRate, 0, blocks_, children));
  TRY(extend(Channel::kValue, 0, blocks_, children));
  ++blocks_;
  session_.reset();
  return {};
}

Result<> PyramidMaker::extend(Channel channel, int tier, std::int64_t child,
                              const Children& children) {
  if (tier == codec::kPyramidTiers) return {};
  MadeRow& open = open_[{channel, tier}];
  open.channel = channel;
  open.tier = tier;
  open.no = child / children_in_row(tier);
  open.vague = open.vague || children.vague;
  codec::extend_row(open.row, children.buckets);
  if ((child + 1) % children_in_row(tier) != 0) return {};
  const MadeRow full = std::move(open);
  open_.erase({channel, tier});
  TRY(store_row(full));
  return extend(channel, tier + 1, full.no,
                {.buckets = buckets_above(full.row), .vague = full.vague});
}

Result<> PyramidMaker::store_row(const MadeRow& row) {
  ++rows_;
  return store_(row);
}

Result<> PyramidMaker::finish() {
  for (const auto& [key, row] : open_) TRY(store_row(row));
  open_.clear();
  return {};
}

}  // namespace corral::store::maintain
