#include "cli/bench_process.h"

#include <fmt/core.h>
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

#include "cli/child.h"
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
