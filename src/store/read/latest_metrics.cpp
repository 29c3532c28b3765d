#include "store/read/latest_metrics.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/limits.h"
#include "store/engine/keys.h"
#include "store/read/series_statistics.h"

namespace corral::store::sql {
namespace {

// Beyond, all is forgotten: a metric takes about 150 bytes.
constexpr std::size_t kMostBytes = 96u << 20;
// Up to this many runs are read one by one, more in one statement.
constexpr std::size_t kFew = 64;
// An entry of a table, beside its value.
constexpr std::size_t kEntryBytes = 32;

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

std::optional<LatestMetric> copy_of(const LatestMetric* metric) {
  return metric != nullptr ? std::optional(*metric) : std::nullopt;
}

}  // namespace

const LatestMetric* find_metric(const std::vector<LatestMetric>& metrics, std::string_view name) {
  const auto found = std::ranges::lower_bound(metrics, name, {}, &LatestMetric::key);
  return found != metrics.end() && found->key == name ? &*found : nullptr;
}

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

// The series of a run are fed by its own sessions alone. All metrics are read from the sessions on
// (SQLite keeps the order of CROSS JOIN), because what a session feeds lies together; one is found
// by its name.
Result<LatestMetrics::Read> LatestMetrics::read(Connection& db, std::span<const std::int64_t> runs,
                                                const std::string* name) {
  constexpr std::string_view kColumns =
      "SELECT m.session, m.local, m.slice, s.utc_minus_boot, x.id, x.name, x.owner FROM ";
  constexpr std::string_view kAll =
      "sessions s CROSS JOIN session_series m CROSS JOIN series x WHERE m.session = s.key AND "
      "x.id = m.series AND x.owner_kind = 0 AND x.source = '' AND ";
  constexpr std::string_view kNamed =
      "series x CROSS JOIN session_series m CROSS JOIN sessions s WHERE m.series = x.id AND "
      "s.key = m.session AND x.owner_kind = 0 AND x.source = '' AND ";
  struct Named {
    std::int64_t run;
    std::string name;
  };
  Feeds feeds;
  std::map<SeriesId, Named> series;
  const auto take = [&](const Statement& row) {
    const SeriesId id{row.integer(4)};
    add_feed(feeds, id, row, 0);
    if (!series.contains(id)) series.emplace(id, Named{row.integer(6), row.text(5)});
  };
  if (name == nullptr) {
    TRY(for_rows_of(db, fmt::format("{}{}{{}}", kColumns, kAll), "s.run", runs, take));
  } else {
    Statement row = TRY(db.query(fmt::format("{}{}x.owner IN {} AND x.name = ?{}", kColumns, kNamed,
                                             parameter_list(1, kKeysAtOnce), kKeysAtOnce + 1)));
    bind_list(row, 1, kKeysAtOnce, runs);
    row.set(kKeysAtOnce + 1, *name);
    while (TRY(row.step())) take(row);
  }
  Read all;
  for (const std::int64_t run : runs) all[run] = std::make_shared<std::vector<LatestMetric>>();
  for (const auto& [id, statistics] : TRY(read_statistics(db, caches_, feeds))) {
    Named& named = series.at(id);
    all.at(named.run)->push_back(latest_metric(std::move(named.name), statistics));
  }
  for (auto& [run, metrics] : all) std::ranges::sort(*metrics, {}, &LatestMetric::key);
  return all;
}

void LatestMetrics::make_room() {
  if (bytes_ <= kMostBytes) return;
  known_.clear();
  columns_.clear();
  bytes_ = 0;
}

void LatestMetrics::remember(std::int64_t run, const Known& known) {
  const Lock lock(mutex_);
  make_room();
  Known& old = known_[run];
  if (old.metrics) bytes_ -= memory_size(*old.metrics);
  old = known;
  bytes_ += memory_size(*known.metrics);
}

void LatestMetrics::remember(const std::string& name, std::int64_t run, const KnownOne& known) {
  const Lock lock(mutex_);
  make_room();
  const auto [column, fresh] = columns_.try_emplace(name);
  if (fresh) bytes_ += sizeof(Column) + name.size() + kEntryBytes;
  if (column->second.insert_or_assign(run, known).second) bytes_ += sizeof known + kEntryBytes;
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
    for (auto& [run, metrics] : TRY(read(db, some, nullptr))) {
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

Result<std::vector<std::optional<LatestMetric>>> LatestMetrics::named(
    Connection& db, std::span<const std::int64_t> runs, const std::string& name) {
  std::vector<std::optional<LatestMetric>> all(runs.size());
  if (name.size() > limits::kNameBytes) return all;  // no series has such a name
  if (runs.size() <= kFew) {
    const auto metrics = TRY(of(db, runs));
    for (std::size_t i = 0; i < runs.size(); ++i) all[i] = copy_of(find_metric(*metrics[i], name));
    return all;
  }
  Stamps stamps = TRY(read_stamps(db, runs));
  std::vector<std::int64_t> missing;
  std::unordered_map<std::int64_t, std::size_t> places;
  {
    const Lock lock(mutex_);
    static const Column none;
    const auto asked = columns_.find(name);
    const Column& column = asked != columns_.end() ? asked->second : none;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto known = known_.find(runs[i]);
      const auto one = column.find(runs[i]);
      if (known != known_.end() && known->second.stamp == stamps[runs[i]]) {
        all[i] = copy_of(find_metric(*known->second.metrics, name));
      } else if (one != column.end() && one->second.stamp == stamps[runs[i]]) {
        all[i] = one->second.metric;
      } else {
        missing.push_back(runs[i]);
        places.emplace(runs[i], i);
      }
    }
  }
  for (std::span<const std::int64_t> left(missing); !left.empty();) {
    const auto some = left.first(std::min(kKeysAtOnce, left.size()));
    for (const auto& [run, metrics] : TRY(read(db, some, &name))) {
      auto& metric = all[places.at(run)];
      metric = copy_of(find_metric(*metrics, name));
      if (metric) metric->key.clear();  // it is the column's
      remember(name, run, {.stamp = stamps[run], .metric = metric});
    }
    left = left.subspan(some.size());
  }
  return all;
}

}  // namespace corral::store::sql
