// Programs that prepare an environment (uv, conda, podman, …): run without a shell in a session of
// their own, watched, cancelled.
#pragma once

#include <string>
#include <vector>

#include "core/time.h"
#include "environment/environment.h"
#include "sys/process.h"

namespace corral::environment {

struct Tool {
  std::vector<std::string> argv;           // argv[0] may be searched in PATH
  std::vector<std::string> environment{};  // "NAME=value" on top of the inherited
  fs::path directory{};                    // empty: this one
  Nanos limit{std::chrono::hours(2)};      // then it is killed
  bool told = false;                       // its lines go to the progress
};

struct ToolOutput {
  std::string out;  // the first 16 MiB
  std::string err;  // the last 64 KiB, with `told` standard output among it
  int code = 0;     // exit status, 128 + signal
};

// Errors: the tool cannot be started, or kUnavailable after the time limit or a cancellation; then
// the tool and its children have been killed.
Result<ToolOutput> run_tool(const Tool& tool, const PrepareOptions& options);
// As run_tool(); a status other than 0 is an error that ends with the tool's own last lines.
Result<ToolOutput> run_checked(const Tool& tool, const PrepareOptions& options);

// Returns the path of `program` in this process's PATH, or kNotFound with `advice`.
Result<std::string> find_tool(const std::string& program, std::string_view advice);

// The last lines of a tool's output that are worth showing, at most `lines`, joined by " | ".
std::string last_lines(std::string_view text, std::size_t lines);
// "https://user:secret@host/" -> "https://host/", anywhere in the text: nothing that is recorded or
// shown may hold a password.
std::string without_credentials(std::string_view text);

using sys::own_variable;
void tell(const PrepareOptions& options, std::string_view line);
bool is_cancelled(const PrepareOptions& options);

}  // namespace corral::environment
