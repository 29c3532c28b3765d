#include "analyze/footprint/footprint.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "analyze/footprint/split.h"
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

std::string_view label(Component component) {
  constexpr std::array<std::string_view, 4> kLabels = {"GPU", "CPU", "DRAM", "platform"};
  return kLabels.at(static_cast<std::size_t>(component));
}

std::set<std::string> whole_devices(const FootprintData& data) {
  std::set<std::string> devices;
  for (const std::string& source : devices_of_run(data)) devices.insert(whole_device(source));
  return devices;
}

std::vector<EnergyPart> measure_parts(const FootprintData& data,
                                      const std::set<std::string>& devices) {
  if (window_seconds(data.window) < kShortestFootprint) return {};
  std::vector<ColumnSeries> series = data.series;
  std::erase_if(series, [&](const ColumnSeries& one) {
    return one.metric.starts_with("host.gpu.") && !devices.contains(one.source);
  });
  std::vector<EnergyPart> parts = measure_energy(series, data.window);
  split_energy(data, parts);
  return parts;
}

void name_missing(const FootprintData& data, bool has_devices, Footprint& found) {
  for (const auto& [component, metric] : {std::pair(Component::kGpu, "host.gpu.energy"),
                                          std::pair(Component::kCpu, "host.energy.package"),
                                          std::pair(Component::kDram, "host.energy.dram")}) {
    if (std::ranges::find(found.parts, component, &EnergyPart::component) != found.parts.end())
      continue;
    std::string reason = data.means.why_not(metric);
    if (window_seconds(data.window) < kShortestFootprint) {
      reason = "the time is shorter than 1 s";
    } else if (component == Component::kGpu && !has_devices) {
      reason = "no GPU is known to be the run's";
    }
    found.missing.emplace_back(component, std::move(reason));
  }
}

void add_up(const FootprintData& data, Footprint& found) {
  double joules = 0, coverage = 1;
  bool some = false;
  for (const EnergyPart& part : found.parts) {
    if (part.component == Component::kPlatform) continue;
    joules += part.run_joules();
    coverage = std::min(coverage, part.coverage);
    found.modelled = found.modelled || part.split;
    some = true;
  }
  if (some && std::isfinite(joules)) {
    found.joules = joules;
    found.coverage = coverage;
  }
  for (const WorkUnit& unit : data.units) {
    UnitEnergy one{.unit = unit, .joules = std::nullopt};
    if (found.joules && unit.count) one.joules = *found.joules / *unit.count;
    found.units.push_back(std::move(one));
  }
}

void apply_prices(Footprint& found) {
  const Priced priced =
      price_of(found.prices, found.joules, window_seconds(found.window) / kSecondsPerHour);
  found.kwh = priced.kwh;
  found.grams = priced.grams;
  if (priced.cost.energy || priced.cost.time) found.cost = priced.cost;
}

void warn(const FootprintData& data, Footprint& found) {
  for (const EnergyPart& part : found.parts) {
    const std::string name = fmt::format("{} {}", label(part.component), printable(part.source));
    if (part.coverage < kLeastEnergyCover)
      found.warnings.push_back(
          fmt::format("{:.3g} % of the time has no readings of {}: its energy is not included.",
                      100 * (1 - part.coverage), name));
    if (part.other && std::abs(part.other->difference) > kMethodsAgree)
      found.warnings.push_back(fmt::format("Integrated power of {} is {:.3g} % {} its counter.",
                                           name, 100 * std::abs(part.other->difference),
                                           part.other->difference > 0 ? "above" : "below"));
    if (part.component == Component::kGpu && part.method == EnergyMethod::kPower &&
        std::ranges::find(data.module_gpus, part.source) != data.module_gpus.end())
      found.warnings.push_back(
          fmt::format("The power of {} is its module's, CPU and GPU together.", name));
  }
  std::set<std::string> whole;
  for (const EnergyPart& part : found.parts)
    if (!part.split && (part.component == Component::kCpu || part.component == Component::kDram))
      whole.insert(std::string(label(part.component)));
  if (!whole.empty())
    found.warnings.push_back(
        fmt::format("The energy of {} is the whole host's, other programs included.",
                    join(std::vector<std::string>(whole.begin(), whole.end()), " and ")));
  if (data.neighbours_left_out > 0)
    found.warnings.push_back(fmt::format("{} more runs were on the host; they are not counted.",
                                         data.neighbours_left_out));
}

std::string summarize_energy(const Footprint& found) {
  if (!found.joules) return "The energy of the run was not measured.";
  std::vector<std::string> texts;
  for (const Component component : {Component::kGpu, Component::kCpu, Component::kDram}) {
    double joules = 0;
    bool some = false, modelled = false;
    for (const EnergyPart& part : found.parts) {
      if (part.component != component) continue;
      joules += part.run_joules();
      some = true;
      modelled = modelled || part.split;
    }
    if (some)
      texts.push_back(fmt::format("{} {}{}", joules_text(joules), label(component),
                                  modelled ? " (modelled)" : ""));
  }
  return fmt::format("{}: {}, measured in {:.3g} % of the time.", joules_text(*found.joules),
                     join(texts, ", "), 100 * found.coverage);
}

}  // namespace

Priced price_of(const EnergyPrices& prices, std::optional<double> joules, double hours) {
  Priced priced;
  if (joules) priced.kwh = *joules / kJoulesPerKwh * prices.pue.value_or(1);
  if (priced.kwh && prices.intensity_g_per_kwh)
    priced.grams = *priced.kwh * *prices.intensity_g_per_kwh;
  if (priced.kwh && prices.price_per_kwh) priced.cost.energy = *priced.kwh * *prices.price_per_kwh;
  if (prices.price_per_hour) priced.cost.time = hours * *prices.price_per_hour;
  return priced;
}

Footprint make_footprint(const FootprintData& data) {
  const std::set<std::string> devices = whole_devices(data);
  Footprint found;
  found.window = data.window;
  found.prices = data.prices;
  found.parts = measure_parts(data, devices);
  name_missing(data, !devices.empty(), found);
  add_up(data, found);
  apply_prices(found);
  found.efficiency = find_efficiency(data);
  warn(data, found);
  found.summary = summarize_energy(found);
  return found;
}

Result<Footprint> find_footprint(const store::Reader& store, const store::Run& run,
                                 const FootprintOptions& options) {
  const UtcTime end = run.end.value_or(run.newest);
  const Window window{.from = std::max(run.start, options.from.value_or(run.start)),
                      .to = std::min(end, options.to.value_or(end))};
  if ((options.from || options.to) && window.from >= window.to)
    return fail(Code::kInvalidArgument,
                "the time of the footprint is empty: it ends before it begins");
  FootprintData data = TRY(read_footprint_data(store, run,
                                               {.window = window,
                                                .left = options.left,
                                                .units = options.units,
                                                .known_units = options.known_units}));
  Footprint found = make_footprint(data);
  found.provisional = !run.end;
  return found;
}

}  // namespace corral::analyze
