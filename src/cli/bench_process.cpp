#include "cli/bench_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cli/command.h"
#include "core/json.h"
#include "core/text.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/process.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStepsVariable = "CORRAL_BENCH_STEPS";

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

}  // namespace

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
bool Child::ended() {
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

namespace {

fs::path steps_file(const fs::path& file) { return file.string() + ".steps"; }

Result<sys::SpawnOptions> measured_command(std::span<char* const> words) {
  sys::SpawnOptions options;
  options.argv.assign(words.begin(), words.end());
  options.argv[0] = TRY(sys::find_in_path(options.argv[0])).string();
  options.environment = sys::own_environment();
  options.new_session = false;
  options.death_signal = SIGKILL;
  return options;
}

Result<> write_measurement(const fs::path& file, double wall_s, const rusage& children) {
  rusage own{};
  ::getrusage(RUSAGE_SELF, &own);
  Json json{Json::Object{}};
  json.set("wall_s", wall_s);
  json.set("cpu_s", to_seconds(children.ru_utime) + to_seconds(children.ru_stime));
  json.set("own_cpu_s", to_seconds(own.ru_utime) + to_seconds(own.ru_stime));
  json.set("peak_bytes", std::int64_t{children.ru_maxrss} * 1024);
  json.set("written_bytes", bytes_written_by("/proc/self"));
  return sys::replace_file(file, json.dump(), 0600, false);
}

// The command's wait status.
Result<int> measure(const fs::path& file, std::span<char* const> words) {
  ::setenv(kStepsVariable, steps_file(file).c_str(), 1);
  const sys::SpawnOptions command = TRY(measured_command(words));
  sys::GatedChild child = TRY(sys::GatedChild::spawn(command));
  const BootTime began = sys::boot_now();
  TRY(child.release());
  int status = 0;
  rusage used{};
  while (::wait4(child.pid(), &status, 0, &used) < 0) {
    if (errno != EINTR) return fail_errno("wait", errno);
  }
  TRY(write_measurement(file, seconds(sys::boot_now() - began), used));
  return status;
}

std::vector<double> read_steps(const fs::path& file) {
  std::vector<double> steps;
  const auto text = sys::read_file(file);
  if (!text) return steps;
  for (const std::string_view line : split(*text, '\n')) {
    if (const auto value = parse_double(trim(line)); value && std::isfinite(*value) && *value > 0)
      steps.push_back(*value);
  }
  return steps;
}

}  // namespace

std::optional<double> quantile(std::vector<double> values, double p) {
  if (values.empty()) return std::nullopt;
  const double rank = std::ceil(p * static_cast<double>(values.size())) - 1;
  const auto at = static_cast<std::ptrdiff_t>(std::max(0.0, rank));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

Result<Measurement> read_measurement(const fs::path& file) {
  const std::string text = TRY(sys::read_file(file));
  const Json json = TRY(Json::parse(text));
  const auto number = [&](const char* key) {
    const Json* found = json.find(key);
    return found == nullptr ? 0 : found->as_double(0);
  };
  return Measurement{.wall_s = number("wall_s"),
                     .cpu_s = number("cpu_s"),
                     .own_cpu_s = number("own_cpu_s"),
                     .peak_bytes = json.get_int("peak_bytes"),
                     .written_bytes = json.get_int("written_bytes"),
                     .steps_s = read_steps(steps_file(file))};
}

int bench_measure(std::span<char* const> args) {
  if (args.size() < 2) {
    fmt::print(stderr, "corral bench measure: expected FILE COMMAND [ARGS]\n");
    return kMisuse;
  }
  const auto status = measure(args[0], args.subspan(1));
  if (!status) {
    fmt::print(stderr, "corral bench: {}: {}\n", args[1], status.error().message);
    return 127;
  }
  return WIFSIGNALED(*status) ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status);
}

namespace {

constexpr std::size_t kWords = 1u << 15;  // 256 KiB: about a second-level cache
constexpr int kSweeps = 16;
constexpr Nanos kBurst{std::chrono::milliseconds(1)};

// A step's work: sweeps over an array, each word depending on the one before.
std::uint64_t step(std::vector<std::uint64_t>& words, std::uint64_t state) {
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::uint64_t& word : words) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      word += state;
    }
  }
  return state;
}

int misuse(const char* what) {
  fmt::print(stderr, "corral bench: {}\n", what);
  return kMisuse;
}

}  // namespace

int bench_loop(std::span<char* const> args) {
  const auto steps = args.size() == 1 ? parse_int(args[0]) : std::nullopt;
  if (!steps || *steps < 1) return misuse("loop: expected a number of steps");
  std::vector<std::uint64_t> words(kWords, 1);
  std::uint64_t state = 0x9E3779B97F4A7C15u;
  std::string times;
  for (std::int64_t i = 0; i < *steps; ++i) {
    const BootTime began = sys::boot_now();
    state = step(words, state);
    times += fmt::format("{:.9f}\n", seconds(sys::boot_now() - began));
  }
  fmt::print("{:016x}\n", state ^ words[kWords / 2]);  // so that the work is done
  const char* file = std::getenv(kStepsVariable);
  if (file == nullptr) return kDone;
  const auto written = sys::replace_file(file, times, 0600, false);
  return written ? kDone : kFailed;
}

int bench_burn(std::span<char* const> args) {
  const auto share = args.size() == 1 ? parse_double(args[0]) : std::nullopt;
  if (!share || !(*share > 0 && *share <= 1))
    return misuse("burn: expected a share greater than 0 and at most 1");
  const BootTime began = sys::boot_now();
  for (;;) {
    const Nanos burnt = sys::thread_cpu_time();
    const double due_s = seconds(burnt) / *share;
    // At this time the share holds again.
    const BootTime due = began + Nanos(static_cast<std::int64_t>(due_s * 1e9));
    while (!sys::system_clock().sleep_until(due)) {
    }
    while (sys::thread_cpu_time() < burnt + kBurst) {
    }
  }
}

}  // namespace corral::cli
