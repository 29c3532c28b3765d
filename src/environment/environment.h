// Environment: what a run's command is executed in: this shell's PATH, a virtual environment,
// conda, an environment built from requirements, a container, an MLproject.
//
// Three steps: parse() is pure; prepare() builds what is missing, once, before anything is
// measured, and is idempotent (cached by content hash under `cache`, one builder at a time by
// flock); wrap() is pure: command -> what is executed. Everything that ran is in `record`.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "sys/file.h"

namespace corral::environment {

namespace fs = std::filesystem;

enum class Kind { kLocal, kVenv, kConda, kUv, kPip, kContainer, kMlproject };

struct Spec {
  Kind kind = Kind::kLocal;
  std::string
      tool;  // kConda: conda, mamba, micromamba or empty; kContainer: docker, podman, apptainer
  std::string target;  // path of the interpreter or venv, name or environment.yml,
                       // requirements.txt, image, project
  std::vector<std::pair<std::string, std::string>>
      options;  // "mount" -> "/data:/data:ro", "user", "workdir", …
  bool operator==(const Spec&) const = default;
};

// "", "-", "local"; "python=/path/bin/python" or "venv=/path"; "conda=NAME" or
// "conda=environment.yml"; "uv=requirements.txt", "pip=requirements.txt";
// "docker=image;mount=/a:/b", "podman=…", "apptainer=…"; "mlproject=DIR". The error names what was
// meant.
Result<Spec> parse(std::string_view text);

struct Prepared {
  std::vector<std::string> prefix;       // words before the command; empty: none
  std::string python;                    // interpreter for a .py file; empty: as ever
  std::vector<std::string> environment;  // "NAME=value" on top of the inherited; "PATH=…" whole
  // What it was: ("environment.kind", "uv"), ("environment.packages", "numpy==1.26\n…"),
  // ("environment.image_digest", "sha256:…"); recorded with the run.
  std::vector<std::pair<std::string, std::string>> record;
  bool in_container = false;
};

struct PrepareOptions {
  fs::path directory;  // relative names start here: the plan's folder
  fs::path cache;      // where built environments are kept
  std::function<void(std::string_view line)> progress;  // may be empty
  std::function<bool()> cancelled;                      // polled; may be empty
};

Result<Prepared> prepare(const Spec& spec, const PrepareOptions& options);

// What of this host a container must see so that the run is recorded, beside the command.
struct Inside {
  fs::path spool;           // the run's directory, mounted read-write at the same path
  fs::path python_package;  // mounted read-only
  fs::path working_directory;
  std::string cgroup_parent;  // group that the container is to be in; empty: the tool's choice
  std::vector<std::string> environment;  // variables that the command needs
  std::vector<std::string> devices;      // GPUs as the tool wants them
};
std::vector<std::string> wrap(const Prepared& prepared, const std::vector<std::string>& command,
                              const Inside& inside);

}  // namespace corral::environment
