#include "collect/pressure/group_limits.h"

#include <array>
#include <optional>
#include <span>

#include "collect/scan.h"

namespace corral::collect {
namespace {

constexpr std::string_view kQuota = "CPU quota reached";
constexpr std::string_view kMemoryMax = "memory limit reached";
constexpr std::string_view kMemoryHigh = "memory limit 'high' reached";
constexpr std::string_view kKilled = "killed: out of memory";

std::optional<std::uint64_t> value_of(ProcFile& file, std::string_view key) {
  const std::array keys{key};
  std::array<std::uint64_t, 1> values{};
  if (find_values(file.read(), keys, values) == 0) return std::nullopt;
  return values[0];
}

}  // namespace

GroupLimits::GroupLimits(const cgroup::Finder& finder) {
  // A quota may be anywhere above the group; where there is none the count never rises.
  if (const auto chain = finder.find("cpu")) {
    for (const auto& directory : chain->directories)
      add(directory / "cpu.stat", "nr_throttled", kQuota);
  }
  const auto chain = finder.find("memory");
  if (!chain) return;
  if (!chain->unified) {
    add(chain->own() / "memory.oom_control", "oom_kill", kKilled);
    return;
  }
  // Counts the groups below it, too.
  add(chain->own() / "memory.events", "high", kMemoryHigh);
  add(chain->own() / "memory.events", "max", kMemoryMax);
  add(chain->own() / "memory.events", "oom_kill", kKilled);
}

void GroupLimits::add(const std::filesystem::path& path, std::string_view key,
                      std::string_view name) {
  auto file = ProcFile::open(path);
  if (!file) return;
  const auto now = value_of(*file, key);
  if (now) counters_.push_back({.file = *std::move(file), .key = key, .name = name, .last = *now});
}

void GroupLimits::look(const Rose& rose) {
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    Counter& counter = counters_[i];
    const auto now = value_of(counter.file, counter.key);
    if (!now) continue;
    if (*now > counter.last) rose(i, counter.name, *now - counter.last);
    counter.last = *now;
  }
}

}  // namespace corral::collect
