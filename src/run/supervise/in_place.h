// InPlace: the command, executed in place of its supervisor where nothing else works.
//
// Made before anything of the run, and needs neither memory, threads, processes nor descriptors
// then: what a shell could start in this process's place is started.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "run/options.h"

namespace corral::run {

// "corral run: not recorded: REASON; running the command", on standard error. Allocates nothing.
void say_not_recorded(std::string_view reason) noexcept;

class InPlace {
 public:
  // `options` may go.
  explicit InPlace(const Options& options);
  // False: the command needs what this process cannot be turned into (an environment, a container,
  // a scheduler's gate or its groups), or there is none.
  [[nodiscard]] bool possible() const { return possible_; }
  // Executes it with this process's own streams and environment (and the Python package, which a
  // script may import), and signals as they were taken.
  // Comes back only when it cannot be executed: a shell's exit status, after a line that says why.
  int execute(std::string_view reason) const noexcept;

 private:
  bool possible_;
  std::vector<std::string> words_, entries_;
  std::vector<char*> argv_, environment_;
};

}  // namespace corral::run
