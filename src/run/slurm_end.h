// SlurmEnd: why Slurm ends a job: its time limit, another job that needs its nodes, or a person.
//
// Slurm sends SIGTERM in all of these cases, and SIGKILL some seconds later. `scontrol show job`
// tells them apart while the job is ending.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/time.h"
#include "run/command.h"
#include "run/outcome.h"

namespace corral::run {

struct SlurmJob {
  std::string id;
  std::int64_t restarts = 0;  // before the start of this process
};
// nullopt: this process belongs to none.
std::optional<SlurmJob> slurm_job(const Variable& variable);

// Reads the lines of `scontrol show job --oneliner`. nullopt: the job is not ending.
std::optional<Outcome> parse_slurm_end(std::string_view all, const SlurmJob& job);

// Asks scontrol. nullopt: it is not there, does not answer in time, or the job is not ending.
std::optional<Outcome> ask_slurm_end(const SlurmJob& job, Nanos patience);

}  // namespace corral::run
