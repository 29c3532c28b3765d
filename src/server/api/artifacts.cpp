// Artifacts of a run, by the native API: list, content, upload.
#include <fmt/core.h>

#include "compat/mlflow/wire/artifact_path.h"
#include "core/json.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/write.h"
#include "server/core/artifact_files.h"
#include "server/core/artifact_upload.h"
#include "store/search/runs.h"

namespace corral::server::api {
namespace {

using store::artifacts::ArtifactStore;

struct Place {
  ArtifactStore* store = nullptr;
  std::string path;
};

// Says if a file is to be read or to be stored there.
enum class Use : std::uint8_t { kRead, kStore };

// The place of `inside` of the run that the request names.
Result<Place> place_of(const Request& request, Context& context, std::string_view inside,
                       Use use = Use::kRead) {
  if (context.artifacts == nullptr)
    return fail(Code::kUnsupported, "this server stores no artifacts");
  const RunId id = TRY(query::select_run(context.reader, request.param("run")));
  std::optional<store::tracking::RunRow> run;
  const auto find = [&](store::Reading& reading) -> Result<> {
    run = TRY(store::tracking::run(reading, id));
    return {};
  };
  if (use == Use::kRead) TRY(context.reader.inspect(find));
  if (use == Use::kStore) run = TRY(run_for_upload(context, id));
  if (!run) return fail(Code::kNotFound, fmt::format("there is no run {}", id.hex()));
  std::string path = TRY(path_in_store(*context.artifacts, run->artifact_uri, inside));
  return Place{.store = context.artifacts, .path = std::move(path)};
}

Result<std::string> list(const Request& request, Context& context) {
  const std::string inside =
      TRY(corral::mlflow::artifact_path(request.query_value("path").value_or("")));
  const Place place = TRY(place_of(request, context, inside));
  const auto entries = TRY(place.store->list(place.path));
  std::string body;
  JsonWriter json(body);
  json.begin_object().member("path", inside).key("entries").begin_array();
  for (const auto& entry : entries) {
    json.begin_object().member("name", entry.name).member("is_dir", entry.is_dir);
    if (!entry.is_dir) json.key("size").value_string(static_cast<std::int64_t>(entry.size));
    json.end_object();
  }
  json.end_array().end_object();
  return body;
}

Result<Response> content(const Request& request, Context& context) {
  const Place place = TRY(place_of(request, context, request.param("path")));
  const bool download = request.query_value("download").has_value();
  auto reader = TRY(place.store->open(place.path));
  return file_response(request, place.path, std::move(reader),
                       download ? Disposition::kAttachment : Disposition::kInline);
}

Response stored(const Result<>& done) {
  return done ? json_response("{}") : error_response(done.error());
}

}  // namespace

Response list_artifacts(const Request& request, Context& context) {
  Result<std::string> body = list(request, context);
  return body ? json_response(*std::move(body)) : error_response(body.error());
}

Response get_artifact(const Request& request, Context& context) {
  Result<Response> response = content(request, context);
  return response ? *std::move(response) : error_response(response.error());
}

Response put_artifact(const Request& request, Context& context) {
  const Result<Place> place = place_of(request, context, request.param("path"), Use::kStore);
  return place ? receive_file(request, context, place->path, stored)
               : error_response(place.error());
}

}  // namespace corral::server::api
