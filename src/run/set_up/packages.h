// A Python interpreter, the packages that it finds, and those of a conda environment. Packages come
// from the names of their metadata alone: no package manager is run, no file is opened. Any thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "sys/process.h"

namespace corral::run::set_up {

struct Interpreter {
  std::string version;                      // "Python 3.11.2"
  std::vector<std::filesystem::path> path;  // its sys.path
};
// Runs the interpreter with a short program. `options` has no argv.
Result<Interpreter> ask_interpreter(const std::string& program, sys::CaptureOptions options);

// Returns lines "numpy==1.26.4", sorted by name; if a name exists twice, the one that the
// interpreter would import. `path` is its sys.path.
std::string python_packages(const std::vector<std::filesystem::path>& path);

// Returns lines "python==3.11.5=h955ad1f_0", sorted; empty: no conda environment.
std::string conda_packages(const std::filesystem::path& prefix);

// Returns a list of lines cut to the size of a fact; its last line counts the omitted ones.
std::string cut_lines(const std::string& lines, std::size_t bytes);

}  // namespace corral::run::set_up
