#include "store/maintain/repair.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codec/block/pyramid.h"
#include "metric/catalogue.h"
#include "store/maintain/rebuild.h"
#include "store/seal/levels.h"
#include "store/seal/plan.h"
#include "sys/clock.h"

namespace corral::store::maintain {
namespace {

using codec::PyramidRow;
using sql::Connection;
using sql::PyramidKey;

constexpr auto kRowBuckets = static_cast<std::int64_t>(codec::kLowerBuckets);

// If more rows of one series are to be made, it needs a rebuild.
constexpr int kMostRows = 64;

bool is_good(const Result<PyramidRow>& row, std::int64_t buckets) {
  const auto expected = static_cast<std::size_t>(buckets);
  return row && row->lower.size() == expected && row->upper.size() == expected / codec::kFanOut;
}

// Remakes, in the caller's transaction, the last row of every tier and channel of a series, which
// sealing reads and extends: from the tier below, or from the few blocks under them, so that the
// cost does not depend on the length of the series. Good rows stay as they are. kCorruption: there
// are more than kMostRows.
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
    const std::int64_t in_row = children_in_row(tier);
    TRY(good_row({id_, channel, tier, (children - 1) / in_row}));
    children /= in_row;
  }
  return {};
}

// Returns the stored row if it is good, else remakes and stores it.
Result<PyramidRow> LastRows::good_row(const PyramidKey& key) {
  auto stored = sql::read_pyramid_row(db_, key);
  if (is_good(stored, buckets_in_row(blocks_, key.tier, key.no))) return stored;
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
      id_, key.channel, key.tier, key.no, sql::to_blob(data)));
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
  BlockFeed feed(db_, findings_, id_, maker, first);
  TRY(each_block(db_, id_, [&](const StoredBlock& block) { return feed.add(block); },
                 {.session = {}, .first = from, .end = end}));
  TRY(feed.add_missing(end));
  TRY(maker.finish());
  return row;
}

Result<PyramidRow> LastRows::from_rows(const PyramidKey& key) {
  PyramidRow row;
  const std::int64_t children = buckets_in_row(blocks_, key.tier, key.no) * kTierRows / kRowBuckets;
  for (std::int64_t child = 0; child < children; ++child) {
    const PyramidRow below =
        TRY(good_row({id_, key.channel, key.tier - 1, key.no * kTierRows + child}));
    codec::extend_row(row, buckets_above(below));
  }
  return row;
}

// One tier of one channel.
struct Tier {
  Channel channel = Channel::kValue;
  int tier = 0;
  std::int64_t child_blocks = 1;  // under each of its rows' children
  std::int64_t children = kRowBlocks;
};

// Series of the session whose last row of this tier is not good go into `bad`. False: none has one.
Result<bool> find_bad_rows(sql::Connection& db, std::int64_t session, const Tier& tier,
                           std::set<SeriesId>& bad) {
  constexpr std::int64_t kPage = 256;
  std::int64_t after = -1;
  for (bool any = false;; any = true) {
    sql::Statement row = TRY(db.query(
        "SELECT m.local, s.id, s.blocks, p.no, p.data FROM session_series m JOIN series s ON s.id "
        "= "
        "m.series LEFT JOIN pyramid p ON p.series = s.id AND p.channel = ?3 AND p.tier = ?4 AND "
        "p.no = (s.blocks / ?5 - 1) / ?6 WHERE m.session = ?1 AND m.local > ?2 AND s.blocks >= ?5 "
        "AND (?3 = 0 OR s.kind = ?7) ORDER BY m.local LIMIT ?8",
        session, after, tier.channel, tier.tier, tier.child_blocks, tier.children,
        metric::Kind::kCounter, kPage));
    std::int64_t rows = 0;
    for (; TRY(row.step()); ++rows) {
      after = row.integer(0);
      const bool good =
          !row.is_null(3) && is_good(codec::decode_pyramid_row(row.blob(4)),
                                     buckets_in_row(row.integer(2), tier.tier, row.integer(3)));
      if (!good) bad.insert(SeriesId{row.integer(1)});
    }
    if (rows < kPage) return any || rows > 0;
  }
}

Result<std::set<SeriesId>> damaged_series(sql::Connection& db, std::int64_t session) {
  std::set<SeriesId> bad;
  for (const Channel channel : {Channel::kValue, Channel::kRate}) {
    Tier at{.channel = channel};
    for (; at.tier < codec::kPyramidTiers; ++at.tier) {
      if (!TRY(find_bad_rows(db, session, at, bad))) break;
      at.child_blocks *= at.children;
      at.children = kTierRows;
    }
  }
  return bad;
}

}  // namespace

Result<> repair_session(sql::Connection& db, std::int64_t session) {
  const BootTime until = sys::boot_now() + kRepairTime;
  Findings findings(db);
  TRY(rebuild_slices(db, findings, session, Slices::kUnreadable));
  for (const SeriesId series : TRY(damaged_series(db, session))) {
    auto done = LastRows(db, findings, series).run();
    // If too much of a series is damaged, the others are still repaired, and its seal reports the
    // damage.
    if (!done && done.error().code != Code::kCorruption) return done;
    if (sys::boot_now() >= until) break;
  }
  return {};
}

}  // namespace corral::store::maintain
