// Containers of docker, podman and apptainer: the words of their command lines, which are pure
// functions, and what asks and drives the tool.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "environment/environment.h"

namespace corral::environment {

struct Container {
  std::string tool;                    // docker, podman, apptainer (singularity is the same)
  std::vector<std::string> program;    // its path, with global flags (global=)
  std::vector<std::string> flags;      // mounts, devices, user, entry point; before `inside`
  std::vector<std::string> arguments;  // arg=, the last before the image
  std::vector<std::string> targets;    // targets of mount=: not mounted a second time
  std::string gpus;                    // "", "all", "none" or ids joined by ","
  std::string workdir;                 // empty: the run's own
  std::string image;                   // the image to start: an image's id, a .sif file
  std::string python = "python3";      // for .py files
};

// The answer of `image inspect` (docker's and podman's JSON).
struct ImageFacts {
  std::string id;
  std::string digest;    // "sha256:…", empty for an image that no registry has
  std::string platform;  // "linux/amd64"
  std::string user;      // as the image names it, may be empty
};
Result<ImageFacts> parse_image(std::string_view json);

// The user that runs corral, for the choice of the user inside.
struct Person {
  unsigned uid = 0;
  unsigned gid = 0;
  bool rootless = false;  // the tool maps root inside to this user
};
// Flags by which the command may write the run's spool: it runs as the user that runs corral.
std::vector<std::string> user_flags(const Container& container, const std::string& image_user,
                                    const Person& person);

// Mount flag of a directory at the same path.
std::string bind_flag(const Container& container, const fs::path& path, bool writable);
// Flags of mount=, device=, env=, user=, entrypoint=.
void add_option_flags(Container& container, const Spec& spec, const PrepareOptions& options);

// Directories of groups as the host mounts them ("/sys/fs/cgroup/memory/a/b:…"), or a name, as the
// tools want it: "/a/b".
std::string group_name(const std::string& group);

// Takes away containers that were made for a start which never came, because their supervisor was
// killed. Only lines "NAME PID.START.BOOT" of dead processes count in the tool's answer.
void sweep(const Container& container);
// Label that names the maker of a container; swept when that process is gone.
std::string maker_label();
bool is_gone(std::string_view maker);

// Everything behind `run` or `create`: flags, image, command.
std::vector<std::string> run_words(const Container& container,
                                   const std::vector<std::string>& command, const Inside& inside);

Result<Prepared> prepare_container(const Spec& spec, const PrepareOptions& options);
// Part of environment::check().
Result<> check_container(const Spec& spec, const PrepareOptions& options);

}  // namespace corral::environment
