#include "environment/mlproject.h"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "core/text.h"

namespace corral::environment {
namespace {

tl::unexpected<Error> wrong(const YAML::Node& node, std::string_view what) {
  const YAML::Mark mark = node.Mark();
  const std::string place = mark.is_null() ? "" : fmt::format("line {}: ", mark.line + 1);
  return fail(Code::kInvalidArgument, fmt::format("{}{}", place, what));
}

Result<std::string> text_at(const YAML::Node& node, std::string_view what) {
  if (!node.IsScalar()) return wrong(node, fmt::format("{} is not a text", what));
  return node.Scalar();
}

Result<Parameter> parameter_of(const std::string& name, const YAML::Node& node) {
  Parameter parameter{.name = name, .type = "string", .preset = {}};
  if (node.IsScalar()) {
    parameter.type = node.Scalar();
  } else if (node.IsMap()) {
    if (const YAML::Node type = node["type"])
      parameter.type = TRY(text_at(type, "type of parameter " + name));
    const YAML::Node preset = node["default"];
    if (preset && !preset.IsNull())
      parameter.preset = TRY(text_at(preset, "default of parameter " + name));
  } else if (!node.IsNull()) {
    return wrong(node, fmt::format("parameter {} is neither a type nor type and default", name));
  }
  return parameter;
}

Result<EntryPoint> entry_point_of(const std::string& name, const YAML::Node& node) {
  if (!node.IsMap()) return wrong(node, fmt::format("entry point {} has no command", name));
  EntryPoint entry{.name = name, .parameters = {}, .command = {}};
  const YAML::Node command = node["command"];
  if (!command) return wrong(node, fmt::format("entry point {} has no command", name));
  entry.command = trim(TRY(text_at(command, "command of entry point " + name)));
  const YAML::Node parameters = node["parameters"];
  if (!parameters || parameters.IsNull()) return entry;
  if (!parameters.IsMap())
    return wrong(parameters, fmt::format("parameters of entry point {} are not a mapping", name));
  for (const auto& pair : parameters) {
    const std::string key = TRY(text_at(pair.first, "a parameter's name"));
    entry.parameters.push_back(TRY(parameter_of(key, pair.second)));
  }
  return entry;
}

// "NAME", or [NAME, value].
Result<std::string> variable_of(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  if (!node.IsSequence() || node.size() != 2)
    return wrong(node, "an entry of environment is a name or [name, value]");
  const std::string name = TRY(text_at(node[0], "a variable's name"));
  return name + "=" + TRY(text_at(node[1], "a variable's value"));
}

Result<DockerEnv> docker_env_of(const YAML::Node& node) {
  DockerEnv docker;
  if (!node.IsMap() || !node["image"]) return wrong(node, "docker_env has no image");
  docker.image = TRY(text_at(node["image"], "image of docker_env"));
  if (const YAML::Node volumes = node["volumes"])
    for (const auto& volume : volumes) docker.volumes.push_back(TRY(text_at(volume, "a volume")));
  if (const YAML::Node variables = node["environment"])
    for (const auto& variable : variables) docker.environment.push_back(TRY(variable_of(variable)));
  return docker;
}

Result<Project> project_of(const YAML::Node& root) {
  if (!root.IsMap())
    return wrong(root, "an MLproject is a mapping of name, environment, entry_points");
  Project project;
  if (const YAML::Node name = root["name"]) project.name = TRY(text_at(name, "name"));
  if (const YAML::Node file = root["python_env"])
    project.python_env = TRY(text_at(file, "python_env"));
  if (const YAML::Node file = root["conda_env"])
    project.conda_env = TRY(text_at(file, "conda_env"));
  if (const YAML::Node docker = root["docker_env"]) project.docker_env = TRY(docker_env_of(docker));
  const int kinds = static_cast<int>(!project.python_env.empty()) +
                    static_cast<int>(!project.conda_env.empty()) +
                    static_cast<int>(project.docker_env.has_value());
  if (kinds > 1) return wrong(root, "python_env, conda_env and docker_env exclude each other");
  const YAML::Node entries = root["entry_points"];
  if (!entries || entries.IsNull()) return project;
  if (!entries.IsMap()) return wrong(entries, "entry_points is not a mapping");
  for (const auto& pair : entries) {
    const std::string name = TRY(text_at(pair.first, "an entry point's name"));
    project.entry_points.push_back(TRY(entry_point_of(name, pair.second)));
  }
  return project;
}

Result<PythonEnv> python_env_of(const YAML::Node& root, const fs::path& directory) {
  if (!root.IsMap()) return wrong(root, "it is not a mapping of python and dependencies");
  PythonEnv env;
  if (const YAML::Node python = root["python"]) env.python = TRY(text_at(python, "python"));
  for (const char* key : {"build_dependencies", "dependencies"}) {
    const YAML::Node lines = root[key];
    if (!lines || lines.IsNull()) continue;
    if (!lines.IsSequence()) return wrong(lines, fmt::format("{} is not a list", key));
    for (const auto& node : lines) {
      std::string line(trim(TRY(text_at(node, "a dependency"))));
      for (const std::string_view option : {"-r ", "-c ", "--requirement ", "--constraint "})
        if (line.starts_with(option))
          line = std::string(option) +
                 (directory / fs::path(trim(line.substr(option.size())))).string();
      env.requirements += line + "\n";
    }
  }
  return env;
}

// The library throws for text that is no YAML, and for nonsense in it.
template <class T, class Read>
Result<T> guarded(std::string_view text, Read read) {
  try {
    return read(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& e) {
    const std::string place = e.mark.is_null() ? "" : fmt::format("line {}: ", e.mark.line + 1);
    return fail(Code::kInvalidArgument, place + e.msg);
  }
}

}  // namespace

Result<Project> parse_project(std::string_view text) { return guarded<Project>(text, project_of); }

Result<PythonEnv> parse_python_env(std::string_view text, const fs::path& directory) {
  return guarded<PythonEnv>(text,
                            [&](const YAML::Node& root) { return python_env_of(root, directory); });
}

}  // namespace corral::environment
