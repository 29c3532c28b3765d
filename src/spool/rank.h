// Determines the rank of a process in a distributed training, from the environment that its
// launcher sets.
//
// The launcher that is nearest to the process counts: in a batch job Slurm numbers the processes
// that mpirun or torchrun are started by, and those number the training's. python/corral/_rank.py
// says the same; tests/fixtures/ranks.json holds both to it.
#pragma once

#include <cstdint>

#include "spool/segment_identity.h"

namespace corral::spool {

// `value_of` gives a variable's text, or nullptr. -1: no launcher says.
template <class ValueOf>
std::int64_t rank_of(const ValueOf& value_of) {
  constexpr std::int64_t kMostRanks = std::int64_t{1} << 31;  // some say "none" by a larger number
  const auto number = [&](const char* name) {
    const std::int64_t value = number_or(value_of(name), -1);
    return value < kMostRanks ? value : -1;
  };
  const std::int64_t alone = number("RANK");
  if (alone >= 0 && number("WORLD_SIZE") > alone) return alone;  // torchrun and those like it
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PALS_RANKID"})
    if (const std::int64_t rank = number(name); rank >= 0) return rank;
  // srun's steps are numbered; a batch script and what runs beside it have no step, or one whose
  // number is above all others.
  for (const char* step : {"SLURM_STEP_ID", "SLURM_STEPID"})
    if (number(step) >= 0 && number("SLURM_PROCID") >= 0) return number("SLURM_PROCID");
  return alone;
}

}  // namespace corral::spool
