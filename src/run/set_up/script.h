// Script: the user's own files that a command executes: its script, and the local modules that this
// imports. Files of an interpreter, a virtual environment or the system do not count.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace corral::run::set_up {

// True if the file is part of the system, of an interpreter or of an installed package. `path` is
// absolute.
bool is_installed(const std::filesystem::path& path);

struct Script {
  std::filesystem::path path;  // absolute, as named; may be a link
  std::string module;          // module of `python -m`; empty: a file was named
};
// Finds the script of a command as typed (`train.py`, `python -u train.py`, `torchrun train.py`,
// `python -m pkg.train`, `./train`), relative to `directory`. Nullopt: it has none.
std::optional<Script> find_script(const std::vector<std::string>& words,
                                  const std::filesystem::path& directory);

// A search for the modules that a Python script imports, directly or not, below its own folder (for
// a module: `directory`) and the folders of `python_path`. `interpreter` parses them and executes
// nothing.
struct ImportQuestion {
  Script script;
  std::string interpreter;
  std::string python_path;
  std::filesystem::path directory;
};
Result<std::vector<std::filesystem::path>> list_imports(const ImportQuestion& question);

}  // namespace corral::run::set_up
