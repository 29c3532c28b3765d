#include "store/read/host_series.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "store/read/reads.h"
#include "store/read/series_statistics.h"

namespace corral::store::sql {
namespace {

constexpr int kSeriesBits = 29;
constexpr int kWorkloadBits = 23;
constexpr std::int64_t kPart = std::int64_t{1} << (kSeriesBits + kWorkloadBits);
constexpr std::int64_t kSlack = Nanos(std::chrono::seconds(1)).count();
// Blocks of one bucket of level 4, which is the lower level of tier 2.
constexpr std::int64_t kBlocksAtOnce = 8;
constexpr std::int64_t kBucketsOfRow = codec::kLowerBuckets;

TimeRange hull(const Window& window) {
  return {.from = window.front().from, .to = window.back().to};
}

SeriesDelta delta_from_bucket(const codec::Bucket& bucket) {
  SeriesDelta delta;
  delta.points = bucket.count;
  delta.nan = bucket.not_finite();
  delta.first_time = bucket.t0;
  delta.last_time = bucket.t1;
  if (bucket.count == bucket.not_finite()) return delta;
  delta.value_time = bucket.t1;
  delta.last = bucket.last;
  delta.min = bucket.min;
  delta.max = bucket.max;
  delta.sum = bucket.sum;
  return delta;
}

// Rows that cannot be read count for nothing.
Result<SeriesDelta> delta_from_blocks(PointView& view, SeriesId id, std::int64_t first) {
  const std::int64_t no = first / kBlocksAtOnce;
  const auto row = view.pyramid(id, Channel::kValue, 2, no / kBucketsOfRow);
  const auto index = static_cast<std::size_t>(no % kBucketsOfRow);
  if (row && index < (*row)->lower.size()) return delta_from_bucket((*row)->lower[index]);
  SeriesDelta delta;
  std::vector<std::int64_t> times(codec::kColumnEntries);
  std::vector<double> values(codec::kColumnEntries);
  for (std::int64_t block = first; block < first + kBlocksAtOnce; ++block) {
    const auto read = view.block(id, block);
    if (!read && read.error().code != Code::kCorruption) return tl::unexpected(read.error());
    if (!read || !(*read)->times(0, times) || !(*read)->values(0, values)) continue;
    for (std::size_t i = 0; i < times.size(); ++i) delta.add(times[i], std::nullopt, values[i]);
  }
  return delta;
}

Result<SeriesDelta> exact_statistics(PointView& view, SeriesId id) {
  SeriesDelta all;
  for (std::int64_t block = 0; block < view.block_count(id); block += kBlocksAtOnce) {
    const SeriesDelta some = TRY(delta_from_blocks(view, id, block));
    if (some.points > 0) all.add(some);
  }
  for (const Chunk& chunk : view.recent(id)) {
    for (std::size_t i = 0; i < chunk.values.size(); ++i)
      all.add((*chunk.times)[i], std::nullopt, chunk.values[i]);
  }
  return all;
}

Result<Feeds> feeds_within(Connection& db, std::span<const Series> series, const TimeRange& range) {
  Feeds feeds;
  for (const Series& one : series) {
    Statement row = TRY(db.query(
        "SELECT m.session, m.local, m.slice, s.utc_minus_boot FROM session_series m JOIN sessions "
        "s ON s.key = m.session LEFT JOIN runs r ON r.key = s.run WHERE m.series = ?1" +
            std::string(kFeedsWithin),
        one.id, range.from, range.to));
    while (TRY(row.step())) add_feed(feeds, one.id, row, 0);
  }
  return feeds;
}

// Gives series of one host their statistics within the workload's window and the ids of its parts;
// series without points are dropped. Points are read if sessions measured before or after the
// window.
Result<> cut_to_window(Connection& db, Caches& caches, const HostQuestion& place,
                       std::vector<Series>& all) {
  const Window window = TRY(read_window(db, place.workload, place.host));
  if (window.empty()) all.clear();
  if (all.empty()) return {};
  const TimeRange range = hull(window);
  const Feeds feeds = TRY(feeds_within(db, all, range));
  const auto whole = TRY(read_statistics(db, caches, feeds));
  std::vector<SeriesId> cut;
  for (Series& one : all) {
    const auto known = whole.find(one.id);
    const auto id = part_series_id({.series = one.id, .workload = place.workload});
    if (known == whole.end() || !id) continue;
    one.id = *id;
    const SeriesDelta& statistics = known->second;
    if (window.size() == 1 && range.covers(statistics.first_time, statistics.last_time)) {
      set_statistics(one, statistics);
    } else {
      cut.push_back(one.id);
    }
  }
  if (!cut.empty()) {
    const auto view = TRY(open_view(db, caches, cut));
    for (Series& one : all) {
      if (std::ranges::find(cut, one.id) != cut.end())
        set_statistics(one, TRY(exact_statistics(*view, one.id)));
    }
  }
  std::erase_if(all, [](const Series& one) { return one.points == 0; });
  return {};
}

constexpr std::string_view kOfHost =
    ", owner, (SELECT h.name FROM hosts h WHERE h.key = owner) AS host_name FROM series WHERE "
    "owner_kind = 2 AND NOT EXISTS (SELECT 1 FROM removals d WHERE d.owner_kind = 2 AND d.owner = "
    "series.owner) AND ";

Series host_series_from_row(const Statement& row, std::string workload) {
  Series series = series_from_row(row, std::move(workload));
  series.host = row.text(8);
  return series;
}

Result<std::string> workload_id(Connection& db, std::int64_t key) {
  Statement row = TRY(db.query("SELECT id FROM workloads WHERE key = ?1", key));
  return TRY(row.step()) ? row.id128<WorkloadId>(0).hex() : std::string();
}

}  // namespace

std::optional<SeriesId> part_series_id(const HostPart& part) {
  const std::int64_t series = part.series.value;
  if (series >> kSeriesBits != 0 || part.workload >> kWorkloadBits != 0) return std::nullopt;
  return SeriesId{kPart | part.workload << kSeriesBits | series};
}

std::optional<HostPart> parse_host_part(SeriesId id) {
  if ((id.value & kPart) == 0) return std::nullopt;
  const std::int64_t rest = id.value & ~kPart;
  return HostPart{.series = SeriesId{rest & ((std::int64_t{1} << kSeriesBits) - 1)},
                  .workload = rest >> kSeriesBits};
}

Result<Window> read_window(Connection& db, std::int64_t workload, std::int64_t host) {
  constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max() - kSlack;
  Window window;
  // A member that nobody saw end ended with its run, or before the next attempt.
  Statement row = TRY(db.query(
      "SELECT started, ended, newest, status FROM runs r WHERE workload = ?1 AND machine = ?2 AND "
      "NOT EXISTS (SELECT 1 FROM members m WHERE m.run = r.key) UNION ALL SELECT m.started, "
      "coalesce(m.ended, (SELECT min(n.started) FROM members n WHERE n.run = m.run AND n.attempt > "
      "m.attempt), r.ended), r.newest, r.status FROM members m JOIN runs r ON r.key = m.run WHERE "
      "r.workload = ?1 AND m.machine = ?2 ORDER BY 1",
      workload, host));
  while (TRY(row.step())) {
    const bool runs = static_cast<RunStatus>(row.integer(3)) == RunStatus::kRunning;
    const std::int64_t end = !row.is_null(1) ? row.integer(1) : runs ? kOpen : row.integer(2);
    const TimeRange range{.from = row.integer(0) - kSlack, .to = end + kSlack};
    if (!window.empty() && window.back().meets(range.from, range.to)) {
      window.back().to = std::max(window.back().to, range.to);
    } else {
      window.push_back(range);
    }
  }
  return window;
}

Result<std::vector<std::int64_t>> hosts_of_run(Connection& db, std::int64_t run) {
  return db.numbers(
      "SELECT machine FROM runs WHERE key = ?1 AND machine IS NOT NULL UNION SELECT machine FROM "
      "members WHERE run = ?1 AND machine IS NOT NULL ORDER BY 1",
      run);
}

Result<std::vector<Series>> read_host_series(Connection& db, Caches& caches,
                                             const HostQuestion& question) {
  std::vector<Series> series;
  const std::string workload = TRY(workload_id(db, question.workload));
  {
    Statement row = TRY(db.query(
        std::string(kSeriesColumns) + std::string(kOfHost) + "owner = ?1 ORDER BY name, source",
        question.host));
    while (TRY(row.step())) {
      Series one = host_series_from_row(row, workload);
      if (question.names.empty() ||
          std::ranges::find(question.names, one.name) != question.names.end())
        series.push_back(std::move(one));
    }
  }
  TRY(cut_to_window(db, caches, question, series));
  return series;
}

Result<std::vector<Series>> read_host_parts(Connection& db, Caches& caches,
                                            std::span<const HostPart> parts) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Series>> groups;
  for (const HostPart& part : parts) {
    const std::string workload = TRY(workload_id(db, part.workload));
    Statement row =
        TRY(db.query(std::string(kSeriesColumns) + std::string(kOfHost) + "id = ?1", part.series));
    if (TRY(row.step()))
      groups[{part.workload, row.integer(7)}].push_back(host_series_from_row(row, workload));
  }
  std::map<SeriesId, Series> found;
  for (auto& [place, series] : groups) {
    TRY(cut_to_window(db, caches, {.workload = place.first, .host = place.second}, series));
    for (Series& one : series) found[one.id] = std::move(one);
  }
  std::vector<Series> series;
  for (const HostPart& part : parts) {
    const auto id = part_series_id(part);
    const auto known = id ? found.find(*id) : found.end();
    if (known != found.end()) series.push_back(known->second);
  }
  return series;
}

}  // namespace corral::store::sql
