#include "analyze/footprint/split.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "analyze/footprint/efficiency.h"
#include "core/text.h"

namespace corral::analyze {
namespace {

using query::IntegralCell;

// If less of the CPU time was recorded, it says too little.
constexpr double kLeastCpuCover = 0.95;

// "3g.20gb" -> 3; 0: not a profile.
double slices_of(std::string_view profile) {
  const auto slices = parse_int(profile.substr(0, profile.find('g')));
  return slices && *slices > 0 && *slices <= 8 ? static_cast<double>(*slices) : 0;
}

bool contains(const Window& window, double ns) {
  return ns >= static_cast<double>(ns_of(window.from)) &&
         ns < static_cast<double>(ns_of(window.to));
}

class Splitter {
 public:
  explicit Splitter(const FootprintData& data) : data_(data), own_(devices_of_run(data)) {
    const double width = window_seconds(data.window) * 1e9 / kEnergyColumns;
    for (std::size_t i = 0; i < kEnergyColumns; ++i)
      middles_.push_back(static_cast<double>(ns_of(data.window.from)) +
                         width * (static_cast<double>(i) + 0.5));
  }

  void split_gpu(EnergyPart& part) const {
    const bool instances = std::ranges::any_of(own_, [&](const std::string& source) {
      return source != part.source && whole_device(source) == part.source;
    });
    const std::vector<DeviceUser> users =
        instances ? instances_of(part.source, part.unsplit) : runs_on(part.source);
    if (users.size() < 2) return;
    part.split = split_by(part, device_shares(users),
                          instances ? "SM activity × slices" : "SM use of its processes");
  }

  void split_package(EnergyPart& part) const {
    const double least = kLeastCpuCover * window_seconds(data_.window);
    const CpuUse use{.run = find_columns(data_.series, "run.cpu.used", ""),
                     .host = find_columns(data_.series, "host.cpu.busy", ""),
                     .allocated = {}};
    const auto idle = [&]() -> std::optional<double> {
      if (!data_.idle) return std::nullopt;
      for (const auto& [source, watts] : data_.idle->watts)
        if (source == part.source) return watts;
      return std::nullopt;
    }();
    if (!idle) {
      part.unsplit = "the host's idle power is unknown";
    } else if (use.run == nullptr || use.run->total().covered < least) {
      part.unsplit = "run.cpu.used is missing";
    } else if (use.host == nullptr || use.host->total().covered < least) {
      part.unsplit = "host.cpu.busy is missing";
    } else if (data_.host_cpus <= 0) {
      part.unsplit = "the number of CPUs was not recorded";
    } else {
      part.split = split_by_cpu_time(
          part, {.run = use.run, .host = use.host, .allocated = allocated_cpus()}, *idle);
    }
  }

 private:
  [[nodiscard]] double slices_of_instance(const std::string& source) const {
    const auto look = [&](const std::vector<GivenDevice>& devices) {
      const auto found = std::ranges::find(devices, source, &GivenDevice::source);
      return found == devices.end() ? 0.0 : slices_of(found->profile);
    };
    double slices = look(data_.devices);
    for (const EnergyNeighbour& other : data_.neighbours)
      if (slices == 0) slices = look(other.devices);
    return slices;
  }

  // All instances of the device; none, with the reason, if the slices of one are not known.
  std::vector<DeviceUser> instances_of(const std::string& device, std::string& unsplit) const {
    std::vector<DeviceUser> users;
    for (const ColumnSeries& series : data_.series) {
      if (series.metric != "host.gpu.mig.sm.active" || whole_device(series.source) != device)
        continue;
      DeviceUser user{.mine = std::ranges::find(own_, series.source) != own_.end(),
                      .size = slices_of_instance(series.source),
                      .present = std::vector<bool>(series.cells.size(), true),
                      .use = {}};
      if (user.size <= 0) {
        unsplit = fmt::format("the slices of {} were not recorded", series.source);
        return {};
      }
      for (const query::IntegralCell& cell : series.cells)
        user.use.push_back(cell.covered > 0 ? std::optional(cell.mean() * user.size)
                                            : std::nullopt);
      users.push_back(std::move(user));
    }
    if (std::ranges::none_of(users, &DeviceUser::mine)) {
      unsplit = "host.gpu.mig.sm.active of the run's instance was not recorded";
      users.clear();
    }
    return users;
  }

  [[nodiscard]] DeviceUser user_of(std::span<const ColumnSeries> series, const std::string& device,
                                   const Window* given) const {
    const ColumnSeries* processes = find_columns(series, "run.gpu.processes", device);
    const ColumnSeries* busy = find_columns(series, "run.gpu.busy", device);
    DeviceUser user;
    for (std::size_t i = 0; i < kEnergyColumns; ++i) {
      const bool runs = processes != nullptr && processes->cells[i].integral > 0;
      user.present.push_back(
          runs || (processes == nullptr && given != nullptr && contains(*given, middles_[i])));
      const bool known = busy != nullptr && busy->cells[i].covered > 0;
      user.use.push_back(known ? std::optional(busy->cells[i].mean()) : std::nullopt);
    }
    return user;
  }

  // This run, and those that used the device beside it.
  [[nodiscard]] std::vector<DeviceUser> runs_on(const std::string& device) const {
    const auto has = [&](const std::vector<GivenDevice>& devices) {
      return std::ranges::find(devices, device, &GivenDevice::source) != devices.end();
    };
    std::vector<DeviceUser> users;
    users.push_back(user_of(data_.series, device, has(data_.devices) ? &data_.window : nullptr));
    users.front().mine = true;
    for (const EnergyNeighbour& other : data_.neighbours) {
      DeviceUser user = user_of(other.series, device, has(other.devices) ? &other.time : nullptr);
      if (std::ranges::find(user.present, true) != user.present.end())
        users.push_back(std::move(user));
    }
    return users;
  }

  // The run's part of the host's CPUs, each of which the runs beside it may use, too.
  [[nodiscard]] std::vector<double> allocated_cpus() const {
    std::vector<double> parts;
    const double mine = data_.cpus > 0 ? data_.cpus : data_.host_cpus;
    for (const double middle : middles_) {
      double wanted = mine;
      for (const EnergyNeighbour& other : data_.neighbours)
        if (contains(other.time, middle)) wanted += other.cpus > 0 ? other.cpus : data_.host_cpus;
      parts.push_back(mine / std::max(wanted, data_.host_cpus));
    }
    return parts;
  }

  const FootprintData& data_;
  std::vector<std::string> own_;  // devices and instances of the run
  std::vector<double> middles_;   // by column, ns
};

}  // namespace

std::vector<double> device_shares(std::span<const DeviceUser> users) {
  std::vector<double> shares;
  if (users.empty()) return shares;
  for (std::size_t i = 0; i < users.front().present.size(); ++i) {
    double used = 0, mine_used = 0, size = 0, mine_size = 0;
    bool known = true;
    for (const DeviceUser& user : users) {
      if (!user.present[i]) continue;
      size += user.size;
      known = known && user.use[i];
      const double use = std::max(0.0, user.use[i].value_or(0));
      used += use;
      if (!user.mine) continue;
      mine_size += user.size;
      mine_used += use;
    }
    if (size <= 0) {
      shares.push_back(1);  // nobody: it is there for this run
    } else {
      shares.push_back(known && used > 0 ? mine_used / used : mine_size / size);
    }
  }
  return shares;
}

EnergySplit split_by(const EnergyPart& part, std::span<const double> share, std::string by) {
  EnergySplit split{.by = std::move(by)};
  for (std::size_t i = 0; i < std::min(part.cells.size(), share.size()); ++i)
    split.joules += part.cells[i].integral * share[i];
  split.share = part.joules > 0 ? split.joules / part.joules : 0;
  return split;
}

EnergySplit split_by_cpu_time(const EnergyPart& part, const CpuUse& use, double idle_w) {
  EnergySplit split{.by = "CPU time", .idle_w = idle_w};
  for (std::size_t i = 0; i < part.cells.size(); ++i) {
    const IntegralCell& cell = part.cells[i];
    const IntegralCell& busy = use.host->cells[i];
    // Both clocks tick differently: a short column may show more for the run than for the host.
    const double share =
        busy.integral > 0 ? std::clamp(use.run->cells[i].integral / busy.integral, 0.0, 1.0) : 0;
    const double idle = std::min(idle_w * cell.covered, cell.integral);
    split.joules += (cell.integral - idle) * share + idle * use.allocated[i];
  }
  split.share = part.joules > 0 ? split.joules / part.joules : 0;
  return split;
}

void split_energy(const FootprintData& data, std::vector<EnergyPart>& parts) {
  const Splitter splitter(data);
  for (EnergyPart& part : parts) {
    if (part.component == Component::kGpu) splitter.split_gpu(part);
    if (part.component == Component::kCpu) splitter.split_package(part);
  }
}

}  // namespace corral::analyze
