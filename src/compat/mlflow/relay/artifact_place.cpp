#include "compat/mlflow/relay/artifact_place.h"

#include <algorithm>

namespace corral::run {
namespace {

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
std::optional<Span> span_of(http::Request& request) {
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

std::optional<ArtifactPlace> artifact_place(const http::Request& request) {
  http::Request copy;
  copy.path = request.path;
  copy.query = request.query;
  const auto span = span_of(copy);
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
  const auto span = span_of(request);
  if (!span) return;
  // A URI's path is encoded as a request's is; queries are decoded here.
  if (span->text != &request.path) place = http::percent_decode(place).value_or(place);
  span->text->replace(span->begin, span->end - span->begin, place);
}

}  // namespace corral::run
