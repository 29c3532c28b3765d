#include "server/core/artifacts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "compat/mlflow/wire/artifact_path.h"
#include "core/text.h"
#include "http/range.h"
#include "server/core/door.h"
#include "sys/http_client.h"

namespace corral::server {
namespace {

using store::artifacts::ArtifactStore;

constexpr std::string_view kProxyScheme = "mlflow-artifacts:";
constexpr std::string_view kFileScheme = "file://";
constexpr std::string_view kText = "text/plain; charset=utf-8";
constexpr std::string_view kBinary = "application/octet-stream";

struct Type {
  std::string_view extension;
  std::string_view type;
};
constexpr std::array kTypes = {
    Type{"png", "image/png"},   Type{"jpg", "image/jpeg"},     Type{"jpeg", "image/jpeg"},
    Type{"gif", "image/gif"},   Type{"webp", "image/webp"},    Type{"bmp", "image/bmp"},
    Type{"avif", "image/avif"}, Type{"svg", "image/svg+xml"},  Type{"json", "application/json"},
    Type{"mp4", "video/mp4"},   Type{"webm", "video/webm"},    Type{"wav", "audio/wav"},
    Type{"mp3", "audio/mpeg"},  Type{"ogg", "audio/ogg"},      Type{"flac", "audio/flac"},
    Type{"m4a", "audio/mp4"},   Type{"pdf", "application/pdf"}};
// Types that are shown as plain text, including HTML and scripts, so that no browser runs them.
constexpr std::array<std::string_view, 28> kTexts = {
    "txt",   "log", "md",  "yaml", "yml", "csv",  "tsv",   "py",  "js",   "ts",
    "html",  "htm", "xml", "css",  "sh",  "toml", "ini",   "cfg", "conf", "jsonl",
    "ipynb", "c",   "cpp", "h",    "r",   "sql",  "xhtml", "mjs"};
constexpr std::array<std::string_view, 3> kTextNames = {"MLmodel", "MLproject", "Dockerfile"};

// "p" of "mlflow-artifacts:/p", "mlflow-artifacts://host:5000/p" and "mlflow-artifacts:p".
std::string_view proxied_path(std::string_view uri) {
  uri.remove_prefix(kProxyScheme.size());
  if (uri.starts_with("//")) {
    uri.remove_prefix(2);
    uri.remove_prefix(std::min(uri.find('/'), uri.size()));
  }
  if (uri.starts_with('/')) uri.remove_prefix(1);
  return uri;
}

// The path of `place` below the store's location, when it is there.
std::optional<std::string> path_below(std::string_view location, std::string_view place) {
  if (!place.starts_with(location)) return std::nullopt;
  place.remove_prefix(location.size());
  if (place.empty()) return std::string();
  if (!place.starts_with('/') && !location.ends_with('/')) return std::nullopt;
  while (place.starts_with('/')) place.remove_prefix(1);
  return std::string(place);
}

std::string content_disposition(std::string_view name, Disposition disposition) {
  std::string plain;
  for (const char c : name) {
    const bool odd = static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e ||
                     c == '"' || c == '\\' || c == '%';
    plain += odd ? '_' : c;
  }
  return fmt::format("{}; filename=\"{}\"; filename*=UTF-8''{}",
                     disposition == Disposition::kInline ? "inline" : "attachment", plain,
                     sys::url_encode(name));
}

std::string_view last_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// A URI's path is encoded once; one with a broken escape was never encoded.
std::string decoded(std::string_view path) {
  return percent_decode(path).value_or(std::string(path));
}

}  // namespace

Result<std::string> path_in_store(const ArtifactStore& store, std::string_view uri,
                                  std::string_view inside) {
  const std::string location = store.location();
  std::optional<std::string> below;
  if (uri.starts_with(kProxyScheme)) {
    below = decoded(proxied_path(uri));
  } else if (uri.starts_with(kFileScheme)) {
    below = path_below(location, decoded(uri.substr(kFileScheme.size())));
  } else {
    below = path_below(location, uri);
  }
  if (!below) {
    return fail(Code::kInvalidArgument,
                fmt::format("the artifacts lie at '{}', outside of this server's '{}': a client "
                            "that can reach that place opens them itself",
                            to_utf8(uri), location));
  }
  std::string place = TRY(corral::mlflow::artifact_path(*below));
  const std::string path = TRY(corral::mlflow::artifact_path(inside));
  if (place.empty() || path.empty()) return place + path;
  return place + "/" + path;
}

std::string_view safe_content_type(std::string_view name) {
  const std::string_view last = last_name(name);
  if (std::ranges::find(kTextNames, last) != kTextNames.end()) return kText;
  const std::size_t dot = last.rfind('.');
  if (dot == std::string_view::npos) return kBinary;
  const std::string extension = lower_ascii(last.substr(dot + 1));
  if (std::ranges::find(kTexts, extension) != kTexts.end()) return kText;
  const auto found = std::ranges::find(kTypes, extension, &Type::extension);
  return found == kTypes.end() ? kBinary : found->type;
}

Response file_response(const Request& request, std::string_view name,
                       std::unique_ptr<store::artifacts::Reader> reader, Disposition disposition) {
  Response response;
  const std::string etag = reader->etag();
  if (!etag.empty()) response.set_header("ETag", etag);
  response.set_header("Cache-Control", "private, no-cache");
  response.set_header("Content-Security-Policy",
                      "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
                      "media-src 'self'; frame-ancestors 'none'");
  if (!etag.empty() && request.header("if-none-match") == etag) {
    response.status = 304;
    return response;
  }
  response.set_header("Content-Type", safe_content_type(name));
  response.set_header("Content-Disposition", content_disposition(last_name(name), disposition));
  const std::uint64_t size = reader->size();
  const http::Span span = http::requested_span(request, size, etag);
  http::set_span(response, span, size);
  if (span.status == 416) return response;
  response.stream = [file = std::shared_ptr<store::artifacts::Reader>(std::move(reader)),
                     at = span.offset,
                     end = span.offset + span.length](std::string& part) mutable -> Result<bool> {
    const std::uint64_t length = std::min<std::uint64_t>(end - at, file->part_bytes());
    TRY(file->read({.offset = at, .length = length}, [&](std::string_view piece) {
      part += piece;
      return true;
    }));
    at += length;
    return at < end;
  };
  return response;
}

bool streams_body(const Request& request) {
  return request.method == Method::kPut && request.path.find("/artifacts/") != std::string::npos;
}

namespace {

using store::tracking::RunRow;

struct RunFile {
  RunId run;
  std::string_view folder;  // ".../<run>"
};

// The run of ".../<run>/artifacts/...".
std::optional<RunFile> parse_run_file(std::string_view path) {
  constexpr std::string_view kFiles = "/artifacts/";
  for (std::size_t at = path.find(kFiles); at != std::string_view::npos;
       at = path.find(kFiles, at + 1)) {
    const std::string_view folder = path.substr(0, at);
    if (const auto run = RunId::parse(folder.substr(folder.rfind('/') + 1)))
      return RunFile{.run = *run, .folder = folder};
  }
  return std::nullopt;
}

struct RunLookup {
  std::optional<RunRow> row;
  bool removed = false;
};
Result<RunLookup> look_up(Context& context, RunId run) {
  return in_snapshot(context.reader, [&](store::Reading& reading) -> Result<RunLookup> {
    RunLookup found{.row = TRY(store::tracking::run(reading, run))};
    found.removed = !found.row && TRY(store::tracking::was_removed(reading, run));
    return found;
  });
}

tl::unexpected<Error> gone(RunId run) {
  return fail(Code::kNotFound, fmt::format("run {} was removed", run.hex()));
}

}  // namespace

Result<std::optional<RunRow>> run_for_upload(Context& context, RunId id) {
  RunLookup found = TRY(look_up(context, id));
  if (!found.row || found.row->place_is_kept) return found.row;
  const auto keep = [&](store::Writing& writing) -> Result<> {
    found.row = TRY(store::tracking::lock_run(writing, id));
    return found.row ? store::tracking::keep_artifact_uri(writing, *found.row) : Result<>();
  };
  TRY(context.store.change(keep));
  return found.row;
}

Result<> expect_file(Context& context, std::string_view path) {
  const auto file = parse_run_file(path);
  if (!file) return {};
  const RunLookup found = TRY(look_up(context, file->run));
  if (found.removed) return gone(file->run);
  if (!found.row || found.row->place_is_kept) return {};
  const auto place = path_in_store(*context.artifacts, found.row->artifact_uri, "");
  if (!place || !path.starts_with(*place + "/")) return {};
  return run_for_upload(context, file->run).map([](const auto&) {});
}

// Removes a stored file whose run was removed meanwhile. Called after the commit of the file: a
// removal of the run from then on removes its files, too.
Result<> settle_file(Context& context, std::string_view path) {
  const auto file = parse_run_file(path);
  if (!file || !TRY(look_up(context, file->run)).removed) return {};
  TRY(context.artifacts->remove(file->folder));
  return gone(file->run);
}

Response receive_file(const Request& request, Context& context, const std::string& path,
                      FileAnswer answer) {
  if (const Result<> expected = expect_file(context, path); !expected) return answer(expected);
  auto created = context.artifacts->create(path, request.body_length());
  if (!created) return answer(tl::unexpected(created.error()));
  const std::shared_ptr<store::artifacts::Writer> file = *std::move(created);
  const auto finish = [file, &context, path]() -> Result<> {
    TRY(file->commit());
    TRY(settle_file(context, path));
    TRY(door::on_artifact(context, *context.artifacts, path));
    if (const auto stored = parse_run_file(path))
      context.events.note({}, std::span(&stored->run, 1));
    return {};
  };
  return http::take_body(
      request, {.take = [file](std::string_view piece) { return file->append(piece); },
                .end = [finish, answer = std::move(answer)](
                           const Result<>& taken) { return answer(taken ? finish() : taken); }});
}

}  // namespace corral::server
