// Artifacts of a run, by the native API: list, content, upload.
#include <fmt/core.h>

#include "compat/mlflow/wire/artifact_path.h"
#include "core/json.h"
#include "server/api/handlers.h"
#include "server/api/write.h"
#include "server/core/artifacts.h"
#include "store/search/runs.h"

namespace corral::server::api {
namespace {

using store::artifacts::ArtifactStore;

// Says if a file is to be read or to be stored there.
enum class Use : std::uint8_t { kRead, kStore };

// The path in the store of `inside` of the requested run.
Result<std::string> find_path(const Request& request, Context& context, std::string_view inside,
                              Use use = Use::kRead) {
  if (context.artifacts == nullptr)
    return fail(Code::kUnsupported, "this server stores no artifacts");
  const RunId id = TRY(requested_run(request, context));
  const auto run = use == Use::kStore ? TRY(run_for_upload(context, id))
                                      : TRY(in_snapshot(context.reader, [&](auto& reading) {
                                          return store::tracking::run(reading, id);
                                        }));
  if (!run) return fail(Code::kNotFound, fmt::format("there is no run {}", id.hex()));
  return path_in_store(*context.artifacts, run->artifact_uri, inside);
}

void write_entry(JsonWriter& json, const store::artifacts::Entry& entry) {
  json.begin_object().member("name", entry.name).member("is_dir", entry.is_dir);
  if (!entry.is_dir) json.key("size").value_string(static_cast<std::int64_t>(entry.size));
  json.end_object();
}

Response stored(const Result<>& done) {
  return done ? json_response("{}") : error_response(done.error());
}

}  // namespace

Answer list_artifacts(const Request& request, Context& context) {
  const std::string inside =
      TRY(corral::mlflow::artifact_path(request.query_value("path").value_or("")));
  const std::string path = TRY(find_path(request, context, inside));
  const auto entries = TRY(context.artifacts->list(path));
  return object_response([&](JsonWriter& json) {
    json.member("path", inside);
    write_array(json, "entries", entries, write_entry);
  });
}

Answer get_artifact(const Request& request, Context& context) {
  const std::string path = TRY(find_path(request, context, request.param("path")));
  const bool download = request.query_value("download").has_value();
  return file_response(request, path, TRY(context.artifacts->open(path)),
                       download ? Disposition::kAttachment : Disposition::kInline);
}

Answer put_artifact(const Request& request, Context& context) {
  const std::string path = TRY(find_path(request, context, request.param("path"), Use::kStore));
  return receive_file(request, context, path, stored);
}

}  // namespace corral::server::api
