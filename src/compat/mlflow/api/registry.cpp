
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/tables/logged_models.h"
#include "compat/mlflow/wire/names.h"
#include "core/text.h"
#include "server/core/unseen.h"
#include "sys/clock.h"

namespace corral::server::mlflow {
namespace {

using tracking::VersionKey;
using wire::SearchKind;

constexpr std::size_t kRegistryTagLength = 100'000;
constexpr std::array<std::string_view, 4> kStages = {"None", "Staging", "Production", "Archived"};
// By the numbers of the enums.
constexpr std::array<std::string_view, 4> kVersionStatuses = {
    "PENDING_REGISTRATION", "PENDING_REGISTRATION", "FAILED_REGISTRATION", "READY"};

tl::unexpected<ApiError> no_registered_model(std::string_view name) {
  return refuse(ErrorCode::kResourceDoesNotExist,
                fmt::format("Registered Model with name={} not found", name));
}
tl::unexpected<ApiError> no_model_version(const VersionKey& key) {
  return refuse(
      ErrorCode::kResourceDoesNotExist,
      fmt::format("Model Version (name={}, version={}) not found", key.model, key.version));
}

void write_model_version(JsonWriter& json, const tracking::ModelVersionRow& version) {
  json.begin_object().member("name", version.key.model);
  json.member("version", std::to_string(version.key.version));
  write_ms(json, "creation_timestamp", version.created);
  write_ms(json, "last_updated_timestamp", version.updated);
  write_unless_empty(json, "user_id", version.user_id);
  json.member("current_stage", version.stage);
  if (version.description) json.member("description", *version.description);
  json.member("source", version.source).member("run_id", version.run_id);
  json.member("status", kVersionStatuses.at(static_cast<std::size_t>(version.status)));
  write_unless_empty(json, "status_message", version.status_message);
  write_tags(json, "tags", version.tags);
  json.member("run_link", version.run_link);
  write_list(json, "aliases", version.aliases,
             [](JsonWriter& out, const std::string& alias) { out.value(alias); });
  json.end_object();
}

void write_registered_model(JsonWriter& json, const tracking::RegisteredModelRow& model) {
  json.begin_object().member("name", model.name);
  write_ms(json, "creation_timestamp", model.created);
  write_ms(json, "last_updated_timestamp", model.updated);
  write_unless_empty(json, "description", model.description);
  write_list(json, "latest_versions", model.latest, write_model_version);
  write_tags(json, "tags", model.tags);
  write_list(json, "aliases", model.aliases, [](JsonWriter& out, const tracking::Alias& alias) {
    out.begin_object().member("alias", alias.name);
    out.member("version", std::to_string(alias.version)).end_object();
  });
  json.end_object();
}

std::string registered_model_answer(const tracking::RegisteredModelRow& model) {
  return object_with("registered_model",
                     [&](JsonWriter& json) { write_registered_model(json, model); });
}

std::string model_version_answer(const tracking::ModelVersionRow& version) {
  return object_with("model_version",
                     [&](JsonWriter& json) { write_model_version(json, version); });
}

Answer<VersionKey> read_version_key(Message& in) {
  VersionKey key;
  key.model = in.need_text("name");
  const Json* value = in.find("version");
  if (value != nullptr && value->as_int() != nullptr) {
    key.version = *value->as_int();
    TRY_API(in.check());
    return key;
  }
  const std::string text = in.need_text("version");
  TRY_API(in.check());
  const auto number = parse_int(text);
  if (!number) {
    return invalid(fmt::format("Parameter 'version' must be an integer, got '{}'.", to_utf8(text)));
  }
  key.version = *number;
  return key;
}

Answer<> check_registry_tag(std::string_view key, std::string_view value) {
  TRY_API(wire::check_key(key, "key"));
  if (wire::code_points(value) <= kRegistryTagLength) return {};
  return invalid(
      fmt::format("'value' exceeds the maximum length of {} characters", kRegistryTagLength));
}

Answer<tracking::Tags> read_registry_tags(Message& in) {
  tracking::Tags tags;
  for (Message& item : in.messages("tags")) tags.emplace_back(item.text("key"), item.text("value"));
  TRY_API(in.check());
  for (const auto& [key, value] : tags) TRY_API(check_registry_tag(key, value));
  return tags;
}

bool is_prompt(const tracking::Tags& tags) {
  bool prompt = false;
  for (const auto& [key, value] : tags) {
    if (key == tracking::kPromptTag) prompt = equal_ignoring_case(value, "true");
  }
  return prompt;
}

Answer<tracking::RegisteredModelRow> find_registered_model(Connection& db,
                                                           const std::string& name) {
  auto model = TRY_API(tracking::registered_model(db, name));
  if (!model) return no_registered_model(name);
  return *std::move(model);
}

constexpr std::size_t kModelNameLength = 256;
constexpr std::size_t kAliasLength = 255;

Answer<> check_model_name(std::string_view name) {
  if (name.find_first_of("/:") != std::string_view::npos) {
    return invalid(
        fmt::format("Invalid model name '{}'. Names cannot contain '/' or ':'.", to_utf8(name)));
  }
  if (wire::code_points(name) <= kModelNameLength) return {};
  return invalid(
      fmt::format("'name' exceeds the maximum length of {} characters", kModelNameLength));
}

// True for text that reads as a version, such as "v1".
bool names_version(std::string_view alias) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return alias.size() > 1 && (alias.front() == 'v' || alias.front() == 'V') &&
         std::ranges::all_of(alias.substr(1), digit);
}

Answer<> check_alias(std::string_view alias) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || static_cast<unsigned char>(c) >= 0x80;
  };
  if (!std::ranges::all_of(alias, letter)) {
    return invalid(
        fmt::format("Invalid alias name: '{}'. Names may only contain alphanumerics, underscores "
                    "(_), and dashes (-).",
                    to_utf8(alias)));
  }
  if (wire::code_points(alias) > kAliasLength) {
    return invalid(fmt::format(
        "'Registered model alias name' exceeds the maximum length of {} characters", kAliasLength));
  }
  if (equal_ignoring_case(alias, "latest"))
    return invalid("'latest' alias name (case insensitive) is reserved.");
  if (names_version(alias))
    return invalid(fmt::format("Version alias name '{}' is reserved.", alias));
  return {};
}

tl::unexpected<ApiError> name_taken(std::string_view name) {
  return refuse(ErrorCode::kResourceAlreadyExists,
                fmt::format("Registered Model (name={}) already exists.", name));
}

// Models and prompts share one space of names.
Answer<> check_name_free(Connection& db, const tracking::NewRegisteredModel& wanted) {
  if (!TRY_API(tracking::has_registered_model(db, wanted.name))) return {};
  const bool prompt = is_prompt(wanted.tags);
  const auto tag = TRY_API(tracking::registered_model_tag(db, wanted.name, tracking::kPromptTag));
  const bool by_prompt = tag && equal_ignoring_case(*tag, "true");
  if (prompt == by_prompt && !prompt) return name_taken(wanted.name);
  if (prompt == by_prompt) {
    return refuse(ErrorCode::kResourceAlreadyExists,
                  fmt::format("Prompt (name={}) already exists.", wanted.name));
  }
  return refuse(ErrorCode::kResourceAlreadyExists,
                fmt::format("Tried to create a {} with name '{}', but the name is already taken by "
                            "a {}. MLflow does not allow creating a model and a prompt with the "
                            "same name.",
                            prompt ? "prompt" : "registered model", wanted.name,
                            by_prompt ? "prompt" : "registered model"));
}

// A prompt has no files: its source is a word.
Answer<ModelSource> find_source(Connection& db, const ModelSource& asked,
                                const tracking::Tags& tags) {
  return is_prompt(tags) ? Answer<ModelSource>(asked) : resolve_source(db, asked);
}

// The logged model's tag mlflow.modelVersions lists the versions that were made of it.
Answer<> add_to_logged_model(Connection& db, const std::string& model, const VersionKey& key) {
  constexpr std::string_view kTag = "mlflow.modelVersions";
  const auto logged = TRY_API(tracking::logged_model(db, model));
  if (!logged) return {};
  const auto tag =
      std::ranges::find(logged->tags, kTag, [](const auto& pair) { return pair.first; });
  const auto known = tag != logged->tags.end() ? Json::parse(tag->second) : Json(Json::Array{});
  Json::Array versions;
  if (known && known->as_array() != nullptr) versions = *known->as_array();
  versions.emplace_back(Json::Object{{"name", key.model}, {"version", key.version}});
  TRY_API(
      tracking::set_model_tags(db, model, {{std::string(kTag), Json(std::move(versions)).dump()}}));
  return {};
}

Answer<> check_exists(Connection& db, const std::string& model) {
  return check_registered_model(db, model);
}
Answer<> check_exists(Connection& db, const VersionKey& key) {
  if (TRY_API(tracking::has_model_version(db, key))) return {};
  return no_model_version(key);
}

// Runs `work(db)` on an existing model or version.
template <class Key, class Work>
Body change_existing(Context& context, const Key& key, Work&& work) {
  return change(context, [&](Connection& db) -> Body {
    TRY_API(check_exists(db, key));
    TRY_API(work(db));
    return empty_answer();
  });
}

// The same, and answers with the version's new state.
template <class Work>
Body change_version(Context& context, const VersionKey& key, Work&& work) {
  return change(context, [&](Connection& db) -> Body {
    TRY_API(check_exists(db, key));
    TRY_API(work(db));
    return model_version_answer(TRY_API(find_model_version(db, key)));
  });
}

Body create_registered_model(Message& in, Context& context) {
  tracking::NewRegisteredModel model;
  model.name = in.need_text("name");
  model.description = in.text("description");
  TRY_API(in.check());
  TRY_API(check_model_name(model.name));
  model.tags = TRY_API(read_registry_tags(in));
  return change(context, [&](Connection& db) -> Body {
    TRY_API(check_name_free(db, model));
    TRY_API(tracking::create_registered_model(db, model, sys::utc_now()));
    return registered_model_answer(TRY_API(find_registered_model(db, model.name)));
  });
}

Body get_registered_model(Message& in, Context& context) {
  const std::string name = in.need_text("name");
  return inspect(in, context, [&](Reading& reading) -> Body {
    return registered_model_answer(TRY_API(find_registered_model(reading.db, name)));
  });
}

Body rename_registered_model(Message& in, Context& context) {
  const std::string name = in.need_text("name");
  const std::string new_name = in.need_text("new_name");
  TRY_API(in.check());
  TRY_API(check_model_name(new_name));
  return change(context, [&](Connection& db) -> Body {
    TRY_API(check_registered_model(db, name));
    const bool other = name != new_name && TRY_API(tracking::has_registered_model(db, new_name));
    if (other) return name_taken(new_name);
    TRY_API(tracking::rename_registered_model(db, name, new_name, sys::utc_now()));
    return registered_model_answer(TRY_API(find_registered_model(db, new_name)));
  });
}

Body update_registered_model(Message& in, Context& context) {
  const std::string name = in.need_text("name");
  const std::string description = in.text("description");
  return change(in, context, [&](Connection& db) -> Body {
    TRY_API(check_registered_model(db, name));
    TRY_API(tracking::describe_registered_model(db, name, description, sys::utc_now()));
    return registered_model_answer(TRY_API(find_registered_model(db, name)));
  });
}

Body delete_registered_model(Message& in, Context& context) {
  const std::string name = in.need_text("name");
  TRY_API(in.check());
  return change_existing(
      context, name, [&](Connection& db) { return tracking::delete_registered_model(db, name); });
}

Body get_latest_versions(Message& in, Context& context) {
  const std::string name = in.need_text("name");
  std::vector<std::string> stages = in.texts("stages");
  TRY_API(in.check());
  for (std::string& stage : stages) stage = TRY_API(canonical_stage(stage));
  return inspect(context, [&](Reading& reading) -> Body {
    TRY_API(check_registered_model(reading.db, name));
    const auto keys = TRY_API(tracking::latest_versions(reading.db, name, stages));
    const auto versions =
        TRY_API(tracking::model_versions(reading.db, keys, tracking::With::kAliases));
    return list_answer("model_versions", versions, write_model_version);
  });
}

Body set_registered_model_tag(Message& in, Context& context) {
  const std::string name = in.need_text("name");
  const std::string key = in.need_text("key");
  const std::string value = in.text("value");
  TRY_API(in.check());
  TRY_API(check_registry_tag(key, value));
  return change_existing(context, name, [&](Connection& db) {
    return tracking::set_registered_model_tag(db, name, key, value);
  });
}

Body delete_registered_model_tag(Message& in, Context& context) {
  const std::string name = in.need_text("name");
  const std::string key = in.need_text("key");
  TRY_API(in.check());
  return change_existing(context, name, [&](Connection& db) {
    return tracking::delete_registered_model_tag(db, name, key);
  });
}

Body set_registered_model_alias(Message& in, Context& context) {
  const std::string alias = in.need_text("alias");
  const VersionKey key = TRY_API(read_version_key(in));
  TRY_API(check_alias(alias));
  return change_existing(context, key,
                         [&](Connection& db) { return tracking::set_alias(db, alias, key); });
}

Body delete_registered_model_alias(Message& in, Context& context) {
  const std::string name = in.need_text("name");
  const std::string alias = in.need_text("alias");
  TRY_API(in.check());
  return change_existing(context, name,
                         [&](Connection& db) { return tracking::delete_alias(db, name, alias); });
}

Body get_version_by_alias(Message& in, Context& context) {
  const std::string name = in.need_text("name");
  const std::string alias = in.need_text("alias");
  return inspect(in, context, [&](Reading& reading) -> Body {
    TRY_API(check_registered_model(reading.db, name));
    const auto version = TRY_API(tracking::version_of_alias(reading.db, name, alias));
    if (!version)
      return invalid(fmt::format("Registered model alias {} not found.", to_utf8(alias)));
    return model_version_answer(TRY_API(find_model_version(reading.db, {name, *version})));
  });
}

Body create_model_version(Message& in, Context& context) {
  tracking::NewModelVersion version;
  version.model = in.need_text("name");
  const ModelSource asked{.source = in.need_text("source"),
                          .storage_location = {},
                          .run_id = in.text("run_id"),
                          .model_id = in.text("model_id")};
  version.description = in.text("description");
  version.run_link = in.text("run_link");
  version.user_id = in.text("user_id");
  TRY_API(in.check());
  version.tags = TRY_API(read_registry_tags(in));
  if (!asked.run_id.empty()) TRY_API(wire::check_run_id(asked.run_id));
  const auto is_seen = [&](const std::string& model) {
    return check_ids(context.reader, {model}).has_value();
  };
  return change(context, [&](Connection& db) -> Body {
    TRY_API(check_registered_model(db, version.model));
    ModelSource source = TRY_API(find_source(db, asked, version.tags));
    version.source = std::move(source.source);
    version.storage_location = std::move(source.storage_location);
    version.run_id = std::move(source.run_id);
    version.model_id = std::move(source.model_id);
    const VersionKey key = TRY_API(tracking::create_model_version(db, version, sys::utc_now()));
    if (!version.model_id.empty() && !is_prompt(version.tags) && is_seen(version.model_id))
      TRY_API(add_to_logged_model(db, version.model_id, key));
    return model_version_answer(TRY_API(find_model_version(db, key)));
  });
}

Body get_model_version(Message& in, Context& context) {
  const VersionKey key = TRY_API(read_version_key(in));
  return inspect(context, [&](Reading& reading) -> Body {
    return model_version_answer(TRY_API(find_model_version(reading.db, key)));
  });
}

Body update_model_version(Message& in, Context& context) {
  const VersionKey key = TRY_API(read_version_key(in));
  const auto description = in.maybe_text("description");
  TRY_API(in.check());
  return change_version(context, key, [&](Connection& db) {
    return tracking::describe_model_version(db, key, description, sys::utc_now());
  });
}

Body transition_stage(Message& in, Context& context) {
  const VersionKey key = TRY_API(read_version_key(in));
  const std::string asked = in.need_text("stage");
  const Json* flag = in.find("archive_existing_versions");
  const bool archive = flag != nullptr && flag->as_bool() != nullptr && *flag->as_bool();
  if (flag != nullptr && flag->as_bool() == nullptr)
    in.wrong_value("archive_existing_versions", "It must be true or false.");
  TRY_API(in.check());
  const std::string stage = TRY_API(canonical_stage(asked));
  if (archive && (stage == tracking::kNoStage || stage == tracking::kArchived)) {
    return invalid(
        fmt::format("Model version transition cannot archive existing model versions because '{}' "
                    "is not an Active stage. Valid stages are ['Staging', 'Production']",
                    asked));
  }
  const auto others = archive ? tracking::Others::kArchive : tracking::Others::kStay;
  return change_version(context, key, [&](Connection& db) {
    return tracking::move_to_stage(db, key, stage, others, sys::utc_now());
  });
}

Body delete_model_version(Message& in, Context& context) {
  const VersionKey key = TRY_API(read_version_key(in));
  return change_existing(context, key, [&](Connection& db) {
    return tracking::delete_model_version(db, key, sys::utc_now());
  });
}

Body get_download_uri(Message& in, Context& context) {
  const VersionKey key = TRY_API(read_version_key(in));
  return inspect(context, [&](Reading& reading) -> Body {
    const auto version = TRY_API(find_model_version(reading.db, key));
    return object_with("artifact_uri", [&](JsonWriter& json) {
      json.value(version.storage_location.empty() ? version.source : version.storage_location);
    });
  });
}

Body set_model_version_tag(Message& in, Context& context) {
  const VersionKey key = TRY_API(read_version_key(in));
  const std::string tag = in.need_text("key");
  const std::string value = in.text("value");
  TRY_API(in.check());
  TRY_API(check_registry_tag(tag, value));
  return change_existing(context, key, [&](Connection& db) {
    return tracking::set_model_version_tag(db, key, tag, value);
  });
}

Body delete_model_version_tag(Message& in, Context& context) {
  const VersionKey key = TRY_API(read_version_key(in));
  const std::string tag = in.need_text("key");
  TRY_API(in.check());
  return change_existing(context, key, [&](Connection& db) {
    return tracking::delete_model_version_tag(db, key, tag);
  });
}

Body search_registered_models(Message& in, Context& context) {
  const tracking::Search search = TRY_API(
      read_search(in, {.kind = SearchKind::kRegisteredModels, .fallback = 100, .most = 1000}));
  return inspect(context, [&](Reading& reading) -> Body {
    const auto found = TRY_API(tracking::search_registered_models(reading.db, search));
    const auto models = TRY_API(tracking::registered_models(reading.db, found.rows));
    return list_answer("registered_models", models, write_registered_model,
                       next_page(search.paging, found));
  });
}

Body search_model_versions(Message& in, Context& context) {
  const tracking::Search search = TRY_API(
      read_search(in, {.kind = SearchKind::kModelVersions, .fallback = 10000, .most = 200'000}));
  return inspect(context, [&](Reading& reading) -> Body {
    const auto found = TRY_API(tracking::search_model_versions(reading.db, search));
    const auto versions = TRY_API(tracking::model_versions(reading.db, found.rows));
    return list_answer("model_versions", versions, write_model_version,
                       next_page(search.paging, found));
  });
}

}  // namespace

Answer<> check_registered_model(Connection& db, std::string_view name) {
  if (TRY_API(tracking::has_registered_model(db, name))) return {};
  return no_registered_model(name);
}

Answer<tracking::ModelVersionRow> find_model_version(Connection& db, const VersionKey& key) {
  auto version = TRY_API(tracking::model_version(db, key));
  if (!version) return no_model_version(key);
  return *std::move(version);
}

Answer<std::string> canonical_stage(std::string_view stage) {
  for (const std::string_view known : kStages) {
    if (equal_ignoring_case(stage, known)) return std::string(known);
  }
  return invalid(
      fmt::format("Invalid Model Version stage: {}. Value must be one of None, Staging, "
                  "Production, Archived.",
                  to_utf8(stage)));
}

std::span<const Rpc> registry_rpcs() {
  static constexpr std::array kRpcs = {
      Rpc{Method::kPost, "/2.0/mlflow/registered-models/create", create_registered_model},
      Rpc{Method::kGet, "/2.0/mlflow/registered-models/get", get_registered_model},
      Rpc{Method::kGet, "/2.0/mlflow/registered-models/search", search_registered_models},
      Rpc{Method::kPost, "/2.0/mlflow/registered-models/rename", rename_registered_model},
      Rpc{Method::kPatch, "/2.0/mlflow/registered-models/update", update_registered_model},
      needing(Role::kOwner, Rpc{Method::kDelete, "/2.0/mlflow/registered-models/delete",
                                delete_registered_model}),
      Rpc{Method::kGet, "/2.0/mlflow/registered-models/get-latest-versions", get_latest_versions},
      needing(Role::kReader, Rpc{Method::kPost, "/2.0/mlflow/registered-models/get-latest-versions",
                                 get_latest_versions}),
      Rpc{Method::kPost, "/2.0/mlflow/registered-models/set-tag", set_registered_model_tag},
      Rpc{Method::kDelete, "/2.0/mlflow/registered-models/delete-tag", delete_registered_model_tag},
      Rpc{Method::kPost, "/2.0/mlflow/registered-models/alias", set_registered_model_alias},
      Rpc{Method::kDelete, "/2.0/mlflow/registered-models/alias", delete_registered_model_alias},
      Rpc{Method::kGet, "/2.0/mlflow/registered-models/alias", get_version_by_alias},
      Rpc{Method::kPost, "/2.0/mlflow/model-versions/create", create_model_version},
      Rpc{Method::kGet, "/2.0/mlflow/model-versions/get", get_model_version},
      Rpc{Method::kGet, "/2.0/mlflow/model-versions/search", search_model_versions},
      Rpc{Method::kPatch, "/2.0/mlflow/model-versions/update", update_model_version},
      Rpc{Method::kPost, "/2.0/mlflow/model-versions/transition-stage", transition_stage},
      needing(Role::kOwner,
              Rpc{Method::kDelete, "/2.0/mlflow/model-versions/delete", delete_model_version}),
      Rpc{Method::kGet, "/2.0/mlflow/model-versions/get-download-uri", get_download_uri},
      Rpc{Method::kPost, "/2.0/mlflow/model-versions/set-tag", set_model_version_tag},
      Rpc{Method::kDelete, "/2.0/mlflow/model-versions/delete-tag", delete_model_version_tag},
  };
  return kRpcs;
}

}  // namespace corral::server::mlflow
