#include "run/set_up/noise.h"

#include <fmt/core.h>
#include <sys/timex.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "core/text.h"
#include "run/set_up/fact.h"
#include "sys/file.h"

namespace corral::run::set_up {
namespace {

namespace fs = std::filesystem;
using codec::Fact;

constexpr std::size_t kMostBytes = 1u << 20;

// Returns the trimmed content of a file; nullopt if it cannot be read.
std::optional<std::string> word(const fs::path& file) {
  const auto text = sys::read_file(file, kMostBytes);
  if (!text) return std::nullopt;
  return std::string(trim(*text));
}

// Returns the existing "DIR/NAME*", in order; NAME is followed by a number.
std::vector<fs::path> numbered(const fs::path& directory, std::string_view name) {
  std::vector<fs::path> found;
  for (const std::string& entry : sys::list_directory(directory)) {
    if (entry.starts_with(name) && parse_int(std::string_view(entry).substr(name.size())))
      found.push_back(directory / entry);
  }
  return found;
}

// "always [madvise] never" -> "madvise"
std::optional<std::string> chosen(const fs::path& file) {
  auto text = word(file);
  if (!text) return std::nullopt;
  const std::size_t open = text->find('['), close = text->find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return text;
  return text->substr(open + 1, close - open - 1);
}

// ---- settings, each a function of the root

using Value = std::optional<Json>;

Value as_json(const std::optional<std::string>& text) {
  return text && !text->empty() ? Value(Json(*text)) : std::nullopt;
}

Value governor(const fs::path& root) {
  std::set<std::string> all;
  for (const fs::path& policy : numbered(root / "sys/devices/system/cpu/cpufreq", "policy"))
    if (const auto name = word(policy / "scaling_governor")) all.insert(*name);
  if (all.empty()) return std::nullopt;
  return Json(join({all.begin(), all.end()}, "+"));
}

Value turbo(const fs::path& root) {
  const fs::path cpu = root / "sys/devices/system/cpu";
  if (const auto off = word(cpu / "intel_pstate/no_turbo")) return Json(*off == "0");
  if (const auto on = word(cpu / "cpufreq/boost")) return Json(*on == "1");
  return std::nullopt;
}

Value smt(const fs::path& root) {
  return as_json(word(root / "sys/devices/system/cpu/smt/control"));
}
Value isolated(const fs::path& root) {
  const auto cpus = word(root / "sys/devices/system/cpu/isolated");
  if (!cpus) return std::nullopt;
  return Json(cpus->empty() ? std::string("none") : *cpus);
}
Value allowed(const fs::path& root) {
  return as_json(proc_value(root / "proc/self/status", "Cpus_allowed_list"));
}
Value nodes(const fs::path& root) {
  const auto found = numbered(root / "sys/devices/system/node", "node");
  return found.empty() ? std::nullopt : Value(Json(static_cast<std::int64_t>(found.size())));
}
Value numa_balancing(const fs::path& root) {
  const auto text = word(root / "proc/sys/kernel/numa_balancing");
  return text ? Value(Json(*text != "0")) : std::nullopt;
}
Value huge_pages(const fs::path& root) {
  return as_json(chosen(root / "sys/kernel/mm/transparent_hugepage/enabled"));
}
Value huge_page_defrag(const fs::path& root) {
  return as_json(chosen(root / "sys/kernel/mm/transparent_hugepage/defrag"));
}
Value aslr(const fs::path& root) {
  const auto text = word(root / "proc/sys/kernel/randomize_va_space");
  if (!text) return std::nullopt;
  return Json(*text == "0" ? "off" : *text == "1" ? "partial" : "full");
}
Value swap(const fs::path& root) {
  const auto total = proc_bytes(root / "proc/meminfo", "SwapTotal");
  return total ? Value(Json(*total)) : std::nullopt;
}
Value swappiness(const fs::path& root) {
  const auto text = word(root / "proc/sys/vm/swappiness");
  const auto number = text ? parse_int(*text) : std::nullopt;
  return number ? Value(Json(*number)) : std::nullopt;
}
Value clock_source(const fs::path& root) {
  return as_json(word(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"));
}

// ---- states

// Returns the n-th word of /proc/loadavg.
std::optional<std::string> load_word(const fs::path& root, std::size_t n) {
  const auto text = word(root / "proc/loadavg");
  if (!text) return std::nullopt;
  const auto words = split(*text, ' ');
  return n < words.size() ? std::optional(std::string(words[n])) : std::nullopt;
}

Value load(const fs::path& root) {
  const auto text = load_word(root, 0);
  const auto number = text ? parse_double(*text) : std::nullopt;
  return number ? Value(Json(*number)) : std::nullopt;
}
Value runnable(const fs::path& root) {
  const auto text = load_word(root, 3);
  const auto number = text ? parse_int(text->substr(0, text->find('/'))) : std::nullopt;
  return number ? Value(Json(*number)) : std::nullopt;
}
Value memory(const fs::path& root) {
  const auto bytes = proc_bytes(root / "proc/meminfo", "MemAvailable");
  return bytes ? Value(Json(*bytes)) : std::nullopt;
}
Value swap_used(const fs::path& root) {
  const auto total = proc_bytes(root / "proc/meminfo", "SwapTotal");
  const auto free = proc_bytes(root / "proc/meminfo", "SwapFree");
  return total && free ? Value(Json(*total - *free)) : std::nullopt;
}

// The mean of numbers in files; nullopt without a number.
class Mean {
 public:
  void add(const std::optional<std::string>& text, double scale) {
    const auto number = text ? parse_double(*text) : std::nullopt;
    if (!number) return;
    sum_ += *number * scale;
    most_ = count_++ == 0 ? *number * scale : std::max(most_, *number * scale);
  }
  [[nodiscard]] Value mean() const {
    return count_ > 0 ? Value(Json(sum_ / count_)) : std::nullopt;
  }
  [[nodiscard]] Value most() const { return count_ > 0 ? Value(Json(most_)) : std::nullopt; }

 private:
  double sum_ = 0, most_ = 0;
  int count_ = 0;
};

Value cpu_clock(const fs::path& root) {
  Mean mean;
  for (const fs::path& policy : numbered(root / "sys/devices/system/cpu/cpufreq", "policy"))
    mean.add(word(policy / "scaling_cur_freq"), 1e-3);
  if (auto known = mean.mean()) return known;
  const auto text = sys::read_file(root / "proc/cpuinfo", kMostBytes);
  if (!text) return std::nullopt;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.starts_with("cpu MHz"))
      mean.add(std::string(trim(line.substr(line.find(':') + 1))), 1);
  }
  return mean.mean();
}

Value temperature(const fs::path& root) {
  Mean zones;
  for (const fs::path& zone : numbered(root / "sys/class/thermal", "thermal_zone"))
    zones.add(word(zone / "temp"), 1e-3);
  for (const fs::path& sensors : numbered(root / "sys/class/hwmon", "hwmon")) {
    const auto name = word(sensors / "name");
    if (name == "coretemp" || name == "k10temp") zones.add(word(sensors / "temp1_input"), 1e-3);
  }
  return zones.most();
}

struct Check {
  const char* key;
  Value (*read)(const fs::path& root);
  const char* why;  // reason why there is no value
};
constexpr std::array kChecks = {
    Check{"set_up.governor", governor, "the kernel does not set CPU clocks here"},
    Check{"set_up.turbo", turbo, "neither intel_pstate nor cpufreq/boost"},
    Check{"set_up.smt", smt, "the kernel does not say"},
    Check{"set_up.isolated_cpus", isolated, "the kernel does not say"},
    Check{"set_up.cpus_allowed", allowed, "the kernel does not say"},
    Check{"set_up.numa_nodes", nodes, "the kernel does not say"},
    Check{"set_up.numa_balancing", numa_balancing, "a kernel without it"},
    Check{"set_up.huge_pages", huge_pages, "a kernel without it"},
    Check{"set_up.huge_page_defrag", huge_page_defrag, "a kernel without it"},
    Check{"set_up.aslr", aslr, "the kernel does not say"},
    Check{"set_up.swap_bytes", swap, "the kernel does not say"},
    Check{"set_up.swappiness", swappiness, "the kernel does not say"},
    Check{"set_up.clock_source", clock_source, "the kernel does not say"},
    Check{"at_start.load", load, "the kernel does not say"},
    Check{"at_start.runnable", runnable, "the kernel does not say"},
    Check{"at_start.memory_available_bytes", memory, "the kernel does not say"},
    Check{"at_start.swap_used_bytes", swap_used, "the kernel does not say"},
    Check{"at_start.cpu_mhz", cpu_clock, "the kernel does not say"},
    Check{"at_start.temperature_celsius", temperature, "no sensor of the CPU"},
};

}  // namespace

std::optional<std::string> proc_value(const fs::path& file, std::string_view key) {
  const auto text = sys::read_file(file);
  if (!text) return std::nullopt;
  for (const std::string_view line : split(*text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == key)
      return std::string(trim(line.substr(colon + 1)));
  }
  return std::nullopt;
}

std::optional<std::int64_t> proc_bytes(const fs::path& file, std::string_view key) {
  const auto text = proc_value(file, key);
  const auto kib = text ? parse_int(text->substr(0, text->find(' '))) : std::nullopt;
  return kib ? std::optional(*kib * 1024) : std::nullopt;
}

Outside read_outside(const fs::path& directory) {
  Outside outside;
  timex clock{};  // modes 0: only reads
  if (const int state = ::adjtimex(&clock); state >= 0)
    outside.clock_synchronised = state != TIME_ERROR && (clock.status & STA_UNSYNC) == 0;
  std::error_code error;
  if (const auto space = fs::space(directory, error); !error)
    outside.disk_free_bytes = static_cast<std::int64_t>(space.available);
  return outside;
}

std::vector<Fact> noise(const fs::path& root, const Outside& outside) {
  std::vector<Fact> facts;
  for (const Check& check : kChecks) {
    const Value value = check.read(root);
    facts.push_back(value ? info(check.key, *value) : absent(check.key, check.why));
  }
  facts.push_back(outside.clock_synchronised
                      ? info("set_up.clock_synchronised", *outside.clock_synchronised)
                      : absent("set_up.clock_synchronised", "the kernel does not say"));
  facts.push_back(outside.disk_free_bytes
                      ? info("at_start.disk_free_bytes", *outside.disk_free_bytes)
                      : absent("at_start.disk_free_bytes", "the filesystem does not say"));
  return facts;
}

}  // namespace corral::run::set_up
