#include <fmt/core.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cli/bench_measure.h"
#include "cli/bench_verbs.h"
#include "cli/command.h"
#include "core/text.h"
#include "sys/clock.h"
#include "sys/file.h"

namespace corral::cli {
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
