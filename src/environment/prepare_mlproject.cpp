// mlproject=DIR: the project's own environment by the kind that it names.
#include <fmt/core.h>

#include "core/text.h"
#include "environment/mlproject.h"
#include "environment/parts.h"
#include "environment/tool.h"
#include "sys/private_directory.h"
#include "sys/process.h"

namespace corral::environment {
namespace {

bool in_path(const char* program) {
  return sys::find_in_path(program, own_variable("PATH", "/usr/bin:/bin")).has_value();
}

Result<Spec> python_env_spec(const Project& project, const PrepareOptions& options) {
  const fs::path file = project.directory / project.python_env;
  const auto env = parse_python_env(TRY(sys::read_file(file)), project.directory);
  if (!env) return tl::unexpected(env.error().with_context(project.python_env));
  // A file of its own, named by its content: the environment is built from it as from any other.
  const auto projects = TRY(sys::PrivateDirectory::make(options.cache / "projects"));
  const std::string name = content_hash(env->requirements) + ".txt";
  TRY(projects.replace_file(name, env->requirements));
  Spec spec{.kind = in_path("uv") ? Kind::kUv : Kind::kPip,
            .tool = {},
            .target = (projects.path() / name).string(),
            .options = {}};
  if (!env->python.empty()) spec.options.emplace_back("python", env->python);
  return spec;
}

Spec docker_spec(const Project& project) {
  const bool podman = !in_path("docker") && in_path("podman");
  const std::string directory = project.directory.string();
  Spec spec{.kind = Kind::kContainer,
            .tool = podman ? "podman" : "docker",
            .target = project.docker_env->image,
            .options = {{"mount", directory + ":" + directory}}};
  for (const std::string& volume : project.docker_env->volumes)
    spec.options.emplace_back("mount", volume);
  for (const std::string& variable : project.docker_env->environment)
    spec.options.emplace_back("env", variable);
  return spec;
}

Result<Spec> spec_of(const Project& project, const PrepareOptions& options) {
  if (!project.python_env.empty()) return python_env_spec(project, options);
  if (project.docker_env) return docker_spec(project);
  Spec spec;
  if (project.conda_env.empty()) return spec;
  spec.kind = Kind::kConda;
  spec.target = (project.directory / project.conda_env).string();
  return spec;
}

}  // namespace

Result<Prepared> prepare_mlproject(const Spec& spec, const PrepareOptions& options) {
  fs::path directory = resolved(spec.target, options);
  if (directory.filename() == "MLproject") directory = directory.parent_path();
  const std::string text = TRY(sys::read_file(directory / "MLproject", 1u << 20));
  auto project = parse_project(text);
  if (!project) return tl::unexpected(project.error().with_context("MLproject"));
  project->directory = directory;
  const Spec inner = TRY(spec_of(*project, options));
  Prepared prepared = TRY(prepare(inner, options));
  for (auto& [key, value] : prepared.record) {
    if (key == "environment.kind") key = "environment.project_kind";
    if (key == "environment.spec") key = "environment.project_spec";
  }
  note(prepared, "project", directory.string());
  note(prepared, "mlproject", text);
  prepared.project = std::make_shared<const Project>(*std::move(project));
  return prepared;
}

}  // namespace corral::environment
