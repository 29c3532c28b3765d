// Artifacts of a run, by the native API: list, content, upload.
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "compat/mlflow/wire/artifact_path.h"
#include "core/json.h"
#include "server/api/handlers.h"
#include "server/api/write.h"
#include "server/core/artifacts.h"
#include "store/search/runs.h"
#include "sys/file.h"

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

// ---- thumbnails

constexpr std::uint64_t kSmallImage = 32u << 10;  // bytes; it is sent as it is
constexpr std::uint64_t kLargeImage = 64u << 20;
constexpr std::int64_t kWidest = 4096;

bool may_have_thumbnail(const Request& request, std::string_view path,
                        const store::artifacts::Reader& file) {
  const std::string_view type = safe_content_type(path);
  return (type == "image/png" || type == "image/jpeg") && file.size() > kSmallImage &&
         file.size() <= kLargeImage && !file.etag().empty() && request.header("range").empty();
}

Result<sys::Fd> in_memory(store::artifacts::Reader& file) {
  sys::Fd memory(::memfd_create("corral-image", MFD_CLOEXEC));
  if (!memory) return fail_errno("memfd_create", errno);
  Result<> copied;
  TRY(file.read({}, [&](std::string_view piece) {
    copied = sys::write_all(memory.get(), piece);
    return copied.has_value();
  }));
  ::lseek(memory.get(), 0, SEEK_SET);
  return copied.map([&] { return std::move(memory); });
}

// A thumbnail, its file and the answer with the image itself, in place of one that cannot be made.
struct Wanted {
  std::string path;
  std::string etag;
  int width;
  Response whole;

  [[nodiscard]] std::string tag() const {
    return fmt::format("{}-{}\"", etag.substr(0, etag.size() - 1), width);
  }
  [[nodiscard]] std::string key() const { return tag() + path; }
};

Response thumbnail_response(const Wanted& wanted, std::string body) {
  if (body.empty()) return wanted.whole;
  Response response;
  for (const auto& [name, value] : wanted.whole.headers)
    if (name != "ETag" && name != "Accept-Ranges") response.set_header(name, value);
  response.set_header("ETag", wanted.tag());
  response.body = std::move(body);
  return response;
}

// Empty where none can be made, or nobody waits for it.
std::string make_thumbnail(Context& context, const Wanted& wanted,
                           const std::function<bool()>& left) {
  if (auto kept = context.thumbnails->find(wanted.key())) return *std::move(kept);
  const auto file = context.artifacts->open(wanted.path);
  if (left() || !file || (*file)->etag() != wanted.etag) return "";
  const auto image = in_memory(**file);
  std::string made = image ? context.make_thumbnail(*image, wanted.width, left) : "";
  if (!left()) context.thumbnails->keep(wanted.key(), made);
  return made;
}

// The thumbnail, now if it is known, else late.
Response find_thumbnail(const Request& request, Context& context, Wanted wanted) {
  if (request.header("if-none-match") == wanted.tag()) {
    Response same;
    same.status = 304;
    same.set_header("ETag", wanted.tag());
    for (const auto& [name, value] : wanted.whole.headers)
      if (name == "Cache-Control" || name == "Content-Security-Policy")
        same.set_header(name, value);
    return same;
  }
  if (auto kept = context.thumbnails->find(wanted.key()))
    return thumbnail_response(wanted, *std::move(kept));
  Response response;
  response.late_kind = Response::Late::kPicture;
  response.late = [&context, wanted = std::move(wanted)](const auto& left) {
    return thumbnail_response(wanted, make_thumbnail(context, wanted, left));
  };
  return response;
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
  const auto width =
      TRY_PARSED(query_int(request, "width", {.low = 0, .high = kWidest, .fallback = 0}));
  const bool download = request.query_value("download").has_value();
  auto file = TRY(context.artifacts->open(path));
  const std::string etag = file->etag();
  const bool is_reduced =
      width > 0 && !download && context.make_thumbnail && may_have_thumbnail(request, path, *file);
  Response whole = file_response(request, path, std::move(file),
                                 download ? Disposition::kAttachment : Disposition::kInline);
  if (!is_reduced || whole.status == 304) return whole;
  return find_thumbnail(
      request, context,
      {.path = path, .etag = etag, .width = static_cast<int>(width), .whole = std::move(whole)});
}

Answer put_artifact(const Request& request, Context& context) {
  const std::string path = TRY(find_path(request, context, request.param("path"), Use::kStore));
  return receive_file(request, context, path, stored);
}

}  // namespace corral::server::api
