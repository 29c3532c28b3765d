// Whether a run's phases are whole, and radT's upload of them.
#include <fmt/core.h>

#include <algorithm>

#include "analyze/check_phases.h"
#include "compat/mlflow/api/entities.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/core/artifact_files.h"

namespace corral::server::api {
namespace {

constexpr std::size_t kManifestBytes = 16u << 20;

Result<std::string> read_whole(store::artifacts::ArtifactStore& store, std::string_view path) {
  const auto reader = TRY(store.open(path));
  if (reader->size() > kManifestBytes)
    return fail(Code::kTooLarge, "the manifest has more than 16 MiB");
  std::string text;
  TRY(reader->read({}, [&](std::string_view piece) {
    text += piece;
    return true;
  }));
  return text;
}

// What the manifest names and is not there.
std::int64_t missing_batches(const Json& manifest,
                             const std::vector<store::artifacts::Entry>& entries) {
  const Json* batches = manifest.find("batches");
  if (batches == nullptr || batches->as_array() == nullptr) return 0;
  return std::ranges::count_if(*batches->as_array(), [&](const Json& name) {
    const auto* text = name.as_string();
    return text != nullptr &&
           std::ranges::none_of(entries, [&](const auto& entry) { return entry.name == *text; });
  });
}

// radT writes its manifest last: without one its upload did not come to its end.
Result<> check_upload(Context& context, RunId run, std::vector<std::string>& problems) {
  if (context.artifacts == nullptr) return {};
  std::string uri;
  const auto find = [&](store::sql::Reading& reading) -> Result<> {
    const auto row = TRY(store::tracking::run(reading.db, run));
    if (row) uri = row->artifact_uri;
    return {};
  };
  TRY(context.store.inspect(find));
  const auto folder = path_in_store(*context.artifacts, uri, "radt-trace");
  if (!folder) return {};  // in a store of its own
  const auto entries = TRY(context.artifacts->list(*folder));
  if (entries.empty()) return {};
  const auto text = read_whole(*context.artifacts, *folder + "/manifest.json");
  const auto manifest = text ? Json::parse(*text) : tl::unexpected(text.error());
  if (!manifest) {
    problems.emplace_back("radt-trace/manifest.json is not there: the upload did not finish");
    return {};
  }
  if (const auto missing = missing_batches(*manifest, entries); missing > 0)
    problems.push_back(fmt::format("{} of radT's batches are not there", missing));
  return {};
}

}  // namespace

Response check_trace(const Request& request, Context& context) {
  const Result<RunId> run = query::select_run(context.store, request.param("run"));
  if (!run) return error_response(run.error());
  auto check = query::check_phases(context.store, *run);
  if (!check) return error_response(check.error());
  if (const auto done = check_upload(context, *run, check->problems); !done)
    return error_response(done.error());
  std::string body;
  JsonWriter json(body);
  json.begin_object().member("run", run->hex()).member("phases", check->counts.phases);
  json.member("unended", check->counts.unended).member("ends_alone", check->counts.ends_alone);
  json.member("backwards", check->counts.backwards);
  json.member("unknown_parents", check->counts.unknown_parents);
  json.member("overlaps", check->overlaps).key("problems").begin_array();
  for (const std::string& problem : check->problems) json.value(problem);
  json.end_array().member("ok", check->problems.empty()).end_object();
  return json_response(std::move(body));
}

}  // namespace corral::server::api
