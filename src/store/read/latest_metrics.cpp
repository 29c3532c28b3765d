#include "store/read/latest_metrics.h"

#include <algorithm>
#include <map>

#include "store/engine/keys.h"
#include "store/read/series_statistics.h"

namespace corral::store::sql {
namespace {

// Beyond, all is forgotten: a metric takes about 150 bytes.
constexpr std::size_t kMostBytes = 96u << 20;
// Up to this many runs are read one by one, more in one statement.
constexpr std::size_t kFew = 64;

std::size_t memory_size(const std::vector<LatestMetric>& metrics) {
  std::size_t bytes = sizeof metrics;
  for (const LatestMetric& metric : metrics) bytes += sizeof metric + metric.key.capacity();
  return bytes;
}

LatestMetric latest_metric(std::string name, const SeriesDelta& statistics) {
  const std::int64_t finite = statistics.points - statistics.nan;
  return {.key = std::move(name),
          .value = statistics.top.value,
          .step = statistics.top.step,
          .time = utc_time(statistics.top.time),
          .last = statistics.last,
          .min = statistics.min,
          .max = statistics.max,
          .mean = finite > 0 ? std::optional(statistics.sum / static_cast<double>(finite))
                             : std::nullopt};
}

}  // namespace

Result<LatestMetrics::Stamps> LatestMetrics::read_stamps(Connection& db,
                                                         std::span<const std::int64_t> runs) {
  Stamps stamps;
  if (runs.size() <= kFew) {
    for (const std::int64_t run : runs) {
      Statement row = TRY(db.query(
          "SELECT count(*), CAST(sum(durable_seq) AS BIGINT) FROM sessions WHERE run = ?1", run));
      if (TRY(row.step()))
        stamps[run] = {.sessions = row.integer(0), .numbers = row.maybe_integer(1).value_or(0)};
    }
    return stamps;
  }
  const auto [least, most] = std::ranges::minmax(runs);
  Statement row =
      TRY(db.query("SELECT run, count(*), CAST(sum(durable_seq) AS BIGINT) FROM sessions WHERE run "
                   "BETWEEN ?1 AND ?2 GROUP BY run",
                   least, most));
  while (TRY(row.step()))
    stamps[row.integer(0)] = {.sessions = row.integer(1), .numbers = row.integer(2)};
  return stamps;
}

Result<LatestMetrics::Read> LatestMetrics::read(Connection& db,
                                                std::span<const std::int64_t> runs) {
  struct Named {
    std::int64_t run;
    std::string name;
  };
  Feeds feeds;
  std::map<SeriesId, Named> series;
  // From the sessions on, in this order (SQLite keeps that of CROSS JOIN): what a session feeds
  // lies together. The series of a run are fed by its own sessions alone.
  TRY(for_rows_of(
      db,
      "SELECT m.session, m.local, m.slice, s.utc_minus_boot, x.id, x.name, x.owner FROM "
      "sessions s CROSS JOIN session_series m CROSS JOIN series x WHERE m.session = "
      "s.key AND x.id = m.series AND x.owner_kind = 0 AND x.source = '' AND {}",
      "s.run", runs, [&](const Statement& row) {
        const SeriesId id{row.integer(4)};
        add_feed(feeds, id, row, 0);
        if (!series.contains(id)) series.emplace(id, Named{row.integer(6), row.text(5)});
      }));
  Read all;
  for (const std::int64_t run : runs) all[run] = std::make_shared<std::vector<LatestMetric>>();
  for (const auto& [id, statistics] : TRY(read_statistics(db, caches_, feeds))) {
    Named& named = series.at(id);
    all.at(named.run)->push_back(latest_metric(std::move(named.name), statistics));
  }
  for (auto& [run, metrics] : all) std::ranges::sort(*metrics, {}, &LatestMetric::key);
  return all;
}

void LatestMetrics::remember(std::int64_t run, const Known& known) {
  const Lock lock(mutex_);
  if (bytes_ > kMostBytes) {
    known_.clear();
    bytes_ = 0;
  }
  Known& old = known_[run];
  if (old.metrics) bytes_ -= memory_size(*old.metrics);
  old = known;
  bytes_ += memory_size(*known.metrics);
}

Result<std::vector<RunMetrics>> LatestMetrics::of(Connection& db,
                                                  std::span<const std::int64_t> runs) {
  std::vector<RunMetrics> all(runs.size());
  if (runs.empty()) return all;
  Stamps stamps = TRY(read_stamps(db, runs));
  {
    const Lock lock(mutex_);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto known = known_.find(runs[i]);
      if (known != known_.end() && known->second.stamp == stamps[runs[i]])
        all[i] = known->second.metrics;
    }
  }
  std::vector<std::int64_t> missing;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!all[i]) missing.push_back(runs[i]);
  }
  std::unordered_map<std::int64_t, RunMetrics> fresh;
  for (std::span<const std::int64_t> left(missing); !left.empty();) {
    const auto some = left.first(std::min(kKeysAtOnce, left.size()));
    for (auto& [run, metrics] : TRY(read(db, some))) {
      remember(run, {.stamp = stamps[run], .metrics = metrics});
      fresh[run] = std::move(metrics);
    }
    left = left.subspan(some.size());
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!all[i]) all[i] = fresh.at(runs[i]);
  }
  return all;
}

}  // namespace corral::store::sql
