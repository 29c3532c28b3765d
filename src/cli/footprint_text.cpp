#include "cli/footprint_text.h"

#include <fmt/core.h>

#include <map>

#include "cli/answers.h"
#include "core/text.h"

namespace corral::cli {
namespace {

std::string percent(const Json& share) { return fmt::format("{:.3g} %", 100 * share.as_double(0)); }

std::string label_of(const std::string& component) {
  return component == "platform" ? "platform (apart)"
         : component == "dram"   ? "DRAM"
         : component == "gpu"    ? "GPU"
                                 : "CPU";
}

std::vector<std::string> sensor_row(const Json& part) {
  const Json& split = member(part, "split");
  const bool apart = part.get_string("component") == "platform";
  const std::string whole = with_unit(member(part, "joules").as_double(0), "J");
  return {label_of(part.get_string("component")),
          printable(part.get_string("source")),
          part.get_string("method") == "counter" ? "counter" : "power integrated",
          percent(member(part, "coverage")),
          whole,
          apart             ? "–"
          : split.is_null() ? (part.get_string("unsplit").empty()
                                   ? whole
                                   : fmt::format("{} (not split: {})", whole,
                                                 printable(part.get_string("unsplit"))))
                            : fmt::format("{} (modelled, by {})",
                                          with_unit(member(split, "joules").as_double(0), "J"),
                                          split.get_string("by"))};
}

// Components without an energy, by reason: "CPU, DRAM (no RAPL counters here)".
std::string missing_text(const Json& found) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const Json& one : items(found, "missing")) {
    const std::string reason = printable(one.get_string("reason"));
    if (reasons.empty() || reasons.back().first != reason) reasons.push_back({reason, {}});
    reasons.back().second.push_back(label_of(one.get_string("component")));
  }
  std::vector<std::string> texts;
  texts.reserve(reasons.size());
  for (const auto& [reason, components] : reasons)
    texts.push_back(fmt::format("{} ({})", join(components, ", "), reason));
  return texts.empty() ? "" : "not measured: " + join(texts, "; ");
}

std::string unit_text(const Json& one) {
  const std::string unit = one.get_string("unit");
  if (member(one, "joules").is_null())
    return fmt::format("per {}: not available: {}", unit,
                       member(one, "count").is_null() ? one.get_string("reason") : "no energy");
  return fmt::format("per {}: {} ({:.0f} {}s, from {})", unit,
                     with_unit(member(one, "joules").as_double(0), "J"),
                     member(one, "count").as_double(0), unit, printable(one.get_string("from")));
}

std::string cost_text(const Json& cost) {
  std::vector<std::string> parts;
  for (const auto& [name, price] :
       {std::pair("energy", "price_per_kwh"), std::pair("time", "price_per_hour")}) {
    if (member(cost, price).is_null()) continue;
    const Json& part = member(cost, name);
    parts.push_back(part.is_null() ? fmt::format("{} not measured", name)
                                   : fmt::format("{} {:.4g}", name, part.as_double(0)));
  }
  return fmt::format("{:.4g} {} ({})", member(cost, "total").as_double(0),
                     printable(cost.get_string("currency")), join(parts, ", "));
}

void add_prices(const Json& found, std::vector<std::string>& lines) {
  const Json& pue = member(found, "pue");
  const std::string energy =
      fmt::format("{:.4g} kWh, {}", member(found, "kwh").as_double(0),
                  pue.is_null() ? "without a PUE" : fmt::format("PUE {:g}", pue.as_double(1)));
  if (const Json& emissions = member(found, "emissions"); !emissions.is_null())
    lines.push_back(fmt::format("{:.4g} g CO2e: {}, {:g} g/kWh ({}, {:.0f})",
                                member(emissions, "co2e_g").as_double(0), energy,
                                member(emissions, "intensity_g_per_kwh").as_double(0),
                                printable(emissions.get_string("intensity_source")),
                                member(emissions, "intensity_year").as_double(0)));
  if (const Json& cost = member(found, "cost"); !cost.is_null()) lines.push_back(cost_text(cost));
}

std::string device_text(const Json& device) {
  std::string text = fmt::format("{}: {:.3g} device hours", printable(device.get_string("source")),
                                 member(device, "hours").as_double(0));
  if (member(device, "activity").is_null()) return text + ", their use was not recorded";
  const bool busy = device.get_string("metric") == "host.gpu.busy";
  return text + fmt::format(", {} {}, {:.3g} h idle", percent(member(device, "activity")),
                            busy ? "utilization (how often, not how much)" : "SM activity",
                            member(device, "idle_hours").as_double(0));
}

// "profile of gpu0: gpu_memory_peak 4.1 GiB, sm_active 80 %; not available: sm_occupancy (…)"
std::string profile_line(const Json& found, const std::string& source) {
  std::vector<std::string> values;
  std::map<std::string, std::vector<std::string>> missing;  // by reason
  for (const Json& one : items(found, "profile")) {
    if (one.get_string("source") != source) continue;
    const std::string name = one.get_string("name"), unit = one.get_string("unit");
    const Json& value = member(one, "value");
    if (value.is_null()) {
      missing[printable(one.get_string("reason"))].push_back(name);
    } else {
      values.push_back(name + " " +
                       (unit == "share" ? percent(value) : with_unit(value.as_double(0), unit)));
    }
  }
  std::string text = join(values, ", ");
  for (const auto& [reason, names] : missing)
    text += fmt::format("{}not available: {} ({})", text.empty() ? "" : "; ", join(names, ", "),
                        reason);
  return fmt::format("profile{}: {}", source.empty() ? "" : " of " + printable(source), text);
}

std::vector<std::string> efficiency_lines(const Json& found) {
  std::vector<std::string> lines;
  for (const Json& device : items(found, "devices")) lines.push_back(device_text(device));
  const Json& cpus = member(found, "cpus");
  if (!member(cpus, "used").is_null())
    lines.push_back(fmt::format("CPUs: {:.3g} used of {}", member(cpus, "used").as_double(0),
                                member(cpus, "allowed").is_null()
                                    ? "an unknown number"
                                    : fmt::format("{:g}", member(cpus, "allowed").as_double(0))));
  const Json& memory = member(found, "memory");
  if (!member(memory, "peak_bytes").is_null())
    lines.push_back(fmt::format("memory: peak {} of {}",
                                with_unit(member(memory, "peak_bytes").as_double(0), "B"),
                                member(memory, "limit_bytes").is_null()
                                    ? "an unknown limit"
                                    : with_unit(member(memory, "limit_bytes").as_double(0), "B")));
  // CPUs and memory are above; without a GPU there is no more to say.
  for (const Json& device : items(found, "devices"))
    if (!items(found, "profile").empty())
      lines.push_back(profile_line(found, device.get_string("source")));
  return lines;
}

}  // namespace

FootprintText footprint_text(const Json& found) {
  FootprintText text;
  text.lines.push_back(printable(found.get_string("summary")));
  for (const Json& warning : items(found, "warnings"))
    if (warning.as_string() != nullptr) text.lines.push_back(printable(*warning.as_string()));
  if (std::string missing = missing_text(found); !missing.empty())
    text.lines.push_back(std::move(missing));
  text.head = {"ENERGY OF", "SENSOR", "METHOD", "MEASURED", "WHOLE", "OF THE RUN"};
  for (const Json& part : items(found, "parts")) text.rows.push_back(sensor_row(part));
  if (!member(found, "joules").is_null())
    for (const Json& one : items(found, "units")) text.units.push_back(unit_text(one));
  add_prices(found, text.units);
  text.efficiency = efficiency_lines(member(found, "efficiency"));
  return text;
}

}  // namespace corral::cli
