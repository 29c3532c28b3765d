#include "collect/energy/energy_listener.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "collect/proc_file.h"
#include "collect/sysfs/number_file.h"
#include "core/cpu_list.h"
#include "core/text.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace corral::collect {
namespace energy {
namespace {

namespace fs = std::filesystem;

struct Domain {
  std::string_view event;
  std::string_view zone;
  std::string_view metric;
};
constexpr auto kDomains = std::to_array<Domain>({
    {"energy-pkg", "package", "host.energy.package"},
    {"energy-cores", "core", "host.energy.cores"},
    {"energy-ram", "dram", "host.energy.dram"},
    {"energy-gpu", "uncore", "host.energy.uncore"},
    {"energy-psys", "psys", "host.energy.platform"},
});

// "event=0x02" or "config=0x2": the number after "=".
std::optional<std::uint64_t> event_config(const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos) return std::nullopt;
  std::uint64_t config = 0;
  const std::string_view digits = std::string_view(text).substr(at + 1);
  const bool hex = digits.starts_with("0x");
  const char* begin = digits.data() + (hex ? 2 : 0);
  const auto [end, error] =
      std::from_chars(begin, digits.data() + digits.size(), config, hex ? 16 : 10);
  if (error != std::errc() || end == begin) return std::nullopt;
  return config;
}

// "package-0", and with the die where a package has several of them.
std::vector<std::string> package_names(const fs::path& root, const std::vector<int>& cpus) {
  std::vector<std::string> packages;
  for (const int cpu : cpus) {
    const fs::path topology =
        root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "topology";
    packages.push_back("package-" + sysfs::read_text(topology / "physical_package_id"));
  }
  std::vector<std::string> names = packages;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    if (std::ranges::count(packages, packages[i]) < 2) continue;
    const fs::path topology =
        root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpus[i])) / "topology";
    names[i] += "-die-" + sysfs::read_text(topology / "die_id");
  }
  return names;
}

struct PowercapZone {
  std::string_view metric;
  std::string source;  // "package-0"
  std::filesystem::path directory;
};

// Returns the metric of a powercap zone; empty if Corral does not record it.
std::string_view zone_metric(std::string_view zone_name) {
  for (const Domain& domain : kDomains) {
    const bool numbered =
        zone_name.starts_with(domain.zone) && zone_name.substr(domain.zone.size()).starts_with('-');
    if (zone_name == domain.zone || numbered) return domain.metric;
  }
  return {};
}

// Zones of /sys/class/powercap below `root` that stand for something of their own.
std::vector<PowercapZone> powercap_zones(const fs::path& root) {
  const fs::path powercap = root / "sys/class/powercap";
  std::vector<PowercapZone> zones;
  // Sorted, so that "intel-rapl:0" comes before its parts and before "intel-rapl-mmio:0".
  std::vector<std::string> entries = sys::list_directory(powercap);
  std::stable_partition(entries.begin(), entries.end(),
                        [](const auto& name) { return name.starts_with("intel-rapl:"); });
  for (const std::string& entry : entries) {
    const std::size_t zone_end = entry.find(':');
    if (zone_end == std::string::npos) continue;  // a control type, not a zone
    const std::string name = sysfs::read_text(powercap / entry / "name");
    const std::string_view metric = zone_metric(name);
    if (metric.empty()) continue;
    const std::size_t part = entry.find(':', zone_end + 1);
    std::string source = name;
    if (part != std::string::npos)
      source = sysfs::read_text(powercap / entry.substr(0, part) / "name");
    const bool repeated = std::ranges::any_of(
        zones, [&](const PowercapZone& z) { return z.metric == metric && z.source == source; });
    if (!repeated) {
      zones.push_back(
          {.metric = metric, .source = std::move(source), .directory = powercap / entry});
    }
  }
  return zones;
}

// Returns true if a zone of a package's cores shows a single one of them: AMD's processors have a
// counter in each core, and powercap reads only the first one's.
bool shows_one_core(const fs::path& root) {
  const auto file = sys::open_file(root / "proc/cpuinfo", O_RDONLY);
  std::array<char, 1024> first;  // the first processor is as all of them
  const std::ptrdiff_t size = file ? read_record(file->get(), first) : 0;
  const std::string_view text(first.data(),
                              static_cast<std::size_t>(std::max<std::ptrdiff_t>(size, 0)));
  return text.find("AuthenticAMD") != std::string_view::npos ||
         text.find("HygonGenuine") != std::string_view::npos;
}

int open_power_event(const PowerEvent& event) {
  perf_event_attr attr = event.attr;
  return static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, static_cast<int>(event.cpu), -1,
                                    PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

double WrappingCounter::add(double raw) {
  if (raw < 0 || (range_ > 0 && raw > range_)) return total_;
  if (last_ < 0) {
    total_ = raw;
  } else if (raw >= last_) {
    total_ += raw - last_;
  } else if (range_ > 0) {
    total_ += range_ - last_ + raw;
  }
  last_ = raw;
  return total_;
}

std::vector<PowerEvent> power_events(const fs::path& root) {
  const fs::path pmu = root / "sys/bus/event_source/devices/power";
  const auto type = parse_int(sysfs::read_text(pmu / "type"));
  if (!type || *type < 0) return {};
  const std::vector<int> cpus =
      parse_cpu_list(sysfs::read_text(pmu / "cpumask")).value_or(std::vector<int>());
  const std::vector<std::string> packages = package_names(root, cpus);
  std::vector<PowerEvent> events;
  for (const Domain& domain : kDomains) {
    const std::string event(domain.event);
    const auto config = event_config(sysfs::read_text(pmu / "events" / event));
    const auto scale = parse_double(sysfs::read_text(pmu / "events" / (event + ".scale")));
    if (!config || !scale || sysfs::read_text(pmu / "events" / (event + ".unit")) != "Joules")
      continue;
    const bool one = domain.zone == "psys";  // "psys" covers the whole machine
    for (std::size_t i = 0; i < (one ? std::min<std::size_t>(cpus.size(), 1) : cpus.size()); ++i) {
      PowerEvent& e = events.emplace_back();
      e.metric = domain.metric;
      e.source = one ? "psys" : packages[i];
      e.cpu = static_cast<unsigned>(cpus[i]);
      e.attr.type = static_cast<std::uint32_t>(*type);
      e.attr.size = sizeof e.attr;
      e.attr.config = *config;
      e.joules = *scale;
    }
  }
  return events;
}

namespace {

constexpr std::string_view kCores = "host.energy.cores";
constexpr std::string_view kStill =
    "its counter stays at 0: virtual machines show counters that nothing moves";

// False of parts that may be off: cores, a GPU in the package.
bool always_used(std::string_view metric) {
  return metric != "host.energy.cores" && metric != "host.energy.uncore";
}

// Counters move about once a millisecond.
constexpr auto kLook = std::chrono::milliseconds(2);
constexpr int kLooks = 10;

// False of a counter that stays at 0; a read that fails is no proof of that.
template <class Read>
bool moves(const Read& read) {
  for (int look = 0; look < kLooks; ++look) {
    if (look > 0) std::this_thread::sleep_for(kLook);
    if (read() != 0.0) return true;
  }
  return false;
}

class EnergyListener final : public Listener {
 public:
  EnergyListener(const fs::path& root, SeriesTable& table, OpenEvent open_event) {
    open_events(root, table, open_event);
    open_zones(root, table);
    if (empty() && !still_metrics_.empty()) return;
    if (empty()) {
      table.unavailable("host.energy.*", why_not());
    } else if (!file_error_.empty()) {
      table.unavailable("parts of host.energy.*", why_not());
    }
  }

  void sample_fast(Row& row) override {
    for (const Event& event : events_) {
      if (const auto count = read_count(event.fd)) row.set(event.column, *count * event.joules);
    }
    for (Zone& zone : zones_) {
      if (const auto microjoules = zone.file.read())
        row.set(zone.column, zone.counter.add(*microjoules) * 1e-6);
    }
  }

  [[nodiscard]] bool empty() const { return events_.empty() && zones_.empty(); }

 private:
  struct Event {
    sys::Fd fd;
    Column column;
    double joules;
  };
  struct Zone {
    sysfs::NumberFile file;
    WrappingCounter counter;
    Column column;
  };

  static std::optional<double> read_count(const sys::Fd& fd) {
    std::uint64_t count = 0;
    if (::read(fd.get(), &count, sizeof count) != sizeof count) return std::nullopt;
    return static_cast<double>(count);
  }

  void open_events(const fs::path& root, SeriesTable& table, OpenEvent open_event) {
    for (const PowerEvent& event : power_events(root)) {
      sys::Fd fd(open_event(event));
      if (!fd) {
        perf_error_ = errno;
        continue;
      }
      if (is_still(event.metric, [&] { return read_count(fd); })) {
        table.unavailable(std::string(event.metric), event.source, std::string(kStill));
        still_metrics_.push_back(event.metric);
        continue;
      }
      events_.push_back({.fd = std::move(fd),
                         .column = table.add(event.metric, event.source),
                         .joules = event.joules});
      counted_.push_back(event.metric);
    }
  }

  void open_zones(const fs::path& root, SeriesTable& table) {
    std::vector<PowercapZone> zones = powercap_zones(root);
    const auto is_cores = [](const PowercapZone& zone) { return zone.metric == kCores; };
    if (shows_one_core(root) && std::erase_if(zones, is_cores) > 0) {
      table.unavailable(std::string(kCores),
                        "AMD's processors count each core separately, and powercap "
                        "shows only the first one of a package");
    }
    const std::vector<std::string_view> still_of_perf = still_metrics_;
    for (const PowercapZone& zone : zones) {
      if (std::ranges::find(counted_, zone.metric) != counted_.end()) continue;
      if (std::ranges::find(still_of_perf, zone.metric) != still_of_perf.end()) continue;
      auto file = sysfs::NumberFile::open(zone.directory / "energy_uj");
      if (!file) {
        file_error_ = file.error().message;
        denied_ = denied_ || file.error().code == Code::kPermission;
        continue;
      }
      if (is_still(zone.metric, [&] { return file->read(); })) {
        table.unavailable(std::string(zone.metric), zone.source, std::string(kStill));
        still_metrics_.push_back(zone.metric);
        continue;
      }
      const auto range =
          sysfs::parse_number(sysfs::read_text(zone.directory / "max_energy_range_uj"));
      zones_.push_back({.file = *std::move(file),
                        .counter = WrappingCounter(range.value_or(0)),
                        .column = table.add(zone.metric, zone.source)});
    }
  }

  // Packages come before their parts: where a package stands still, so does what is in it.
  template <class Read>
  [[nodiscard]] bool is_still(std::string_view metric, const Read& read) const {
    const bool dead =
        std::ranges::find(still_metrics_, "host.energy.package") != still_metrics_.end();
    return (dead || always_used(metric)) && !moves(read);
  }

  [[nodiscard]] std::string why_not() const {
    std::string reason = file_error_;
    if (denied_) {
      reason +=
          "; until the next boot `sudo chmod a+r /sys/class/powercap/*/energy_uj` lets everybody "
          "read it";
    }
    if (perf_error_ != 0) {
      if (!reason.empty()) reason += "; ";
      reason += std::string("perf's PMU 'power': ") + std::strerror(perf_error_);
    }
    if (!reason.empty()) return reason;
    return "no RAPL counters here (no zone in /sys/class/powercap, no "
           "perf PMU 'power'); virtual machines usually have none";
  }

  std::vector<Event> events_;
  std::vector<Zone> zones_;
  std::vector<std::string_view> counted_;  // metrics that perf has
  int perf_error_ = 0;
  std::string file_error_;
  bool denied_ = false;
  std::vector<std::string_view> still_metrics_;  // their counters stay at 0
};

}  // namespace

std::unique_ptr<Listener> open_listener(const ListenerContext& context, SeriesTable& table,
                                        OpenEvent open_event) {
  auto listener = std::make_unique<EnergyListener>(context.root, table, open_event);
  if (listener->empty()) return nullptr;
  return listener;
}

}  // namespace energy

std::unique_ptr<Listener> open_energy_listener(const ListenerContext& context, SeriesTable& table) {
  return energy::open_listener(context, table, energy::open_power_event);
}

}  // namespace corral::collect
