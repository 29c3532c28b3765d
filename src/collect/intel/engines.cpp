#include "collect/intel/engines.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "collect/sysfs/number_file.h"
#include "sys/file.h"

namespace corral::collect::intel {
namespace {

namespace fs = std::filesystem;

constexpr double kNano = 1e-9;
constexpr const char* kPmus = "sys/bus/event_source/devices";

// xe's numbers of the classes, and how many instances of each there may be.
struct EngineClass {
  std::string_view name;
  unsigned instances;
};
constexpr auto kClasses =
    std::to_array<EngineClass>({{"rcs", 1}, {"bcs", 9}, {"vcs", 8}, {"vecs", 4}, {"ccs", 4}});
constexpr unsigned kGts = 2;

template <class T>
std::optional<T> number_at(std::string_view text, int base) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

// Parses "config=0x3000" or "event=0x02".
std::optional<std::uint64_t> event_config(const fs::path& file) {
  const std::string text = sysfs::read_text(file);
  const std::size_t at = text.find("=0x");
  if (at == std::string::npos) return std::nullopt;
  return number_at<std::uint64_t>(std::string_view(text).substr(at + 3), 16);
}

// The lowest bit of a field's place, "config:20-27".
std::optional<unsigned> field_shift(const fs::path& file) {
  const std::string text = sysfs::read_text(file);
  if (!text.starts_with("config:")) return std::nullopt;
  const auto shift = number_at<unsigned>(std::string_view(text).substr(7), 10);
  return shift && *shift < 64 ? shift : std::nullopt;
}

// The PMU's directory: that of the device, or i915's first one, which has no address in its name.
fs::path find_pmu(const fs::path& root, std::string address) {
  std::ranges::replace(address, ':', '_');
  std::error_code ignored;
  for (const std::string& name : {"xe_" + address, "i915_" + address, std::string("i915")}) {
    fs::path pmu = root / kPmus / name;
    const bool integrated = name != "i915" || address == "0000_00_02.0";
    if (integrated && fs::exists(pmu / "type", ignored)) return pmu;
  }
  return {};
}

perf_event_attr attribute(std::uint32_t type, std::uint64_t config) {
  perf_event_attr attr = {};
  attr.type = type;
  attr.size = sizeof attr;
  attr.config = config;
  return attr;
}

void add_xe_events(const fs::path& pmu, const EngineEvent& common, std::vector<EngineEvent>& out) {
  const auto active = event_config(pmu / "events/engine-active-ticks");
  const auto total = event_config(pmu / "events/engine-total-ticks");
  const auto gt_shift = field_shift(pmu / "format/gt");
  const auto class_shift = field_shift(pmu / "format/engine_class");
  const auto instance_shift = field_shift(pmu / "format/engine_instance");
  if (!active || !total || !gt_shift || !class_shift || !instance_shift) return;
  for (std::uint64_t gt = 0; gt < kGts; ++gt) {
    for (std::uint64_t c = 0; c < kClasses.size(); ++c) {
      for (std::uint64_t i = 0; i < kClasses[c].instances; ++i) {
        const std::uint64_t place = gt << *gt_shift | c << *class_shift | i << *instance_shift;
        EngineEvent& event = out.emplace_back(common);
        event.engine = (gt > 0 ? "gt" + std::to_string(gt) + "." : std::string())
                           .append(kClasses[c].name)
                           .append(std::to_string(i));
        event.busy.config = *active | place;
        event.total.config = *total | place;
        event.in_ticks = true;
      }
    }
  }
}

void add_i915_events(const fs::path& pmu, const EngineEvent& common,
                     std::vector<EngineEvent>& out) {
  constexpr std::string_view kSuffix = "-busy";
  for (const std::string& name : sys::list_directory(pmu / "events")) {
    if (!name.ends_with(kSuffix)) continue;
    const auto config = event_config(pmu / "events" / name);
    if (!config || sysfs::read_text(pmu / "events" / (name + ".unit")) != "ns") continue;
    EngineEvent& event = out.emplace_back(common);
    event.engine = name.substr(0, name.size() - kSuffix.size());
    event.busy.config = *config;
  }
}

bool read_count(const sys::Fd& fd, std::uint64_t& count) {
  return ::read(fd.get(), &count, sizeof count) == sizeof count;
}

}  // namespace

std::vector<EngineEvent> engine_events(const fs::path& root, const std::string& address) {
  const fs::path pmu = find_pmu(root, address);
  const auto type = number_at<std::uint32_t>(sysfs::read_text(pmu / "type"), 10);
  if (pmu.empty() || !type) return {};
  const auto cpus = sysfs::parse_cpu_list(sysfs::read_text(pmu / "cpumask"), 1);
  EngineEvent common;
  common.busy = attribute(*type, 0);
  common.total = attribute(*type, 0);
  common.cpu = cpus.empty() ? 0 : cpus.front();
  std::vector<EngineEvent> events;
  if (pmu.filename().string().starts_with("xe_")) {
    add_xe_events(pmu, common, events);
  } else {
    add_i915_events(pmu, common, events);
  }
  return events;
}

int open_engine_event(const perf_event_attr& attr, unsigned cpu) {
  perf_event_attr copy = attr;
  return static_cast<int>(
      ::syscall(SYS_perf_event_open, &copy, -1, static_cast<int>(cpu), -1, PERF_FLAG_FD_CLOEXEC));
}

std::string Engines::open(const Options& options, SeriesTable& table) {
  clock_ = options.clock != nullptr ? options.clock : &sys::system_clock();
  int refused = 0;
  for (const EngineEvent& event : engine_events(options.root, options.address)) {
    Engine engine;
    engine.busy = sys::Fd(options.open_event(event.busy, event.cpu));
    if (engine.busy && event.in_ticks)
      engine.total = sys::Fd(options.open_event(event.total, event.cpu));
    if (!engine.busy || (event.in_ticks && !engine.total)) {
      refused = errno;
      if (refused == EACCES || refused == EPERM) break;  // so will be all
      continue;
    }
    engine.column = table.add("host.gpu.engine.busy", options.source + "." + event.engine);
    engines_.push_back(std::move(engine));
  }
  if (!engines_.empty()) return {};
  if (refused == 0) return "the kernel has no perf PMU of its driver";
  std::string why = std::string("perf's PMU of its driver: ") + std::strerror(refused);
  if (refused == EACCES || refused == EPERM)
    why += "; needs CAP_PERFMON or `sysctl kernel.perf_event_paranoid=0`";
  return why;
}

void Engines::sample(Row& row) {
  if (engines_.empty()) return;
  const BootTime now = clock_->now();
  const Nanos since = last_ == BootTime{} ? Nanos{0} : now - last_;
  last_ = now;
  for (Engine& engine : engines_) {
    std::uint64_t busy_ns = 0;
    if (engine.total) {
      sample_ticks(engine, since, row);
    } else if (read_count(engine.busy, busy_ns)) {
      row.set(engine.column, static_cast<double>(busy_ns) * kNano);
    }
  }
}

void Engines::sample_ticks(Engine& engine, Nanos since, Row& row) const {
  std::uint64_t busy = 0;
  std::uint64_t total = 0;
  if (!read_count(engine.busy, busy) || !read_count(engine.total, total)) return;
  const std::uint64_t ticks = total - engine.last_total;
  const std::uint64_t active = std::min(busy - engine.last_busy, ticks);
  const bool went_back = busy < engine.last_busy || total < engine.last_total;
  if (since > Nanos{0} && ticks > 0 && !went_back) {
    engine.seconds +=
        corral::seconds(since) * static_cast<double>(active) / static_cast<double>(ticks);
  }
  engine.last_busy = busy;
  engine.last_total = total;
  row.set(engine.column, engine.seconds);
}

}  // namespace corral::collect::intel
