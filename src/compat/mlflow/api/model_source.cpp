// The origin of a model version: `source` of model-versions/create, checked and resolved.
//
// `models:/<id of a logged model>`, `models:/<name>/<version, stage or "latest">`,
// `models:/<name>@<alias>` and `runs:/<run>/<path>` are resolved into the place where the files
// are, and into the run and the logged model that they belong to. Any other URI is taken as it is
// unless it climbs: its path must be absolute and without "..", however often it is encoded. Paths
// of the server's own file system are taken only within the artifacts of the run or logged model
// that the request names, because a client that may read a model version may read its files.
#include "compat/mlflow/api/handlers.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/wire/artifact_path.h"
#include "core/text.h"
#include "http/request.h"

namespace corral::server::mlflow {
namespace {

using tracking::VersionKey;

constexpr int kMostEncodings = 10;
constexpr std::string_view kNotLocal =
    "To use a local path as a model version source, the run_id request parameter has to be "
    "specified and the local path has to be contained within the artifact directory of the run "
    "specified by the run_id.";
constexpr std::string_view kNotAbsolute =
    "If supplying a source as an http, https, local file path, ftp, objectstore, or "
    "mlflow-artifacts uri, an absolute path must be provided without relative path references "
    "present. Please provide an absolute path.";

tl::unexpected<ApiError> bad(std::string_view source, std::string_view why) {
  return invalid(fmt::format("Invalid model version source: '{}'. {}", to_utf8(source), why));
}

// "s3" of "s3://..."; empty for a path. One letter is a drive.
std::string_view uri_scheme(std::string_view uri) {
  const std::size_t colon = uri.find(':');
  if (colon == std::string_view::npos || colon < 2) return {};
  const std::string_view scheme = uri.substr(0, colon);
  const bool named = std::ranges::all_of(scheme, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '-' || c == '.';
  });
  return named ? scheme : std::string_view();
}

// Behind "scheme:" and "//authority".
std::string_view uri_path(std::string_view uri) {
  const std::string_view scheme = uri_scheme(uri);
  if (!scheme.empty()) uri.remove_prefix(scheme.size() + 1);
  if (!uri.starts_with("//")) return uri;
  const std::size_t slash = uri.find('/', 2);
  return slash == std::string_view::npos ? std::string_view() : uri.substr(slash);
}

// As it is once nothing in it is encoded any more; nothing for a path that does not end.
std::optional<std::string> decoded(std::string_view path) {
  std::string text(path);
  for (int i = 0; i < kMostEncodings; ++i) {
    const auto next = http::percent_decode(text);
    if (!next || *next == text) return text;
    text = *next;
  }
  return std::nullopt;
}

bool climbs(std::string_view path) {
  const auto text = decoded(path);
  if (!text) return true;
  const auto parts = split(*text, '/');
  return std::ranges::find(parts, "..") != parts.end() || text->find('\0') != std::string::npos;
}

Answer<> check_remote(std::string_view source, std::string_view scheme) {
  std::string_view path = uri_path(source);
  if (path.size() < 2 || !path.starts_with('/')) return bad(source, kNotAbsolute);
  if (scheme == "mlflow-artifacts") {
    if (!wire::artifact_path(path.substr(1))) return bad(source, kNotAbsolute);
    return {};
  }
  path = path.substr(0, path.find_first_of("?#"));
  if (climbs(path)) return bad(source, kNotAbsolute);
  return {};
}

// The path in this file system that a path or a file: URI names.
std::optional<std::filesystem::path> local_path(std::string_view uri) {
  const std::string_view scheme = uri_scheme(uri);
  if (scheme.empty()) return std::filesystem::path(uri);
  if (scheme != "file" || climbs(uri_path(uri))) return std::nullopt;
  const auto text = decoded(uri_path(uri));
  return text ? std::optional(std::filesystem::path(*text)) : std::nullopt;
}

bool lies_within(const std::filesystem::path& path, const std::filesystem::path& root) {
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(path, error);
  if (error) return false;
  const auto real_root = std::filesystem::weakly_canonical(root, error);
  if (error) return false;
  return std::ranges::mismatch(real_root, real).in1 == real_root.end();
}

Answer<> check_local(std::string_view source, const std::string& artifact_uri) {
  const auto path = local_path(source);
  const auto root = artifact_uri.empty() ? std::nullopt : local_path(artifact_uri);
  const bool inside =
      path && root && path->is_absolute() && root->is_absolute() && lies_within(*path, *root);
  if (!inside) return bad(source, kNotLocal);
  return {};
}

Answer<ModelSource> resolve_version(Connection& db, ModelSource asked, const VersionKey& key) {
  const auto version = TRY_API(find_model_version(db, key));
  asked.source = fmt::format("models:/{}/{}", key.model, key.version);
  asked.storage_location =
      version.storage_location.empty() ? version.source : version.storage_location;
  if (asked.run_id.empty()) asked.run_id = version.run_id;
  if (asked.model_id.empty()) asked.model_id = version.model_id;
  return asked;
}

// models:/<name>@<alias>
Answer<ModelSource> resolve_alias(Connection& db, ModelSource asked, std::string_view rest) {
  const std::size_t at = rest.find('@');
  const std::string name(rest.substr(0, at));
  const std::string alias(rest.substr(at + 1));
  if (name.empty() || alias.empty()) return bad(asked.source, "It names no alias of a model.");
  TRY_API(check_registered_model(db, name));
  const auto number = TRY_API(tracking::version_of_alias(db, name, alias));
  if (!number) return invalid(fmt::format("Registered model alias {} not found.", alias));
  return resolve_version(db, std::move(asked), {name, *number});
}

// models:/<name>/<version, stage or "latest">
Answer<ModelSource> resolve_number(Connection& db, ModelSource asked, std::string_view rest) {
  const std::size_t slash = rest.find('/');
  const std::string name(rest.substr(0, slash));
  const std::string_view which = rest.substr(slash + 1);
  if (name.empty() || which.empty() || which.find('/') != std::string_view::npos)
    return bad(asked.source, "It names no version of a model.");
  TRY_API(check_registered_model(db, name));
  if (const auto number = parse_int(which))
    return resolve_version(db, std::move(asked), {name, *number});
  std::vector<std::string> stages;
  if (!equal_ignoring_case(which, "latest")) stages = {TRY_API(canonical_stage(which))};
  const auto keys = TRY_API(tracking::latest_versions(db, name, stages));
  if (keys.empty()) {
    return refuse(ErrorCode::kResourceDoesNotExist,
                  fmt::format("No versions of model with name '{}' and stage '{}' found", name,
                              to_utf8(which)));
  }
  return resolve_version(db, std::move(asked), std::ranges::max(keys));
}

Answer<ModelSource> resolve_models(Connection& db, ModelSource asked) {
  const std::string rest = asked.source.substr(std::min(asked.source.size(), std::size_t{8}));
  if (!asked.source.starts_with("models:/") || rest.empty())
    return bad(asked.source, "It names no model.");
  if (rest.find('/') != std::string::npos) return resolve_number(db, std::move(asked), rest);
  if (rest.find('@') != std::string::npos) return resolve_alias(db, std::move(asked), rest);
  if (!rest.starts_with("m-") || (!asked.model_id.empty() && asked.model_id != rest)) {
    return bad(asked.source,
               "The model_id request parameter must identify the resource that contains the "
               "source.");
  }
  const auto model = TRY_API(find_logged_model(db, rest));
  asked.model_id = model.id;
  asked.storage_location = model.artifact_uri;
  if (asked.run_id.empty()) asked.run_id = model.run_id;
  return asked;
}

// runs:/<run>/<path>
Answer<ModelSource> resolve_run(Connection& db, ModelSource asked) {
  const std::string_view path = uri_path(asked.source);
  const std::size_t slash = path.find('/', 1);
  const std::string id(path.substr(0, slash).substr(std::min<std::size_t>(path.size(), 1)));
  const auto inside = slash == std::string_view::npos ? Result<std::string>("")
                                                      : wire::artifact_path(path.substr(slash + 1));
  if (!inside || inside->empty()) return bad(asked.source, kNotAbsolute);
  if (!asked.run_id.empty() && asked.run_id != id) {
    return bad(asked.source,
               "The run_id request parameter must identify the resource that contains the source.");
  }
  asked.run_id = id;
  // A run of another server may not be here; its version is kept with its source, as MLflow does.
  const auto parsed = RunId::parse(id);
  const auto run = parsed ? TRY_API(tracking::run(db, *parsed)) : std::nullopt;
  asked.storage_location = run ? fmt::format("{}/{}", run->artifact_uri, *inside) : asked.source;
  return asked;
}

// Returns the artifact URI of the run or logged model in the request, or "" if it names neither.
Answer<std::string> find_artifact_uri(Connection& db, const ModelSource& asked) {
  if (!asked.model_id.empty()) return TRY_API(find_logged_model(db, asked.model_id)).artifact_uri;
  const auto id = RunId::parse(asked.run_id);
  if (!id) return std::string();
  const auto run = TRY_API(tracking::run(db, *id));
  return run ? run->artifact_uri : std::string();
}

}  // namespace

Answer<ModelSource> resolve_source(Connection& db, ModelSource asked) {
  const std::string scheme = lower_ascii(uri_scheme(asked.source));
  if (scheme == "models") return resolve_models(db, std::move(asked));
  if (scheme == "runs") return resolve_run(db, std::move(asked));
  if (scheme.empty() || scheme == "file") {
    const std::string root = TRY_API(find_artifact_uri(db, asked));
    TRY_API(check_local(asked.source, root));
  } else {
    TRY_API(check_remote(asked.source, scheme));
  }
  if (asked.model_id.empty()) return asked;
  const auto model = TRY_API(find_logged_model(db, asked.model_id));
  if (asked.run_id.empty()) asked.run_id = model.run_id;
  return asked;
}

}  // namespace corral::server::mlflow
