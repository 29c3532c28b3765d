// Supervision, once the command has ended.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "run/supervise/supervision.h"
#include "spool/artifact_spool.h"
#include "sys/clock.h"

namespace corral::run {
namespace {

// Of a holder that processes keep whom the command left behind.
constexpr Nanos kHolderPatience{std::chrono::seconds(5)};
constexpr Nanos kHolderPause{std::chrono::milliseconds(10)};
constexpr Nanos kUploadPatience{std::chrono::seconds(15)};
// Of the end of the output, where a reason for a failure is looked for.
constexpr std::size_t kTailBytes = 8u << 10;
constexpr std::size_t kTailLines = 5;
// By the Python package's helpers, when they end a training early; one line, what ended it.
constexpr const char* kLimitFile = "limit";
constexpr std::size_t kLimitBytes = 4u << 10;
// A shell's status for what it cannot know.
constexpr int kNobodyKnows = 125;

}  // namespace

codec::RunEndBody Supervision::end_body() const {
  codec::RunEndBody end{.time = finished_.value_or(sys::boot_now()),
                        .reason = codec::EndReason::kUnknown,
                        .exit_code = {},
                        .exit_signal = {}};
  const bool known = !adopted_ || told_status_;
  const int status = told_status_.value_or(status_);
  if (known && WIFEXITED(status)) {
    end.reason = codec::EndReason::kExit;
    end.exit_code = WEXITSTATUS(status);
  } else if (known) {
    end.reason = codec::EndReason::kSignal;
    end.exit_signal = WTERMSIG(status);
  }
  if (stopper_.reason()) end.reason = *stopper_.reason();
  return end;
}

// Waits until the former supervisor's holder, which has the file locked, has written what the
// command's terminal still holds.
void Supervision::await_holder() const {
  const auto file = recording_->directory().files().open_file(
      spool::output_name(codec::LogStream::kTty), O_RDONLY);
  const BootTime deadline = sys::boot_now() + kHolderPatience;
  while (file && ::flock(file->get(), LOCK_SH | LOCK_NB) != 0 && sys::boot_now() < deadline)
    sys::system_clock().sleep_until(sys::boot_now() + kHolderPause);
}

int Supervision::end() {
  setting_.end();
  const codec::RunEndBody end = end_body();
  const int code = end.exit_code     ? *end.exit_code
                   : end.exit_signal ? 128 + *end.exit_signal
                                     : kNobodyKnows;
  if (terminal_ != nullptr) terminal_->drain();
  if (adopted_) await_holder();
  const std::string tail =
      recording_ != nullptr ? recording_->relay().tail(kTailBytes) : std::string();
  const Outcome how = outcome(end, tail);
  const std::vector<std::string> last = last_lines(tail, kTailLines);
  if (recording_ != nullptr) {
    recording_->note_outcome(how);
    recording_->finish(end, [&] { profile(end.time); });
  }
  gate_.ended(how, last, end.time);
  if (!adopted_) ::waitpid(child_, nullptr, WNOHANG);
  accounting_.end();
  if (recording_ == nullptr) return code;
  finish_output();
  if (terminal_ != nullptr) terminal_->leave();
  const std::string advice =
      code != 0 && !adopted_ ? interpreter_advice(options_, tail) : std::string();
  if (!advice.empty()) notices_.say(advice);
  wait_uploaded();
  return code;
}

void Supervision::wait_uploaded() {
  const BootTime deadline = sys::boot_now() + kUploadPatience;
  const bool all = recording_->wait_uploaded([&] {
    const int signal = next_signal(sys::boot_now());
    return sys::boot_now() > deadline || signal == SIGINT || signal == SIGTERM;
  });
  if (!all && options_.destination.withheld.empty())
    notices_.warn("not all data has reached the server; the rest waits in " +
                  recording_->directory().path().string() + " for the next corral run or serve");
  if (!recording_->summary().empty()) notices_.say(recording_->summary());
}

Outcome Supervision::outcome(const codec::RunEndBody& end, std::string tail) const {
  Ending ending{.seen = !adopted_ || told_status_,
                .exit_code = end.exit_code,
                .exit_signal = end.exit_signal};
  if (end.reason == codec::EndReason::kMaxTime) ending.asked = Asked::kLimit;
  if (end.reason == codec::EndReason::kInterrupt) ending.asked = Asked::kInterrupt;
  if (end_rule_) {
    ending.asked = Asked::kStop;
    ending.stop_reason = *end_rule_;
  }
  ending.group_oom_kills = oom_kills_of(groups_) - group_oom_kills_;
  ending.host_oom_kills = host_oom_kills() - host_oom_kills_;
  ending.tail = std::move(tail);
  if (recording_ != nullptr)
    ending.limit = recording_->directory().files().read_file(kLimitFile, kLimitBytes).value_or("");
  return outcome_of(ending);
}

void Supervision::profile(BootTime ended) {
  if (options_.profile) finish_output();
  if (adopted_) {
    const auto& directory = recording_->directory();
    const auto kept = spool::keep_left_reports(directory.files(), directory.manifest().run);
    if (!kept) notices_.warn("a profiler's report is not kept: " + kept.error().message);
  }
  if (!profiling_) return;
  profiling_->end(recording_->journal(), ended, notices_, [&] {
    const int signal = next_signal(sys::boot_now() + Nanos(std::chrono::milliseconds(50)));
    return signal == SIGINT || signal == SIGTERM;
  });
}

// What the command printed last must come out, however slowly its reader reads; Ctrl-C ends the
// wait.
void Supervision::finish_output() {
  while (!recording_->relay().pass_on()) {
    const int signal = next_signal(sys::boot_now() + Nanos(std::chrono::milliseconds(10)));
    if (signal == SIGINT || signal == SIGTERM) return;
  }
}

}  // namespace corral::run
