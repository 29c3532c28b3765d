// Which files a command executes, as far as they are the user's own: its script, and the local
// modules that this imports. Not what an interpreter, a virtual environment or the system brings.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace corral::run::set_up {

// Part of the system, of an interpreter or of an installed package. `path` is absolute.
bool is_installed(const std::filesystem::path& path);

struct Script {
  std::filesystem::path path;  // absolute, as it was named: perhaps a link
  std::string module;          // of `python -m`; empty: a file was named
};
// Of a command as it was typed (`train.py`, `python -u train.py`, `torchrun train.py`,
// `python -m pkg.train`, `./train`), seen from `directory`. Nothing: it has none.
std::optional<Script> find_script(const std::vector<std::string>& words,
                                  const std::filesystem::path& directory);

// The files of modules that a Python script imports, and so on, below its own folder (of a module:
// `directory`) and the folders of `python_path`. `interpreter` parses them and executes nothing.
struct ImportQuestion {
  Script script;
  std::string interpreter;
  std::string python_path;
  std::filesystem::path directory;
};
Result<std::vector<std::filesystem::path>> imports_of(const ImportQuestion& question);

}  // namespace corral::run::set_up
