// Finds the missing parts of an environment without building, pulling or starting anything in it.
#include <fmt/core.h>

#include "environment/mlproject.h"
#include "environment/parts.h"
#include "environment/requirements.h"
#include "environment/tool.h"
#include "sys/process.h"

namespace corral::environment {
namespace {

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
