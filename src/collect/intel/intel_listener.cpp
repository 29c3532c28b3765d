#include "collect/intel/intel_listener.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/intel/sysman.h"
#include "collect/series.h"
#include "collect/sysfs/drm.h"
#include "collect/sysfs/number_file.h"
#include "core/cpu_list.h"
#include "core/time.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace corral::collect {
namespace intel {
namespace {

namespace fs = std::filesystem;

constexpr double kNano = 1e-9;

struct EngineEvent {
  std::string engine;  // "rcs0", "gt1.vcs0"
  perf_event_attr busy = {};
  perf_event_attr total = {};  // xe's
  bool in_ticks = false;
  unsigned cpu = 0;  // on which they must be opened
};

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

// Returns the engines of the device at a PCI address ("0000:03:00.0"): those that its PMU lists
// (i915), or may have (xe lists none: opening a missing one fails).
std::vector<EngineEvent> engine_events(const fs::path& root, const std::string& address) {
  const fs::path pmu = find_pmu(root, address);
  const auto type = number_at<std::uint32_t>(sysfs::read_text(pmu / "type"), 10);
  if (pmu.empty() || !type) return {};
  const auto cpus = parse_cpu_list(sysfs::read_text(pmu / "cpumask")).value_or(std::vector<int>());
  EngineEvent common;
  common.busy = attribute(*type, 0);
  common.total = attribute(*type, 0);
  common.cpu = cpus.empty() ? 0 : static_cast<unsigned>(cpus.front());
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

// Engines: how busy the engines of one of Intel's GPUs are, by the kernel's perf PMU of its driver.
//
// i915 counts nanoseconds, xe the ticks of an engine and those in which it was active, which the
// time between two reads makes seconds. Reading costs a system call for each event; it takes
// CAP_PERFMON or kernel.perf_event_paranoid 0. One thread.
class Engines {
 public:
  struct Options {
    std::filesystem::path root;
    std::string address;
    std::string source;  // the GPU: "intel0"
    OpenEvent open_event = nullptr;
    sys::Clock* clock = nullptr;
  };
  // Why there are none; empty when there are some.
  std::string open(const Options& options, SeriesTable& table) {
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

  void sample(Row& row) {
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

 private:
  struct Engine {
    sys::Fd busy;
    sys::Fd total;  // none: busy is in ns
    Column column = kNoColumn;
    std::uint64_t last_busy = 0;
    std::uint64_t last_total = 0;
    double seconds = 0;  // in which it was busy, of xe
  };

  void sample_ticks(Engine& engine, Nanos since, Row& row) const {
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

  sys::Clock* clock_ = nullptr;
  std::vector<Engine> engines_;
  BootTime last_{};
};

// ---- the GPUs
constexpr std::uint32_t kVendor = 0x8086;
constexpr double kMega = 1e6;
constexpr double kMicro = 1e-6;
constexpr double kMilli = 1e-3;

struct DriverFile {
  bool of_device;  // below the card's device, else below the card
  const char* path;
};
// The first that is there: xe, i915 with several GTs, i915 before.
constexpr auto kClock = std::to_array<DriverFile>({{true, "tile0/gt0/freq0/act_freq"},
                                                   {false, "gt/gt0/rps_act_freq_mhz"},
                                                   {false, "gt_act_freq_mhz"}});
constexpr auto kIdle = std::to_array<DriverFile>({{true, "tile0/gt0/gtidle/idle_residency_ms"},
                                                  {false, "gt/gt0/rc6_residency_ms"},
                                                  {false, "power/rc6_residency_ms"}});

// Returns true if the GPU, or an engine of it, has that metric already.
bool declared(const SeriesTable& table, std::string_view metric, const std::string& source) {
  for (const Group group : {kFastGroup, kSlowGroup}) {
    for (const SeriesInfo& series : table.series(group)) {
      const bool its = series.source == source || series.source.starts_with(source + ".");
      if (its && series.metric->name == metric) return true;
    }
  }
  return false;
}

class Gpu {
 public:
  Gpu(const sysfs::Card& card, std::string source, SeriesTable& table)
      : status_(card.device), source_(std::move(source)), address_(sysfs::pci_address(card)) {
    add_first("host.gpu.clock.graphics", kClock, card, kMega, table);
    add_first("host.gpu.idle", kIdle, card, kMilli, table);
    if (!card.hwmon.empty()) add_sensors(card.hwmon, table);
    if (files_.empty())
      table.unavailable("host.gpu.*", source_, "its driver has none of the files of i915, xe");
  }

  void open_engines(const ListenerContext& context, OpenEvent open_event, sys::Clock& clock,
                    SeriesTable& table) {
    engine_obstacle_ = engines_.open({.root = context.root,
                                      .address = address_,
                                      .source = source_,
                                      .open_event = open_event,
                                      .clock = &clock},
                                     table);
  }

  // After the files and the engines: metrics that they have are not requested again.
  void open_sysman(const Result<std::unique_ptr<const Sysman>>& sysman,
                   const std::shared_ptr<News>& news, SeriesTable& table) {
    ZeDevice device = sysman ? (*sysman)->find(address_) : nullptr;
    if (device == nullptr) {
      table.unavailable("memory", source_,
                        !sysman ? sysman.error().message : "Level Zero does not list this GPU");
    } else {
      sysman_ = std::make_unique<SysmanReader>(**sysman, source_, news);
      sysman_->open(
          device, [&](std::string_view metric) { return !declared(table, metric, source_); },
          table);
    }
    if (!engine_obstacle_.empty() && !declared(table, "host.gpu.engine.busy", source_))
      table.unavailable("host.gpu.engine.busy", source_, engine_obstacle_);
  }

  void sample(Group group, Row& row) {
    if (status_.is_asleep()) return;
    files_.sample(group, row);
    if (group == kFastGroup) engines_.sample(row);
    if (sysman_ != nullptr) sysman_->sample(group, row);
  }

 private:
  template <std::size_t N>
  void add_first(std::string_view metric, const std::array<DriverFile, N>& files,
                 const sysfs::Card& card, double scale, SeriesTable& table) {
    for (const DriverFile& file : files) {
      const fs::path path = (file.of_device ? card.device : card.card) / file.path;
      std::error_code ignored;
      if (!fs::exists(path, ignored)) continue;
      return add(metric, path, scale, table);
    }
  }

  // The card's own counter where there are several, else the package's or the only one.
  void add_sensors(const fs::path& hwmon, SeriesTable& table) {
    std::string energy = sysfs::sensor_labelled(hwmon, "energy", "card");
    if (energy.empty()) energy = "energy1";
    add("host.gpu.energy", hwmon / (energy + "_input"), kMicro, table);
    add("host.gpu.power.limit", hwmon / "power1_max", kMicro, table);
    std::string temperature = sysfs::sensor_labelled(hwmon, "temp", "pkg");
    if (temperature.empty()) temperature = "temp1";
    add("host.gpu.temperature", hwmon / (temperature + "_input"), kMilli, table);
    const std::string memory = sysfs::sensor_labelled(hwmon, "temp", "vram");
    if (!memory.empty())
      add("host.gpu.memory.temperature", hwmon / (memory + "_input"), kMilli, table);
    add("host.gpu.fan", hwmon / "fan1_input", 1, table);
  }

  void add(std::string_view metric, const fs::path& path, double scale, SeriesTable& table) {
    files_.add_if_there({.metric = metric, .source = source_, .path = path, .scale = scale}, table);
  }

  sysfs::RuntimeStatus status_;
  std::string source_;
  std::string address_;
  sysfs::NumberFiles files_;
  Engines engines_;
  std::string engine_obstacle_;  // why the kernel gives none
  std::unique_ptr<SysmanReader> sysman_;
};

class IntelListener final : public Listener {
 public:
  void open(const ListenerContext& context, OpenEvent open_event, sys::Clock& clock,
            SeriesTable& table) {
    for (const sysfs::Card& card : sysfs::find_cards(context.root, kVendor)) {
      Gpu& gpu = gpus_.emplace_back(card, "intel" + std::to_string(gpus_.size()), table);
      gpu.open_engines(context, open_event, clock, table);
    }
    if (gpus_.empty()) return;
    const char* library = std::getenv("CORRAL_ZE_LIBRARY");
    sysman_ = Sysman::open(library != nullptr ? library : "");
    for (Gpu& gpu : gpus_) gpu.open_sysman(sysman_, context.news, table);
  }
  [[nodiscard]] bool empty() const { return gpus_.empty(); }

  void sample_fast(Row& row) override {
    for (Gpu& gpu : gpus_) gpu.sample(kFastGroup, row);
  }
  void sample_slow(Row& row) override {
    for (Gpu& gpu : gpus_) gpu.sample(kSlowGroup, row);
  }

 private:
  Result<std::unique_ptr<const Sysman>> sysman_;  // first: outlives the GPUs
  std::vector<Gpu> gpus_;
};

}  // namespace

std::unique_ptr<Listener> open_listener(const ListenerContext& context, SeriesTable& table,
                                        OpenEvent open_event, sys::Clock& clock) {
  auto listener = std::make_unique<IntelListener>();
  listener->open(context, open_event, clock, table);
  if (!listener->empty()) return listener;
  table.unavailable("Intel's GPUs", "no card of the drivers i915 or xe in /sys/class/drm");
  return nullptr;
}

}  // namespace intel

std::unique_ptr<Listener> open_intel_listener(const ListenerContext& context, SeriesTable& table) {
  return intel::open_listener(context, table, intel::open_engine_event, sys::system_clock());
}

}  // namespace corral::collect
