#include "compat/mlflow/relay/messages.h"

#include <algorithm>
#include <cstdint>

#include "core/json.h"

namespace corral::run {
namespace {

// Beyond what any store counts to, and an int64.
constexpr std::uint64_t kFirstProvisional = 8'000'000'000'000'000'000;
constexpr std::uint64_t kProvisional = 1'000'000'000'000'000'000;

// FNV-1a.
std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

constexpr std::string_view kProxy = "/mlflow-artifacts/";
constexpr std::string_view kScheme = "mlflow-artifacts:/";
constexpr std::string_view kFolder = "artifacts";

// The range of a text that holds "<folder>/<run>/artifacts".
struct Span {
  std::string* text = nullptr;
  std::size_t begin = 0;
  std::size_t end = 0;
  RunId run;
};

std::optional<Span> span_in(std::string& text, std::size_t begin) {
  const std::string_view view = text;
  const std::size_t run_at = view.find('/', begin);
  if (run_at == std::string_view::npos) return std::nullopt;
  const std::size_t folder_at = view.find('/', run_at + 1);
  if (folder_at == std::string_view::npos) return std::nullopt;
  const auto run = RunId::parse(view.substr(run_at + 1, folder_at - run_at - 1));
  const std::size_t end = std::min(view.find('/', folder_at + 1), view.size());
  if (!run || view.substr(folder_at + 1, end - folder_at - 1) != kFolder) return std::nullopt;
  return Span{.text = &text, .begin = begin, .end = end, .run = *run};
}

// In the path behind ".../artifacts/" or ".../mpu/<verb>/", or for lists in the query.
std::optional<Span> find_span(http::Request& request) {
  std::size_t at = request.path.find(kProxy);
  if (at == std::string::npos) return std::nullopt;
  at += kProxy.size();
  const std::string_view verb = std::string_view(request.path).substr(at);
  if (verb == kFolder) {
    const auto path = std::ranges::find(request.query, "path", &http::Pairs::value_type::first);
    return path != request.query.end() ? span_in(path->second, 0) : std::nullopt;
  }
  std::size_t slashes = verb.starts_with("mpu/") ? 2 : 1;
  for (; slashes > 0 && at != 0; --slashes) at = request.path.find('/', at) + 1;
  return at != 0 ? span_in(request.path, at) : std::nullopt;
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

std::string parse_artifact_uri(std::string_view body) {
  const auto json = Json::parse(body);
  const Json* run = json ? json->find("run") : nullptr;
  const Json* info = run != nullptr ? run->find("info") : nullptr;
  return info != nullptr ? info->get_string("artifact_uri") : std::string();
}

std::string provisional_id(std::string_view experiment_name) {
  return std::to_string(kFirstProvisional + fnv1a(experiment_name) % kProvisional);
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

std::optional<ArtifactPlace> artifact_place(const http::Request& request) {
  http::Request copy;
  copy.path = request.path;
  copy.query = request.query;
  const auto span = find_span(copy);
  if (!span) return std::nullopt;
  std::string inside = span->text->substr(std::min(span->end + 1, span->text->size()));
  if (span->text == &copy.path) {
    auto decoded = http::percent_decode(inside);
    if (!decoded) return std::nullopt;
    inside = *std::move(decoded);
  }
  return ArtifactPlace{.run = span->run, .inside = std::move(inside)};
}

void move_artifact(http::Request& request, std::string_view uri) {
  if (!uri.starts_with(kScheme)) return;
  std::string place(uri.substr(kScheme.size()));
  const auto span = find_span(request);
  if (!span) return;
  // A URI's path is encoded as a request's is; queries are decoded here.
  if (span->text != &request.path) place = http::percent_decode(place).value_or(place);
  span->text->replace(span->begin, span->end - span->begin, place);
}

}  // namespace corral::run
