#include "analyze/footprint/footprint.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "core/text.h"
#include "core/time.h"

namespace corral::analyze {
namespace {

constexpr double kJoulesPerKwh = 3.6e6;
// NVIDIA's listener reports the same difference (docs/metrics.md).
constexpr double kMethodsAgree = 0.1;

std::string joules_text(double joules) {
  if (joules >= 1e6) return fmt::format("{:.3g} MJ", joules * 1e-6);
  if (joules >= 1e3) return fmt::format("{:.3g} kJ", joules * 1e-3);
  return fmt::format("{:.3g} J", joules);
}

bool is_whole_run(Component component) { return component != Component::kPlatform; }

// "3g.20gb" -> 3; 0: not a profile.
double slices_of(std::string_view profile) {
  const auto slices = parse_int(profile.substr(0, profile.find('g')));
  return slices && *slices > 0 && *slices <= 8 ? static_cast<double>(*slices) : 0;
}

class FootprintMaker {
 public:
  explicit FootprintMaker(const FootprintData& data) : data_(data), own_(devices_of_run(data)) {
    for (const std::string& source : own_) devices_.insert(whole_device(source));
    for (std::size_t i = 0; i < kEnergyColumns; ++i)
      middles_.push_back(static_cast<double>(ns_of(data.window.from)) +
                         window_seconds(data.window) * 1e9 * (static_cast<double>(i) + 0.5) /
                             kEnergyColumns);
  }

  Footprint make() && {
    found_.window = data_.window;
    found_.prices = data_.prices;
    if (window_seconds(data_.window) >= kShortestFootprint) {
      found_.parts = measure_energy(relevant_series(), data_.window);
      for (EnergyPart& part : found_.parts) split(part);
    }
    name_missing();
    add_up();
    apply_prices();
    found_.efficiency = find_efficiency(data_);
    warn();
    summarize();
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::vector<ColumnSeries> relevant_series() const {
    std::vector<ColumnSeries> series = data_.series;
    std::erase_if(series, [&](const ColumnSeries& one) {
      return one.metric.starts_with("host.gpu.") && !devices_.contains(one.source);
    });
    return series;
  }

  // ---- whose it is
  void split(EnergyPart& part) {
    if (part.component == Component::kGpu) split_gpu(part);
    if (part.component == Component::kCpu) split_package(part);
  }

  void split_gpu(EnergyPart& part) {
    const bool instances = std::ranges::any_of(own_, [&](const std::string& source) {
      return source != part.source && whole_device(source) == part.source;
    });
    const std::vector<DeviceUser> users =
        instances ? instances_of(part.source, part.unsplit) : runs_on(part.source);
    if (users.size() < 2) return;
    part.split = split_by(part, device_shares(users),
                          instances ? "SM activity × slices" : "SM use of its processes");
  }

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

  static bool contains(const Window& window, double ns) {
    return ns >= static_cast<double>(ns_of(window.from)) &&
           ns < static_cast<double>(ns_of(window.to));
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

  void split_package(EnergyPart& part) const {
    const double least = kLeastEnergyCover * window_seconds(data_.window);
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

  // ---- sums
  void name_missing() {
    for (const auto& [component, metric] : {std::pair(Component::kGpu, "host.gpu.energy"),
                                            std::pair(Component::kCpu, "host.energy.package"),
                                            std::pair(Component::kDram, "host.energy.dram")}) {
      if (std::ranges::find(found_.parts, component, &EnergyPart::component) != found_.parts.end())
        continue;
      std::string reason = data_.means.why_not(metric);
      if (window_seconds(data_.window) < kShortestFootprint) {
        reason = "the time is shorter than 1 s";
      } else if (component == Component::kGpu && devices_.empty()) {
        reason = "no GPU is known to be the run's";
      }
      found_.missing.emplace_back(component, std::move(reason));
    }
  }

  void add_up() {
    double joules = 0, coverage = 1;
    bool some = false;
    for (const EnergyPart& part : found_.parts) {
      if (!is_whole_run(part.component)) continue;
      joules += part.run_joules();
      coverage = std::min(coverage, part.coverage);
      found_.modelled = found_.modelled || part.split;
      some = true;
    }
    if (some && std::isfinite(joules)) {
      found_.joules = joules;
      found_.coverage = coverage;
    }
    for (const WorkUnit& unit : data_.units) {
      UnitEnergy one{.unit = unit, .joules = std::nullopt};
      if (found_.joules && unit.count) one.joules = *found_.joules / *unit.count;
      found_.units.push_back(std::move(one));
    }
  }

  void apply_prices() {
    const EnergyPrices& prices = data_.prices;
    if (found_.joules) found_.kwh = *found_.joules / kJoulesPerKwh * prices.pue.value_or(1);
    if (found_.kwh && prices.intensity_g_per_kwh)
      found_.grams = *found_.kwh * *prices.intensity_g_per_kwh;
    EnergyCost cost;
    if (found_.kwh && prices.price_per_kwh) cost.energy = *found_.kwh * *prices.price_per_kwh;
    if (prices.price_per_hour)
      cost.time = window_seconds(data_.window) / 3600 * *prices.price_per_hour;
    if (cost.energy || cost.time) found_.cost = cost;
  }

  // ---- sentences
  void warn() {
    for (const EnergyPart& part : found_.parts) {
      const std::string name =
          fmt::format("{} {}", label(part.component), printable(part.source));
      if (part.coverage < kLeastEnergyCover)
        found_.warnings.push_back(
            fmt::format("{:.3g} % of the time has no readings of {}: its energy is not included.",
                        100 * (1 - part.coverage), name));
      if (part.other && std::abs(part.other->difference) > kMethodsAgree)
        found_.warnings.push_back(fmt::format("Integrated power of {} is {:.3g} % {} its counter.",
                                              name, 100 * std::abs(part.other->difference),
                                              part.other->difference > 0 ? "above" : "below"));
      if (part.component == Component::kGpu &&
          std::ranges::find(data_.module_gpus, part.source) != data_.module_gpus.end())
        found_.warnings.push_back(
            fmt::format("The energy of {} is the module's, CPU and GPU together.", name));
    }
    std::set<std::string> whole;
    for (const EnergyPart& part : found_.parts)
      if (!part.split && (part.component == Component::kCpu || part.component == Component::kDram))
        whole.insert(std::string(label(part.component)));
    if (!whole.empty())
      found_.warnings.push_back(
          fmt::format("The energy of {} is the whole host's, other programs included.",
                      join(std::vector<std::string>(whole.begin(), whole.end()), " and ")));
    if (data_.neighbours_left_out > 0)
      found_.warnings.push_back(fmt::format("{} more runs were on the host; they are not counted.",
                                            data_.neighbours_left_out));
  }

  void summarize() {
    if (!found_.joules) {
      found_.summary = "The energy of the run was not measured.";
      return;
    }
    std::vector<std::string> texts;
    for (const Component component : {Component::kGpu, Component::kCpu, Component::kDram}) {
      double joules = 0;
      bool some = false, modelled = false;
      for (const EnergyPart& part : found_.parts) {
        if (part.component != component) continue;
        joules += part.run_joules();
        some = true;
        modelled = modelled || part.split;
      }
      if (some)
        texts.push_back(fmt::format("{} {}{}", joules_text(joules), label(component),
                                    modelled ? " (modelled)" : ""));
    }
    found_.summary =
        fmt::format("{}: {}, measured in {:.3g} % of the time.", joules_text(*found_.joules),
                    join(texts, ", "), 100 * found_.coverage);
  }

  static std::string_view label(Component component) {
    constexpr std::array<std::string_view, 4> kLabels = {"GPU", "CPU", "DRAM", "platform"};
    return kLabels.at(static_cast<std::size_t>(component));
  }

  const FootprintData& data_;
  std::vector<std::string> own_;   // devices and instances of the run
  std::set<std::string> devices_;  // whole ones
  std::vector<double> middles_;    // of the columns, ns
  Footprint found_;
};

}  // namespace

Footprint make_footprint(const FootprintData& data) { return FootprintMaker(data).make(); }

Result<Footprint> find_footprint(const store::Reader& store, const store::Run& run,
                                 const FootprintOptions& options) {
  const UtcTime end = run.end.value_or(run.newest);
  const Window window{.from = std::max(run.start, options.from.value_or(run.start)),
                      .to = std::min(end, options.to.value_or(end))};
  if ((options.from || options.to) && window.from >= window.to)
    return fail(Code::kInvalidArgument,
                "the time of the footprint is empty: it ends before it begins");
  FootprintData data = TRY(read_footprint_data(store, run, window));
  Footprint found = make_footprint(data);
  found.provisional = !run.end;
  return found;
}

}  // namespace corral::analyze
