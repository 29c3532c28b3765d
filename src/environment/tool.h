// Programs that prepare an environment (uv, conda, podman, …): run without a shell in a session of
// their own, watched, cancelled. And the small functions that all kinds of environment share.
#pragma once

#include <string>
#include <string_view>
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
  bool reports_output = false;             // its lines go to the progress
};

struct ToolOutput {
  std::string out;  // the first 16 MiB
  std::string err;  // the last 64 KiB, with `reports_output` standard output among it
  int code = 0;     // exit status, 128 + signal
};

// Errors: the tool cannot be started, or kUnavailable after the time limit or a cancellation; then
// the tool and its children have been killed.
Result<ToolOutput> run_tool(const Tool& tool, const PrepareOptions& options);
// As run_tool(); a status other than 0 is an error that ends with the tool's own last lines.
Result<ToolOutput> run_checked(const Tool& tool, const PrepareOptions& options);

// Returns the path of `program` in this process's PATH, or kNotFound or kPermission.
Result<fs::path> find_program(const std::string& program);
// The same; the error ends with `advice`.
Result<std::string> find_tool(const std::string& program, std::string_view advice);

// The last lines of a tool's output that are worth showing, at most `lines`, joined by " | ".
std::string last_lines(std::string_view text, std::size_t lines);
// "https://user:secret@host/" -> "https://host/", anywhere in the text: nothing that is recorded or
// shown may hold a password.
std::string without_credentials(std::string_view text);

using sys::own_variable;
void report_progress(const PrepareOptions& options, std::string_view line);
bool is_cancelled(const PrepareOptions& options);

// Returns the first value of an option, else the fallback; option_values() returns all values.
std::string option_value(const Spec& spec, std::string_view name, std::string_view fallback = "");
std::vector<std::string> option_values(const Spec& spec, std::string_view name);

// Resolves `name` against the plan's folder; expands "~/" and removes "." and "..".
fs::path resolved(std::string_view name, const PrepareOptions& options);

// Returns the first 32 hex digits of the SHA-256.
std::string content_hash(std::string_view text);

void note(Prepared& prepared, std::string_view key, std::string value);

}  // namespace corral::environment
