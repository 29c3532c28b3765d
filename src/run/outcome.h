// Outcome: the end of a run in one word of a closed set, with the reason in a line.
//
// Pure: Ending -> Outcome. The word is the run's tag `corral.outcome`, the line its tag
// `corral.outcome.reason`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corral::run {

enum class OutcomeKind {
  kFinished,
  kFailed,       // an exit status other than 0
  kKilled,       // by a signal that was not Corral's
  kOutOfMemory,  // memory of the host, its group or a device
  kNeighbour,    // by another client of the same MPS daemon
  kLimit,        // --max-time, --max-epochs, --max-steps, or its job's time limit
  kStopped,      // by the end rule of its workload
  kInterrupted,  // Ctrl-C, SIGTERM
  kPreempted,    // its job was, or starts again
  kCancelled,    // its job was
  kNotStarted,
  kUnknown,  // no supervisor saw the end
};
inline constexpr std::array<std::string_view, 12> kOutcomeNames = {
    "finished", "failed",      "killed",    "out-of-memory", "neighbour",   "limit",
    "stopped",  "interrupted", "preempted", "cancelled",     "not-started", "unknown"};

constexpr std::string_view outcome_name(OutcomeKind kind) {
  return kOutcomeNames[static_cast<std::size_t>(kind)];
}

struct Outcome {
  OutcomeKind kind = OutcomeKind::kUnknown;
  std::string reason{};  // one line; empty: the outcome needs none
  std::optional<std::int32_t> exit_code{};
  std::optional<std::int32_t> exit_signal{};
};

// Why Corral itself asked the run to end, if it did.
enum class Asked { kNo, kLimit, kStop, kInterrupt };

// The facts that are known about an end.
struct Ending {
  bool seen = true;  // false: no supervisor could reap it
  std::optional<std::int32_t> exit_code{};
  std::optional<std::int32_t> exit_signal{};
  Asked asked = Asked::kNo;
  std::string stop_reason{};  // the reason of kStop
  std::string limit{};        // option by which the script ended, as the script says; empty: none
  std::uint64_t group_oom_kills = 0;  // in the run's cgroup, during the run
  std::uint64_t host_oom_kills = 0;   // on the whole machine, during the run
  std::string tail{};                 // the end of the command's output
};
Outcome classify_end(const Ending& ending);

// Returns the last non-empty lines of `output`, at most `most`, without control characters.
std::vector<std::string> last_lines(std::string_view output, std::size_t most);

}  // namespace corral::run
