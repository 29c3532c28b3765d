#include "compat/mlflow/relay/answers.h"

#include <cstdint>

#include "core/json.h"

namespace corral::run {
namespace {

// Beyond what any store counts to, and an int64.
constexpr std::uint64_t kFirstProvisional = 8'000'000'000'000'000'000;
constexpr std::uint64_t kProvisional = 1'000'000'000'000'000'000;

// FNV-1a.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

http::Response refused(const mlflow::ApiError& error) {
  return http::json_response(mlflow::to_json(error), mlflow::http_status(error.code));
}

http::Response no_server(const Error& why) {
  return http::json_response(
      mlflow::to_json({mlflow::ErrorCode::kTemporarilyUnavailable,
                       "Corral's server does not answer: " + why.message +
                           ". What this run logs is kept and stored when it does"}),
      kNoServer);
}

http::Response empty_answer() { return http::json_response("{}"); }

http::Response with_experiment(std::string body, const std::string& experiment) {
  if (experiment.empty()) return http::json_response(std::move(body));
  auto json = Json::parse(body);
  const Json* run = json ? json->find("run") : nullptr;
  const Json* info = run != nullptr ? run->find("info") : nullptr;
  if (info == nullptr) return http::json_response(std::move(body));
  Json changed_info = *info;
  changed_info.set("experiment_id", experiment);
  Json changed_run = *run;
  changed_run.set("info", std::move(changed_info));
  json->set("run", std::move(changed_run));
  return http::json_response(json->dump());
}

std::string artifact_uri_of(std::string_view body) {
  const auto json = Json::parse(body);
  const Json* run = json ? json->find("run") : nullptr;
  const Json* info = run != nullptr ? run->find("info") : nullptr;
  return info != nullptr ? info->get_string("artifact_uri") : std::string();
}

std::string provisional_id(std::string_view experiment_name) {
  return std::to_string(kFirstProvisional + hash_of(experiment_name) % kProvisional);
}

http::Response experiment_answer(const std::string& id, const std::string& name) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("experiment").begin_object();
  json.member("experiment_id", id).member("name", name);
  json.member("artifact_location", "mlflow-artifacts:/" + id);
  json.member("lifecycle_stage", "active").end_object().end_object();
  return http::json_response(std::move(body));
}

}  // namespace corral::run
