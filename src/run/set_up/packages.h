// A Python interpreter, the packages that it finds, and those of a conda environment. Packages come
// from the names of their metadata alone: no package manager is asked, nothing is opened. Any
// thread.
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
// Executes it, with a line of its own. `options` without argv.
Result<Interpreter> ask_interpreter(const std::string& program, sys::CaptureOptions options);

// "numpy==1.26.4" a line, sorted by name; of a name that is there twice what the interpreter would
// take. `path` is its sys.path.
std::string python_packages(const std::vector<std::filesystem::path>& path);

// "python==3.11.5=h955ad1f_0" a line, sorted; empty: no conda environment.
std::string conda_packages(const std::filesystem::path& prefix);

// A list of lines as a fact may hold it; what is left out is counted in its last line.
std::string cut_lines(const std::string& lines, std::size_t bytes);

}  // namespace corral::run::set_up
