// Command: turns the words after `corral run` into the command that is executed, and makes its
// environment.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "run/options.h"
#include "spool/run_directory.h"

namespace corral::run {

struct Command {
  std::vector<std::string> argv;  // argv[0] is a path
  std::string interpreter;        // Python's path for a .py file, else empty
  // Facts of the environment that it is executed in (environment::Prepared).
  std::vector<std::pair<std::string, std::string>> record{};
};

// A shell's exit status for a command that cannot be started.
inline constexpr int kNotExecutable = 126;
inline constexpr int kNotFound = 127;

// kNotFound: exit 127, kPermission: exit 126; the message names the nearest right spelling, if
// there is one. `path` is searched; empty: this process's PATH.
Result<Command> resolve_command(const Options& options, const std::string& path = "");

// Returns advice for the user when a script's output ends with `tail`: Corral chose the
// interpreter. Empty: no advice.
std::string interpreter_advice(const Options& options, std::string_view tail);

// The child's environment: this one's, with the variables of the run.
struct ChildEnvironment {
  std::string run_id;
  std::string segments;
  std::int64_t spool_limit = 0;
  std::string python_path;
  std::string tracking_uri{};  // empty: MLflow is left alone
  std::string statsd{};        // address that takes datagrams; empty: none
  std::string otlp{};          // address that takes OpenTelemetry's metrics; empty: none
  bool capture = true;         // Python starts with the package that watches training loops
  std::string max_epochs{};    // empty: as inherited
  std::string max_steps{};
  std::string profile_steps{};  // "torch:10-12"; never as inherited
};
// Returns the address to which this environment sends MLflow's calls: a server that the user chose,
// not the relay of an enclosing run. Empty: none.
std::string chosen_tracking_uri(char* const* inherited);
std::vector<std::string> child_environment(const ChildEnvironment& run, char* const* inherited);
std::vector<std::string> child_environment(const ChildEnvironment& run,
                                           const std::vector<std::string>& inherited);

// Container end: the end of a command whose supervisor is gone, as its container's tool reports it.

// Returns the exit status and removes the container. Nullopt: no container, or the status is
// unknown.
std::optional<int> container_end(const spool::Manifest& run);

// Value of an environment variable; empty: not set.
using Variable = std::function<std::string(const char* name)>;

// Warns of a command that starts processes on other hosts, which lack this run's spool. Empty:
// every rank starts on `host`, as far as the command shows. Reads host files and $PBS_NODEFILE.
std::string ranks_elsewhere(const std::vector<std::string>& command, const std::string& host,
                            const Variable& variable);

}  // namespace corral::run
