#include "compat/mlflow/relay/tracked_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "compat/mlflow/wire/names.h"
#include "compat/mlflow/wire/times.h"
#include "core/json.h"
#include "core/limits.h"
#include "sys/clock.h"

namespace corral::run {
namespace {

using codec::Fact;
using codec::FactKind;

// Facts of one frame: some requests hold more than a frame may.
constexpr std::size_t kFactsBytes = limits::kFrameBytes / 4;
// Room that a new log gets even in a full spool: enough to report the dropped data.
constexpr std::int64_t kLeastRoom = 128ll << 10;

void write_pairs(JsonWriter& json, std::string_view name,
                 const std::map<std::string, std::string>& pairs) {
  if (pairs.empty()) return;
  json.key(name).begin_array();
  for (const auto& [key, value] : pairs)
    json.begin_object().member("key", key).member("value", value).end_object();
  json.end_array();
}

void write_info(JsonWriter& json, const RunView& run) {
  json.begin_object().member("run_id", run.id.hex()).member("run_uuid", run.id.hex());
  json.member("run_name", run.name).member("experiment_id", run.experiment);
  json.member("user_id", run.user)
      .member("status", mlflow::kRunStatuses.at(static_cast<std::size_t>(run.status)));
  json.member("start_time", run.start_ms);
  if (run.end_ms) json.member("end_time", *run.end_ms);
  // If the server's location is unknown, the relay finds it by the run's id.
  json.member("artifact_uri",
              !run.artifact_uri.empty()
                  ? run.artifact_uri
                  : fmt::format("mlflow-artifacts:/{}/{}/artifacts", run.experiment, run.id.hex()));
  json.member("lifecycle_stage", "active").end_object();
}

// Columns whose points have the same times and steps become one group.
codec::SampleGroup make_group(const mlflow::MetricColumn& column) {
  codec::SampleGroup group;
  for (const mlflow::MetricPoint& point : column.points) {
    group.times.push_back(mlflow::nearest_client_time(point.time_ms));
    group.steps.push_back(point.step);
  }
  return group;
}

std::string update_text(const RunUpdate& update) {
  Json::Object object;
  if (update.status) object.emplace_back("status", static_cast<std::int64_t>(*update.status));
  if (update.end_ms) object.emplace_back("end_ms", *update.end_ms);
  if (!update.name.empty()) object.emplace_back("name", update.name);
  if (!update.user.empty()) object.emplace_back("user", update.user);
  if (!update.experiment.empty()) object.emplace_back("experiment", update.experiment);
  return Json(std::move(object)).dump();
}

// Keys of facts are names of frames, which count bytes.
mlflow::Answer<> check_fit(std::span<const mlflow::Pair> facts) {
  for (const auto& [key, value] : facts) {
    if (key.size() > limits::kNameBytes) {
      return mlflow::invalid(fmt::format("'{}' exceeds the maximum length of {} bytes of UTF-8",
                                         key, limits::kNameBytes));
    }
  }
  return {};
}

}  // namespace

std::string info_json(const RunView& run) {
  std::string out;
  JsonWriter json(out);
  write_info(json, run);
  return out;
}

std::string run_json(const RunView& run) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("info");
  write_info(json, run);
  json.key("data").begin_object();
  if (!run.metrics.empty()) {
    json.key("metrics").begin_array();
    for (const auto& [key, point] : run.metrics) {
      json.begin_object().member("key", key).member("value", point.value);
      json.member("timestamp", point.time_ms).member("step", point.step).end_object();
    }
    json.end_array();
  }
  write_pairs(json, "params", run.params);
  write_pairs(json, "tags", run.tags);
  json.end_object();
  json.key("inputs").begin_object().end_object();
  json.end_object();
  return out;
}

// A param has one value and keeps it; only the whole batch can be refused.
mlflow::Answer<> TrackedRun::check(const mlflow::LogBatch& batch) const {
  if (auto once = mlflow::check_unique(batch.params); !once) return once;
  for (const auto* facts : {&batch.params, &batch.tags})
    if (auto fit = check_fit(*facts); !fit) return fit;
  for (const auto& [key, value] : batch.params) {
    const auto known = view_.params.find(key);
    if (known != view_.params.end() && known->second != value) {
      return mlflow::invalid(
          fmt::format("Changing param values is not allowed. Param with key='{}' was already "
                      "logged with value='{}' for run ID='{}'. Attempted logging new value '{}'.",
                      key, known->second, view_.id.hex(), value));
    }
  }
  for (const mlflow::MetricColumn& column : batch.metrics) {
    if (column.key.size() > limits::kNameBytes)
      return mlflow::invalid(fmt::format("metric name '{}' is longer than {} bytes of UTF-8",
                                         column.key, limits::kNameBytes));
  }
  return {};
}

std::uint32_t TrackedRun::find_series(const std::string& key, const std::string& source,
                                      codec::SchemaBody& fresh) {
  const auto [known, is_fresh] = series_.try_emplace({source, key}, last_series_ + 1);
  if (is_fresh) {
    fresh.series.push_back({.id = ++last_series_,
                            .owner = metric::Owner::kRun,
                            .kind = metric::Kind::kGauge,
                            .aggregation = metric::Aggregation::kMean,
                            .name = key,
                            .source = source,
                            .unit = {}});
  }
  return known->second;
}

mlflow::Answer<> TrackedRun::log(const mlflow::LogBatch& batch, const std::string& source) {
  const Lock lock(mutex_);
  if (auto checked = check(batch); !checked) return checked;
  codec::SchemaBody schema;
  codec::SamplesBody samples;
  for (const mlflow::MetricColumn& column : batch.metrics) {
    codec::SampleGroup group = make_group(column);
    codec::Column values{
        .series = find_series(column.key, source, schema), .present = {}, .values = {}};
    for (const mlflow::MetricPoint& point : column.points) values.values.push_back(point.value);
    const bool shared = !samples.groups.empty() && samples.groups.back().times == group.times &&
                        samples.groups.back().steps == group.steps;
    if (!shared) samples.groups.push_back(std::move(group));
    samples.groups.back().columns.push_back(std::move(values));
  }
  codec::Bundle bundle;
  bundle.add(schema);
  bundle.add(samples);
  if (!bundle.empty() && !write(bundle)) {
    // The server will not see the series that the frame declared.
    for (const codec::SeriesDef& series : schema.series) series_.erase({source, series.name});
  }
  std::vector<Fact> facts;
  for (const auto& [key, value] : batch.params)
    facts.push_back({.kind = FactKind::kParam, .key = key, .value = value});
  for (const auto& [key, value] : batch.tags)
    facts.push_back({.kind = FactKind::kTag, .key = key, .value = value});
  write_facts(facts);
  remember(batch, source.empty());
  return {};
}

void TrackedRun::remember(const mlflow::LogBatch& batch, bool whole_run) {
  for (const auto& [key, value] : batch.params) view_.params.emplace(key, value);
  for (const auto& [key, value] : batch.tags) {
    view_.tags[key] = value;
    if (key == "mlflow.runName") view_.name = value;
  }
  if (!whole_run) return;
  for (const mlflow::MetricColumn& column : batch.metrics) {
    for (const mlflow::MetricPoint& point : column.points) {
      const auto [known, fresh] = view_.metrics.try_emplace(column.key, point);
      const auto place = [](const mlflow::MetricPoint& p) { return std::pair(p.step, p.time_ms); };
      if (!fresh && place(point) >= place(known->second)) known->second = point;
    }
  }
}

bool TrackedRun::open_log() {
  if (log_) return true;
  const std::int64_t room =
      std::max(kLeastRoom, room_.limit - spool::client_log_bytes(room_.files));
  auto made = spool::ClientLog::create(room_.files, session_, room);
  if (!made) {
    ++lost_;
    lost_reason_ = made.error().message;
    return false;
  }
  log_.emplace(std::move(*made));
  return true;
}

bool TrackedRun::write(const codec::Bundle& bundle) {
  if (!open_log()) return false;
  const std::uint64_t before = log_->dropped();
  log_->bundle(bundle);
  return log_->dropped() == before;
}

void TrackedRun::write_facts(std::span<const Fact> facts) {
  codec::FactsBody body;
  std::size_t bytes = 0;
  const auto send = [&]() REQUIRES(mutex_) {
    codec::Bundle bundle;
    bundle.add(body);
    if (!bundle.empty()) write(bundle);
    body.facts.clear();
    bytes = 0;
  };
  for (const Fact& fact : facts) {
    if (bytes + fact.key.size() + fact.value.size() > kFactsBytes) send();
    bytes += fact.key.size() + fact.value.size();
    body.facts.push_back(fact);
  }
  send();
}

void TrackedRun::update(const RunUpdate& update) {
  const Lock lock(mutex_);
  if (update.status) view_.status = *update.status;
  if (update.end_ms) view_.end_ms = update.end_ms;
  if (!update.name.empty()) view_.name = view_.tags["mlflow.runName"] = update.name;
  if (!update.user.empty()) view_.user = update.user;
  const Fact fact{.kind = FactKind::kInfo, .key = "mlflow.update", .value = update_text(update)};
  if (fact.value != "{}") write_facts(std::span(&fact, 1));
}

void TrackedRun::rest() {
  const Lock lock(mutex_);
  if (!log_) return;
  lost_ += log_->dropped();
  log_->close();
  log_.reset();
  series_.clear();
  last_series_ = 0;
}

bool TrackedRun::abandon() {
  const Lock lock(mutex_);
  if (view_.status >= ClientStatus::kFinished || !open_log()) return false;
  view_.status = ClientStatus::kKilled;
  const auto now =
      std::chrono::duration_cast<std::chrono::milliseconds>(sys::utc_now().time_since_epoch());
  log_->run_end({.time = mlflow::nearest_client_time(now.count()),
                 .reason = codec::EndReason::kUnknown,
                 .exit_code = {},
                 .exit_signal = {}});
  return true;
}

void TrackedRun::forget_tag(const std::string& key) {
  const Lock lock(mutex_);
  view_.tags.erase(key);
}

void TrackedRun::delete_tag(const std::string& key) {
  const Lock lock(mutex_);
  if (key.size() > limits::kNameBytes) return;  // there is none: no frame can hold it
  view_.tags.erase(key);
  const Fact fact{.kind = FactKind::kInfo, .key = "mlflow.delete-tag", .value = key};
  write_facts(std::span(&fact, 1));
}

void TrackedRun::set_experiment_id(std::string id) {
  const Lock lock(mutex_);
  view_.experiment = std::move(id);
}

void TrackedRun::set_artifact_uri(std::string uri) {
  const Lock lock(mutex_);
  view_.artifact_uri = std::move(uri);
}

void TrackedRun::recall(ClientStatus status, const std::string& name) {
  const Lock lock(mutex_);
  if (!name.empty()) view_.name = name;
  view_.status = status;
  recalled_ = true;
}

bool TrackedRun::is_recalled() const {
  const Lock lock(mutex_);
  return recalled_;
}

void TrackedRun::learn(RunView view) {
  const Lock lock(mutex_);
  if (!std::exchange(recalled_, false)) return;
  view.status = view_.status;
  view.end_ms = view_.end_ms;
  view.experiment = std::move(view_.experiment);
  view_ = std::move(view);
}

std::vector<std::pair<std::string, mlflow::MetricPoint>> TrackedRun::newest_metrics() const {
  const Lock lock(mutex_);
  return {view_.metrics.begin(), view_.metrics.end()};
}

RunView TrackedRun::view() const {
  const Lock lock(mutex_);
  return view_;
}

std::uint64_t TrackedRun::dropped() const {
  const Lock lock(mutex_);
  return lost_ + (log_ ? log_->dropped() : 0);
}
std::string TrackedRun::drop_reason() const {
  const Lock lock(mutex_);
  return log_ && log_->dropped() > 0 ? log_->drop_reason() : lost_reason_;
}

}  // namespace corral::run
