// Datasets and models that runs used or made.
#include <fmt/core.h>

#include <algorithm>

#include "compat/mlflow/api/entities.h"
#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/wire/names.h"
#include "core/json.h"

namespace corral::server::mlflow {
namespace {

using corral::mlflow::check_length;
using store::sql::Connection;
using tracking::Direction;

constexpr std::size_t kMostSummaries = 1000;
constexpr std::size_t kMostExperiments = 20;
constexpr std::string_view kModelHistoryTag = "mlflow.log-model.history";

struct Limit {
  std::string_view name;
  std::size_t length;
};
constexpr std::array kLengths = {Limit{"name", corral::mlflow::kDatasetNameLength},
                                 Limit{"digest", corral::mlflow::kDatasetDigestLength},
                                 Limit{"source", 65535}, Limit{"schema", 1048575},
                                 Limit{"profile", 16777215}};
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
  TRY_API(all_read(item));
  return input;
}

Answer<std::vector<tracking::RunModel>> read_models(Message& in) {
  std::vector<tracking::RunModel> models;
  for (Message& item : in.messages("models")) {
    models.push_back(
        {.model = item.need_text("model_id"), .step = item.maybe_integer("step").value_or(0)});
    TRY_API(check_length(item.path_of("model_id"), models.back().model,
                         corral::mlflow::kModelIdLength));
  }
  return models;
}

Result<> add_models(Connection& db, std::int64_t run, Direction direction,
                    const std::vector<tracking::RunModel>& models) {
  for (const auto& model : models) TRY(tracking::add_model(db, run, direction, model));
  return {};
}

}  // namespace

Body log_inputs(Message& in, Context& context) {
  const std::string id = run_id_of(in);
  std::vector<tracking::RunInput> inputs;
  for (Message& item : in.messages("datasets")) inputs.push_back(TRY_API(read_input(item)));
  const auto models = TRY_API(read_models(in));
  TRY_API(all_read(in));
  return change(context, [&](Connection& db) -> Body {
    const auto run = TRY_API(find_active_run(db, id));
    for (const auto& input : inputs) TRY_API(tracking::add_input(db, run, input));
    TRY_API(add_models(db, run.key, Direction::kInput, models));
    return empty_answer();
  });
}

Body log_outputs(Message& in, Context& context) {
  const std::string id = run_id_of(in);
  const auto models = TRY_API(read_models(in));
  TRY_API(all_read(in));
  return change(context, [&](Connection& db) -> Body {
    const auto run = TRY_API(find_active_run(db, id));
    TRY_API(add_models(db, run.key, Direction::kOutput, models));
    return empty_answer();
  });
}

Body search_datasets(Message& in, Context& context) {
  std::vector<ExperimentId> experiments;
  for (const std::string& id : in.texts("experiment_ids"))
    experiments.push_back(TRY_API(parse_experiment_id(id)));
  TRY_API(all_read(in));
  if (experiments.empty())
    return invalid("SearchDatasets request must specify at least one experiment_id.");
  if (experiments.size() > kMostExperiments) {
    return invalid(
        fmt::format("SearchDatasets request cannot specify more than {} "
                    "experiment_ids. Received {} experiment_ids.",
                    kMostExperiments, experiments.size()));
  }
  return inspect(context, [&](store::sql::Reading& reading) -> Body {
    std::string out;
    JsonWriter json(out);
    const auto summaries = TRY_API(tracking::datasets_of(reading.db, experiments, kMostSummaries));
    json.begin_object();
    if (!summaries.empty()) json.key("dataset_summaries").begin_array();
    for (const auto& summary : summaries) {
      json.begin_object().member("experiment_id", std::to_string(summary.experiment.value));
      json.member("name", summary.name).member("digest", summary.digest);
      if (!summary.context.empty()) json.member("context", summary.context);
      json.end_object();
    }
    if (!summaries.empty()) json.end_array();
    json.end_object();
    return out;
  });
}

// Clients of MLflow 2 tell so of the models that they put among a run's artifacts: the server keeps
// their list in a tag.
Body log_model(Message& in, Context& context) {
  const std::string id = run_id_of(in);
  const std::string text = in.need_text("model_json");
  TRY_API(all_read(in));
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

}  // namespace corral::server::mlflow
