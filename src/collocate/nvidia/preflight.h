// Preflight: determines the changes that one GPU needs before its runs can start, and the
// obstacles. Reads the driver, changes nothing.
#pragma once

#include <string>
#include <vector>

#include "collocate/nvidia/control.h"
#include "collocate/nvidia/needs.h"

namespace corral::collocate::nvidia {

// An existing idle MIG device with the profile of a run: it is used without a change.
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
  std::vector<Wanted> created;         // runs that need a new instance
  std::vector<std::string> instances;  // descriptions, in order of creation
  std::vector<std::string> problems;
  std::vector<std::string> notes;  // notes for every run on the GPU
};

Preflight preflight(const Control& control, const Need& need);

// Places the requested instances beside the present ones.
Result<std::vector<Placed>> place_on(const Control& control, const Gpu& gpu,
                                     const std::vector<Wanted>& wanted);

}  // namespace corral::collocate::nvidia
