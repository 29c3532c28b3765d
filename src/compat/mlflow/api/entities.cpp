#include "compat/mlflow/api/entities.h"

#include <fmt/core.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <unordered_set>
#include <vector>

#include "compat/mlflow/wire/log_batch.h"
#include "compat/mlflow/wire/names.h"
#include "compat/radt/radt.h"
#include "core/text.h"
#include "store/search/runs.h"

namespace corral::server::mlflow {
namespace {

using tracking::Fact;

std::string_view stage_of(tracking::Lifecycle lifecycle) {
  return lifecycle == tracking::Lifecycle::kDeleted ? "deleted" : "active";
}

void write_input(JsonWriter& json, const tracking::RunInput& input) {
  json.begin_object();
  write_tags(json, "tags", input.tags);
  json.key("dataset").begin_object();
  json.member("name", input.name).member("digest", input.digest);
  json.member("source_type", input.source_type).member("source", input.source);
  write_unless_empty(json, "schema", input.schema);
  write_unless_empty(json, "profile", input.profile);
  json.end_object().end_object();
}

constexpr std::string_view kRunNameTag = "mlflow.runName";

struct Conflict {
  std::string key, known, wanted;
};

std::string changed(const tracking::RunRow& run, const std::vector<Conflict>& conflicts,
                    Params form) {
  if (form == Params::kOne) {
    const Conflict& one = conflicts.front();
    return fmt::format(
        "Changing param values is not allowed. Param with key='{}' was already logged with "
        "value='{}' for run ID='{}'. Attempted logging new value '{}'.",
        one.key, one.known, run.id.hex(), one.wanted);
  }
  std::string list;
  for (const Conflict& one : conflicts) {
    list += fmt::format("{}{{'key': '{}', 'old_value': '{}', 'new_value': '{}'}}",
                        list.empty() ? "" : ", ", one.key, one.known, one.wanted);
  }
  return fmt::format(
      "Changing param values is not allowed. Params were already logged='[{}]' for run ID='{}'.",
      list, run.id.hex());
}

constexpr std::array<std::string_view, 64> kHow = {
    "agile",  "amber",  "ample",  "brave",  "brisk",  "bright", "calm",    "candid",
    "clear",  "clever", "cosmic", "crisp",  "dapper", "daring", "deft",    "eager",
    "early",  "fair",   "fleet",  "fond",   "frank",  "fresh",  "gentle",  "glad",
    "golden", "grand",  "happy",  "hardy",  "hasty",  "honest", "humble",  "ideal",
    "jolly",  "keen",   "kind",   "lively", "loyal",  "lucid",  "lucky",   "mellow",
    "merry",  "mild",   "modest", "neat",   "nimble", "noble",  "patient", "plucky",
    "polite", "proud",  "quick",  "quiet",  "rapid",  "ready",  "serene",  "sharp",
    "silent", "sober",  "spry",   "steady", "sturdy", "swift",  "vivid",   "warm"};
constexpr std::array<std::string_view, 64> kWho = {
    "alder",   "badger",  "beaver",  "birch",  "bison",  "canyon", "cedar",  "clover",
    "comet",   "condor",  "crane",   "dune",   "eagle",  "ember",  "falcon", "fern",
    "finch",   "fjord",   "fox",     "gale",   "gecko",  "glade",  "grouse", "harbor",
    "hare",    "hawk",    "hazel",   "heron",  "ibex",   "iris",   "island", "jackal",
    "juniper", "kestrel", "lake",    "lark",   "linnet", "lynx",   "maple",  "marten",
    "meadow",  "mesa",    "moth",    "newt",   "oak",    "ocean",  "osprey", "otter",
    "owl",     "pine",    "plover",  "pony",   "quail",  "raven",  "reef",   "river",
    "robin",   "sable",   "sparrow", "spruce", "stoat",  "swan",   "tern",   "wren"};

}  // namespace

Answer<ExperimentId> parse_experiment_id(std::string_view text) {
  const auto id = parse_int(text);
  if (id) return ExperimentId{*id};
  return invalid(fmt::format("Invalid experiment ID '{}'. Experiment ID must be a valid integer.",
                             to_utf8(text)));
}

Answer<tracking::ExperimentRow> find_experiment(Connection& db, std::string_view id) {
  const ExperimentId number = TRY_API(parse_experiment_id(id));
  auto experiment = TRY_API(tracking::experiment(db, number));
  if (experiment) return *std::move(experiment);
  return refuse(ErrorCode::kResourceDoesNotExist,
                fmt::format("No Experiment with id={} exists", number.value));
}

Answer<> check_active(const tracking::ExperimentRow& experiment) {
  if (experiment.lifecycle == tracking::Lifecycle::kActive) return {};
  return invalid(
      fmt::format("The experiment {} must be in the 'active' state. Current state is deleted.",
                  experiment.id.value));
}

Answer<tracking::ExperimentRow> hold_active_experiment(Connection& db, std::string_view id) {
  const ExperimentId number = TRY_API(parse_experiment_id(id));
  TRY_API(tracking::hold_experiment(db, number));
  auto experiment = TRY_API(find_experiment(db, id));
  TRY_API(check_active(experiment));
  return experiment;
}

std::string read_run_id(Message& in) {
  std::string id = in.text("run_id");
  if (id.empty()) id = in.text("run_uuid");
  if (id.empty()) in.missing("run_id");
  return id;
}

Answer<tracking::RunRow> find_run(Connection& db, std::string_view id, RowLock lock) {
  if (const auto parsed = RunId::parse(id)) {
    auto run = TRY_API(lock == RowLock::kRow ? tracking::lock_run(db, *parsed)
                                             : tracking::run(db, *parsed));
    if (run) return *std::move(run);
  }
  return refuse(ErrorCode::kResourceDoesNotExist,
                fmt::format("Run with id={} not found", to_utf8(id)));
}

Answer<tracking::RunRow> find_active_run(Connection& db, std::string_view id, RowLock lock) {
  tracking::RunRow run = TRY_API(find_run(db, id, lock));
  if (run.lifecycle != tracking::Lifecycle::kDeleted) return run;
  return invalid(fmt::format("The run {} must be in the 'active' state. Current state is deleted.",
                             run.id.hex()));
}

Answer<tracking::Tags> read_tags(Message& in, std::string_view name, std::size_t length,
                                 ErrorCode twice) {
  tracking::Tags tags;
  std::unordered_set<std::string> seen;
  for (Message& item : in.messages(name)) {
    const std::string key = item.text("key");
    const auto value = item.maybe_text("value");
    TRY_API(in.check());
    TRY_API(wire::check_key(key, "key"));
    if (!seen.insert(key).second)
      return refuse(twice, fmt::format("The tag '{}' is given twice.", key));
    tags.emplace_back(key, wire::cut(value.value_or(""), length));
  }
  TRY_API(in.check());
  return tags;
}

void write_ms(JsonWriter& json, std::string_view name, UtcTime time) {
  const std::int64_t ms =
      std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count();
  json.member(name, ms);
}

void write_unless_empty(JsonWriter& json, std::string_view name, const std::string& text) {
  if (!text.empty()) json.member(name, text);
}

void write_tags(JsonWriter& json, std::string_view name, const tracking::Tags& tags) {
  write_list(json, name, tags, [](JsonWriter& out, const auto& tag) {
    out.begin_object().member("key", tag.first).member("value", tag.second).end_object();
  });
}

void write_experiment(JsonWriter& json, const tracking::ExperimentRow& experiment) {
  json.begin_object().member("experiment_id", std::to_string(experiment.id.value));
  json.member("name", experiment.name);
  json.member("artifact_location", experiment.artifact_location);
  json.member("lifecycle_stage", stage_of(experiment.lifecycle));
  write_ms(json, "last_update_time", experiment.updated);
  write_ms(json, "creation_time", experiment.created);
  write_tags(json, "tags", experiment.tags);
  json.end_object();
}

void write_run_info(JsonWriter& json, const tracking::RunRow& run) {
  const std::string id = run.id.hex();
  json.begin_object().member("run_id", id).member("run_uuid", id);
  json.member("run_name", run.name);
  json.member("experiment_id", std::to_string(run.experiment.value));
  json.member("user_id", run.user_id);
  json.member("status", wire::kRunStatuses.at(static_cast<std::size_t>(run.status)));
  write_ms(json, "start_time", run.start);
  if (run.end) write_ms(json, "end_time", *run.end);
  json.member("artifact_uri", run.artifact_uri);
  json.member("lifecycle_stage", stage_of(run.lifecycle));
  json.end_object();
}

void write_run(JsonWriter& json, const tracking::RunRow& run, const tracking::RunDetails& details,
               const store::sql::RunMetrics& metrics) {
  json.begin_object().key("info");
  write_run_info(json, run);
  json.key("data").begin_object();
  write_list(json, "metrics", *metrics, [](JsonWriter& out, const auto& metric) {
    out.begin_object().member("key", metric.key).member("value", metric.value);
    write_ms(out, "timestamp", metric.time);
    out.member("step", metric.step).end_object();
  });
  write_tags(json, "params", details.params);
  write_tags(json, "tags", details.tags);
  json.end_object();
  json.key("inputs").begin_object();
  write_list(json, "dataset_inputs", details.inputs, write_input);
  write_list(json, "model_inputs", details.model_inputs, [](JsonWriter& out, const auto& model) {
    out.begin_object().member("model_id", model.model).end_object();
  });
  json.end_object().key("outputs").begin_object();
  write_list(json, "model_outputs", details.model_outputs, [](JsonWriter& out, const auto& model) {
    out.begin_object().member("model_id", model.model).member("step", model.step).end_object();
  });
  json.end_object().end_object();
}

Answer<> set_params(Connection& db, const tracking::RunRow& run, KeyValues params, Params form) {
  TRY_API(wire::check_unique(params));
  std::vector<Conflict> conflicts;
  for (const auto& [key, value] : params) {
    const auto known = TRY_API(tracking::fact(db, run.key, Fact::kParam, key));
    if (known && *known != value) conflicts.push_back({key, *known, value});
    if (!known) TRY_API(tracking::set_fact(db, run.key, Fact::kParam, key, value));
  }
  if (!conflicts.empty()) return invalid(changed(run, conflicts, form));
  if (const auto radt = wire::radt_run(params))
    TRY_API(tracking::assign_workload(db, run.key, radt->workload));
  return {};
}

Answer<> set_tags(Connection& db, const tracking::RunRow& run, KeyValues tags) {
  for (const auto& [key, value] : tags) {
    TRY_API(tracking::set_fact(db, run.key, Fact::kTag, key, value));
    if (key == kRunNameTag) {
      tracking::RunUpdate update;
      update.name = value;
      TRY_API(tracking::update_run(db, run, update));
    }
  }
  return {};
}

std::string default_name(RunId id) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, id.bytes.data(), sizeof bits);
  return fmt::format("{}-{}-{}", kHow[bits % kHow.size()], kWho[bits / 64 % kWho.size()],
                     bits / 4096 % 1000);
}

}  // namespace corral::server::mlflow
