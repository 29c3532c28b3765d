// Environment: the place in which a run's command is executed: this shell's PATH, a virtual
// environment, conda, an environment built from requirements, a container, an MLproject.
//
// Three steps: parse() is pure; prepare() builds the missing parts, once, before anything is
// measured, and is idempotent (cached by content hash under `cache`, one builder at a time by
// flock); wrap() is pure: command -> executed command. Everything that ran is in `record`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/time.h"
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
// "docker=image;mount=/a:/b", "podman=…", "apptainer=…"; "mlproject=DIR". Options follow, separated
// by ";" (docs/environments.md). The error names the likely intention.
Result<Spec> parse(std::string_view text);
// Formats a spec so that parse(to_string(spec)) == spec.
std::string to_string(const Spec& spec);

struct Project;    // mlproject.h
struct Container;  // container.h

struct Prepared {
  std::vector<std::string> prefix;       // words before the command; empty: none
  std::string python;                    // interpreter for a .py file; empty: as ever
  std::vector<std::string> environment;  // "NAME=value" on top of the inherited; "PATH=…" whole
  // Facts of the environment: ("environment.kind", "uv"), ("environment.packages",
  // "numpy==1.26\n…"), ("environment.image_digest", "sha256:…"); recorded with the run.
  std::vector<std::pair<std::string, std::string>> record;
  bool in_container = false;
  std::shared_ptr<const Container> container{};  // set when in_container
  std::shared_ptr<const Project> project{};      // entry points, of an MLproject
};

struct PrepareOptions {
  fs::path directory;  // relative names start here: the plan's folder
  fs::path cache;      // directory of built environments
  std::function<void(std::string_view line)> progress;  // may be empty
  std::function<bool()> cancelled;  // polled; may be empty. The error is then kUnavailable
};

// $XDG_CACHE_HOME/corral/environments, else ~/.cache/…, else /var/tmp/corral-UID/environments.
fs::path default_cache();

// The error names the missing part, or the package or image that failed; the caller adds the run.
Result<Prepared> prepare(const Spec& spec, const PrepareOptions& options);

// Returns an error if prepare() would miss something, without building or pulling anything: files,
// tools, names of conda environments, images.
Result<> check(const Spec& spec, const PrepareOptions& options);

// Returns the command line of `command`: an entry point of an MLproject with its parameters (`main
// --epochs 3`) is expanded, every other command stays. The error names the parameter.
Result<std::vector<std::string>> entry_command(const Prepared& prepared,
                                               const std::vector<std::string>& command);

// `environment` ("NAME=value" entries) with what `added` sets in place of its own.
std::vector<std::string> environment_with(std::vector<std::string> environment,
                                          const std::vector<std::string>& added);
// The entries of a command's environment that also mean something in a container, for
// Inside::environment: Corral's, MLflow's, those of devices, ranks and threads, and those whose
// names are `chosen`. Others need env=.
std::vector<std::string> passed_in(const std::vector<std::string>& environment,
                                   const std::vector<std::string>& chosen = {});

// The parts of this host that a container must see so that the run is recorded, beside the command.
struct Inside {
  fs::path spool;           // the run's directory, mounted read-write at the same path
  fs::path python_package;  // mounted read-only
  fs::path working_directory;
  std::string cgroup_parent;  // group that the container is to be in; empty: the tool's choice
  // "NAME=value", variables that the command needs. Only the names are on the command line (others
  // may read that): the tool is to be started with these in its own environment.
  std::vector<std::string> environment;
  std::vector<std::string> chosen{};  // names of those that a person set for this run
  // GPUs by UUID; empty: those of CUDA_VISIBLE_DEVICES in `environment` that are UUIDs, else the
  // spec's gpus=.
  std::vector<std::string> devices;
  std::string cpus{};     // "0-3": for tools whose daemon does not inherit an affinity
  std::string name{};     // the container's; empty: container_name(spool)
  bool terminal = false;  // the command's output is a terminal
};
// Returns the words to execute: without a container the prefix and the command; in a container a
// .py file gets its interpreter.
std::vector<std::string> wrap(const Prepared& prepared, const std::vector<std::string>& command,
                              const Inside& inside);

// Returns true if the command is created by a tool's monitor or daemon (podman, docker), not by the
// process that is started.
bool is_apart(const Prepared& prepared);

// "corral-<last part of the spool's path>": the run's id.
std::string container_name(const fs::path& spool);

// The first process of a container, seen from this host, and its groups.
struct ContainerPlace {
  std::int64_t pid = 0;
  std::vector<std::string> cgroups;  // lines of /proc/PID/cgroup; paths differ only in hybrid hosts
};
// Waits until the container runs (or is initialised: staged()) and says where; kNotFound when it
// does not within `limit`. Not for apptainer, whose command is a child like any other.
Result<ContainerPlace> locate(const Prepared& prepared, const std::string& name,
                              Nanos limit = std::chrono::seconds(30));

// A container made and, by podman, initialised before its start: namespaces, group and first
// process are there, the command waits. Starting it is then `argv`: some ten milliseconds instead
// of hundreds. `argv` ends with the command's exit status, as wrap()'s does.
struct Staged {
  std::vector<std::string> argv;
  std::optional<ContainerPlace> place;  // known before the start only with podman
};
// kUnsupported without a container and for apptainer: use wrap(). `inside.environment` must be in
// this process's environment or is put there for the tool.
Result<Staged> stage(const Prepared& prepared, const std::vector<std::string>& command,
                     const Inside& inside);
// A container that another process has made with these words of the tool, for the functions here.
Prepared of_container(std::vector<std::string> program);
// Returns the tool's words that of_container() was given.
std::vector<std::string> program_of(const Prepared& prepared);
// The exit status of a container's command, as its tool reports it; waits a moment for one that is
// about to end.
Result<int> exit_status_of(const Prepared& prepared, const std::string& name);
// Removes a container in any state, and the empty groups that the tool made beside and below the
// directories of `cgroup_parent`. Done when there is none.
Result<> discard(const Prepared& prepared, const std::string& name,
                 const std::string& cgroup_parent = "");

}  // namespace corral::environment
