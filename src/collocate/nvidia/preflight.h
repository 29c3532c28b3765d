// Determines the changes that one GPU needs before its runs can start, and the obstacles. Reads the
// driver, changes nothing.
#pragma once

#include <string>
#include <vector>

#include "collocate/nvidia/control.h"
#include "collocate/nvidia/needs.h"

namespace corral::collocate::nvidia {

// A MIG device that is there, idle, of the profile that a run wants: used, not touched.
struct Reused {
  std::size_t run = 0;
  std::string uuid;
};

struct Preflight {
  bool turn_persistence_on = false;
  bool turn_mig_on = false;
  bool turn_mig_off = false;
  bool make_shareable = false;  // compute mode: default
  std::vector<Reused> reused;
  std::vector<Wanted> created;         // in need of an instance
  std::vector<std::string> instances;  // in words, in order of creation
  std::vector<std::string> problems;
  std::vector<std::string> notes;  // for every run on it
};

Preflight preflight(const Control& control, const Need& need);

// Places the requested instances beside the present ones.
Result<std::vector<Placed>> place_on(const Control& control, const Gpu& gpu,
                                     const std::vector<Wanted>& wanted);

}  // namespace corral::collocate::nvidia
