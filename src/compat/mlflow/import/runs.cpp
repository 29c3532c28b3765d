#include "compat/mlflow/import/runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <unordered_map>

#include "compat/mlflow/import/points.h"
#include "compat/radt/radt.h"
#include "core/sha256.h"
#include "store/read/latest_metrics.h"
#include "store/search/runs.h"

namespace corral::store::importing {
namespace {

using sql::Connection;
using sql::Statement;
using tracking::ClientStatus;
using tracking::Tags;

// Ids of 32 hex digits stay; others, which no client of today makes, become one.
RunId run_id_from(std::string_view text) {
  if (auto id = RunId::parse(text)) return *id;
  const Sha256 hash = sha256("mlflow run " + std::string(text));
  RunId id;
  std::memcpy(id.bytes.data(), hash.data(), id.bytes.size());
  return id;
}

ClientStatus parse_status(std::string_view text) {
  if (text == "SCHEDULED") return ClientStatus::kScheduled;
  if (text == "FINISHED") return ClientStatus::kFinished;
  if (text == "FAILED") return ClientStatus::kFailed;
  if (text == "KILLED") return ClientStatus::kKilled;
  return ClientStatus::kRunning;
}

UtcTime time_from_ms(std::int64_t ms) { return utc_time(in_range_ms(ms) * 1'000'000); }

struct RunData {
  const SourceRun* run = nullptr;
  ExperimentId experiment;
  Tags params, tags;
  std::vector<tracking::RunInput> inputs;
  std::vector<tracking::RunModel> models_in, models_out;
};

Result<Tags> read_pairs(Source& source, const char* table, const std::string& run) {
  Tags pairs;
  Statement row = TRY(source.db().query(
      fmt::format("SELECT key, value FROM {} WHERE run_uuid = ?1 ORDER BY key", table), run));
  while (TRY(row.step())) pairs.emplace_back(clean(row.text(0)), clean(row.text(1)));
  return pairs;
}

Result<std::vector<tracking::RunInput>> read_inputs(Source& source, const std::string& run) {
  std::vector<tracking::RunInput> inputs;
  if (!source.has("inputs") || !source.has("datasets")) return inputs;
  std::vector<std::string> ids;
  {
    Statement row = TRY(source.db().query(
        "SELECT i.input_uuid, d.name, d.digest, d.dataset_source_type, d.dataset_source, "
        "d.dataset_schema, d.dataset_profile FROM inputs i JOIN datasets d ON d.dataset_uuid = "
        "i.source_id WHERE i.source_type = 'DATASET' AND i.destination_type = 'RUN' AND "
        "i.destination_id = ?1 ORDER BY i.input_uuid",
        run));
    while (TRY(row.step())) {
      ids.push_back(row.text(0));
      inputs.push_back({.name = clean(row.text(1)),
                        .digest = clean(row.text(2)),
                        .source_type = clean(row.text(3)),
                        .source = clean(row.text(4)),
                        .schema = clean(row.text(5)),
                        .profile = clean(row.text(6)),
                        .tags = {}});
    }
  }
  for (std::size_t i = 0; i < ids.size() && source.has("input_tags"); ++i) {
    Statement row = TRY(source.db().query(
        "SELECT name, value FROM input_tags WHERE input_uuid = ?1 ORDER BY name", ids[i]));
    while (TRY(row.step())) inputs[i].tags.emplace_back(clean(row.text(0)), clean(row.text(1)));
  }
  return inputs;
}

// Models that a run used or made, since MLflow 3.
Result<> read_models(Source& source, RunData& data) {
  if (!source.has("inputs", "step")) return {};
  Statement row = TRY(source.db().query(
      "SELECT source_type, destination_id, step FROM inputs WHERE source_id = ?1 AND source_type "
      "IN ('RUN_INPUT', 'RUN_OUTPUT') AND destination_type IN ('MODEL_INPUT', 'MODEL_OUTPUT') "
      "ORDER BY destination_id",
      data.run->text_id));
  while (TRY(row.step())) {
    auto& list = row.text(0) == "RUN_INPUT" ? data.models_in : data.models_out;
    list.push_back({.model = clean(row.text(1)), .step = row.integer(2)});
  }
  return {};
}

Result<RunData> read_run(Source& source, const SourceRun& run, ExperimentId experiment) {
  RunData data;
  data.run = &run;
  data.experiment = experiment;
  data.params = TRY(read_pairs(source, "params", run.text_id));
  data.tags = TRY(read_pairs(source, "tags", run.text_id));
  data.inputs = TRY(read_inputs(source, run.text_id));
  TRY(read_models(source, data));
  return data;
}

// Old releases keep the name in a tag.
std::string run_name(const RunData& data) {
  if (!data.run->name.empty()) return data.run->name;
  const auto tag =
      std::ranges::find(data.tags, "mlflow.runName", &std::pair<std::string, std::string>::first);
  return tag == data.tags.end() ? "" : tag->second;
}

Result<> write_parts(Connection& db, const tracking::RunRow& row, const RunData& data) {
  using tracking::Direction;
  using tracking::Fact;
  for (const auto& [key, value] : data.params)
    TRY(tracking::set_fact(db, row.key, Fact::kParam, key, value));
  for (const auto& [key, value] : data.tags)
    TRY(tracking::set_fact(db, row.key, Fact::kTag, key, value));
  for (const auto& input : data.inputs) TRY(tracking::add_input(db, row, input));
  for (const auto& model : data.models_in)
    TRY(tracking::add_model(db, row.key, Direction::kInput, model));
  for (const auto& model : data.models_out)
    TRY(tracking::add_model(db, row.key, Direction::kOutput, model));
  const auto radt = mlflow::radt_run(data.params);
  return radt ? tracking::assign_workload(db, row.key, radt->workload) : Result<>();
}

// False: it was removed from the store.
Result<bool> write_run(Connection& db, const RunData& data, bool own_artifacts) {
  const SourceRun& run = *data.run;
  if (TRY(db.number("SELECT 1 FROM removed_runs WHERE id = ?1", run.id))) return false;
  if (!TRY(db.number("SELECT key FROM runs WHERE id = ?1", run.id))) {
    TRY(tracking::create_run(db, {.id = run.id,
                                  .experiment = data.experiment,
                                  .name = run_name(data),
                                  .user_id = run.user_id,
                                  .host = {},
                                  .start = run.start,
                                  .tags = {}}));
  }
  const auto row = TRY(tracking::run(db, run.id));
  CORRAL_ASSERT(row.has_value());
  TRY(tracking::update_run(db, *row,
                           {.status = run.status, .end = run.end, .name = run_name(data)}));
  TRY(db.exec(own_artifacts
                  ? "UPDATE runs SET lifecycle = ?2, artifact_uri = '' WHERE key = ?1 AND ?3 = ?3"
                  : "UPDATE runs SET lifecycle = ?2, artifact_uri = ?3 WHERE key = ?1",
              row->key, run.deleted ? 1 : 0, run.artifact_uri));
  TRY(write_parts(db, *row, data));
  return true;
}

std::int64_t number(const auto& list) { return static_cast<std::int64_t>(list.size()); }

RunCounts count_items(const RunData& data) {
  std::set<std::pair<std::string, std::string>> datasets;
  for (const auto& input : data.inputs) datasets.emplace(input.name, input.digest);
  return {.params = number(data.params),
          .tags = number(data.tags),
          .datasets = number(datasets),
          .models = number(data.models_in) + number(data.models_out)};
}

// ---- counting

constexpr std::size_t kRunsAtOnce = 64;

// The items that the store has for a run.
struct StoredRun {
  bool there = false;
  RunCounts counts;
  sql::RunMetrics latest;
  std::int64_t points = 0;
};

Result<std::vector<StoredRun>> read_stored(const Reader& store,
                                           std::span<const SourceRun* const> runs) {
  std::vector<StoredRun> stored;
  const Inspect read = [&](sql::Reading& reading) -> Result<> {
    stored.assign(runs.size(), {});
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto key = TRY(reading.db.number("SELECT key FROM runs WHERE id = ?1", runs[i]->id));
      if (!key) continue;
      const auto details = TRY(tracking::details(reading.db, std::span(&*key, 1))).at(0);
      stored[i] = {
          .there = true,
          .counts = {.params = number(details.params),
                     .tags = number(details.tags),
                     .datasets = number(details.inputs),
                     .models = number(details.model_inputs) + number(details.model_outputs)},
          .latest = TRY(reading.latest.of(reading.db, std::span(&*key, 1))).at(0)};
    }
    return {};
  };
  TRY(store.inspect(read));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!stored[i].there) continue;
    for (const Series& series : TRY(store.series_of(runs[i]->id))) {
      if (series.owner == metric::Owner::kRun && series.source.empty())
        stored[i].points += series.points;
    }
  }
  return stored;
}

class Counting {
 public:
  explicit Counting(Source& source) : source_(source) {}

  Result<> add(const SourceRun& run, const RunCounts& wanted, const StoredRun& stored) {
    runs_.add(1, stored.there ? 1 : 0, [&] { return run.text_id; });
    if (!stored.there) return {};
    add(params_, run, wanted.params, stored.counts.params);
    add(tags_, run, wanted.tags, stored.counts.tags);
    add(datasets_, run, wanted.datasets, stored.counts.datasets);
    add(models_, run, wanted.models, stored.counts.models);
    add(points_, run, run.points, stored.points);
    return source_.has("latest_metrics") ? add_latest(run, *stored.latest) : Result<>();
  }
  std::vector<Count> finish() {
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

Result<std::vector<SourceRun>> read_runs(Source& source) {
  std::unordered_map<std::string, std::int64_t> points;
  {
    Statement row =
        TRY(source.db().query("SELECT run_uuid, count(*) FROM metrics GROUP BY run_uuid"));
    while (TRY(row.step())) points[row.text(0)] = row.integer(1);
  }
  std::vector<SourceRun> runs;
  Statement row = TRY(source.db().query(
      "SELECT run_uuid, experiment_id, name, user_id, artifact_uri, status, start_time, end_time, "
      "lifecycle_stage FROM runs ORDER BY start_time, run_uuid"));
  while (TRY(row.step())) {
    SourceRun run;
    run.text_id = row.text(0);
    run.id = run_id_from(run.text_id);
    run.experiment = row.integer(1);
    run.name = clean(row.text(2));
    run.user_id = clean(row.text(3));
    run.artifact_uri = clean(row.text(4));
    run.status = parse_status(row.text(5));
    run.start = time_from_ms(row.integer(6));
    if (!row.is_null(7)) run.end = time_from_ms(row.integer(7));
    run.deleted = row.text(8) == "deleted";
    if (const auto known = points.find(run.text_id); known != points.end())
      run.points = known->second;
    runs.push_back(std::move(run));
  }
  return runs;
}

Result<WrittenRuns> write_runs(Source& source, Store& store, const Experiments& experiments,
                               std::span<const SourceRun> runs, bool own_artifacts) {
  WrittenRuns written;
  std::vector<RunData> all;
  for (const SourceRun& run : runs) {
    const auto experiment = experiments.find(run.experiment);
    if (experiment == experiments.end()) {
      return fail(Code::kCorruption, fmt::format("{}: run {} belongs to experiment {}, which is "
                                                 "not there",
                                                 source.name(), run.text_id, run.experiment));
    }
    all.push_back(TRY(read_run(source, run, experiment->second)));
  }
  const Change write = [&](Connection& db) -> Result<> {
    written.clear();
    for (const RunData& data : all) {
      const bool there = TRY(write_run(db, data, own_artifacts));
      written.push_back(there ? std::optional(count_items(data)) : std::nullopt);
    }
    return {};
  };
  TRY(store.change(write));
  return written;
}

Result<std::vector<Count>> count_runs(Source& source, const Reader& store,
                                      std::span<const SourceRun* const> runs,
                                      std::span<const RunCounts> wanted,
                                      const maintain::Watch& watch) {
  Counting counting(source);
  for (std::size_t at = 0; at < runs.size(); at += kRunsAtOnce) {
    const auto some = runs.subspan(at, std::min(kRunsAtOnce, runs.size() - at));
    TRY(watch.at("counting runs", static_cast<std::int64_t>(at), number(runs)));
    const auto stored = TRY(read_stored(store, some));
    for (std::size_t i = 0; i < some.size(); ++i)
      TRY(counting.add(*some[i], wanted[at + i], stored[i]));
  }
  return counting.finish();
}

}  // namespace corral::store::importing
