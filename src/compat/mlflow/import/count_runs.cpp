#include "compat/mlflow/import/count_runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "compat/mlflow/import/points.h"
#include "compat/mlflow/import/text.h"
#include "store/read/latest_metrics.h"

namespace corral::store::importing {
namespace {

constexpr std::size_t kRunsAtOnce = 64;

// The number of items that the store has for a run.
struct Found {
  bool there = false;
  RunCounts counts;
  sql::RunMetrics latest;
  std::int64_t points = 0;
};

std::int64_t number(const auto& list) { return static_cast<std::int64_t>(list.size()); }

Result<std::vector<Found>> find_rows(const Reader& store, std::span<const SourceRun* const> runs) {
  std::vector<Found> found;
  const Inspect look = [&](sql::Reading& reading) -> Result<> {
    found.assign(runs.size(), {});
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto key = TRY(reading.db.number("SELECT key FROM runs WHERE id = ?1", runs[i]->id));
      if (!key) continue;
      const auto details = TRY(tracking::details(reading.db, std::span(&*key, 1))).at(0);
      found[i] = {
          .there = true,
          .counts = {.params = number(details.params),
                     .tags = number(details.tags),
                     .datasets = number(details.inputs),
                     .models = number(details.model_inputs) + number(details.model_outputs)},
          .latest = TRY(reading.latest.of(reading.db, std::span(&*key, 1))).at(0)};
    }
    return {};
  };
  TRY(store.inspect(look));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!found[i].there) continue;
    for (const Series& series : TRY(store.series_of(runs[i]->id))) {
      if (series.owner == metric::Owner::kRun && series.source.empty())
        found[i].points += series.points;
    }
  }
  return found;
}

class Counting {
 public:
  explicit Counting(Source& source) : source_(source) {}

  Result<> add(const SourceRun& run, const RunCounts& wanted, const Found& found) {
    runs_.add(1, found.there ? 1 : 0, [&] { return run.text_id; });
    if (!found.there) return {};
    add(params_, run, wanted.params, found.counts.params);
    add(tags_, run, wanted.tags, found.counts.tags);
    add(datasets_, run, wanted.datasets, found.counts.datasets);
    add(models_, run, wanted.models, found.counts.models);
    add(points_, run, run.points, found.points);
    return source_.has("latest_metrics") ? add_latest(run, *found.latest) : Result<>();
  }
  std::vector<Count> take() {
    std::vector<Count> all{std::move(runs_), std::move(params_), std::move(tags_),
                           std::move(points_)};
    for (Count* count : {&latest_, &datasets_, &models_}) {
      if (count->source > 0) all.push_back(std::move(*count));
    }
    return all;
  }

 private:
  static void add(Count& count, const SourceRun& run, std::int64_t wanted, std::int64_t there) {
    count.add(wanted, there,
              [&] { return fmt::format("run {} has {} of {}", run.text_id, there, wanted); });
  }

  // The store's is the same, or newer where the source went on meanwhile.
  Result<> add_latest(const SourceRun& run, const std::vector<sql::LatestMetric>& latest) {
    using std::chrono::milliseconds;
    std::unordered_map<std::string_view, const sql::LatestMetric*> known;
    for (const auto& metric : latest) known.emplace(metric.key, &metric);
    sql::Statement row = TRY(source_.db().query(
        "SELECT key, step, \"timestamp\" FROM latest_metrics WHERE run_uuid = ?1", run.text_id));
    while (TRY(row.step())) {
      const auto metric = known.find(metric_name(row.text(0)));
      const std::pair wanted(row.integer(1), in_range_ms(row.integer(2)));
      const bool there =
          metric != known.end() &&
          std::pair(
              metric->second->step,
              std::chrono::floor<milliseconds>(metric->second->time).time_since_epoch().count()) >=
              wanted;
      latest_.add(1, there ? 1 : 0,
                  [&] { return fmt::format("{} of run {}", clean(row.text(0)), run.text_id); });
    }
    return {};
  }

  Source& source_;
  Count runs_{.what = "runs"}, params_{.what = "params"}, tags_{.what = "tags"},
      points_{.what = "points"}, latest_{.what = "latest values"},
      datasets_{.what = "datasets of runs"}, models_{.what = "models of runs"};
};

}  // namespace

Result<std::vector<Count>> count_runs(Source& source, const Reader& store,
                                      std::span<const SourceRun* const> runs,
                                      std::span<const RunCounts> wanted,
                                      const maintain::Watch& watch) {
  Counting counting(source);
  for (std::size_t at = 0; at < runs.size(); at += kRunsAtOnce) {
    const auto some = runs.subspan(at, std::min(kRunsAtOnce, runs.size() - at));
    TRY(watch.at("counting runs", static_cast<std::int64_t>(at), number(runs)));
    const auto found = TRY(find_rows(store, some));
    for (std::size_t i = 0; i < some.size(); ++i)
      TRY(counting.add(*some[i], wanted[at + i], found[i]));
  }
  return counting.take();
}

}  // namespace corral::store::importing
