#include "cli/child.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/text.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/process.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;

constexpr Nanos kEarlyInterval{std::chrono::milliseconds(50)};
constexpr Nanos kSampleInterval{std::chrono::milliseconds(500)};
constexpr Nanos kStopPatience{std::chrono::seconds(8)};  // `corral run` gives its command 5 s
constexpr int kEarlySamples = 8;

Result<sys::Fd> open_output(const fs::path& file) {
  if (file.empty()) return sys::open_file("/dev/null", O_WRONLY);
  return sys::open_file(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
}

// Returns the exact CPU time of the process itself; 0 when it is gone.
double own_cpu_s(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

// Returns the CPU time of the children that it waited for, to the clock tick.
double children_cpu_s(pid_t pid) {
  constexpr std::size_t kChildrenTime = 13;  // after the command's closing parenthesis
  const auto text = sys::read_file(fmt::format("/proc/{}/stat", pid));
  const std::size_t close = text ? text->rfind(')') : std::string::npos;
  if (close == std::string::npos) return 0;
  const auto fields = split(trim(std::string_view(*text).substr(close + 1)), ' ');
  if (fields.size() < kChildrenTime + 2) return 0;
  const std::int64_t ticks = parse_int(fields[kChildrenTime]).value_or(0) +
                             parse_int(fields[kChildrenTime + 1]).value_or(0);
  return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

void pin(pid_t pid, int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(processor), &set);
  ::sched_setaffinity(pid, sizeof set, &set);
}

bool names_destination(std::string_view variable) {
  constexpr std::array<std::string_view, 3> kKept = {
      "CORRAL_CONFIG=", "CORRAL_NVML_LIBRARY=", "CORRAL_PYTHON="};
  const auto begins = [&](std::string_view kept) { return variable.starts_with(kept); };
  return variable.starts_with("CORRAL_") && std::ranges::none_of(kKept, begins);
}

}  // namespace

std::vector<std::string> environment_elsewhere() {
  std::vector<std::string> environment = sys::own_environment();
  std::erase_if(environment, names_destination);
  return environment;
}

double to_seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

// Bytes that the process and its children that are over handed to write calls.
std::int64_t bytes_written_by(const fs::path& proc_directory) {
  const auto text = sys::read_file(proc_directory / "io");
  if (!text) return 0;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.starts_with("wchar:")) return parse_int(trim(line.substr(6))).value_or(0);
  }
  return 0;
}

Interrupts::Interrupts() {
  ::sigemptyset(&signals_);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::sigaddset(&signals_, s);
  ::sigprocmask(SIG_BLOCK, &signals_, &before_);
}
Interrupts::~Interrupts() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

bool Interrupts::wait(Nanos time) {
  const timespec limit{.tv_sec = time.count() / 1'000'000'000,
                       .tv_nsec = time.count() % 1'000'000'000};
  const int signal = ::sigtimedwait(&signals_, nullptr, &limit);
  if (signal > 0 && signal != SIGCHLD) asked_ = true;
  return asked_;
}

Result<Child> Child::start(const ChildOptions& options) {
  const fs::path program = TRY(sys::find_in_path(options.argv.at(0)));
  const sys::Fd input = TRY(sys::open_file("/dev/null", O_RDONLY));
  const sys::Fd output = TRY(open_output(options.output));
  const sys::Fd error = TRY(open_output(options.error_output));
  sys::SpawnOptions spawn{.argv = options.argv,
                          .environment = options.environment,
                          .directory = {},
                          .standard_input = input.get(),
                          .standard_output = output.get(),
                          .standard_error = error.get(),
                          .death_signal = SIGTERM};
  spawn.argv[0] = program.string();
  sys::GatedChild gated = TRY(sys::GatedChild::spawn(spawn));
  if (options.processor >= 0) pin(gated.pid(), options.processor);
  TRY(gated.release());
  return Child(gated.pid());
}

Child::~Child() {
  if (pid_ == 0) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

double Child::cpu_s() const {
  double sum = own_cpu_s(pid_) + children_cpu_s(pid_);
  for (const pid_t child : sys::descendants_of(pid_))
    sum += own_cpu_s(child) + children_cpu_s(child);
  return sum;
}

std::int64_t Child::written_bytes() const {
  std::int64_t sum = bytes_written_by(fmt::format("/proc/{}", pid_));
  for (const pid_t child : sys::descendants_of(pid_))
    sum += bytes_written_by(fmt::format("/proc/{}", child));
  return sum;
}

// Leaves the zombie to reap(): until then /proc has its written bytes.
bool Child::ended() const {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_;
}

void Child::sample_peak() {
  const auto text = sys::read_file(fmt::format("/proc/{}/status", pid_));
  const std::size_t at = text ? text->find("VmHWM:") : std::string::npos;
  if (at == std::string::npos) return;
  std::string_view line = std::string_view(*text).substr(at + 6);
  line = trim(line.substr(0, line.find("kB")));
  peak_ = std::max(peak_, parse_int(line).value_or(0) * 1024);
}

ChildEnd Child::reap() {
  ChildEnd end;
  end.written_bytes = bytes_written_by(fmt::format("/proc/{}", pid_));
  rusage used{};
  while (::wait4(pid_, &end.status, 0, &used) < 0 && errno == EINTR) {
  }
  ::kill(-std::exchange(pid_, 0), SIGKILL);  // ends the processes that it left in its session
  end.cpu_s = to_seconds(used.ru_utime) + to_seconds(used.ru_stime);
  end.peak_bytes = peak_;
  return end;
}

Result<ChildEnd> Child::wait(Interrupts& interrupts) {
  for (int samples = 0; !ended(); ++samples) {
    sample_peak();
    if (!interrupts.wait(samples < kEarlySamples ? kEarlyInterval : kSampleInterval)) continue;
    TRY(stop(interrupts, kStopPatience));
    return fail(Code::kUnavailable, "interrupted");
  }
  return reap();
}

Result<ChildEnd> Child::stop(Interrupts& interrupts, Nanos patience) {
  sample_peak();
  ::kill(pid_, SIGTERM);
  const BootTime deadline = sys::boot_now() + patience;
  while (!ended()) {
    if (sys::boot_now() > deadline) ::kill(-pid_, SIGKILL);
    interrupts.wait(std::chrono::milliseconds(20));
  }
  return reap();
}

}  // namespace corral::cli
