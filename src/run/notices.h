// Notices: the supervisor's messages to the user, on standard error, one line each, never inside a
// line of the run's own output.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/guarded.h"

namespace corral::run {

// Thread-safe. A blocked or closed terminal loses the line rather than holding anything up.
class Notices {
 public:
  explicit Notices(bool quiet) : quiet_(quiet) {}
  // Prints progress and addresses; not with --quiet.
  void say(std::string_view line);
  // Prints a warning about a fault or a loss, also with --quiet; the same line only once.
  void warn(const std::string& line);
  // Lines end with a carriage return while the terminal is raw. The flag holds for the whole
  // process.
  static void set_raw(bool raw);

 private:
  static void put(std::string_view line);
  bool quiet_;
  Guarded<std::vector<std::string>> warned_;
};

}  // namespace corral::run
