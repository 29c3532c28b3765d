#include "store/maintain/repair.h"

#include <set>
#include <string>

#include "codec/block/pyramid.h"
#include "metric/catalogue.h"
#include "store/maintain/rebuild_rows.h"
#include "store/maintain/rebuild_slices.h"
#include "store/seal/plan.h"
#include "sys/clock.h"

namespace corral::store::maintain {
namespace {

// One tier of one channel.
struct Tier {
  Channel channel = Channel::kValue;
  int tier = 0;
  std::int64_t child_blocks = 1;  // under each of its rows' children
  std::int64_t children = kRowBlocks;
};

bool is_good(sql::Blob data, std::int64_t buckets) {
  const auto row = codec::decode_pyramid_row(data);
  const auto wanted = static_cast<std::size_t>(buckets);
  return row && row->lower.size() == wanted && row->upper.size() == wanted / codec::kFanOut;
}

// Series of the session whose last row of this tier is not good go into `bad`. False: none has one.
Result<bool> look_at(sql::Connection& db, std::int64_t session, const Tier& tier,
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
          !row.is_null(3) &&
          is_good(row.blob(4), buckets_in_row(row.integer(2), tier.tier, row.integer(3)));
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
      if (!TRY(look_at(db, session, at, bad))) break;
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
    auto done = rebuild_last_rows(db, findings, series);
    // If too much of a series is damaged, the others are still repaired, and its seal reports the
    // damage.
    if (!done && done.error().code != Code::kCorruption) return done;
    if (sys::boot_now() >= until) break;
  }
  return {};
}

}  // namespace corral::store::maintain
