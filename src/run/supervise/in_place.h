// InPlace: executes the command in place of its supervisor if nothing else works.
//
// It is made before anything of the run. execute() needs no memory, threads, processes or
// descriptors: it works whenever a shell could start the command.
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
  // `options` need not outlive this.
  explicit InPlace(const Options& options);
  // False: the command needs something that an exec cannot give (an environment, a container, a
  // scheduler's gate or its groups), or there is no command.
  [[nodiscard]] bool possible() const { return possible_; }
  // Executes the command with this process's own streams and environment (and the Python package,
  // which a script may import), and with the original signal handling. Returns only if it cannot be
  // executed: a shell's exit status, after a line with the reason.
  int execute(std::string_view reason) const noexcept;

 private:
  bool possible_;
  std::vector<std::string> words_, entries_;
  std::vector<char*> argv_, environment_;
};

}  // namespace corral::run
