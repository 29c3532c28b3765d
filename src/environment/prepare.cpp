#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>

#include "core/sha256.h"
#include "environment/mlproject.h"
#include "environment/parts.h"
#include "environment/requirements.h"
#include "environment/tool.h"
#include "sys/process.h"

namespace corral::environment {
namespace {

Result<Prepared> prepare_kind(const Spec& spec, const PrepareOptions& options) {
  switch (spec.kind) {
    case Kind::kLocal:
      return Prepared{};
    case Kind::kVenv:
      return prepare_venv(spec, options);
    case Kind::kConda:
      return prepare_conda(spec, options);
    case Kind::kUv:
    case Kind::kPip:
      return prepare_requirements(spec, options);
    case Kind::kContainer:
      return prepare_container(spec, options);
    case Kind::kMlproject:
      return prepare_mlproject(spec, options);
  }
  return fail(Code::kInternal, "unknown kind of environment");
}

std::string_view kind_name(const Spec& spec) {
  switch (spec.kind) {
    case Kind::kLocal:
      return "local";
    case Kind::kVenv:
      return spec.tool == "python" ? "python" : "venv";
    case Kind::kConda:
      return "conda";
    case Kind::kUv:
      return "uv";
    case Kind::kPip:
      return "pip";
    case Kind::kContainer:
      return spec.tool;
    case Kind::kMlproject:
      return "mlproject";
  }
  return "";
}

Result<> check_venv(const Spec& spec, const PrepareOptions& options) {
  const bool path = spec.tool != "python" || spec.target.find('/') != std::string::npos;
  fs::path python = path ? resolved(spec.target, options) : fs::path(spec.target);
  if (spec.tool != "python") python = python / "bin" / "python";
  TRY(sys::find_in_path(python.string(), own_variable("PATH", "/usr/bin:/bin")));
  return {};
}

Result<> check_requirements(const Spec& spec, const PrepareOptions& options) {
  TRY(requirements_content(resolved(spec.target, options)));
  if (spec.kind == Kind::kUv) TRY(find_tool("uv", "install it, or use pip="));
  return {};
}

Result<> check_mlproject(const Spec& spec, const PrepareOptions& options) {
  fs::path directory = resolved(spec.target, options);
  if (directory.filename() == "MLproject") directory = directory.parent_path();
  const auto project = parse_project(TRY(sys::read_file(directory / "MLproject", 1u << 20)));
  return project ? Result<>() : tl::unexpected(project.error().with_context("MLproject"));
}
}  // namespace

fs::path default_cache() {
  const std::string cache = own_variable("XDG_CACHE_HOME");
  const std::string home = own_variable("HOME");
  fs::path root = fmt::format("/var/tmp/corral-{}", ::geteuid());
  if (cache.starts_with('/')) {
    root = fs::path(cache) / "corral";
  } else if (home.starts_with('/')) {
    root = fs::path(home) / ".cache" / "corral";
  }
  return root / "environments";
}

Result<Prepared> prepare(const Spec& spec, const PrepareOptions& options) {
  const std::string text = without_credentials(text_of(spec));
  bool interrupted = false;
  PrepareOptions watched = options;
  watched.cancelled = [&] { return interrupted = interrupted || is_cancelled(options); };
  auto prepared = prepare_kind(spec, watched);
  // This is no fault of the environment; and an interrupted process must not continue with a
  // partial one.
  if (interrupted) return fail(Code::kUnavailable, "interrupted");
  if (!prepared) return tl::unexpected(prepared.error());
  prepared->record.insert(
      prepared->record.begin(),
      {{"environment.kind", std::string(kind_name(spec))}, {"environment.spec", text}});
  return prepared;
}

Result<std::vector<std::string>> entry_command(const Prepared& prepared,
                                               const std::vector<std::string>& command) {
  if (prepared.project == nullptr) return command;
  return command_of(*prepared.project, command);
}

std::vector<std::string> environment_with(std::vector<std::string> environment,
                                          const std::vector<std::string>& added) {
  for (const std::string& entry : added) {
    const std::string name = entry.substr(0, entry.find('=') + 1);
    std::erase_if(environment, [&](const std::string& e) { return e.starts_with(name); });
    environment.push_back(entry);
  }
  return environment;
}

std::string option_of(const Spec& spec, std::string_view name, std::string_view fallback) {
  for (const auto& [key, value] : spec.options)
    if (key == name) return value;
  return std::string(fallback);
}

std::vector<std::string> options_of(const Spec& spec, std::string_view name) {
  std::vector<std::string> values;
  for (const auto& [key, value] : spec.options)
    if (key == name) values.push_back(value);
  return values;
}

fs::path resolved(std::string_view name, const PrepareOptions& options) {
  fs::path path(name);
  if (name.starts_with("~/")) path = fs::path(own_variable("HOME", "/")) / name.substr(2);
  std::error_code error;
  const fs::path base =
      options.directory.empty() ? fs::current_path(error) : fs::absolute(options.directory, error);
  return (base / path).lexically_normal();
}

std::string sha256_hex(std::string_view text) { return hex(sha256(text)); }

std::string content_hash(std::string_view text) { return sha256_hex(text).substr(0, 32); }

void note(Prepared& prepared, std::string_view key, std::string value) {
  prepared.record.emplace_back("environment." + std::string(key), std::move(value));
}

Result<> check(const Spec& spec, const PrepareOptions& options) {
  switch (spec.kind) {
    case Kind::kLocal:
      return {};
    case Kind::kVenv:
      return check_venv(spec, options);
    case Kind::kConda:
      return check_conda(spec, options);
    case Kind::kUv:
    case Kind::kPip:
      return check_requirements(spec, options);
    case Kind::kContainer:
      return check_container(spec, options);
    case Kind::kMlproject:
      return check_mlproject(spec, options);
  }
  return {};
}

}  // namespace corral::environment
