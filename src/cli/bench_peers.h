// Other tools that watch a machine, as `corral bench listeners` runs them beside a training.
#pragma once

#include <span>
#include <string_view>

namespace corral::cli {

// A program that is found in $PATH, or a script: Python's where `modules` are named, else the
// shell's. It prints something as soon as it is at work, and ends at SIGTERM.
struct Peer {
  std::string_view name;
  std::string_view about;         // what it does, at which rate
  std::string_view program = {};  // that must be there
  std::string_view modules = {};
  std::string_view words = {};  // how it is started, by blanks
  std::string_view script = {};
  bool around = false;  // it starts the training itself
};
std::span<const Peer> peers();

}  // namespace corral::cli
