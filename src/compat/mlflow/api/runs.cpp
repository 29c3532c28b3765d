// Runs: create, read, update, delete, restore, search; their params, tags, datasets and models.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "compat/mlflow/api/entities.h"
#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/wire/names.h"
#include "compat/mlflow/wire/times.h"
#include "core/json.h"
#include "core/text.h"
#include "store/search/change_runs.h"
#include "sys/clock.h"

namespace corral::server::mlflow {
namespace {

using tracking::Direction;
using tracking::Fact;
using tracking::Lifecycle;
using wire::check_length;

constexpr std::string_view kRunNameTag = "mlflow.runName";

std::string run_answer(const tracking::RunRow& run, const tracking::RunDetails& details,
                       const store::sql::RunMetrics& metrics) {
  return object_with("run", [&](JsonWriter& json) { write_run(json, run, details, metrics); });
}

// A time that a client gave, or nothing when it left it out.
Answer<std::optional<UtcTime>> read_time(Message& in, std::string_view name) {
  const auto ms = in.maybe_integer(name);
  TRY_API(in.check());
  if (!ms) return std::nullopt;
  if (*ms < 0 || !wire::client_time(*ms)) {
    in.wrong_value(name, "Times are milliseconds since 1970, at most those of 2110");
    TRY_API(in.check());
  }
  return UtcTime(std::chrono::milliseconds(*ms));
}

// The name of the field and the one of the tag are one; none of both: a made one.
Answer<std::string> choose_name(const std::string& name, tracking::Tags& tags, RunId id) {
  const auto tag =
      std::ranges::find(tags, kRunNameTag, &std::pair<std::string, std::string>::first);
  if (tag != tags.end() && !name.empty() && tag->second != name) {
    return invalid(fmt::format(
        "Both 'run_name' argument and 'mlflow.runName' tag are specified, but with different "
        "values (run_name='{}', mlflow.runName='{}').",
        name, tag->second));
  }
  if (tag != tags.end() && !tag->second.empty()) return tag->second;
  std::string chosen = name.empty() ? default_name(id) : name;
  if (tag != tags.end()) {
    tag->second = chosen;
  } else {
    tags.emplace_back(kRunNameTag, chosen);
  }
  return chosen;
}

Result<tracking::RunDetails> read_details(Connection& db, std::int64_t key) {
  auto all = TRY(tracking::details(db, std::span(&key, 1)));
  return std::move(all.front());
}

constexpr std::int64_t kMostFoundRuns = 50000;
constexpr std::int64_t kRunsAtOnce = 1000;
// In one part of a streamed list, which waits in memory for a slow reader.
constexpr std::size_t kRunsOfPart = 250;

// The answer to a search for runs, some of them at a time. Runs that are gone by then are left out.
class RunList {
 public:
  Result<> add(Reading& reading, std::span<const std::int64_t> keys, std::string& out) {
    const auto runs = TRY(tracking::runs(reading.db, keys));
    std::vector<std::int64_t> there;
    there.reserve(runs.size());
    for (const auto& run : runs) there.push_back(run.key);
    const auto details = TRY(tracking::details(reading.db, there));
    const auto metrics = TRY(reading.latest.of(reading.db, there));
    for (std::size_t i = 0; i < runs.size(); ++i) {
      list_.separate(out);
      JsonWriter json(out);
      write_run(json, runs[i], details[i], metrics[i]);
    }
    return {};
  }
  void finish(const std::string& next_page, std::string& out) const {
    list_.finish(out, next_page);
  }

 private:
  ListText list_{"runs"};
};

struct FoundRuns {
  std::string next_page;
  std::vector<std::int64_t> keys;
  std::string whole{};  // the answer, when it is short
};

// kRunsOfPart in one snapshot and in memory.
http::StreamProducer stream_runs(const store::Reader& reader, FoundRuns found) {
  return [reader, found = std::move(found), list = RunList(),
          at = std::size_t{0}](std::string& part) mutable -> Result<bool> {
    const auto left = std::span<const std::int64_t>(found.keys).subspan(at);
    const auto some = left.first(std::min(kRunsOfPart, left.size()));
    std::string out;
    const auto read = [&](Reading& reading) { return list.add(reading, some, out); };
    TRY(reader.inspect(read));
    part += out;
    at += some.size();
    if (at == found.keys.size()) list.finish(found.next_page, part);
    return at < found.keys.size();
  };
}

Answer<FoundRuns> find_runs(const tracking::RunSearch& search, Context& context) {
  return inspect(context, [&](Reading& reading) -> Answer<FoundRuns> {
    auto rows = TRY_API(tracking::search_runs(reading, search));
    FoundRuns found{.next_page = next_page(search.search.paging, rows),
                    .keys = std::move(rows.rows)};
    if (found.keys.size() > kRunsAtOnce) return found;
    RunList list;
    TRY_API(list.add(reading, found.keys, found.whole));
    list.finish(found.next_page, found.whole);
    return found;
  });
}

Answer<tracking::RunSearch> read_run_search(Message& in) {
  tracking::RunSearch search;
  search.search = TRY_API(read_search(
      in, {.kind = wire::SearchKind::kRuns, .fallback = kRunsAtOnce, .most = kMostFoundRuns}));
  search.view = TRY_API(read_view(in, "run_view_type"));
  for (const std::string& id : in.texts("experiment_ids"))
    search.experiments.push_back(TRY_API(parse_experiment_id(id)));
  TRY_API(in.check());
  return search;
}

Body move_to(Message& in, Context& context, Lifecycle lifecycle) {
  const std::string id = read_run_id(in);
  TRY_API(in.check());
  const auto run = change(context, [&](Connection& db) -> Answer<RunId> {
    const auto found = TRY_API(find_run(db, id));
    if (lifecycle == Lifecycle::kDeleted) {
      if (const auto no = tracking::not_own(found.name, found.creator, trashes_own_of(context)))
        return tl::unexpected<ApiError>(*no);
    }
    TRY_API(tracking::set_run_lifecycle(db, found.key, lifecycle, sys::utc_now()));
    return found.id;
  });
  if (!run) return tl::unexpected(run.error());
  const std::array changed{*run};
  context.events.note(changed, {});
  return empty_answer();
}

// ---- params and tags

struct OneFact {
  std::string run, key, value;
};
Answer<OneFact> read_fact(Message& in, std::size_t length, std::string_view what) {
  OneFact fact;
  fact.run = read_run_id(in);
  fact.key = in.need_text("key");
  fact.value = wire::cut(in.text("value"), length);
  TRY_API(in.check());
  TRY_API(wire::check_key(fact.key, "key", what));
  return fact;
}

// ---- datasets and models that runs used or made

constexpr std::size_t kMostSummaries = 1000;
constexpr std::size_t kMostExperiments = 20;
constexpr std::string_view kModelHistoryTag = "mlflow.log-model.history";

struct Limit {
  std::string_view name;
  std::size_t length;
};
constexpr std::array kLengths = {
    Limit{"name", wire::kDatasetNameLength}, Limit{"digest", wire::kDatasetDigestLength},
    Limit{"source", 65535}, Limit{"schema", 1048575}, Limit{"profile", 16777215}};
constexpr std::size_t kTagKey = 255;
constexpr std::size_t kTagValue = 500;

Answer<tracking::RunInput> read_input(Message& item) {
  tracking::RunInput input;
  auto dataset = item.message("dataset");
  if (!dataset) {
    item.missing("dataset");
    return tl::unexpected(*item.error());
  }
  input.name = dataset->need_text("name");
  input.digest = dataset->need_text("digest");
  input.source_type = dataset->need_text("source_type");
  input.source = dataset->need_text("source");
  input.schema = dataset->text("schema");
  input.profile = dataset->text("profile");
  for (const Limit& limit : kLengths)
    TRY_API(check_length(limit.name, dataset->text(limit.name), limit.length));
  for (Message& tag : item.messages("tags")) {
    const std::string key = tag.need_text("key");
    if (!tag.has("value")) tag.missing("value");
    const std::string value = tag.text("value");
    TRY_API(check_length("key", key, kTagKey));
    TRY_API(check_length("value", value, kTagValue));
    input.tags.emplace_back(key, value);
  }
  TRY_API(item.check());
  return input;
}

Answer<std::vector<tracking::RunModel>> read_models(Message& in) {
  std::vector<tracking::RunModel> models;
  for (Message& item : in.messages("models")) {
    models.push_back(
        {.model = item.need_text("model_id"), .step = item.maybe_integer("step").value_or(0)});
    TRY_API(check_length(item.path_of("model_id"), models.back().model, wire::kModelIdLength));
  }
  return models;
}

Result<> add_models(Connection& db, std::int64_t run, Direction direction,
                    const std::vector<tracking::RunModel>& models) {
  for (const auto& model : models) TRY(tracking::add_model(db, run, direction, model));
  return {};
}

Body create_run(Message& in, Context& context) {
  tracking::NewRun run;
  run.id = RunId::random();
  const std::string experiment = in.text("experiment_id");
  TRY_API(in.check());
  if (experiment.empty())
    return refuse(ErrorCode::kBadRequest, "Creating a run needs an 'experiment_id'.");
  run.user_id = in.text("user_id");
  run.creator = context.who.user;
  const std::string name = in.text("run_name");
  run.start = TRY_API(read_time(in, "start_time")).value_or(sys::utc_now());
  run.tags = TRY_API(read_tags(in, "tags", wire::kTagLength));
  run.name = TRY_API(choose_name(name, run.tags, run.id));
  const auto row = change(context, [&](Connection& db) -> Answer<tracking::RunRow> {
    run.experiment = TRY_API(hold_active_experiment(db, experiment)).id;
    TRY_API(tracking::create_run(db, run));
    return *TRY_API(tracking::run(db, run.id));
  });
  if (!row) return tl::unexpected(row.error());
  const std::array changed{run.id};
  context.events.note(changed, {});
  tracking::RunDetails details;
  details.tags = run.tags;
  return run_answer(*row, details, std::make_shared<std::vector<store::sql::LatestMetric>>());
}

Body get_run(Message& in, Context& context) {
  const std::string id = read_run_id(in);
  return inspect(in, context, [&](Reading& reading) -> Body {
    const auto run = TRY_API(find_run(reading.db, id));
    const auto metrics = TRY_API(reading.latest.of(reading.db, std::span(&run.key, 1)));
    return run_answer(run, TRY_API(read_details(reading.db, run.key)), metrics.front());
  });
}

Body update_run(Message& in, Context& context) {
  const std::string id = read_run_id(in);
  tracking::RunUpdate update;
  if (const auto status = in.maybe_enum("status", wire::kRunStatuses))
    update.status = static_cast<tracking::ClientStatus>(*status);
  update.end = TRY_API(read_time(in, "end_time"));
  update.name = in.maybe_text("run_name");
  if (update.name && update.name->empty()) update.name.reset();
  TRY_API(in.check());
  const auto run = change(context, [&](Connection& db) -> Answer<tracking::RunRow> {
    const auto before = TRY_API(find_active_run(db, id));
    TRY_API(tracking::update_run(db, before, update));
    if (update.name) {
      TRY_API(tracking::set_fact(db, before.key, tracking::Fact::kTag, kRunNameTag, *update.name));
    }
    return *TRY_API(tracking::run(db, before.id));
  });
  if (!run) return tl::unexpected(run.error());
  const std::array changed{run->id};
  context.events.note(changed, {});
  return object_with("run_info", [&](JsonWriter& json) { write_run_info(json, *run); });
}

Body delete_run(Message& in, Context& context) { return move_to(in, context, Lifecycle::kDeleted); }

Body restore_run(Message& in, Context& context) { return move_to(in, context, Lifecycle::kActive); }

Answer<Response> search_runs(Message& in, Context& context) {
  const tracking::RunSearch search = TRY_API(read_run_search(in));
  FoundRuns found = TRY_API(find_runs(search, context));
  Response response = json_response(std::move(found.whole));
  if (!response.body.empty()) return response;
  response.stream = stream_runs(context.reader, std::move(found));
  return response;
}

// ---- params and tags

Body log_parameter(Message& in, Context& context) {
  const OneFact fact = TRY_API(read_fact(in, wire::kParamLength, "Param key"));
  return change(context, [&](Connection& db) -> Body {
    const auto run = TRY_API(find_active_run(db, fact.run));
    const std::pair<std::string, std::string> param{fact.key, fact.value};
    TRY_API(set_params(db, run, std::span(&param, 1), Params::kOne));
    return empty_answer();
  });
}

Body set_tag(Message& in, Context& context) {
  const OneFact fact = TRY_API(read_fact(in, wire::kTagLength, "Tag key"));
  return change(context, [&](Connection& db) -> Body {
    const auto run = TRY_API(find_active_run(db, fact.run));
    const std::pair<std::string, std::string> tag{fact.key, fact.value};
    TRY_API(set_tags(db, run, std::span(&tag, 1)));
    return empty_answer();
  });
}

Body delete_tag(Message& in, Context& context) {
  const std::string id = read_run_id(in);
  const std::string key = in.need_text("key");
  return change(in, context, [&](Connection& db) -> Body {
    const auto run = TRY_API(find_active_run(db, id));
    if (TRY_API(tracking::delete_fact(db, run.key, Fact::kTag, key))) return empty_answer();
    return refuse(ErrorCode::kResourceDoesNotExist,
                  fmt::format("No tag with name: {} in run with id {}", key, id));
  });
}

// ---- datasets and models

Body log_inputs(Message& in, Context& context) {
  const std::string id = read_run_id(in);
  std::vector<tracking::RunInput> inputs;
  for (Message& item : in.messages("datasets")) inputs.push_back(TRY_API(read_input(item)));
  const auto models = TRY_API(read_models(in));
  return change(in, context, [&](Connection& db) -> Body {
    const auto run = TRY_API(find_active_run(db, id));
    for (const auto& input : inputs) TRY_API(tracking::add_input(db, run, input));
    TRY_API(add_models(db, run.key, Direction::kInput, models));
    return empty_answer();
  });
}

Body log_outputs(Message& in, Context& context) {
  const std::string id = read_run_id(in);
  const auto models = TRY_API(read_models(in));
  return change(in, context, [&](Connection& db) -> Body {
    const auto run = TRY_API(find_active_run(db, id));
    TRY_API(add_models(db, run.key, Direction::kOutput, models));
    return empty_answer();
  });
}

Body search_datasets(Message& in, Context& context) {
  std::vector<ExperimentId> experiments;
  for (const std::string& id : in.texts("experiment_ids"))
    experiments.push_back(TRY_API(parse_experiment_id(id)));
  TRY_API(in.check());
  if (experiments.empty())
    return invalid("SearchDatasets request must specify at least one experiment_id.");
  if (experiments.size() > kMostExperiments) {
    return invalid(
        fmt::format("SearchDatasets request cannot specify more than {} "
                    "experiment_ids. Received {} experiment_ids.",
                    kMostExperiments, experiments.size()));
  }
  return inspect(context, [&](Reading& reading) -> Body {
    const auto summaries = TRY_API(tracking::datasets_of(reading.db, experiments, kMostSummaries));
    return list_answer("dataset_summaries", summaries, [](JsonWriter& json, const auto& summary) {
      json.begin_object().member("experiment_id", std::to_string(summary.experiment.value));
      json.member("name", summary.name).member("digest", summary.digest);
      write_unless_empty(json, "context", summary.context);
      json.end_object();
    });
  });
}

// Clients of MLflow 2 tell so of the models that they put among a run's artifacts: the server keeps
// their list in a tag.
Body log_model(Message& in, Context& context) {
  const std::string id = read_run_id(in);
  const std::string text = in.need_text("model_json");
  TRY_API(in.check());
  auto model = Json::parse(text);
  if (!model || model->as_object() == nullptr)
    return invalid(fmt::format("Malformed model info. \n {} \n is not a valid JSON.", text));
  for (const char* field : {"artifact_path", "flavors", "utc_time_created", "run_id"}) {
    if (model->find(field) == nullptr)
      return invalid(fmt::format("Model json is missing mandatory fields: '{}'", field));
  }
  return change(context, [&](Connection& db) -> Body {
    const auto run = TRY_API(find_active_run(db, id));
    const auto known = TRY_API(tracking::fact(db, run.key, tracking::Fact::kTag, kModelHistoryTag));
    Json::Array history;
    const auto parsed = Json::parse(known.value_or("[]"));
    if (parsed && parsed->as_array() != nullptr) history = *parsed->as_array();
    // A client that did not get its answer tells again.
    const auto is_told = [&](const Json& known_model) {
      return known_model.dump() == model->dump();
    };
    if (std::ranges::none_of(history, is_told)) history.push_back(*model);
    TRY_API(tracking::set_fact(db, run.key, tracking::Fact::kTag, kModelHistoryTag,
                               Json(std::move(history)).dump()));
    return empty_answer();
  });
}

}  // namespace

std::span<const Rpc> run_rpcs() {
  static constexpr std::array kRpcs = {
      needing(Role::kReader,
              Rpc{Method::kPost, "/2.0/mlflow/experiments/search-datasets", search_datasets}),
      Rpc{Method::kPost, "/2.0/mlflow/runs/create", create_run},
      Rpc{Method::kGet, "/2.0/mlflow/runs/get", get_run},
      Rpc{Method::kPost, "/2.0/mlflow/runs/update", update_run},
      Rpc{Method::kPost, "/2.0/mlflow/runs/delete", delete_run},
      Rpc{Method::kPost, "/2.0/mlflow/runs/restore", restore_run},
      needing(Role::kReader,
              Rpc{Method::kPost, "/2.0/mlflow/runs/search", nullptr, nullptr, search_runs}),
      Rpc{Method::kPost, "/2.0/mlflow/runs/log-parameter", log_parameter},
      Rpc{Method::kPost, "/2.0/mlflow/runs/set-tag", set_tag},
      Rpc{Method::kPost, "/2.0/mlflow/runs/delete-tag", delete_tag},
      Rpc{Method::kPost, "/2.0/mlflow/runs/log-inputs", log_inputs},
      Rpc{Method::kPost, "/2.0/mlflow/runs/outputs", log_outputs},
      Rpc{Method::kPost, "/2.0/mlflow/runs/log-model", log_model},
  };
  return kRpcs;
}

}  // namespace corral::server::mlflow
