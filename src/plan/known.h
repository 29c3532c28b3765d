// Known: facts about the machine and the rest of Corral, to check a plan against. This layer knows
// no listener, no environment and no device itself.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/mig.h"

namespace corral::plan {

namespace fs = std::filesystem;

struct KnownDevice {
  std::string index;  // "0"
  std::string uuid;   // "GPU-…"
  std::string pci;    // "00000000:65:00.0"
  std::string model;  // for messages
  // As the driver lists them; empty: the published tables by model.
  std::vector<MigProfile> profiles;
};

struct Lack {
  std::string reason;
  bool certain = true;  // false: it may be fetched before the run
};

// Each function may be empty: then nothing is checked.
struct Known {
  // Why a listener's name or an environment is none; empty: it is one. Called once for each
  // spelling.
  std::function<std::string(std::string_view word)> listener_problem;
  std::function<std::string(std::string_view text)> environment_problem;
  // Why `corral run` would refuse a row because of this variable; empty: it would not.
  std::function<std::string(const std::string& name, const std::string& value)> variable_problem{};
  // Returns the part of an environment that this machine lacks, seen from the plan's folder. Called
  // once for each spelling.
  std::function<std::optional<Lack>(std::string_view text, const fs::path& directory)>
      environment_lack{};
  // Returns true if the absolute path exists, also as a directory.
  std::function<bool(const fs::path& path)> exists;
  // Returns true if the path is an executable file.
  std::function<bool(const fs::path& path)> executable;
  // Names in a directory, for "did you mean".
  std::function<std::vector<std::string>(const fs::path& directory)> names_in;
  std::string path;                                 // $PATH: where a program without a / is
  std::optional<std::vector<KnownDevice>> devices;  // nullopt: unknown; empty: none here
  bool runs_here = false;   // with `devices`: what cannot run here is an error
  std::optional<int> cpus;  // number of CPUs of this machine
};

}  // namespace corral::plan
