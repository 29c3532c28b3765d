// Artifacts: the proxy (mlflow-artifacts/...), the lists and files of runs, model versions and
// logged models.
//
// The proxy's paths are those of the artifact store; all others are relative to the place of a run
// or model (path_in_store()). With a directory as store an upload in parts is 501, by the text that
// clients know: they send the file whole then.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/tables/phase_writer.h"
#include "compat/mlflow/wire/artifact_path.h"
#include "compat/mlflow/wire/otlp.h"
#include "compat/radt/radt.h"
#include "core/text.h"
#include "server/core/artifact_place.h"
#include "server/core/artifacts.h"

namespace corral::server::mlflow {
namespace {

using store::artifacts::ArtifactStore;
using store::artifacts::Entry;

constexpr std::size_t kUploadBytes = 10u << 20;  // from the page, as MLflow's own server takes
constexpr std::size_t kPageEntries = 10'000;

Answer<ArtifactStore*> artifact_store(Context& context) {
  if (context.artifacts != nullptr) return context.artifacts;
  return refuse(ErrorCode::kNotImplemented, "This server stores no artifacts.");
}

std::string joined(std::string_view parent, std::string_view name) {
  return parent.empty() ? std::string(name) : fmt::format("{}/{}", parent, name);
}

// Hides the files that Corral itself keeps of a run: the script did not log them. The native
// interface lists them.
void hide_own(std::vector<Entry>& entries) {
  std::erase_if(entries, [](const Entry& entry) { return entry.is_dir && entry.name == "corral"; });
}

// ".../<run>/artifacts"
bool is_root_of_run(std::string_view path) {
  constexpr std::string_view kFolder = "/artifacts";
  if (!path.ends_with(kFolder)) return false;
  path.remove_suffix(kFolder.size());
  return RunId::parse(path.substr(path.rfind('/') + 1)).has_value();
}

void write_files(JsonWriter& json, std::span<const Entry> entries, std::string_view parent) {
  write_list(json, "files", entries, [&](JsonWriter& out, const Entry& entry) {
    out.begin_object().member("path", joined(parent, entry.name)).member("is_dir", entry.is_dir);
    if (!entry.is_dir) out.member("file_size", static_cast<std::int64_t>(entry.size));
    out.end_object();
  });
}

// The list of a directory within `uri`, a page at a time.
Body listing(Context& context, const std::string& uri, std::string_view inside,
             std::string_view token) {
  ArtifactStore* store = TRY_API(artifact_store(context));
  const auto offset = token.empty() ? 0 : parse_int(token);
  if (!offset || *offset < 0)
    return invalid(fmt::format("Invalid page token '{}'", to_utf8(token)));
  const std::string path = TRY_API(path_in_store(*store, uri, inside));
  std::vector<Entry> entries = TRY_API(store->list(path));
  if (is_root_of_run(path)) hide_own(entries);
  const std::size_t begin = std::min(static_cast<std::size_t>(*offset), entries.size());
  const std::size_t count = std::min(kPageEntries, entries.size() - begin);
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("root_uri", uri);
  write_files(json, std::span(entries).subspan(begin, count), TRY_API(wire::artifact_path(inside)));
  if (begin + count < entries.size()) json.member("next_page_token", std::to_string(begin + count));
  json.end_object();
  return out;
}

Answer<std::string> find_run_uri(Context& context, const std::string& id) {
  return inspect(context, [&](Reading& reading) -> Answer<std::string> {
    return TRY_API(find_run(reading.db, id)).artifact_uri;
  });
}

Answer<std::string> find_model_uri(Context& context, const std::string& id) {
  return inspect(context, [&](Reading& reading) -> Answer<std::string> {
    return TRY_API(find_logged_model(reading.db, id)).artifact_uri;
  });
}

Answer<Response> file_within(const Request& request, Context& context, const std::string& uri,
                             std::string_view inside) {
  ArtifactStore* store = TRY_API(artifact_store(context));
  const std::string path = TRY_API(path_in_store(*store, uri, inside));
  return file_response(request, path, TRY_API(store->open(path)), Disposition::kAttachment);
}

// A path that a client of the proxy names; not the one by which servers know the place again.
Answer<std::string> stored_path(std::string_view text) {
  std::string path = TRY_API(wire::artifact_path(text));
  if (path == kPlaceMark)
    return invalid(fmt::format("Invalid path: '{}' is Corral's own file", kPlaceMark));
  return path;
}

// "dir" and "/home/me/model.bin" -> "dir/model.bin"; a client tells where its file lies.
Answer<std::string> part_path(Message& in) {
  const std::string local = in.need_text("path");
  const std::string directory = in.text("artifact_path");
  TRY_API(in.check());
  const std::string name = local.substr(local.find_last_of("/\\") + 1);
  return stored_path(joined(directory, name));
}

Answer<std::string> need_query(const Request& request, std::string_view name) {
  const auto value = request.query_value(name);
  if (value && !value->empty()) return std::string(*value);
  return invalid(wire::missing_value(name));
}

Answer<std::string> run_in_query(const Request& request) {
  if (const auto id = request.query_value("run_id"); id && !id->empty()) return std::string(*id);
  return need_query(request, "run_uuid");
}

Answer<Response> get_logged_model_file(const Request& request, Context& context) {
  const std::string path = TRY_API(need_query(request, "artifact_file_path"));
  const std::string id(request.param("model_id"));
  return file_within(request, context, TRY_API(find_model_uri(context, id)), path);
}

Answer<Response> get_stored_artifact(const Request& request, Context& context) {
  ArtifactStore* store = TRY_API(artifact_store(context));
  const std::string path = TRY_API(stored_path(request.param("artifact_path")));
  return file_response(request, path, TRY_API(store->open(path)), Disposition::kAttachment);
}

Response answer_stored(const Result<>& done) {
  return done ? json_response("{}") : answer(done.error());
}

Answer<Response> put_artifact(const Request& request, Context& context) {
  TRY_API(artifact_store(context));
  const std::string path = TRY_API(stored_path(request.param("artifact_path")));
  return receive_file(request, context, path, answer_stored);
}

Answer<Response> delete_artifact(const Request& request, Context& context) {
  ArtifactStore* store = TRY_API(artifact_store(context));
  const std::string path = TRY_API(stored_path(request.param("artifact_path")));
  TRY_API(store->remove(path));
  return json_response("{}");
}

Answer<Response> upload_artifact(const Request& request, Context& context) {
  ArtifactStore* store = TRY_API(artifact_store(context));
  const auto asked = run_in_query(request);
  if (!asked) return invalid("Request must specify run_uuid.");
  const auto inside = need_query(request, "path");
  if (!inside) return invalid("Request must specify path.");
  if (request.body.empty()) return invalid("Request must specify data.");
  if (request.body.size() > kUploadBytes)
    return invalid("Artifact size is too large. Max size is 10MB.");
  const std::string uri = TRY_API(find_run_uri(context, *asked));
  const std::string path = TRY_API(path_in_store(*store, uri, *inside));
  return receive_file(request, context, path, answer_stored);
}

// ---- artifacts that hold spans

// Its client closes a batch after a minute or 200,000 records: some megabytes.
constexpr std::uint64_t kBatchBytes = 256u << 20;
// JSON takes many times its length while it is read.
constexpr std::uint64_t kTraceFileBytes = 8u << 20;

// The run whose batch this is.
std::optional<RunId> parse_batch_path(std::string_view path) {
  constexpr std::string_view kRoot = "/artifacts/";
  const std::size_t root = path.rfind(kRoot);
  if (root == std::string_view::npos || !wire::is_radt_batch(path.substr(root + kRoot.size())))
    return std::nullopt;
  const std::string_view above = path.substr(0, root);
  const auto run = RunId::parse(above.substr(above.rfind('/') + 1));
  return run ? std::optional(*run) : std::nullopt;
}

// The trace whose spans this is: "traces/<id>/artifacts/traces.json" at the end.
std::optional<std::string> parse_trace_path(std::string_view path) {
  constexpr std::string_view kFile = "/artifacts/traces.json";
  constexpr std::string_view kFolder = "traces/";
  if (!path.ends_with(kFile)) return std::nullopt;
  path.remove_suffix(kFile.size());
  const std::size_t id = path.rfind('/') + 1;  // 0 without a folder
  const std::string_view folder = path.substr(0, id);
  const bool of_traces = folder == kFolder || folder.ends_with("/traces/");
  return of_traces ? std::optional(std::string(path.substr(id))) : std::nullopt;
}

Result<std::string> read_content(store::artifacts::ArtifactStore& store, std::string_view path,
                                 std::uint64_t most) {
  const auto reader = TRY(store.open(path));
  if (reader->size() > most)
    return fail(Code::kTooLarge, "the file holds more spans than are looked at");
  std::string content;
  content.reserve(static_cast<std::size_t>(reader->size()));
  TRY(reader->read({}, [&](std::string_view piece) {
    content += piece;
    return true;
  }));
  return content;
}

Result<> store_batch(Context& context, RunId run, const std::string& gzip) {
  const auto take = [&](std::span<const codec::PhaseRecord> phases) -> Result<> {
    const auto stored = TRY(store::tracking::write_phases(
        context.store, run, store::tracking::PhaseOrigin::kRadt, phases));
    context.events.note(stored.changed_runs, stored.data_runs);
    return {};
  };
  return wire::read_radt_spans(gzip, take).map([](const auto&) {});
}

Result<> store_trace_file(Context& context, const std::string& trace, const std::string& json) {
  const auto spans = TRY(wire::parse_trace_file(json));
  std::vector<const wire::Span*> each;
  each.reserve(spans.size());
  for (const auto& span : spans) each.push_back(&span);
  const store::tracking::SpansOfTrace given{.trace = trace, .spans = each};
  return store::tracking::show_spans(context.store, context.reader, std::span(&given, 1),
                                     [&](const store::AppendResult& stored) {
                                       context.events.note(stored.changed_runs, stored.data_runs);
                                     });
}

// ---- the proxy

Body list_stored_artifacts(Message& in, Context& context) {
  ArtifactStore* store = TRY_API(artifact_store(context));
  const std::string path = TRY_API(wire::artifact_path(in.text("path")));
  std::vector<Entry> entries = TRY_API(store->list(path));
  if (is_root_of_run(path)) hide_own(entries);
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  write_files(json, entries, "");
  json.end_object();
  return out;
}

Body create_multipart_upload(Message& in, Context& context) {
  ArtifactStore* store = TRY_API(artifact_store(context));
  const std::int64_t parts = in.maybe_integer("num_parts").value_or(1);
  const std::string path = TRY_API(part_path(in));
  if (parts < 1 || parts > store::artifacts::kMostParts) in.wrong_value("num_parts");
  TRY_API(in.check());
  TRY_API(expect_file(context, path));
  const auto upload = TRY_API(store->create_multipart(path, static_cast<int>(parts)));
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("upload_id", upload.id).key("credentials").begin_array();
  for (const auto& part : upload.parts) {
    json.begin_object().member("url", part.url).member("part_number", part.number);
    json.key("headers").begin_object().end_object().end_object();
  }
  json.end_array().end_object();
  return out;
}

Body complete_multipart_upload(Message& in, Context& context) {
  ArtifactStore* store = TRY_API(artifact_store(context));
  const std::string upload = in.need_text("upload_id");
  std::vector<store::artifacts::UploadedPart> parts;
  for (Message& part : in.messages("parts")) {
    const std::int64_t number = part.need_integer("part_number");
    if (number < 1 || number > store::artifacts::kMostParts) part.wrong_value("part_number");
    parts.push_back({.number = static_cast<int>(number), .etag = part.need_text("etag")});
  }
  const std::string path = TRY_API(part_path(in));
  TRY_API(store->complete_multipart(path, upload, parts));
  TRY_API(settle_file(context, path));
  TRY_API(on_artifact(context, *store, path));
  return empty_answer();
}

Body abort_multipart_upload(Message& in, Context& context) {
  ArtifactStore* store = TRY_API(artifact_store(context));
  const std::string upload = in.need_text("upload_id");
  const std::string path = TRY_API(part_path(in));
  TRY_API(store->abort_multipart(path, upload));
  return empty_answer();
}

// ---- of runs and models

Body list_artifacts(Message& in, Context& context) {
  const std::string run = read_run_id(in);
  const std::string path = in.text("path");
  const std::string token = in.text("page_token");
  TRY_API(in.check());
  return listing(context, TRY_API(find_run_uri(context, run)), path, token);
}

Body list_logged_model_artifacts(Message& in, Context& context) {
  const std::string model = in.need_text("model_id");
  const std::string path = in.text("artifact_directory_path");
  const std::string token = in.text("page_token");
  TRY_API(in.check());
  return listing(context, TRY_API(find_model_uri(context, model)), path, token);
}

}  // namespace

Result<> on_artifact(Context& context, store::artifacts::ArtifactStore& store,
                     std::string_view path) {
  const auto run = parse_batch_path(path);
  const auto trace = parse_trace_path(path);
  if (!run && !trace) return {};
  Result<> read = [&]() -> Result<> {
    const std::string content = TRY(read_content(store, path, run ? kBatchBytes : kTraceFileBytes));
    return run ? store_batch(context, *run, content) : store_trace_file(context, *trace, content);
  }();
  if (read) return {};
  const Code code = read.error().code;
  if (code == Code::kInvalidArgument || code == Code::kTooLarge || code == Code::kNotFound)
    return {};
  return read;
}

Answer<Response> get_artifact(const Request& request, Context& context) {
  const std::string run = TRY_API(run_in_query(request));
  const std::string path = TRY_API(need_query(request, "path"));
  return file_within(request, context, TRY_API(find_run_uri(context, run)), path);
}

Answer<Response> get_model_version_artifact(const Request& request, Context& context) {
  tracking::VersionKey key;
  key.model = TRY_API(need_query(request, "name"));
  const auto version = parse_int(TRY_API(need_query(request, "version")));
  if (!version) return invalid("Model version must be an integer");
  key.version = *version;
  const std::string path = TRY_API(need_query(request, "path"));
  const auto find = [&](Reading& reading) -> Answer<std::string> {
    const tracking::ModelVersionRow row = TRY_API(find_model_version(reading.db, key));
    return row.storage_location.empty() ? row.source : row.storage_location;
  };
  const std::string uri = TRY_API(inspect(context, find));
  return file_within(request, context, uri, path);
}

std::span<const Rpc> artifact_rpcs() {
  static constexpr std::array kRpcs = {
      Rpc{Method::kGet, "/2.0/mlflow/artifacts/list", list_artifacts},
      Rpc{Method::kPost, "/2.0/mlflow/upload-artifact", nullptr, upload_artifact, nullptr, true},
      Rpc{Method::kGet, "/2.0/mlflow-artifacts/artifacts", list_stored_artifacts},
      Rpc{Method::kGet, "/2.0/mlflow-artifacts/artifacts/{artifact_path...}", nullptr,
          get_stored_artifact},
      Rpc{Method::kPut, "/2.0/mlflow-artifacts/artifacts/{artifact_path...}", nullptr, put_artifact,
          nullptr, true},
      needing(Role::kOwner,
              Rpc{Method::kDelete, "/2.0/mlflow-artifacts/artifacts/{artifact_path...}", nullptr,
                  delete_artifact}),
      Rpc{Method::kPost, "/2.0/mlflow-artifacts/mpu/create/{artifact_path...}",
          create_multipart_upload},
      Rpc{Method::kPost, "/2.0/mlflow-artifacts/mpu/complete/{artifact_path...}",
          complete_multipart_upload},
      Rpc{Method::kPost, "/2.0/mlflow-artifacts/mpu/abort/{artifact_path...}",
          abort_multipart_upload},
      Rpc{Method::kGet, "/2.0/mlflow/logged-models/{model_id}/artifacts/directories",
          list_logged_model_artifacts},
      Rpc{Method::kGet, "/2.0/mlflow/logged-models/{model_id}/artifacts/files", nullptr,
          get_logged_model_file},
  };
  return kRpcs;
}

}  // namespace corral::server::mlflow
