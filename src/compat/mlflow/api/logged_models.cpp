
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/wire/names.h"
#include "core/text.h"
#include "sys/clock.h"

namespace corral::server::mlflow {
namespace {

using wire::SearchKind;

constexpr std::int64_t kAtOnce = 50;
constexpr std::int64_t kMost = 50000;
// By the numbers of the enum. Imported models may have the first one; requests may not set it.
constexpr std::array<std::string_view, 4> kStatuses = {"LOGGED_MODEL_STATUS_UNSPECIFIED",
                                                       "LOGGED_MODEL_PENDING", "LOGGED_MODEL_READY",
                                                       "LOGGED_MODEL_UPLOAD_FAILED"};
constexpr std::array<std::string_view, 4> kAccepted = {"", kStatuses[1], kStatuses[2],
                                                       kStatuses[3]};

Answer<> check_name(const std::string& name) {
  if (name.find_first_of("/:.%\"'") == std::string::npos) return {};
  const bool plain = name.find('\'') == std::string::npos;
  return invalid(
      fmt::format("Invalid model name ({1}{0}{1}) provided. Model name must be a non-empty string "
                  "and cannot contain the following characters: ('/', ':', '.', '%', '\"', \"'\")",
                  to_utf8(name), plain || name.find('"') != std::string::npos ? '\'' : '"'));
}

// [{"key", "value"}], each key once.
Answer<tracking::Tags> read_facts(Message& in, std::string_view name) {
  tracking::Tags facts;
  std::set<std::string> keys;
  for (Message& item : in.messages(name)) {
    const std::string key = item.need_text("key");
    facts.emplace_back(key, item.text("value"));
    TRY_API(in.check());
    if (wire::code_points(key) > wire::kKeyLength) {
      return invalid(fmt::format("'{}' exceeds the maximum length of {} characters",
                                 item.path_of("key"), wire::kKeyLength));
    }
    if (!keys.insert(key).second) {
      return refuse(ErrorCode::kBadRequest,
                    fmt::format("The key '{}' stands twice in '{}'.", key, name));
    }
  }
  TRY_API(in.check());
  return facts;
}

Answer<> check_logged_model(Connection& db, std::string_view id) {
  if (TRY_API(tracking::has_logged_model(db, id))) return {};
  return refuse(ErrorCode::kResourceDoesNotExist,
                fmt::format("Logged model with ID '{}' not found.", to_utf8(id)));
}

// order_by is [{"field_name", "ascending", "dataset_name", "dataset_digest"}].
Answer<> read_orders(Message& in, tracking::LoggedModelSearch& search) {
  for (Message& item : in.messages("order_by")) {
    const std::string field = item.text("field_name");
    const bool ascending = item.maybe_bool("ascending").value_or(true);
    search.order_datasets.push_back({item.text("dataset_name"), item.text("dataset_digest")});
    TRY_API(in.check());
    if (search.order_datasets.back().name.empty() && !search.order_datasets.back().digest.empty()) {
      return invalid("`dataset_digest` can only be specified if `dataset_name` is also specified.");
    }
    auto parsed = wire::parse_order_by(SearchKind::kLoggedModels, {field});
    if (!parsed || parsed->empty()) {
      const bool other = field.find('.') != std::string::npos && !field.starts_with("metrics.");
      return invalid(fmt::format("Invalid order by field name: {}{}", to_utf8(field),
                                 other ? ". Only metrics are supported." : ""));
    }
    parsed->front().ascending = ascending;
    search.search.orders.push_back(std::move(parsed->front()));
  }
  return in.check();
}

Answer<> read_datasets(Message& in, tracking::LoggedModelSearch& search) {
  for (Message& item : in.messages("datasets")) {
    search.datasets.push_back({item.text("dataset_name"), item.text("dataset_digest")});
    TRY_API(in.check());
    if (search.datasets.back().name.empty())
      return invalid("`dataset_name` in the `datasets` clause must be specified.");
  }
  return in.check();
}

// 0 is left out, as clients have it.
Answer<> read_paging(Message& in, tracking::Paging& paging) {
  const std::string token = in.text("page_token");
  const std::int64_t asked = in.maybe_integer("max_results").value_or(0);
  TRY_API(in.check());
  if (asked < 0) {
    return invalid(fmt::format(
        "Invalid value for max_results. It must be a positive integer, but got {}", asked));
  }
  paging.limit = asked == 0 ? kAtOnce : std::min(asked, kMost);
  paging.offset = TRY_API(wire::parse_page_token(token));
  return {};
}

Answer<tracking::LoggedModelSearch> read_model_search(Message& in) {
  tracking::LoggedModelSearch search;
  if (!in.has("experiment_ids")) in.missing("experiment_ids");
  for (const std::string& id : in.texts("experiment_ids"))
    search.experiments.push_back(TRY_API(parse_experiment_id(id)));
  const std::string filter = in.text("filter");
  TRY_API(read_paging(in, search.search.paging));
  search.search.filter = TRY_API(wire::parse_filter(SearchKind::kLoggedModels, filter));
  TRY_API(read_orders(in, search));
  TRY_API(read_datasets(in, search));
  return search;
}

void write_metric(JsonWriter& json, const tracking::ModelMetric& metric) {
  json.begin_object().member("key", metric.key).member("value", metric.value);
  write_ms(json, "timestamp", metric.time);
  json.member("step", metric.step);
  write_unless_empty(json, "dataset_name", metric.dataset_name);
  write_unless_empty(json, "dataset_digest", metric.dataset_digest);
  json.member("model_id", metric.model_id).member("run_id", metric.run_id).end_object();
}

void write_logged_model(JsonWriter& json, const tracking::LoggedModelRow& model) {
  json.begin_object().key("info").begin_object();
  json.member("model_id", model.id);
  json.member("experiment_id", std::to_string(model.experiment.value));
  json.member("name", model.name);
  write_ms(json, "creation_timestamp_ms", model.created);
  write_ms(json, "last_updated_timestamp_ms", model.updated);
  json.member("artifact_uri", model.artifact_uri);
  json.member("status", kStatuses.at(static_cast<std::size_t>(model.status)));
  write_unless_empty(json, "status_message", model.status_message);
  json.member("model_type", model.model_type).member("source_run_id", model.run_id);
  write_tags(json, "tags", model.tags);
  json.end_object().key("data").begin_object();
  write_tags(json, "params", model.params);
  write_list(json, "metrics", model.metrics, write_metric);
  json.end_object().end_object();
}

std::string logged_model_answer(const tracking::LoggedModelRow& model) {
  return object_with("model", [&](JsonWriter& json) { write_logged_model(json, model); });
}

Body create_logged_model(Message& in, Context& context) {
  const std::string experiment_id = in.need_text("experiment_id");
  tracking::NewLoggedModel model;
  model.name = in.text("name");
  model.model_type = in.text("model_type");
  model.run_id = in.text("source_run_id");
  TRY_API(in.check());
  TRY_API(check_name(model.name));
  if (model.name.empty()) model.name = default_name(RunId::random());
  if (!model.run_id.empty()) TRY_API(wire::check_run_id(model.run_id));
  model.params = TRY_API(read_facts(in, "params"));
  model.tags = TRY_API(read_facts(in, "tags"));
  return change(context, [&](Connection& db) -> Body {
    const auto experiment = TRY_API(hold_active_experiment(db, experiment_id));
    model.experiment = experiment.id;
    model.experiment_location = experiment.artifact_location;
    const std::string id = TRY_API(tracking::create_logged_model(db, model, sys::utc_now()));
    return logged_model_answer(TRY_API(find_logged_model(db, id)));
  });
}

Body get_logged_model(Message& in, Context& context) {
  const std::string id = in.need_text("model_id");
  const bool deleted = in.maybe_bool("allow_deleted").value_or(false);
  return inspect(in, context, [&](Reading& reading) -> Body {
    return logged_model_answer(
        TRY_API(find_logged_model(reading.db, id, deleted ? Deleted::kFound : Deleted::kHidden)));
  });
}

Body finalize_logged_model(Message& in, Context& context) {
  const std::string id = in.need_text("model_id");
  const auto status = in.maybe_enum("status", kAccepted);
  if (!in.has("status")) in.missing("status");
  if (!status)
    in.wrong_value("status",
                   "It must be one of LOGGED_MODEL_PENDING, "
                   "LOGGED_MODEL_READY, LOGGED_MODEL_UPLOAD_FAILED.");
  return change(in, context, [&](Connection& db) -> Body {
    TRY_API(check_logged_model(db, id));
    TRY_API(tracking::set_model_status(db, id, static_cast<tracking::ModelStatus>(*status),
                                       sys::utc_now()));
    return logged_model_answer(TRY_API(find_logged_model(db, id, Deleted::kFound)));
  });
}

Body delete_logged_model(Message& in, Context& context) {
  const std::string id = in.need_text("model_id");
  return change(in, context, [&](Connection& db) -> Body {
    TRY_API(check_logged_model(db, id));
    TRY_API(tracking::delete_logged_model(db, id, sys::utc_now()));
    return empty_answer();
  });
}

Body log_logged_model_params(Message& in, Context& context) {
  const std::string id = in.need_text("model_id");
  const tracking::Tags params = TRY_API(read_facts(in, "params"));
  return change(context, [&](Connection& db) -> Body {
    TRY_API(check_logged_model(db, id));
    const Result<> added = tracking::add_model_params(db, id, params);
    if (added) return empty_answer();
    if (added.error().code == Code::kUnprocessable)
      return refuse(ErrorCode::kBadRequest, added.error().message);
    return tl::unexpected<ApiError>(added.error());
  });
}

Body set_logged_model_tags(Message& in, Context& context) {
  const std::string id = in.need_text("model_id");
  const tracking::Tags tags = TRY_API(read_facts(in, "tags"));
  return change(context, [&](Connection& db) -> Body {
    TRY_API(check_logged_model(db, id));
    TRY_API(tracking::set_model_tags(db, id, tags));
    return empty_answer();
  });
}

Body delete_logged_model_tag(Message& in, Context& context) {
  const std::string id = in.need_text("model_id");
  const std::string key = in.need_text("tag_key");
  return change(in, context, [&](Connection& db) -> Body {
    TRY_API(check_logged_model(db, id));
    if (TRY_API(tracking::delete_model_tag(db, id, key))) return empty_answer();
    return refuse(
        ErrorCode::kResourceDoesNotExist,
        fmt::format("No tag with key '{}' found for model with ID '{}'.", to_utf8(key), id));
  });
}

Body search_logged_models(Message& in, Context& context) {
  const tracking::LoggedModelSearch search = TRY_API(read_model_search(in));
  return inspect(context, [&](Reading& reading) -> Body {
    const auto found = TRY_API(tracking::search_logged_models(reading.db, search));
    const auto models = TRY_API(tracking::logged_models(reading.db, found.rows));
    return list_answer("models", models, write_logged_model,
                       next_page(search.search.paging, found));
  });
}

}  // namespace

Answer<tracking::LoggedModelRow> find_logged_model(Connection& db, const std::string& id,
                                                   Deleted deleted) {
  auto model = TRY_API(tracking::logged_model(db, id));
  const bool found =
      model && (deleted == Deleted::kFound || model->lifecycle == tracking::Lifecycle::kActive);
  if (found) return *std::move(model);
  return refuse(ErrorCode::kResourceDoesNotExist,
                fmt::format("Logged model with ID '{}' not found.", to_utf8(id)));
}

std::span<const Rpc> logged_model_rpcs() {
  static constexpr std::array kRpcs = {
      Rpc{Method::kPost, "/2.0/mlflow/logged-models", create_logged_model},
      needing(Role::kReader,
              Rpc{Method::kPost, "/2.0/mlflow/logged-models/search", search_logged_models}),
      Rpc{Method::kGet, "/2.0/mlflow/logged-models/{model_id}", get_logged_model},
      Rpc{Method::kPatch, "/2.0/mlflow/logged-models/{model_id}", finalize_logged_model},
      needing(Role::kOwner,
              Rpc{Method::kDelete, "/2.0/mlflow/logged-models/{model_id}", delete_logged_model}),
      Rpc{Method::kPost, "/2.0/mlflow/logged-models/{model_id}/params", log_logged_model_params},
      Rpc{Method::kPatch, "/2.0/mlflow/logged-models/{model_id}/tags", set_logged_model_tags},
      Rpc{Method::kDelete, "/2.0/mlflow/logged-models/{model_id}/tags/{tag_key}",
          delete_logged_model_tag},
  };
  return kRpcs;
}

}  // namespace corral::server::mlflow
