// Registered models and their versions: rows of `registered_models`, `model_versions`, and of their
// tags and aliases.
//
// Free functions over a connection, in the caller's transaction or snapshot. A model is identified
// by its name, a version by a number under it that is never reused, not even after a deletion. An
// alias names one version and is deleted with it. Prompts are registered models with the tag
// kPromptTag. Callers check names, limits and stages.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "store/engine/database.h"
#include "store/search/experiments.h"
#include "store/search/search.h"

namespace corral::store::tracking {

inline constexpr std::string_view kPromptTag = "mlflow.prompt.is_prompt";
inline constexpr std::string_view kNoStage = "None";
inline constexpr std::string_view kArchived = "Archived";

// The numbers of MLflow's enum.
enum class VersionStatus : std::uint8_t { kPending = 1, kFailed = 2, kReady = 3 };

struct ModelVersionRow {
  VersionKey key;
  UtcTime created, updated;
  std::optional<std::string> description;
  std::string user_id, stage, source;
  std::string storage_location;  // the place of the files; empty: `source`
  std::string run_id, run_link, model_id;
  VersionStatus status = VersionStatus::kReady;
  std::string status_message;
  Tags tags;                         // by key
  std::vector<std::string> aliases;  // by name; left out where the functions say so
};

struct Alias {
  std::string name;
  std::int64_t version = 0;
};

struct RegisteredModelRow {
  std::string name;
  UtcTime created, updated;
  std::string description;
  Tags tags;                            // by key
  std::vector<Alias> aliases;           // by name
  std::vector<ModelVersionRow> latest;  // the newest of each stage, without aliases
};

struct NewRegisteredModel {
  std::string name, description;
  Tags tags;  // the last value of a repeated key counts
};
// kAlreadyExists.
Result<> create_registered_model(sql::Connection& db, const NewRegisteredModel& model, UtcTime now);
Result<bool> has_registered_model(sql::Connection& db, std::string_view name);
Result<std::optional<RegisteredModelRow>> registered_model(sql::Connection& db,
                                                           const std::string& name);
// Returns models in the order of `names`; unknown names are skipped.
Result<std::vector<RegisteredModelRow>> registered_models(sql::Connection& db,
                                                          std::span<const std::string> names);
// Versions, tags and aliases move with the model. kAlreadyExists: the new name is taken.
Result<> rename_registered_model(sql::Connection& db, std::string_view name,
                                 std::string_view new_name, UtcTime now);
Result<> describe_registered_model(sql::Connection& db, std::string_view name,
                                   std::string_view description, UtcTime now);
// Deletes the model and its versions.
Result<> delete_registered_model(sql::Connection& db, std::string_view name);
Result<std::optional<std::string>> registered_model_tag(sql::Connection& db, std::string_view name,
                                                        std::string_view key);
Result<> set_registered_model_tag(sql::Connection& db, std::string_view name, std::string_view key,
                                  std::string_view value);
Result<> delete_registered_model_tag(sql::Connection& db, std::string_view name,
                                     std::string_view key);

Result<> set_alias(sql::Connection& db, std::string_view alias, const VersionKey& version);
Result<> delete_alias(sql::Connection& db, std::string_view name, std::string_view alias);
Result<std::optional<std::int64_t>> version_of_alias(sql::Connection& db, std::string_view name,
                                                     std::string_view alias);
// Returns the newest version of each stage, in the order in which the stages were first used. An
// empty `stages` means all of them.
Result<std::vector<VersionKey>> latest_versions(sql::Connection& db, const std::string& name,
                                                std::span<const std::string> stages);

struct NewModelVersion {
  std::string model, description, user_id, source, storage_location, run_id, run_link, model_id;
  Tags tags;  // the last value of a repeated key counts
};
// kNotFound: no such model.
Result<VersionKey> create_model_version(sql::Connection& db, const NewModelVersion& version,
                                        UtcTime now);
Result<bool> has_model_version(sql::Connection& db, const VersionKey& key);
Result<std::optional<ModelVersionRow>> model_version(sql::Connection& db, const VersionKey& key);
// Returns versions in the order of `keys`; unknown keys are skipped.
enum class With : std::uint8_t { kNothing, kAliases };
Result<std::vector<ModelVersionRow>> model_versions(sql::Connection& db,
                                                    std::span<const VersionKey> keys,
                                                    With with = With::kNothing);
Result<> describe_model_version(sql::Connection& db, const VersionKey& key,
                                const std::optional<std::string>& description, UtcTime now);
enum class Others : std::uint8_t { kStay, kArchive };
// With Others::kArchive the other versions in that stage are archived.
Result<> move_to_stage(sql::Connection& db, const VersionKey& key, std::string_view stage,
                       Others others, UtcTime now);
Result<> delete_model_version(sql::Connection& db, const VersionKey& key, UtcTime now);
Result<> set_model_version_tag(sql::Connection& db, const VersionKey& key, std::string_view tag,
                               std::string_view value);
Result<> delete_model_version_tag(sql::Connection& db, const VersionKey& key, std::string_view tag);

// ---- searches (store/search/search.h)

// Names of registered models, by name where orders leave it open. Prompts are registered models
// with the tag mlflow.prompt.is_prompt; they are found only when the filter asks for that tag to be
// 'true' (or not 'false').
Result<Found<std::string>> search_registered_models(sql::Connection& db, const Search& search);

// Prompts as above. Without orders the last changed first; then by name, the newest version first.
Result<Found<VersionKey>> search_model_versions(sql::Connection& db, const Search& search);

}  // namespace corral::store::tracking
