// Model versions: create, read, describe, stages, tags, delete, where the files are.
#include <fmt/core.h>

#include <algorithm>

#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/api/model_source.h"
#include "compat/mlflow/api/models_json.h"
#include "compat/mlflow/wire/names.h"
#include "sys/clock.h"

namespace corral::server::mlflow {
namespace {

using store::sql::Connection;
using tracking::VersionKey;

// A prompt has no files: its source is a word.
Answer<ModelSource> source_of(Connection& db, const ModelSource& asked,
                              const tracking::Tags& tags) {
  return is_prompt(tags) ? Answer<ModelSource>(asked) : resolve_source(db, asked);
}

// The logged model's tag mlflow.modelVersions lists the versions that were made of it.
Answer<> tell_logged_model(Connection& db, const std::string& model, const VersionKey& key) {
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

// Runs `work(db)` on a version that is there and answers what became of it.
template <class Work>
Body change_version(Context& context, const VersionKey& key, Work&& work) {
  return change(context, [&](Connection& db) -> Body {
    TRY_API(check_model_version(db, key));
    TRY_API(work(db));
    return model_version_answer(TRY_API(find_model_version(db, key)));
  });
}

}  // namespace

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
  TRY_API(all_read(in));
  version.tags = TRY_API(read_registry_tags(in));
  if (!asked.run_id.empty()) TRY_API(corral::mlflow::check_run_id(asked.run_id));
  return change(context, [&](Connection& db) -> Body {
    TRY_API(check_registered_model(db, version.model));
    ModelSource source = TRY_API(source_of(db, asked, version.tags));
    version.source = std::move(source.source);
    version.storage_location = std::move(source.storage_location);
    version.run_id = std::move(source.run_id);
    version.model_id = std::move(source.model_id);
    const VersionKey key = TRY_API(tracking::create_model_version(db, version, sys::utc_now()));
    if (!version.model_id.empty() && !is_prompt(version.tags))
      TRY_API(tell_logged_model(db, version.model_id, key));
    return model_version_answer(TRY_API(find_model_version(db, key)));
  });
}

Body get_model_version(Message& in, Context& context) {
  const VersionKey key = TRY_API(read_version_key(in));
  return inspect(context, [&](store::sql::Reading& reading) -> Body {
    return model_version_answer(TRY_API(find_model_version(reading.db, key)));
  });
}

Body update_model_version(Message& in, Context& context) {
  const VersionKey key = TRY_API(read_version_key(in));
  const auto description = in.maybe_text("description");
  TRY_API(all_read(in));
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
  TRY_API(all_read(in));
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
  return change(context, [&](Connection& db) -> Body {
    TRY_API(check_model_version(db, key));
    TRY_API(tracking::delete_model_version(db, key, sys::utc_now()));
    return empty_answer();
  });
}

Body get_download_uri(Message& in, Context& context) {
  const VersionKey key = TRY_API(read_version_key(in));
  return inspect(context, [&](store::sql::Reading& reading) -> Body {
    const auto version = TRY_API(find_model_version(reading.db, key));
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    json.member("artifact_uri",
                version.storage_location.empty() ? version.source : version.storage_location);
    json.end_object();
    return out;
  });
}

Body set_model_version_tag(Message& in, Context& context) {
  const VersionKey key = TRY_API(read_version_key(in));
  const std::string tag = in.need_text("key");
  const std::string value = in.text("value");
  TRY_API(all_read(in));
  TRY_API(check_registry_tag(tag, value));
  return change(context, [&](Connection& db) -> Body {
    TRY_API(check_model_version(db, key));
    TRY_API(tracking::set_model_version_tag(db, key, tag, value));
    return empty_answer();
  });
}

Body delete_model_version_tag(Message& in, Context& context) {
  const VersionKey key = TRY_API(read_version_key(in));
  const std::string tag = in.need_text("key");
  TRY_API(all_read(in));
  return change(context, [&](Connection& db) -> Body {
    TRY_API(check_model_version(db, key));
    TRY_API(tracking::delete_model_version_tag(db, key, tag));
    return empty_answer();
  });
}

}  // namespace corral::server::mlflow
