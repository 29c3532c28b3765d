// MLproject files, as MLflow's: an environment and entry points with parameters.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "environment/environment.h"

namespace corral::environment {

struct Parameter {
  std::string name;
  std::string type = "string";  // string, float, path, uri
  std::optional<std::string> preset;
};

struct EntryPoint {
  std::string name;
  std::vector<Parameter> parameters;
  std::string command;  // "python train.py --lr {lr}"
};

struct DockerEnv {
  std::string image;
  std::vector<std::string> volumes;      // "/a:/b"
  std::vector<std::string> environment;  // "NAME" or "NAME=value"
};

struct Project {
  fs::path directory;
  std::string name;
  std::string python_env;  // file below the directory; at most one of the three is set
  std::string conda_env;
  std::optional<DockerEnv> docker_env;
  std::vector<EntryPoint> entry_points;
};

// Pure; any bytes. Errors name the place in the file.
Result<Project> parse_project(std::string_view text);

// {"main", "--epochs", "3", "--lr=0.1"} -> {"sh", "-c", "cd DIR && python train.py --epochs 3 …"}.
// As MLflow does: defaults filled in, values quoted for the shell, parameters that the entry point
// does not name appended as --key value. A command whose first word is no entry point stays; a
// script is then looked for in the project, too.
Result<std::vector<std::string>> expand_command(const Project& project,
                                                const std::vector<std::string>& command);

// One word for a POSIX shell.
std::string shell_quoted(std::string_view word);

// python_env.yaml: the interpreter's version and the lines of a requirements file, names of files
// made absolute from `directory`.
struct PythonEnv {
  std::string python;
  std::string requirements;
};
Result<PythonEnv> parse_python_env(std::string_view text, const fs::path& directory);

Result<Prepared> prepare_mlproject(const Spec& spec, const PrepareOptions& options);
// Part of environment::check().
Result<> check_mlproject(const Spec& spec, const PrepareOptions& options);

}  // namespace corral::environment
