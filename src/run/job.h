// Job: processes that one launcher started together (srun, mpirun), and their starts again.
//
// Each of them that is a `corral run` finds out by itself which run it records: from what the
// launcher tells all of them and a secret of this user, which lies in the configuration directory.
// So they agree without asking anybody, and nobody else can guess the run's id. The hosts of a job
// see the same directory, or have copies of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "run/command.h"
#include "spool/run_directory.h"

namespace corral::run {

struct Job {
  std::string key;  // no other job has it
  // This process among those of the job; its label is empty if there are no others.
  spool::Member member;
  // It tells the user and the store about the command, of which the others run copies.
  bool leads = true;
};

// `chosen`: --job; "none": there is no job. `command`: a launcher of its own (torchrun) has ranks
// below it, and is no rank but a host. nullopt: nothing started this process together with others
// or could start it again.
std::optional<Job> find_job(const std::string& chosen, const std::vector<std::string>& command,
                            const Variable& variable);

// True in a process that a launcher started, or a batch script's: the launcher ends it and all
// others itself, some time after the SIGTERM that it sends to each of them.
bool is_task(const Variable& variable);

// Chooses the run of the job, and notes that this member has one: what the job's processes start
// next is another run. `config`: the directory of the secret, which is made when it is missing;
// `spool`: of the notes.
Result<RunId> run_of(const Job& job, const spool::fs::path& config, const spool::fs::path& spool);

}  // namespace corral::run
