#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "metric/catalogue.h"
#include "store/maintain/check_parts.h"
#include "store/maintain/pyramid_maker.h"
#include "store/seal/levels.h"

namespace corral::store::maintain {
namespace {

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
  void found(const char* table, const std::string& what) {
    work_.findings.add_series(table, what, id_);
  }
  Result<> take(PyramidMaker& maker, const StoredBlock& block);
  Result<> compare(const MadeRow& made);

  CheckWork& work_;
  const SeriesId id_;
  const std::int64_t total_;  // blocks of the store
};

Result<> SeriesCheck::run() {
  std::int64_t blocks = 0;
  bool counter = false;
  {
    sql::Statement row =
        TRY(work_.db.query("SELECT blocks, kind, (SELECT count(*) FROM removals d WHERE "
                           "d.owner_kind = s.owner_kind AND d.owner = s.owner) FROM series s WHERE "
                           "s.id = ?1",
                           id_));
    if (!TRY(row.step()) || row.integer(2) > 0) return {};  // going
    blocks = row.integer(0);
    counter = row.integer(1) == static_cast<std::int64_t>(metric::Kind::kCounter);
  }
  PyramidMaker maker(counter, [&](const MadeRow& made) { return compare(made); });
  TRY(each_block(work_.db, id_, [&](const StoredBlock& block) { return take(maker, block); }));
  if (maker.blocks() != blocks)
    found("blocks", fmt::format("it has {} blocks, its row says {}", maker.blocks(), blocks));
  TRY(maker.finish());
  const auto rows =
      TRY(work_.db.number("SELECT count(*) FROM pyramid WHERE series = ?1", id_)).value_or(0);
  if (rows > maker.rows())
    found("pyramid", fmt::format("{} rows are of no block", rows - maker.rows()));
  return {};
}

Result<> SeriesCheck::take(PyramidMaker& maker, const StoredBlock& block) {
  TRY(work_.watch.at("blocks", work_.report.blocks++, total_));
  if (block.no != maker.blocks()) {
    found("blocks", block.no == maker.blocks() + 1
                        ? fmt::format("block {} is missing", maker.blocks())
                        : fmt::format("blocks {} to {} are missing", maker.blocks(), block.no - 1));
    if (block.no < maker.blocks() || block.no - maker.blocks() > kMostMissing) return {};
    while (maker.blocks() < block.no) TRY(maker.add_gap(0, 0));
  }
  if (block.problem.empty()) return maker.add(block);
  found("blocks", fmt::format("block {}: {}", block.no, block.problem));
  return maker.add_gap(0, 0);
}

Result<> SeriesCheck::compare(const MadeRow& made) {
  ++work_.report.pyramid_rows;
  const auto stored = sql::read_pyramid_row(work_.db, {id_, made.channel, made.tier, made.no});
  const std::string where = fmt::format(
      "{}row {} of tier {}", made.channel == Channel::kRate ? "rates, " : "", made.no, made.tier);
  if (!stored && stored.error().code == Code::kNotFound) {
    found("pyramid", where + " is missing");
  } else if (!stored && stored.error().code != Code::kCorruption &&
             stored.error().code != Code::kUnsupported) {
    return tl::unexpected(stored.error());
  } else if (!stored) {
    found("pyramid", where + ": " + stored.error().message);
  } else if (!same_row(*stored, made)) {
    found("pyramid", where + " does not agree with its blocks");
  }
  return {};
}

}  // namespace

Result<> check_series(CheckWork& work) {
  constexpr const char* kNext = "SELECT id FROM series WHERE id > ?1 ORDER BY id LIMIT 1000";
  TRY(work.snapshot.next_unit());
  const auto total =
      TRY(work.db.number("SELECT CAST(coalesce(sum(blocks), 0) AS BIGINT) FROM series"))
          .value_or(0);
  for (std::int64_t after = 0;;) {
    TRY(work.snapshot.next_unit());
    const auto keys = TRY(keys_after(work.db, kNext, after));
    if (keys.empty()) return {};
    after = keys.back();
    for (const std::int64_t id : keys) {
      ++work.report.series;
      TRY(work.unit([&] { return SeriesCheck(work, SeriesId{id}, total).run(); }));
    }
  }
}

}  // namespace corral::store::maintain
