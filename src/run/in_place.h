// InPlace: the command, executed in place of its supervisor where nothing else works.
//
// Made before anything of the run, and needs neither memory, threads, processes nor descriptors
// then: what a shell could start in this process's place is started.
#pragma once

#include <signal.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "run/options.h"

namespace corral::run {

// "corral run: not recorded: REASON; running the command", on standard error. Allocates nothing.
void say_not_recorded(std::string_view reason) noexcept;

class InPlace {
 public:
  // Remembers how this process takes signals. `options` may go.
  explicit InPlace(const Options& options);
  // False: the command needs what this process cannot be turned into (an environment, a container,
  // a scheduler's gate or its groups), or there is none.
  [[nodiscard]] bool possible() const { return possible_; }
  // Executes it with this process's own streams and environment. Comes back only when it cannot be
  // executed: a shell's exit status, after a line that says why.
  int execute(std::string_view reason) const noexcept;

 private:
  static constexpr std::array kChanged = {SIGPIPE, SIGTTIN, SIGTTOU};
  bool possible_;
  std::vector<std::string> words_;
  std::vector<char*> argv_;
  sigset_t mask_{};
  std::array<struct sigaction, kChanged.size()> actions_{};
};

}  // namespace corral::run
