#include "run/slurm_end.h"

#include <fmt/core.h>

#include <chrono>

#include "core/text.h"
#include "sys/process.h"

namespace corral::run {
namespace {

// The value of " NAME=value"; empty: there is none.
std::string_view value_in(std::string_view said, std::string_view name) {
  for (const std::string_view word : split(said, ' ')) {
    if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=')
      return word.substr(name.size() + 1);
  }
  return {};
}

}  // namespace

std::optional<SlurmJob> slurm_job(const Variable& variable) {
  std::string id = variable("SLURM_JOB_ID");
  if (!parse_int(id)) return std::nullopt;
  return SlurmJob{.id = std::move(id),
                  .restarts = parse_int(variable("SLURM_RESTART_COUNT")).value_or(0)};
}

std::optional<Outcome> parse_slurm_end(std::string_view all, const SlurmJob& job) {
  // scontrol may print the other tasks of an array, or parts of a job, as well.
  std::string_view said;
  for (const std::string_view line : split(all, '\n'))
    if (value_in(line, "JobId") == job.id) said = line;
  const std::string_view state = value_in(said, "JobState");
  const auto end = [&](OutcomeKind kind, std::string_view what) {
    return Outcome{.kind = kind, .reason = fmt::format("Slurm's job {} {}", job.id, what)};
  };
  if (state.empty()) return std::nullopt;
  if (value_in(said, "Reason") == "TimeLimit" || state == "TIMEOUT")
    return end(OutcomeKind::kLimit, "has reached its time limit");
  const std::string_view preempted = value_in(said, "PreemptTime");
  if (state == "PREEMPTED" || (!preempted.empty() && preempted != "None"))
    return end(OutcomeKind::kPreempted, "was preempted: another job needs its nodes");
  // scontrol does not tell apart a requeue and a preemption without grace.
  if (parse_int(value_in(said, "Restarts")).value_or(0) > job.restarts)
    return end(OutcomeKind::kPreempted, "was requeued or preempted");
  // Not told apart while it ends: a batch script that left processes behind.
  const std::string_view reason = value_in(said, "Reason");
  if (state == "CANCELLED" || (state == "COMPLETING" && (reason.empty() || reason == "None")))
    return end(OutcomeKind::kCancelled, "was cancelled");
  return std::nullopt;
}

std::optional<Outcome> ask_slurm_end(const SlurmJob& job, Nanos patience) {
  int status = 0;
  const auto said = sys::capture_output({.argv = {"scontrol", "show", "job", "--oneliner", job.id},
                                         .directory = {},
                                         .limit = patience,
                                         .idle = false},
                                        &status);
  return said && status == 0 ? parse_slurm_end(trim(*said), job) : std::nullopt;
}

}  // namespace corral::run
