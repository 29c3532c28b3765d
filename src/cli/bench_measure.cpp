#include "cli/bench_measure.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "cli/bench_verbs.h"
#include "cli/command.h"
#include "core/json.h"
#include "core/text.h"
#include "sys/clock.h"
#include "sys/process.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;

double seconds_of(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

fs::path steps_file(const fs::path& file) { return file.string() + ".steps"; }

Result<sys::SpawnOptions> command_of(std::span<char* const> words) {
  sys::SpawnOptions options;
  options.argv.assign(words.begin(), words.end());
  const char* path = std::getenv("PATH");
  options.argv[0] =
      TRY(sys::find_in_path(options.argv[0], path != nullptr ? path : "/usr/bin:/bin")).string();
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
  json.set("cpu_s", seconds_of(children.ru_utime) + seconds_of(children.ru_stime));
  json.set("own_cpu_s", seconds_of(own.ru_utime) + seconds_of(own.ru_stime));
  json.set("peak_bytes", std::int64_t{children.ru_maxrss} * 1024);
  json.set("written_bytes", bytes_written_by("/proc/self"));
  return sys::replace_file(file, json.dump(), 0600, false);
}

// The command's wait status.
Result<int> measure(const fs::path& file, std::span<char* const> words) {
  ::setenv(kStepsVariable, steps_file(file).c_str(), 1);
  const sys::SpawnOptions command = TRY(command_of(words));
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

std::int64_t bytes_written_by(const fs::path& proc_directory) {
  const auto text = sys::read_file(proc_directory / "io");
  if (!text) return 0;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.starts_with("wchar:")) return parse_int(trim(line.substr(6))).value_or(0);
  }
  return 0;
}

std::optional<double> quantile_of(std::vector<double> values, double p) {
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

}  // namespace corral::cli
