#include "collect/energy/energy_listener.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace corral::collect {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCores = "host.energy.cores";

class EnergyListener final : public Listener {
 public:
  EnergyListener(const fs::path& root, SeriesTable& table, energy::OpenEvent open_event) {
    open_events(root, table, open_event);
    open_zones(root, table);
    if (empty()) {
      table.unavailable("host.energy.*", why_not());
    } else if (!file_error_.empty()) {
      table.unavailable("parts of host.energy.*", why_not());
    }
  }

  void sample_fast(Row& row) override {
    for (const Event& event : events_) {
      std::uint64_t count = 0;
      if (::read(event.fd.get(), &count, sizeof count) == sizeof count)
        row.set(event.column, static_cast<double>(count) * event.joules);
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
    energy::WrappingCounter counter;
    Column column;
  };

  void open_events(const fs::path& root, SeriesTable& table, energy::OpenEvent open_event) {
    for (const energy::PowerEvent& event : energy::power_events(root)) {
      sys::Fd fd(open_event(event));
      if (!fd) {
        perf_error_ = errno;
        continue;
      }
      events_.push_back({.fd = std::move(fd),
                         .column = table.add(event.metric, event.source),
                         .joules = event.joules});
      counted_.push_back(event.metric);
    }
  }

  void open_zones(const fs::path& root, SeriesTable& table) {
    std::vector<energy::Zone> zones = energy::powercap_zones(root);
    const auto is_cores = [](const energy::Zone& zone) { return zone.metric == kCores; };
    if (energy::shows_one_core(root) && std::erase_if(zones, is_cores) > 0) {
      table.unavailable(std::string(kCores),
                        "AMD's processors count each core separately, and powercap "
                        "shows only the first one of a package");
    }
    for (const energy::Zone& zone : zones) {
      if (std::ranges::find(counted_, zone.metric) != counted_.end()) continue;
      auto file = sysfs::NumberFile::open(zone.directory / "energy_uj");
      if (!file) {
        file_error_ = file.error().message;
        denied_ = denied_ || file.error().code == Code::kPermission;
        continue;
      }
      const auto range =
          sysfs::parse_number(sysfs::read_text(zone.directory / "max_energy_range_uj"));
      zones_.push_back({.file = *std::move(file),
                        .counter = energy::WrappingCounter(range.value_or(0)),
                        .column = table.add(zone.metric, zone.source)});
    }
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
};

}  // namespace

std::unique_ptr<Listener> energy::open_listener(const ListenerContext& context, SeriesTable& table,
                                                OpenEvent open_event) {
  auto listener = std::make_unique<EnergyListener>(context.root, table, open_event);
  if (listener->empty()) return nullptr;
  return listener;
}

std::unique_ptr<Listener> open_energy_listener(const ListenerContext& context, SeriesTable& table) {
  return energy::open_listener(context, table, energy::open_power_event);
}

}  // namespace corral::collect
