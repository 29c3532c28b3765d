// Facts of a Python interpreter: version and packages.
#pragma once

#include <string>
#include <vector>

#include "environment/environment.h"
#include "sys/private_directory.h"

namespace corral::environment {

struct PythonFacts {
  std::string version;     // "3.11.2"
  std::string executable;  // as it calls itself
  std::string packages;    // "numpy==1.26.4\n…", sorted by name; with or without pip
};

// Asked of the interpreter, or of <cache>/python/ while no directory that it imports from has
// changed. `prefix` comes before the interpreter: `podman run … IMAGE`; such answers are kept by
// `content` (an image's id) instead, in which nothing changes.
struct PythonQuestion {
  std::string python;
  std::vector<std::string> prefix{};
  std::string content{};
};
// <cache>/python/, made when missing.
Result<sys::PrivateDirectory> open_answers(const PrepareOptions& options);
Result<PythonFacts> ask_python(const PythonQuestion& question, const PrepareOptions& options);

// Adds interpreter, version and packages to the record.
void note_python(Prepared& prepared, const std::string& python, const PythonFacts& facts);

// Fills python, PATH, VIRTUAL_ENV and the record for the virtual environment at `directory`.
Result<> use_venv(Prepared& prepared, const fs::path& directory, const PrepareOptions& options);

Result<Prepared> prepare_venv(const Spec& spec, const PrepareOptions& options);
// Part of environment::check().
Result<> check_venv(const Spec& spec, const PrepareOptions& options);

}  // namespace corral::environment
