#include "environment/mlproject.h"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "core/text.h"
#include "environment/tool.h"
#include "sys/private_directory.h"
#include "sys/process.h"

namespace corral::environment {
namespace {

tl::unexpected<Error> wrong(const YAML::Node& node, std::string_view what) {
  const YAML::Mark mark = node.Mark();
  const std::string place = mark.is_null() ? "" : fmt::format("line {}: ", mark.line + 1);
  return fail(Code::kInvalidArgument, fmt::format("{}{}", place, what));
}

Result<std::string> scalar_text(const YAML::Node& node, std::string_view what) {
  if (!node.IsScalar()) return wrong(node, fmt::format("{} is not a text", what));
  return node.Scalar();
}

Result<Parameter> parse_parameter(const std::string& name, const YAML::Node& node) {
  Parameter parameter{.name = name, .type = "string", .preset = {}};
  if (node.IsScalar()) {
    parameter.type = node.Scalar();
  } else if (node.IsMap()) {
    if (const YAML::Node type = node["type"])
      parameter.type = TRY(scalar_text(type, "type of parameter " + name));
    const YAML::Node preset = node["default"];
    if (preset && !preset.IsNull())
      parameter.preset = TRY(scalar_text(preset, "default of parameter " + name));
  } else if (!node.IsNull()) {
    return wrong(node, fmt::format("parameter {} is neither a type nor type and default", name));
  }
  return parameter;
}

Result<EntryPoint> parse_entry_point(const std::string& name, const YAML::Node& node) {
  if (!node.IsMap()) return wrong(node, fmt::format("entry point {} has no command", name));
  EntryPoint entry{.name = name, .parameters = {}, .command = {}};
  const YAML::Node command = node["command"];
  if (!command) return wrong(node, fmt::format("entry point {} has no command", name));
  entry.command = trim(TRY(scalar_text(command, "command of entry point " + name)));
  const YAML::Node parameters = node["parameters"];
  if (!parameters || parameters.IsNull()) return entry;
  if (!parameters.IsMap())
    return wrong(parameters, fmt::format("parameters of entry point {} are not a mapping", name));
  for (const auto& pair : parameters) {
    const std::string key = TRY(scalar_text(pair.first, "a parameter's name"));
    entry.parameters.push_back(TRY(parse_parameter(key, pair.second)));
  }
  return entry;
}

// "NAME", or [NAME, value].
Result<std::string> parse_variable(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  if (!node.IsSequence() || node.size() != 2)
    return wrong(node, "an entry of environment is a name or [name, value]");
  const std::string name = TRY(scalar_text(node[0], "a variable's name"));
  return name + "=" + TRY(scalar_text(node[1], "a variable's value"));
}

Result<DockerEnv> parse_docker_env(const YAML::Node& node) {
  DockerEnv docker;
  if (!node.IsMap() || !node["image"]) return wrong(node, "docker_env has no image");
  docker.image = TRY(scalar_text(node["image"], "image of docker_env"));
  if (const YAML::Node volumes = node["volumes"])
    for (const auto& volume : volumes)
      docker.volumes.push_back(TRY(scalar_text(volume, "a volume")));
  if (const YAML::Node variables = node["environment"])
    for (const auto& variable : variables)
      docker.environment.push_back(TRY(parse_variable(variable)));
  return docker;
}

Result<Project> project_from_yaml(const YAML::Node& root) {
  if (!root.IsMap())
    return wrong(root, "an MLproject is a mapping of name, environment, entry_points");
  Project project;
  if (const YAML::Node name = root["name"]) project.name = TRY(scalar_text(name, "name"));
  if (const YAML::Node file = root["python_env"])
    project.python_env = TRY(scalar_text(file, "python_env"));
  if (const YAML::Node file = root["conda_env"])
    project.conda_env = TRY(scalar_text(file, "conda_env"));
  if (const YAML::Node docker = root["docker_env"])
    project.docker_env = TRY(parse_docker_env(docker));
  const int kinds = static_cast<int>(!project.python_env.empty()) +
                    static_cast<int>(!project.conda_env.empty()) +
                    static_cast<int>(project.docker_env.has_value());
  if (kinds > 1) return wrong(root, "python_env, conda_env and docker_env exclude each other");
  const YAML::Node entries = root["entry_points"];
  if (!entries || entries.IsNull()) return project;
  if (!entries.IsMap()) return wrong(entries, "entry_points is not a mapping");
  for (const auto& pair : entries) {
    const std::string name = TRY(scalar_text(pair.first, "an entry point's name"));
    project.entry_points.push_back(TRY(parse_entry_point(name, pair.second)));
  }
  return project;
}

Result<PythonEnv> python_env_from_yaml(const YAML::Node& root, const fs::path& directory) {
  if (!root.IsMap()) return wrong(root, "it is not a mapping of python and dependencies");
  PythonEnv env;
  if (const YAML::Node python = root["python"]) env.python = TRY(scalar_text(python, "python"));
  for (const char* key : {"build_dependencies", "dependencies"}) {
    const YAML::Node lines = root[key];
    if (!lines || lines.IsNull()) continue;
    if (!lines.IsSequence()) return wrong(lines, fmt::format("{} is not a list", key));
    for (const auto& node : lines) {
      std::string line(trim(TRY(scalar_text(node, "a dependency"))));
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

Result<Spec> python_env_spec(const Project& project, const PrepareOptions& options) {
  const fs::path file = project.directory / project.python_env;
  const auto env = parse_python_env(TRY(sys::read_file(file)), project.directory);
  if (!env) return tl::unexpected(env.error().with_context(project.python_env));
  // A file of its own, named by its content: the environment is built from it as from any other.
  const auto projects = TRY(sys::PrivateDirectory::make(options.cache / "projects"));
  const std::string name = content_hash(env->requirements) + ".txt";
  TRY(projects.replace_file(name, env->requirements));
  Spec spec{.kind = find_program("uv") ? Kind::kUv : Kind::kPip,
            .tool = {},
            .target = (projects.path() / name).string(),
            .options = {}};
  if (!env->python.empty()) spec.options.emplace_back("python", env->python);
  return spec;
}

Spec docker_spec(const Project& project) {
  const bool podman = !find_program("docker") && find_program("podman").has_value();
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

Result<Spec> make_spec(const Project& project, const PrepareOptions& options) {
  if (!project.python_env.empty()) return python_env_spec(project, options);
  if (project.docker_env) return docker_spec(project);
  Spec spec;
  if (project.conda_env.empty()) return spec;
  spec.kind = Kind::kConda;
  spec.target = (project.directory / project.conda_env).string();
  return spec;
}

using Values = std::vector<std::pair<std::string, std::string>>;

// The arguments behind the entry point's name.
struct EntryArguments {
  Values values;                   // --key value, --key=value, -P key=value
  std::vector<std::string> words;  // everything else, as it stands
};

EntryArguments parse_arguments(const std::vector<std::string>& command) {
  EntryArguments given;
  for (std::size_t i = 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    const bool last = i + 1 == command.size();
    const std::size_t equals = word.find('=');
    if (word == "-P" && !last && command[i + 1].find('=') != std::string::npos) {
      const std::string& pair = command[++i];
      given.values.emplace_back(pair.substr(0, pair.find('=')), pair.substr(pair.find('=') + 1));
    } else if (word.starts_with("--") && word.size() > 2 && equals != std::string::npos) {
      given.values.emplace_back(word.substr(2, equals - 2), word.substr(equals + 1));
    } else if (word.starts_with("--") && word.size() > 2 && !last &&
               !command[i + 1].starts_with("--")) {
      given.values.emplace_back(word.substr(2), command[++i]);
    } else {
      given.words.push_back(word);
    }
  }
  return given;
}

const std::string* find_value(const Values& values, std::string_view name) {
  const auto found = std::ranges::find(values, name, &Values::value_type::first);
  return found == values.end() ? nullptr : &found->second;
}

Result<std::string> checked(const Project& project, const Parameter& parameter,
                            const std::string& value) {
  if (parameter.type == "float" && !parse_double(value))
    return fail(Code::kInvalidArgument,
                fmt::format("parameter {}: '{}' is not a number", parameter.name, value));
  if (parameter.type != "path" || value.find("://") != std::string::npos) return value;
  std::error_code error;
  const fs::path path = (project.directory / value).lexically_normal();
  if (!fs::exists(path, error))
    return fail(Code::kNotFound, fmt::format("parameter {}: {}: no such file or directory",
                                             parameter.name, path.string()));
  return path.string();
}

// Python's str.format for plain names: {lr}, {{ and }}.
Result<std::string> formatted(const std::string& pattern, const Values& values) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if ((c == '{' || c == '}') && i + 1 < pattern.size() && pattern[i + 1] == c) {
      out += c;
      ++i;
    } else if (c == '{') {
      const std::size_t end = pattern.find('}', i);
      if (end == std::string::npos)
        return fail(Code::kInvalidArgument, "its command has a { without a }");
      const std::string name = pattern.substr(i + 1, end - i - 1);
      const std::string* value = find_value(values, name);
      if (value == nullptr)
        return fail(
            Code::kInvalidArgument,
            fmt::format("its command uses {{{}}}, which is not one of its parameters", name));
      out += shell_quoted(*value);
      i = end;
    } else if (c == '}') {
      return fail(Code::kInvalidArgument, "its command has an unmatched '}'");
    } else {
      out += c;
    }
  }
  return out;
}

Result<std::string> command_line(const Project& project, const EntryPoint& entry,
                                 EntryArguments given) {
  Values values;
  std::vector<std::string> missing;
  for (const Parameter& parameter : entry.parameters) {
    const std::string* value = find_value(given.values, parameter.name);
    if (value == nullptr && !parameter.preset) {
      missing.push_back(parameter.name);
      continue;
    }
    const std::string text =
        TRY(checked(project, parameter, value != nullptr ? *value : *parameter.preset));
    values.emplace_back(parameter.name, text);
    std::erase_if(given.values, [&](const auto& v) { return v.first == parameter.name; });
  }
  if (!missing.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("needs {}: give --{} VALUE", join(missing, ", "), missing[0]));
  std::string line = TRY(formatted(entry.command, values));
  for (const auto& [key, value] : given.values)
    line += fmt::format(" {} {}", shell_quoted("--" + key), shell_quoted(value));
  for (const std::string& word : given.words) line += " " + shell_quoted(word);
  return line;
}
}  // namespace

Result<Project> parse_project(std::string_view text) {
  return guarded<Project>(text, project_from_yaml);
}

Result<PythonEnv> parse_python_env(std::string_view text, const fs::path& directory) {
  return guarded<PythonEnv>(
      text, [&](const YAML::Node& root) { return python_env_from_yaml(root, directory); });
}

Result<Prepared> prepare_mlproject(const Spec& spec, const PrepareOptions& options) {
  fs::path directory = resolved(spec.target, options);
  if (directory.filename() == "MLproject") directory = directory.parent_path();
  const std::string text = TRY(sys::read_file(directory / "MLproject", 1u << 20));
  auto project = parse_project(text);
  if (!project) return tl::unexpected(project.error().with_context("MLproject"));
  project->directory = directory;
  const Spec inner = TRY(make_spec(*project, options));
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

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(word);
  std::string quoted = "'";
  for (const char c : word) c == '\'' ? quoted += "'\"'\"'" : quoted += c;
  return quoted + "'";
}

Result<std::vector<std::string>> expand_command(const Project& project,
                                                const std::vector<std::string>& command) {
  if (command.empty()) return command;
  const auto entry = std::ranges::find(project.entry_points, command[0], &EntryPoint::name);
  if (entry == project.entry_points.end()) {
    std::vector<std::string> words = command;
    const fs::path inside = project.directory / command[0];
    std::error_code error;
    if (!fs::exists(command[0], error) && fs::is_regular_file(inside, error))
      words[0] = inside.string();
    return words;
  }
  const auto line = command_line(project, *entry, parse_arguments(command));
  if (!line) return tl::unexpected(line.error().with_context("entry point " + entry->name));
  return std::vector<std::string>{
      "/bin/sh", "-c", fmt::format("cd {} && {}", shell_quoted(project.directory.string()), *line)};
}

Result<> check_mlproject(const Spec& spec, const PrepareOptions& options) {
  fs::path directory = resolved(spec.target, options);
  if (directory.filename() == "MLproject") directory = directory.parent_path();
  const auto project = parse_project(TRY(sys::read_file(directory / "MLproject", 1u << 20)));
  return project ? Result<>() : tl::unexpected(project.error().with_context("MLproject"));
}

}  // namespace corral::environment
