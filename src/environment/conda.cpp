#include "environment/conda.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/json.h"
#include "core/sha256.h"
#include "core/text.h"
#include "environment/cache.h"
#include "environment/mlproject.h"
#include "environment/python.h"
#include "environment/requirements.h"
#include "environment/tool.h"
#include "sys/process.h"

namespace corral::environment {

std::string conda_package(std::string_view file) {
  if (!file.ends_with(".json")) return "";
  file.remove_suffix(5);
  const std::size_t build = file.rfind('-');
  if (build == std::string_view::npos || build == 0) return "";
  const std::size_t version = file.rfind('-', build - 1);
  if (version == std::string_view::npos || version == 0) return "";
  return fmt::format("{}=={}={}", file.substr(0, version),
                     file.substr(version + 1, build - version - 1), file.substr(build + 1));
}

Result<fs::path> conda_prefix(std::string_view listing, const std::string& name) {
  const auto json = Json::parse(listing);
  const Json* all = json ? json->find("envs") : nullptr;
  if (all == nullptr || all->as_array() == nullptr)
    return fail(Code::kUnprocessable, "cannot parse its list of environments");
  std::string near;
  std::size_t least = 3;
  for (const Json& one : *all->as_array()) {
    if (one.as_string() == nullptr) continue;
    const fs::path prefix = *one.as_string();
    const bool root = &one == all->as_array()->data();
    const std::string called =
        root && prefix.parent_path().filename() != "envs" ? "base" : prefix.filename().string();
    if (called == name) return prefix;
    if (const std::size_t edits = edit_distance(called, name); edits < least) {
      least = edits;
      near = called;
    }
  }
  return fail(Code::kNotFound, fmt::format("no conda environment named {}; {}", name,
                                           near.empty() ? "`conda env list` shows the existing ones"
                                                        : "did you mean " + near + "?"));
}

std::vector<std::string> conda_variables(std::string_view state) {
  std::vector<std::string> variables;
  const auto json = Json::parse(state);
  const Json* all = json ? json->find("env_vars") : nullptr;
  if (all == nullptr || all->as_object() == nullptr) return variables;
  for (const auto& [name, value] : *all->as_object())
    if (value.as_string() != nullptr) variables.push_back(name + "=" + *value.as_string());
  return variables;
}

std::vector<std::string> changed_variables(std::string_view before, std::string_view after) {
  constexpr std::array<std::string_view, 5> kOfShell{"_", "SHLVL", "PWD", "OLDPWD", "SHELLOPTS"};
  const std::vector<std::string_view> old = split(before, '\0');
  const std::set<std::string_view> known(old.begin(), old.end());
  std::vector<std::string> changed;
  for (const std::string_view entry : split(after, '\0')) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0 || known.contains(entry)) continue;
    if (std::ranges::count(kOfShell, entry.substr(0, equals)) == 0) changed.emplace_back(entry);
  }
  return changed;
}

namespace {

// The tool that was asked for, or whichever is there.
Result<std::string> conda_tool(const Spec& spec) {
  if (!spec.tool.empty())
    return find_tool(spec.tool, "install it, or use conda= for any that is installed");
  for (const std::string& tool :
       {std::string("conda"), std::string("mamba"), std::string("micromamba"),
        own_variable("CONDA_EXE"), own_variable("MAMBA_EXE")}) {
    if (tool.empty()) continue;
    if (auto found = find_program(tool)) return found->string();
  }
  return fail(Code::kNotFound,
              "none of conda, mamba and micromamba is in PATH; install one, or name the "
              "environment's directory: conda=/path/of/environment");
}

bool is_micromamba(const std::string& tool) {
  return fs::path(tool).filename().string().starts_with("micromamba");
}

Result<fs::path> named_prefix(const Spec& spec, const PrepareOptions& options) {
  const std::string tool = TRY(conda_tool(spec));
  const ToolOutput listing = TRY(run_checked({.argv = {tool, "env", "list", "--json"}}, options));
  return conda_prefix(listing.out, spec.target);
}

Result<> create(const std::string& tool, const fs::path& file, const fs::path& place,
                const PrepareOptions& options) {
  Tool create{.argv = {tool, "env", "create", "--prefix", place.string(), "--file", file.string()},
              .directory = file.parent_path(),
              .reports_output = true};
  if (is_micromamba(tool))
    create.argv = {tool, "create", "--yes", "--prefix", place.string(), "--file", file.string()};
  const ToolOutput output = TRY(run_tool(create, options));
  if (output.code == 0) return {};
  return fail(Code::kUnprocessable,
              fmt::format("{}: {}", file.filename().string(), blame(output.err)));
}

Result<fs::path> built_prefix(const Spec& spec, const PrepareOptions& options) {
  const fs::path file = resolved(spec.target, options);
  const std::string content = TRY(requirements_content(file));
  const std::string tool = TRY(conda_tool(spec));
  const std::string from =
      fmt::format("conda\ntool {}\n{}", fs::path(tool).filename().string(), content);
  return build_once(
      {.key = content_hash(from),
       .words =
           fmt::format("{} with {}", file.filename().string(), fs::path(tool).filename().string()),
       .made_from = from,
       .make = [&](const fs::path& place) { return create(tool, file, place, options); }},
      options);
}

Result<fs::path> find_prefix(const Spec& spec, const PrepareOptions& options) {
  if (spec.target.ends_with(".yml") || spec.target.ends_with(".yaml"))
    return built_prefix(spec, options);
  if (spec.target.find('/') == std::string::npos) return named_prefix(spec, options);
  const fs::path prefix = resolved(spec.target, options);
  std::error_code error;
  if (!fs::is_directory(prefix / "conda-meta", error))
    return fail(Code::kNotFound,
                prefix.string() + ": not a conda environment: it has no conda-meta");
  return prefix;
}

// The scripts of activate.d run once, here: variables that they set are kept, their other effects
// are lost.
Result<std::vector<std::string>> activation(const fs::path& prefix,
                                            const std::vector<std::string>& environment,
                                            const PrepareOptions& options) {
  const fs::path scripts = prefix / "etc" / "conda" / "activate.d";
  std::string sourced;
  for (const std::string& name : sys::list_directory(scripts))
    if (name.ends_with(".sh"))
      sourced += fmt::format(". {} >&2\n", shell_quoted((scripts / name).string()));
  if (sourced.empty()) return std::vector<std::string>();
  Tool shell{.argv = {"/bin/bash", "-c", "env -0"},
             .environment = environment,
             .limit = std::chrono::minutes(1)};
  const ToolOutput before = TRY(run_checked(shell, options));
  shell.argv[2] = sourced + "env -0";
  const ToolOutput after = TRY(run_checked(shell, options));
  return changed_variables(before.out, after.out);
}

void note_packages(Prepared& prepared, const fs::path& prefix) {
  std::vector<std::string> packages;
  for (const std::string& file : sys::list_directory(prefix / "conda-meta"))
    if (std::string package = conda_package(file); !package.empty())
      packages.push_back(std::move(package));
  const std::string list = join(packages, "\n");
  note(prepared, "conda", list);
  note(prepared, "conda_sha256", hex(sha256(list)));
}

}  // namespace

Result<> check_conda(const Spec& spec, const PrepareOptions& options) {
  if (spec.target.ends_with(".yml") || spec.target.ends_with(".yaml")) {
    TRY(requirements_content(resolved(spec.target, options)));
    TRY(conda_tool(spec));
    return {};
  }
  TRY(find_prefix(spec, options));
  return {};
}

Result<Prepared> prepare_conda(const Spec& spec, const PrepareOptions& options) {
  const fs::path prefix = TRY(find_prefix(spec, options));
  Prepared prepared;
  prepared.environment = {
      "CONDA_PREFIX=" + prefix.string(), "CONDA_DEFAULT_ENV=" + prefix.filename().string(),
      "CONDA_SHLVL=1",
      "PATH=" + (prefix / "bin").string() + ":" + own_variable("PATH", "/usr/bin:/bin")};
  if (const auto state = sys::read_file(prefix / "conda-meta" / "state", 1u << 20))
    prepared.environment =
        environment_with(std::move(prepared.environment), conda_variables(*state));
  auto activated = activation(prefix, prepared.environment, options);
  if (!activated) return tl::unexpected(activated.error().with_context("activate.d"));
  prepared.environment = environment_with(std::move(prepared.environment), *activated);
  note(prepared, "prefix", prefix.string());
  note_packages(prepared, prefix);
  std::error_code error;
  const std::string python = (prefix / "bin" / "python").string();
  if (!fs::exists(python, error)) return prepared;  // an environment of other languages
  prepared.python = python;
  note_python(prepared, python, TRY(ask_python({.python = python}, options)));
  return prepared;
}

}  // namespace corral::environment
