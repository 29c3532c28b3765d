// A plan whose workloads run in jobs of a cluster, many at once: `corral run plan.csv --slurm`.
//
// This scheduler keeps the plan: it has the lock and the journal, decides what runs, submits a job
// for each workload, and shows how they get on. In the job a scheduler of the one workload runs
// (ScheduleOptions::part), with a directory that both see (plan_part.h).
//
// It may be ended at any time: jobs go on, and the next one goes on with them. Nothing is submitted
// twice: until it is known what became of a submission, its rows are under way.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "run/schedule/job_queue.h"
#include "run/schedule/scheduler.h"

namespace corral::run::schedule {

struct JobOptions {
  // The text of a job's script, for sh.
  std::function<std::string(const std::filesystem::path& part)> script;
  std::filesystem::path directory;   // its working directory
  std::vector<std::string> options;  // the user's own, for each job
  // Time until a file of another host is surely seen here. A job that has ended may have said more.
  Nanos lag{std::chrono::seconds(4)};
};

// The exit status, as of run_schedule(); 130 also if jobs go on after Ctrl-C.
int run_in_jobs(const ScheduleOptions& options, const ScheduleParts& parts, JobQueue& queue,
                const JobOptions& jobs);

}  // namespace corral::run::schedule
