#include "collect/foreign/exec_part.h"
#include "collect/foreign/text.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "sys/file.h"
#include "sys/process.h"

namespace corral::collect::foreign {
namespace {

using std::chrono::milliseconds;

constexpr Nanos kFirstPause{std::chrono::seconds(1)};
constexpr Nanos kLongestPause{std::chrono::seconds(60)};
// A command that ran for so long is well again; so long, and its next failure is a new one.
constexpr Nanos kWell{std::chrono::seconds(5)};
constexpr Nanos kSettled{std::chrono::seconds(60)};
constexpr Nanos kTermPatience{std::chrono::seconds(2)};
// From the end of its output to being ended.
constexpr Nanos kClosedPatience{std::chrono::seconds(1)};
constexpr Nanos kLook{std::chrono::seconds(1)};
constexpr Nanos kLookSoon{milliseconds(10)};
// Until its first line it may load its libraries and data.
constexpr Nanos kStartUp{std::chrono::seconds(10)};
constexpr int kMissedLines = 3;
constexpr std::size_t kLineBytes = 64u << 10;
// So much at once, then nothing for a while: at most 1.3 MB/s.
constexpr std::size_t kReadBytes = 64u << 10;
constexpr Nanos kReadPause{milliseconds(50)};

struct Pipe {
  sys::Fd read;
  sys::Fd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("pipe", errno);
  Pipe pipe{.read = sys::Fd(ends[0]), .write = sys::Fd(ends[1])};
  ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

// Reads the available bytes, at most `limit`; closes at the end of the stream. True when there may
// be more.
template <class Take>
bool read_some(sys::Fd& from, std::size_t limit, Take&& take) {
  std::array<char, 16u << 10> buffer;
  for (std::size_t total = 0; total < limit;) {
    const ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return false;
    if (n <= 0) {
      from.reset();
      return false;
    }
    total += static_cast<std::size_t>(n);
    take(std::string_view(buffer.data(), static_cast<std::size_t>(n)));
  }
  return true;
}

std::string find_path(const std::vector<std::string>& environment) {
  constexpr std::string_view kPath = "PATH=";
  for (const std::string& variable : environment) {
    if (variable.starts_with(kPath)) return variable.substr(kPath.size());
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

std::string describe_status(int status) {
  if (WIFSIGNALED(status)) return fmt::format("was ended by signal {}", WTERMSIG(status));
  if (WEXITSTATUS(status) == 0) return "ended";
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

}  // namespace

ExecPart::Process::Process(pid_t its_pid, BootTime now, const ExecSource& source)
    : pid(its_pid),
      started(now),
      last_line(now),
      out_lines(kLineBytes),
      err_lines(kLineBytes),
      reader(source.format, source.source_key),
      look_at(now + kLook) {}

ExecPart::ExecPart(ExecSource source, ExecContext context, PointQueue& queue, ProblemBox& problems)
    : source_(std::move(source)),
      context_(std::move(context)),
      emitter_("exec." + source_.name, source_.prefix,
               {.series = source_.max_series, .points_per_s = source_.max_points_per_s}, queue,
               problems),
      pause_(kFirstPause) {}

ExecPart::~ExecPart() {
  if (!process_) return;
  ::kill(-process_->pid, SIGKILL);
  while (::waitpid(process_->pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ExecPart::wait_for(std::vector<pollfd>& descriptors) const {
  if (!process_) return;
  if (process_->out && process_->read_at == BootTime{})
    descriptors.push_back({.fd = process_->out.get(), .events = POLLIN, .revents = 0});
  if (process_->err && process_->errors_at == BootTime{})
    descriptors.push_back({.fd = process_->err.get(), .events = POLLIN, .revents = 0});
}

BootTime ExecPart::hangs_at() const {
  if (source_.interval == kNoDuration || !process_->ending.empty()) return kNever;
  const Nanos patience = std::max(kMissedLines * source_.interval,
                                  process_->printed ? Nanos(milliseconds(500)) : kStartUp);
  return process_->last_line + patience;
}

BootTime ExecPart::due() const {
  if (!process_) return stopping_ ? kNever : next_start_;
  const auto paused = [](BootTime until) { return until == BootTime{} ? kNever : until; };
  return std::min({process_->look_at, process_->terminate_at, process_->kill_at,
                   paused(process_->read_at), paused(process_->errors_at), hangs_at()});
}

void ExecPart::serve(BootTime now) {
  if (!process_) {
    if (!stopping_ && now >= next_start_) start(now);
    return;
  }
  read_output(now);
  read_errors(now);
  check_hung(now);
  signal_due(now);
  reap(now);
}

void ExecPart::start(BootTime now) {
  const auto started = spawn(now);
  if (!started) retry(now, "cannot be started: " + started.error().message);
}

Result<std::vector<std::string>> ExecPart::command_line() const {
  if (source_.argv.empty()) return std::vector<std::string>{"/bin/sh", "-c", source_.command};
  std::vector<std::string> argv = source_.argv;
  argv[0] = TRY(sys::find_in_path(argv[0], find_path(context_.environment))).string();
  return argv;
}

Result<> ExecPart::spawn(BootTime now) {
  const sys::Fd null = TRY(sys::open_file("/dev/null", O_RDWR));
  Pipe out = TRY(make_pipe());
  Pipe err = TRY(make_pipe());
  const std::vector<std::string> argv = TRY(command_line());
  sys::GatedChild child = TRY(sys::GatedChild::spawn({.argv = argv,
                                                      .environment = context_.environment,
                                                      .directory = context_.directory,
                                                      .standard_input = null.get(),
                                                      .standard_output = out.write.get(),
                                                      .standard_error = err.write.get(),
                                                      .new_session = false,
                                                      .new_group = true,
                                                      .death_signal = SIGKILL}));
  TRY(child.release());
  process_.emplace(child.pid(), now, source_);
  process_->out = std::move(out.read);
  process_->err = std::move(err.read);
  return {};
}

void ExecPart::read_output(BootTime now) {
  Process& process = *process_;
  if (!process.out || now < process.read_at) return;
  process.read_at = {};
  const auto take = [&](std::string_view bytes) {
    process.out_lines.feed(bytes,
                           [&](std::string_view line, bool cut) { take_line(line, cut, now); });
  };
  if (read_some(process.out, kReadBytes, take)) process.read_at = now + kReadPause;
  if (process.out) return;
  process.out_lines.finish([&](std::string_view line, bool cut) { take_line(line, cut, now); });
  process.look_at = now;
  if (process.ending.empty()) process.terminate_at = now + kClosedPatience;
}

void ExecPart::take_line(std::string_view line, bool cut, BootTime now) {
  process_->last_line = now;
  if (!emitter_.room(now)) return emitter_.skip();
  const bool read = !cut && process_->reader.read(line, [&](const Reading& reading) {
    process_->printed = true;
    emitter_.emit(reading, now);
  });
  if (!read) {
    emitter_.trouble(
        Trouble::kUnread,
        cut ? fmt::format("prints a line of more than {} KiB: it is skipped", kLineBytes >> 10)
            : "prints a line that cannot be parsed: " + excerpt(line));
  }
  if (process_->printed && now - process_->started >= kWell)
    emitter_.recovered(Trouble::kGone, "runs again");
}

void ExecPart::read_errors(BootTime now) {
  Process& process = *process_;
  if (!process.err || now < process.errors_at) return;
  process.errors_at = {};
  const auto keep = [&](std::string_view line, bool) {
    if (line.find_first_not_of(" \t") != std::string_view::npos) process.last_error = excerpt(line);
  };
  read_some(process.err, kReadBytes, [&](std::string_view bytes) {
    process.err_lines.feed(bytes, keep);
    process.errors_at = now + kReadPause;  // no reader waits for them: however little it was
  });
  if (!process.err) process.err_lines.finish(keep);
}

void ExecPart::check_hung(BootTime now) {
  if (now < hangs_at()) return;
  end_process(now,
              fmt::format("printed nothing for {}", human_duration(now - process_->last_line)));
}

// SIGTERM now, SIGKILL later.
void ExecPart::end_process(BootTime now, std::string why) {
  process_->ending = std::move(why);
  process_->terminate_at = now;
  process_->kill_at = std::min(process_->kill_at, now + kTermPatience);
}

void ExecPart::signal_due(BootTime now) {
  Process& process = *process_;
  if (now >= process.terminate_at) {
    if (process.ending.empty()) end_process(now, "closed its output");
    process.terminate_at = kNever;
    ::kill(-process.pid, SIGTERM);
    process.look_at = now;
  }
  if (now < process.kill_at) return;
  process.kill_at = kNever;
  ::kill(-process.pid, SIGKILL);
}

void ExecPart::reap(BootTime now) {
  Process& process = *process_;
  if (now < process.look_at) return;
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(process.pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      info.si_pid != process.pid) {
    const bool soon = !process.out || !process.ending.empty();
    process.look_at = now + (soon ? kLookSoon : kLook);
    return;
  }
  process.read_at = process.errors_at = {};
  read_output(now);
  read_errors(now);
  // Before its pid can be another's: ends the rest of its group.
  ::kill(-process.pid, SIGKILL);
  int status = 0;
  ::waitpid(process.pid, &status, 0);
  // Orphans of the group come to a supervisor, which adopts all processes that its run leaves
  // behind.
  while (::waitpid(-process.pid, nullptr, WNOHANG) > 0) {
  }
  ended(status, now);
}

void ExecPart::ended(int status, BootTime now) {
  const Process process = std::move(*process_);
  process_.reset();
  if (stopping_) return;
  const bool good = process.ending.empty() && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (good && source_.interval != kNoDuration) {
    // Meant so: one look at a time.
    next_start_ = std::max(now, process.started + source_.interval);
    pause_ = kFirstPause;
    return;
  }
  if (now - process.started >= kSettled) pause_ = kFirstPause;
  std::string why = process.ending.empty() ? describe_status(status) : process.ending;
  if (!process.last_error.empty()) why += ": " + process.last_error;
  retry(now, why);
}

void ExecPart::retry(BootTime now, const std::string& why) {
  emitter_.trouble(Trouble::kGone, fmt::format("{}; next try in {}", why, human_duration(pause_)));
  next_start_ = now + pause_;
  pause_ = std::min(2 * pause_, kLongestPause);
}

void ExecPart::stop(BootTime now, BootTime deadline) {
  stopping_ = true;
  if (!process_) return;
  process_->kill_at = std::min(process_->kill_at, deadline);
  end_process(now, "the run is over");
}

}  // namespace corral::collect::foreign
