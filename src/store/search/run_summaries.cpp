#include "store/search/run_summaries.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "metric/catalogue.h"
#include "store/read/host_series.h"

namespace corral::store::tracking {
namespace {

std::optional<double> growth_rate(const Series& series) {
  const double seconds =
      (static_cast<double>(ns_of(series.last_time)) - static_cast<double>(ns_of(series.first))) /
      1e9;
  if (!series.last || !series.min || *series.last != *series.max || seconds <= 0)
    return std::nullopt;
  return (*series.last - *series.min) / seconds;
}

std::string rate_unit(const Series& series) {
  const metric::Metric* known = metric::find_metric(series.name);
  if (known != nullptr && !known->rate_unit.empty()) return std::string(known->rate_unit);
  return series.unit.empty() ? "1/s" : series.unit + "/s";
}

using Member = std::optional<double> MetricSummary::*;

// Sum of the sources that have the value.
std::optional<double> sum_values(std::span<const MetricSummary> all, Member member) {
  std::optional<double> sum;
  for (const MetricSummary& one : all) {
    if (one.*member) sum = sum.value_or(0) + *(one.*member);
  }
  return sum;
}

std::optional<double> mean_value(std::span<const MetricSummary> all, Member member) {
  const auto sum = sum_values(all, member);
  const auto n =
      std::ranges::count_if(all, [&](const auto& one) { return (one.*member).has_value(); });
  return sum ? std::optional(*sum / static_cast<double>(n)) : std::nullopt;
}

// The least, or of negated values the greatest.
template <class Better>
std::optional<double> best_value(std::span<const MetricSummary> all, Member member, Better better) {
  std::optional<double> best;
  for (const MetricSummary& one : all) {
    const auto& value = one.*member;
    if (value && (!best || better(*value, *best))) best = value;
  }
  return best;
}

// Series by owner's key and metric.
using Owned = std::map<std::pair<std::int64_t, std::string>, std::vector<Series>>;

Result<Owned> read_owned(sql::Reading& reading, metric::Owner owner,
                         const std::set<std::int64_t>& keys, const SummaryQuestion& question) {
  const std::vector<std::int64_t> list(keys.begin(), keys.end());
  Owned owned;
  auto found =
      TRY(sql::read_series_named(reading.db, reading.latest.caches(),
                                 {.owner = owner, .keys = list, .names = question.metrics}));
  for (sql::OwnedSeries& one : found) {
    if (question.source && one.series.source != *question.source) continue;
    auto& all = owned[{one.owner, one.series.name}];
    all.push_back(std::move(one.series));
  }
  return owned;
}

// Series of hosts that runs of a workload were on, by keys of workload and host, and by metric.
using WorkloadHost = std::pair<std::int64_t, std::int64_t>;
struct OfHosts {
  std::map<std::int64_t, std::vector<WorkloadHost>> places;  // by run's key
  std::map<std::pair<WorkloadHost, std::string>, std::vector<Series>> series;
};

Result<bool> any_of_hosts(sql::Connection& db, std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (TRY(db.number("SELECT 1 FROM hosts h JOIN series x ON x.owner_kind = 2 AND x.owner = h.key "
                      "AND x.name = ?1 LIMIT 1",
                      name)))
      return true;
  }
  return false;
}

Result<OfHosts> read_of_hosts(sql::Reading& reading, const RunTable& table,
                              const SummaryQuestion& question) {
  OfHosts all;
  if (!TRY(any_of_hosts(reading.db, question.metrics))) return all;
  for (const RunTable::Row& run : table.rows()) {
    for (const std::int64_t host : TRY(sql::hosts_of_run(reading.db, run.key)))
      all.places[run.key].emplace_back(run.workload, host);
  }
  std::set<WorkloadHost> places;
  for (const auto& [run, its] : all.places) places.insert(its.begin(), its.end());
  for (const WorkloadHost& place : places) {
    auto found = TRY(sql::read_host_series(
        reading.db, reading.latest.caches(),
        {.workload = place.first, .host = place.second, .names = question.metrics}));
    for (Series& one : found) {
      if (!question.source || one.source == *question.source)
        all.series[{place, one.name}].push_back(std::move(one));
    }
  }
  return all;
}

// Combines the series of all `owners`.
template <class Owner>
std::optional<MetricSummary> summary_in(
    const std::map<std::pair<Owner, std::string>, std::vector<Series>>& owned,
    std::span<const Owner> owners, const std::string& metric) {
  std::vector<const Series*> sources;
  for (const Owner& owner : owners) {
    const auto found = owned.find({owner, metric});
    if (found == owned.end()) continue;
    for (const Series& series : found->second) sources.push_back(&series);
  }
  return sources.empty() ? std::nullopt : std::optional(combined(sources));
}

}  // namespace

MetricSummary summary_of(const Series& series) {
  MetricSummary one;
  one.count = series.points - series.nan;
  one.sources = 1;
  one.shared = series.owner != metric::Owner::kRun;
  one.rate = series.kind == metric::Kind::kCounter;
  if (one.rate) {
    one.mean = growth_rate(series);
    one.unit = rate_unit(series);
    return one;
  }
  one.unit = series.unit;
  one.last = series.last;
  one.min = series.min;
  one.max = series.max;
  if (one.count > 0) one.mean = series.sum / static_cast<double>(one.count);
  return one;
}

MetricSummary combined(std::span<const Series* const> sources) {
  std::vector<MetricSummary> all;
  for (const Series* series : sources) all.push_back(summary_of(*series));
  MetricSummary one = all.front();
  if (all.size() == 1) return one;
  one.sources = static_cast<std::int64_t>(all.size());
  one.count = 0;
  for (const MetricSummary& source : all) one.count += source.count;
  if (sources.front()->aggregation != metric::Aggregation::kMean) {
    for (const Member member :
         {&MetricSummary::last, &MetricSummary::mean, &MetricSummary::min, &MetricSummary::max})
      one.*member = sum_values(all, member);
    return one;
  }
  one.last = mean_value(all, &MetricSummary::last);
  one.mean = mean_value(all, &MetricSummary::mean);
  one.min = best_value(all, &MetricSummary::min, std::less{});
  one.max = best_value(all, &MetricSummary::max, std::greater{});
  return one;
}

Result<RunSummaries> summarize(Reading& reading, const RunTable& table,
                               const SummaryQuestion& question) {
  std::set<std::int64_t> runs, workloads;
  for (const RunTable::Row& run : table.rows()) {
    runs.insert(run.key);
    workloads.insert(run.workload);
  }
  const Owned own = TRY(read_owned(reading, metric::Owner::kRun, runs, question));
  const Owned shared = TRY(read_owned(reading, metric::Owner::kWorkload, workloads, question));
  const OfHosts hosts = TRY(read_of_hosts(reading, table, question));
  RunSummaries all;
  all.reserve(table.rows().size());
  for (const RunTable::Row& run : table.rows()) {
    auto& of_run = all.emplace_back();
    for (const std::string& metric : question.metrics) {
      auto one = summary_in(own, std::span(&run.key, 1), metric);
      if (!one) one = summary_in(shared, std::span(&run.workload, 1), metric);
      const auto places = hosts.places.find(run.key);
      if (!one && places != hosts.places.end())
        one = summary_in(hosts.series, std::span<const WorkloadHost>(places->second), metric);
      of_run.push_back(std::move(one));
    }
  }
  return all;
}

// ---- overview
namespace {

using Kind = RunField::Kind;

Result<std::unordered_map<std::int64_t, WorkloadId>> workload_ids(sql::Connection& db,
                                                                  ExperimentId experiment) {
  std::unordered_map<std::int64_t, WorkloadId> ids;
  sql::Statement row = TRY(db.query(
      "SELECT DISTINCT w.key, w.id FROM runs r JOIN workloads w ON w.key = r.workload WHERE "
      "r.experiment = ?1",
      experiment));
  while (TRY(row.step())) ids.emplace(row.integer(0), row.id128<WorkloadId>(1));
  return ids;
}

}  // namespace

Result<std::vector<OverviewWorkload>> overview(Reading& reading, ExperimentId experiment,
                                               const std::string& metric) {
  RunTable table(reading);
  TRY(table.read({.experiments = {experiment}, .workloads = {}, .runs = {}}));
  const auto ids = TRY(workload_ids(reading, experiment));
  const auto& models = *TRY(table.texts({.kind = Kind::kModel, .key = ""}));
  const auto& names = *TRY(table.texts({.kind = Kind::kWorkload, .key = ""}));
  const auto& collocations = *TRY(table.texts({.kind = Kind::kCollocation, .key = ""}));
  RunSummaries values;
  if (!metric.empty())
    values = TRY(summarize(reading, table, {.metrics = {metric}, .source = std::nullopt}));
  std::vector<OverviewWorkload> all;
  std::unordered_map<std::int64_t, std::size_t> places;
  // The oldest run first.
  for (std::size_t i = table.rows().size(); i-- > 0;) {
    const RunTable::Row& run = table.rows()[i];
    const auto [place, fresh] = places.emplace(run.workload, all.size());
    if (fresh) {
      all.push_back({.id = ids.at(run.workload),
                     .name = names[i],
                     .collocation = collocations[i],
                     .runs = {}});
    }
    all[place->second].runs.push_back({.id = run.id,
                                       .name = run.name,
                                       .model = models[i],
                                       .status = run.status,
                                       .start = run.start,
                                       .end = run.end,
                                       .value = metric.empty() ? std::nullopt : values[i].front()});
  }
  std::ranges::reverse(all);
  return all;
}

}  // namespace corral::store::tracking
