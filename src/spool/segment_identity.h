// The part of a segment's header about its process: host, boot, start time, rank, clock anchor. By
// libc alone, without the heap: it runs inside the training process, possibly right after a fork.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace corral::spool {

// Field 22 of /proc/PID/stat, in ticks since boot, with the state of field 3; zero and '\0' when
// there is no such process.
struct ProcessStart {
  std::uint64_t ticks = 0;
  char state = '\0';
};
ProcessStart process_start(std::uint32_t pid);

void read_boot_id(std::uint8_t (&id)[16]);
// 32 hex digits into 16 bytes; false and zeroes when it is anything else. Hyphens are skipped.
bool parse_hex_id(const char* text, std::uint8_t (&id)[16]);
void format_hex_id(const std::uint8_t (&id)[16], char (&text)[33]);
void random_bytes(void* data, std::size_t size);

struct Anchor {
  std::int64_t utc_minus_boot = 0;
  std::int64_t error = 0;
};
// As sys::read_anchor(), which this layer's Python build cannot link.
Anchor segment_anchor();

// A whole non-negative decimal number, else the fallback.
std::int64_t number_or(const char* text, std::int64_t fallback);

// Determines the rank of a process in a distributed training, from the environment that its
// launcher sets. The launcher that is nearest to the process counts: in a batch job Slurm numbers
// the processes that mpirun or torchrun are started by, and those number the training's.
// python/corral/_rank.py says the same; tests/fixtures/ranks.json holds both to it. `value_of`
// gives a variable's text, or nullptr. -1: no launcher says.
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
