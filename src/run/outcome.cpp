#include "run/outcome.h"

#include <fmt/core.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <cctype>

#include "core/text.h"

namespace corral::run {
namespace {

constexpr std::size_t kReasonBytes = 300;

struct Pattern {
  std::string_view text;
  OutcomeKind kind;
};
// Messages of frameworks and drivers that give up; each is matched as a whole word.
constexpr std::array kPatterns = {
    Pattern{"CUDA out of memory", OutcomeKind::kOutOfMemory},
    Pattern{"HIP out of memory", OutcomeKind::kOutOfMemory},
    Pattern{"XPU out of memory", OutcomeKind::kOutOfMemory},
    Pattern{"torch.OutOfMemoryError", OutcomeKind::kOutOfMemory},
    Pattern{"torch.cuda.OutOfMemoryError", OutcomeKind::kOutOfMemory},
    Pattern{"CUDA_ERROR_OUT_OF_MEMORY", OutcomeKind::kOutOfMemory},
    Pattern{"cudaErrorMemoryAllocation", OutcomeKind::kOutOfMemory},
    Pattern{"CUBLAS_STATUS_ALLOC_FAILED", OutcomeKind::kOutOfMemory},
    Pattern{"CUDNN_STATUS_ALLOC_FAILED", OutcomeKind::kOutOfMemory},
    Pattern{"RESOURCE_EXHAUSTED", OutcomeKind::kOutOfMemory},
    Pattern{"ResourceExhaustedError", OutcomeKind::kOutOfMemory},
    Pattern{"can't allocate memory", OutcomeKind::kOutOfMemory},
    Pattern{"Cannot allocate memory", OutcomeKind::kOutOfMemory},
    Pattern{"_ArrayMemoryError", OutcomeKind::kOutOfMemory},
    Pattern{"MemoryError", OutcomeKind::kOutOfMemory},
    Pattern{"std::bad_alloc", OutcomeKind::kOutOfMemory},
    // The server ends all clients of a device when one of them faults; a client that cannot connect
    // has failed by itself.
    Pattern{"CUDA_ERROR_MPS_CLIENT_TERMINATED", OutcomeKind::kNeighbour},
    Pattern{"cudaErrorMpsClientTerminated", OutcomeKind::kNeighbour},
    Pattern{"MPS client has been terminated by the server", OutcomeKind::kNeighbour},
    Pattern{"CUDA_ERROR_MPS_RPC_FAILURE", OutcomeKind::kNeighbour},
    Pattern{"cudaErrorMpsRpcFailure", OutcomeKind::kNeighbour},
    Pattern{"call between the MPS server and the MPS client failed", OutcomeKind::kNeighbour},
};

bool word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Returns the last position of `pattern` as a whole word.
std::size_t find_alone(std::string_view text, std::string_view pattern) {
  std::size_t at = text.rfind(pattern);
  while (at != std::string_view::npos) {
    const std::size_t end = at + pattern.size();
    const bool alone = (at == 0 || !word_character(text[at - 1])) &&
                       (end == text.size() || !word_character(text[end]));
    if (alone) return at;
    if (at == 0) break;
    at = text.rfind(pattern, at - 1);
  }
  return std::string_view::npos;
}

// Returns a readable line of output: the last state of a progress bar, without control characters.
std::string readable(std::string_view line) {
  line = trim(line);
  if (const std::size_t bar = line.rfind('\r'); bar != std::string_view::npos)
    line = trim(line.substr(bar + 1));
  std::string text = to_utf8(line.substr(0, kReasonBytes));
  std::ranges::replace_if(
      text, [](char c) { return std::iscntrl(static_cast<unsigned char>(c)) != 0; }, ' ');
  if (line.size() > kReasonBytes) text += "…";
  return text;
}

std::string line_around(std::string_view text, std::size_t at) {
  const std::size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return readable(text.substr(begin, text.find('\n', at) - begin));
}

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

// Returns the pattern that was printed last: it is the reason of the end.
std::optional<Outcome> by_tail(std::string_view tail) {
  std::optional<Outcome> found;
  std::size_t latest = 0;
  for (const Pattern& pattern : kPatterns) {
    const std::size_t at = find_alone(tail, pattern.text);
    if (at == std::string_view::npos || (found && at < latest)) continue;
    latest = at;
    found = Outcome{.kind = pattern.kind, .reason = line_around(tail, at)};
  }
  return found;
}

std::optional<Outcome> by_kernel(const Ending& e) {
  if (e.group_oom_kills > 0)
    return Outcome{.kind = OutcomeKind::kOutOfMemory,
                   .reason = fmt::format("the kernel killed {} process{} of the run: its memory "
                                         "limit or the machine's memory was reached",
                                         e.group_oom_kills, e.group_oom_kills == 1 ? "" : "es")};
  const bool killed = e.exit_signal == SIGKILL || e.exit_code == 128 + SIGKILL;
  if (killed && e.host_oom_kills > 0)
    return Outcome{.kind = OutcomeKind::kOutOfMemory,
                   .reason = "killed while the kernel ended processes for lack of memory"};
  return std::nullopt;
}

Outcome by_status(const Ending& e) {
  const std::vector<std::string> lines = last_lines(e.tail, 1);
  const std::string what = e.exit_signal ? "ended by " + signal_name(*e.exit_signal)
                                         : fmt::format("exit status {}", e.exit_code.value_or(0));
  return {.kind = e.exit_signal ? OutcomeKind::kKilled : OutcomeKind::kFailed,
          .reason = lines.empty() ? what : what + ": " + lines[0]};
}

Outcome classify(const Ending& e) {
  switch (e.asked) {
    case Asked::kLimit:
      return {.kind = OutcomeKind::kLimit, .reason = "a limit of the run was reached"};
    case Asked::kStop:
      return {.kind = OutcomeKind::kStopped,
              .reason = e.stop_reason.empty() ? "its workload has ended" : e.stop_reason};
    case Asked::kInterrupt:
      return {.kind = OutcomeKind::kInterrupted, .reason = "interrupted"};
    case Asked::kNo:
      break;
  }
  if (!e.seen)
    return {.kind = OutcomeKind::kUnknown, .reason = "nobody could ask for its exit status"};
  if (e.exit_code == 0 && !e.limit.empty())
    return {.kind = OutcomeKind::kLimit, .reason = readable(e.limit) + " was reached"};
  if (e.exit_code == 0) return {.kind = OutcomeKind::kFinished};
  if (auto kernel = by_kernel(e)) return *kernel;
  if (auto told = by_tail(e.tail)) return *told;
  return by_status(e);
}

}  // namespace

std::vector<std::string> last_lines(std::string_view output, std::size_t most) {
  std::vector<std::string> found;
  const auto lines = split(output, '\n');
  for (auto line = lines.rbegin(); line != lines.rend() && found.size() < most; ++line) {
    if (std::string text = readable(*line); !text.empty()) found.push_back(std::move(text));
  }
  std::ranges::reverse(found);
  return found;
}

Outcome classify_end(const Ending& ending) {
  Outcome outcome = classify(ending);
  outcome.exit_code = ending.exit_code;
  outcome.exit_signal = ending.exit_signal;
  return outcome;
}

}  // namespace corral::run
