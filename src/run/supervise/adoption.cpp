#include "run/supervise/adoption.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "collocate/undo.h"
#include "run/container_end.h"
#include "run/supervise/lifeline.h"
#include "run/supervise/supervision.h"
#include "sys/clock.h"

namespace corral::run {
namespace {

// A finisher makes a round each second, and one that uploads may be long.
constexpr Nanos kPatience{std::chrono::seconds(30)};
constexpr Nanos kPause{std::chrono::milliseconds(20)};
// A scheduler that has reaped the command says so when it has written down what others did; one
// that could not says nothing.
constexpr Nanos kStatusPatience{std::chrono::seconds(5)};
constexpr int kStatusLookMs = 50;
constexpr int kFailed = 1;

}  // namespace

Result<spool::fs::path> find_spooled(const Options& options) {
  std::vector<spool::fs::path> found;
  for (const auto& path : spool::find_runs(spool::spool_roots(options.spool))) {
    if (path.filename().string().starts_with(options.adopt)) found.push_back(path);
  }
  if (found.size() == 1) return found.front();
  if (found.empty())
    return fail(Code::kNotFound,
                fmt::format("no run {} waits in the spool: it has ended and its data is stored, or "
                            "it never ran on this host",
                            options.adopt));
  return fail(Code::kInvalidArgument,
              fmt::format("{} runs in the spool begin with {}", found.size(), options.adopt));
}

Options options_of(const spool::Manifest& manifest, Options options) {
  // A database's URL is not written down: it may hold a password. A token goes only to the server
  // that it was given for.
  if (!(options.destination == manifest.destination)) {
    options.destination = manifest.destination;
    options.token.clear();
  }
  options.experiment = manifest.experiment;
  options.workload = manifest.workload_name;
  options.name = manifest.run_name;
  options.run_id = manifest.run;
  options.mlflow = manifest.tracking ? Mlflow::kCapture : Mlflow::kOff;
  options.sources = {};  // their commands and addresses were the former supervisor's
  return options;
}

Result<spool::RunDirectory> take_over(const spool::fs::path& path,
                                      const std::function<bool()>& give_up) {
  const BootTime deadline = sys::boot_now() + kPatience;
  for (bool asked = false;; asked = true) {
    auto directory = spool::RunDirectory::adopt(path);
    if (directory || directory.error().code != Code::kUnavailable) {
      spool::RunDirectory::withdraw(path);
      return directory;
    }
    const auto manifest = spool::RunDirectory::read_manifest(path);
    if (manifest && sys::is_alive(manifest->supervisor)) {
      return fail(Code::kConflict, fmt::format("run {} has a supervisor that lives: process {}",
                                               manifest->run_name, manifest->supervisor.pid));
    }
    if (!asked) TRY(spool::RunDirectory::ask_for(path));
    if (sys::boot_now() > deadline || give_up()) {
      spool::RunDirectory::withdraw(path);
      return fail(Code::kUnavailable,
                  "the server that finishes the run's data does not let go of it; it stores what "
                  "the run still says, and its end");
    }
    sys::system_clock().sleep_until(sys::boot_now() + kPause);
  }
}

// The scheduler that started this process has become the command's parent.
void Supervision::await_status() {
  const BootTime deadline = sys::boot_now() + kStatusPatience;
  while (!told_status_ && gate_.reports_descriptor() >= 0 && sys::boot_now() < deadline) {
    pollfd told{.fd = gate_.reports_descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&told, 1, kStatusLookMs);
    look_at_gate();
  }
}

int Supervision::adopt() {
  const auto refused = [&](const Error& error) {
    notices_.warn(error.message);
    return kFailed;
  };
  const auto path = find_spooled(options_);
  if (!path) return refused(path.error());
  auto directory = take_over(*path, [&] {
    const int signal = signals_.next(sys::boot_now());
    return signal == SIGINT || signal == SIGTERM;
  });
  if (!directory) return refused(directory.error());
  const auto child = directory->manifest().child;
  // Its server says so, and until when it ran: no process of this boot can.
  if (child && child->boot_id != sys::boot_id())
    return refused(
        {.code = Code::kNotFound, .message = "its command ended with the machine's boot"});
  if (!child || (!directory->manifest().begun && !sys::is_alive(*child)))
    return refused({.code = Code::kNotFound, .message = "its command never started"});
  auto recording = Recording::adopt(options_, notices_, std::move(*directory));
  if (!recording) return refused(recording.error());
  recording_ = std::move(*recording);
  recording_->on_spooler(lifeline::passes_on);
  child_ = child->pid;
  adopted_ = sys::open_process(child_).value_or(sys::Fd());
  // Asked when the descriptor is there: the pid may have been used again before. One that is always
  // readable stands for a command that has ended.
  const bool alive = adopted_ && sys::is_alive(*child);
  if (!alive) adopted_ = sys::open_file("/dev/null", O_RDONLY).value_or(sys::Fd());
  if (alive) observe(child_);
  gate_.ready();
  const auto& manifest = recording_->directory().manifest();
  if (!manifest.begun) recording_->note_begin(sys::boot_now());
  const BootTime started = *manifest.begun;
  begun_ = started;
  gate_.started(started, child_);
  if (options_.max_time) limit_ = started + *options_.max_time;
  recording_->resume();
  watch();
  if (const auto status = container_end(recording_->directory().manifest())) {
    told_status_ = *status << 8;
  } else {
    await_status();
  }
  const int status = end();
  // Whatever group the supervisor before had made is now nobody's.
  collocate::UndoOptions options;
  options.state = collocate::default_state();
  [[maybe_unused]] const auto report = collocate::undo_all(options);
  return status;
}

}  // namespace corral::run
