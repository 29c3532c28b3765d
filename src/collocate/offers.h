// Offers: the abilities of this machine for a plan's runs: sets of CPUs, limits, a group that
// counts, the page cache; for `corral doctor`. Reads only.
#pragma once

#include <string>
#include <vector>

#include "sys/file.h"

namespace corral::collocate {

namespace fs = std::filesystem;

struct Offer {
  std::string what;      // "CPU sets"
  bool there = false;    // available by a way that binds any program
  std::string detail{};  // the way, "v1: cpuset", or the reason why there is none
};
std::vector<Offer> offers(const fs::path& root);

}  // namespace corral::collocate
