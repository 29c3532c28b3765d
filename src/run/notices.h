// Notices: what the supervisor tells a person, on standard error, one line each, never in the way
// of the run's own output.
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
  // Progress and where to look; not with --quiet.
  void say(std::string_view line);
  // Something is wrong or was lost: always, but the same line only once.
  void warn(const std::string& line);
  // The terminal does not return the carriage by itself now; of the whole process.
  static void set_raw(bool raw);

 private:
  static void put(std::string_view line);
  bool quiet_;
  Guarded<std::vector<std::string>> told_;
};

}  // namespace corral::run
