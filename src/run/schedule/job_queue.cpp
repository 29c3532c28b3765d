#include "run/schedule/job_queue.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "core/text.h"
#include "core/time.h"
#include "sys/process.h"

namespace corral::run::schedule {
namespace {

// A busy controller answers after some seconds.
constexpr Nanos kPatience{std::chrono::seconds(60)};
constexpr std::size_t kMostSaid = 16U << 20U;

// Without what the user has set for squeue's answers, and for other clusters.
std::vector<std::string> plain_environment() {
  std::vector<std::string> all = sys::own_environment();
  std::erase_if(all, [](const std::string& one) {
    return one.starts_with("SQUEUE_") || one.starts_with("SLURM_CLUSTERS=") ||
           one.starts_with("SBATCH_CLUSTERS=") || one.starts_with("SBATCH_ARRAY_INX=") ||
           one.starts_with("SBATCH_WAIT=");
  });
  return all;
}

// True if a command of Slurm's may have done what it was asked for all the same.
bool is_unsure(std::string_view said) {
  constexpr std::array<std::string_view, 4> kWords = {"timed out", "Unable to contact",
                                                      "Zero Bytes", "Unexpected message"};
  return std::ranges::any_of(
      kWords, [&](std::string_view words) { return said.find(words) != std::string_view::npos; });
}

// The output of a command of Slurm's that succeeded. In a session of its own: a Ctrl-C is not for
// it, or nobody would know what it has done.
Result<std::string> ask(std::vector<std::string> words) {
  // Its errors are on standard error: the shell puts them behind the output.
  std::vector<std::string> argv = {"/bin/sh", "-c", "exec setsid --wait \"$@\" 2>&1", "sh"};
  const std::string name = words[0];
  std::ranges::move(words, std::back_inserter(argv));
  int status = 0;
  std::string said;
  const auto take = [&](std::string_view piece) {
    said += piece;
    return said.size() <= kMostSaid;
  };
  const auto done = sys::capture_output({.argv = std::move(argv),
                                         .directory = {},
                                         .limit = kPatience,
                                         .idle = false,
                                         .environment = plain_environment(),
                                         .take = take},
                                        &status);
  if (!done) return fail(Code::kUnavailable, name + ": " + done.error().message);
  constexpr int kNotFound = 127;
  if (status == kNotFound)
    return fail(Code::kUnsupported, fmt::format("{} is not in PATH: --slurm needs Slurm", name));
  if (status != 0) {
    std::string line(trim(said));
    std::ranges::replace(line, '\n', ' ');
    return fail(is_unsure(said) ? Code::kUnavailable : Code::kUnprocessable,
                fmt::format("{}: {}", name, printable(line)));
  }
  return said;
}

class SlurmQueue final : public JobQueue {
 public:
  Result<std::string> submit(const NewJob& job) override {
    // The last one of an option counts.
    std::vector<std::string> words = {"sbatch"};
    words.insert(words.end(), job.options.begin(), job.options.end());
    for (const std::string& own :
         {std::string("--parsable"), "--job-name=" + job.name, "--output=" + job.output.string(),
          "--chdir=" + job.directory.string(), job.script.string()})
      words.push_back(own);
    const std::string said = TRY(ask(std::move(words)));
    // "123" or "123;cluster"; warnings come on lines before.
    const auto lines = split(trim(said), '\n');
    const std::string_view last = lines.back();
    const std::string_view id = last.substr(0, last.find(';'));
    if (!parse_int(id))
      return fail(Code::kUnavailable, "sbatch told no job: " + printable_lines(trim(said)));
    return std::string(id);
  }

  Result<std::vector<QueuedJob>> jobs() override {
    return parse_squeue(
        TRY(ask({"squeue", "--me", "--noheader", "--states=all", "--format=%i|%j|%T|%r"})));
  }
};

}  // namespace

bool QueuedJob::ended() const {
  constexpr std::array<std::string_view, 9> kEnds = {"BOOT_FAIL", "CANCELLED",     "COMPLETED",
                                                     "DEADLINE",  "FAILED",        "NODE_FAIL",
                                                     "PREEMPTED", "OUT_OF_MEMORY", "TIMEOUT"};
  return std::ranges::find(kEnds, state) != kEnds.end();
}

std::vector<QueuedJob> parse_squeue(std::string_view said) {
  std::vector<QueuedJob> jobs;
  for (const std::string_view line : split(said, '\n')) {
    const auto cells = split(line, '|');
    if (cells.size() != 4 || !parse_int(cells[0])) continue;
    QueuedJob job{.id = std::string(cells[0]),
                  .name = std::string(cells[1]),
                  .state = std::string(cells[2]),
                  .reason = std::string(cells[3])};
    if (job.reason == "None") job.reason.clear();
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::unique_ptr<JobQueue> slurm_queue() { return std::make_unique<SlurmQueue>(); }

}  // namespace corral::run::schedule
