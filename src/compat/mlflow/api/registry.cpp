// Registered models: create, read, rename, describe, delete, tags, aliases, latest versions.
#include <fmt/core.h>

#include <algorithm>

#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/api/models_json.h"
#include "compat/mlflow/wire/names.h"
#include "core/text.h"
#include "sys/clock.h"

namespace corral::server::mlflow {
namespace {

using store::sql::Connection;

constexpr std::size_t kModelNameLength = 256;
constexpr std::size_t kAliasLength = 255;

Answer<> check_model_name(std::string_view name) {
  if (name.find_first_of("/:") != std::string_view::npos) {
    return invalid(
        fmt::format("Invalid model name '{}'. Names cannot contain '/' or ':'.", to_utf8(name)));
  }
  if (corral::mlflow::code_points(name) <= kModelNameLength) return {};
  return invalid(
      fmt::format("'name' exceeds the maximum length of {} characters", kModelNameLength));
}

// "v1": what reads as a version.
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
  if (corral::mlflow::code_points(alias) > kAliasLength) {
    return invalid(fmt::format(
        "'Registered model alias name' exceeds the maximum length of {} characters", kAliasLength));
  }
  if (equal_ignoring_case(alias, "latest"))
    return invalid("'latest' alias name (case insensitive) is reserved.");
  if (names_version(alias))
    return invalid(fmt::format("Version alias name '{}' is reserved.", alias));
  return {};
}

tl::unexpected<ApiError> taken(std::string_view name) {
  return refuse(ErrorCode::kResourceAlreadyExists,
                fmt::format("Registered Model (name={}) already exists.", name));
}

// Models and prompts share one space of names.
Answer<> check_name_free(Connection& db, const tracking::NewRegisteredModel& wanted) {
  if (!TRY_API(tracking::has_registered_model(db, wanted.name))) return {};
  const bool prompt = is_prompt(wanted.tags);
  const auto tag = TRY_API(tracking::registered_model_tag(db, wanted.name, tracking::kPromptTag));
  const bool by_prompt = tag && equal_ignoring_case(*tag, "true");
  if (prompt == by_prompt && !prompt) return taken(wanted.name);
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

}  // namespace

Body create_registered_model(Message& in, Context& context) {
  tracking::NewRegisteredModel model;
  model.name = in.need_text("name");
  model.description = in.text("description");
  TRY_API(all_read(in));
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
  TRY_API(all_read(in));
  return inspect(context, [&](store::sql::Reading& reading) -> Body {
    return registered_model_answer(TRY_API(find_registered_model(reading.db, name)));
  });
}

Body rename_registered_model(Message& in, Context& context) {
  const std::string name = in.need_text("name");
  const std::string new_name = in.need_text("new_name");
  TRY_API(all_read(in));
  TRY_API(check_model_name(new_name));
  return change(context, [&](Connection& db) -> Body {
    TRY_API(check_registered_model(db, name));
    const bool other = name != new_name && TRY_API(tracking::has_registered_model(db, new_name));
    if (other) return taken(new_name);
    TRY_API(tracking::rename_registered_model(db, name, new_name, sys::utc_now()));
    return registered_model_answer(TRY_API(find_registered_model(db, new_name)));
  });
}

Body update_registered_model(Message& in, Context& context) {
  const std::string name = in.need_text("name");
  const std::string description = in.text("description");
  TRY_API(all_read(in));
  return change(context, [&](Connection& db) -> Body {
    TRY_API(check_registered_model(db, name));
    TRY_API(tracking::describe_registered_model(db, name, description, sys::utc_now()));
    return registered_model_answer(TRY_API(find_registered_model(db, name)));
  });
}

Body delete_registered_model(Message& in, Context& context) {
  const std::string name = in.need_text("name");
  TRY_API(all_read(in));
  return change(context, [&](Connection& db) -> Body {
    TRY_API(check_registered_model(db, name));
    TRY_API(tracking::delete_registered_model(db, name));
    return empty_answer();
  });
}

Body get_latest_versions(Message& in, Context& context) {
  const std::string name = in.need_text("name");
  std::vector<std::string> stages = in.texts("stages");
  TRY_API(all_read(in));
  for (std::string& stage : stages) stage = TRY_API(canonical_stage(stage));
  return inspect(context, [&](store::sql::Reading& reading) -> Body {
    TRY_API(check_registered_model(reading.db, name));
    const auto keys = TRY_API(tracking::latest_versions(reading.db, name, stages));
    const auto versions =
        TRY_API(tracking::model_versions(reading.db, keys, tracking::With::kAliases));
    if (versions.empty()) return empty_answer();
    std::string out;
    JsonWriter json(out);
    json.begin_object().key("model_versions").begin_array();
    for (const auto& version : versions) write_model_version(json, version);
    json.end_array().end_object();
    return out;
  });
}

Body set_registered_model_tag(Message& in, Context& context) {
  const std::string name = in.need_text("name");
  const std::string key = in.need_text("key");
  const std::string value = in.text("value");
  TRY_API(all_read(in));
  TRY_API(check_registry_tag(key, value));
  return change(context, [&](Connection& db) -> Body {
    TRY_API(check_registered_model(db, name));
    TRY_API(tracking::set_registered_model_tag(db, name, key, value));
    return empty_answer();
  });
}

Body delete_registered_model_tag(Message& in, Context& context) {
  const std::string name = in.need_text("name");
  const std::string key = in.need_text("key");
  TRY_API(all_read(in));
  return change(context, [&](Connection& db) -> Body {
    TRY_API(check_registered_model(db, name));
    TRY_API(tracking::delete_registered_model_tag(db, name, key));
    return empty_answer();
  });
}

Body set_registered_model_alias(Message& in, Context& context) {
  const std::string alias = in.need_text("alias");
  const tracking::VersionKey key = TRY_API(read_version_key(in));
  TRY_API(check_alias(alias));
  return change(context, [&](Connection& db) -> Body {
    TRY_API(check_model_version(db, key));
    TRY_API(tracking::set_alias(db, alias, key));
    return empty_answer();
  });
}

Body delete_registered_model_alias(Message& in, Context& context) {
  const std::string name = in.need_text("name");
  const std::string alias = in.need_text("alias");
  TRY_API(all_read(in));
  return change(context, [&](Connection& db) -> Body {
    TRY_API(check_registered_model(db, name));
    TRY_API(tracking::delete_alias(db, name, alias));
    return empty_answer();
  });
}

Body get_version_by_alias(Message& in, Context& context) {
  const std::string name = in.need_text("name");
  const std::string alias = in.need_text("alias");
  TRY_API(all_read(in));
  return inspect(context, [&](store::sql::Reading& reading) -> Body {
    TRY_API(check_registered_model(reading.db, name));
    const auto version = TRY_API(tracking::version_of_alias(reading.db, name, alias));
    if (!version)
      return invalid(fmt::format("Registered model alias {} not found.", to_utf8(alias)));
    return model_version_answer(TRY_API(find_model_version(reading.db, {name, *version})));
  });
}

}  // namespace corral::server::mlflow
