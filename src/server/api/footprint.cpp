// GET /runs/{run}/footprint: the energy of a run, and what it used of what it was given
// (docs/analysis.md).
#include "analyze/footprint/footprint.h"

#include "core/json.h"
#include "server/api/handlers.h"
#include "server/api/late.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

using analyze::EnergyPart;
using analyze::Footprint;

Parsed<analyze::FootprintOptions> read_footprint_options(const Request& request) {
  const TimeEnds ends = TRY_PARSED(query_times(request));
  if (ends.from && ends.to && *ends.from >= *ends.to)
    return bad_query(request, "to_ns", "later than from_ns");
  return analyze::FootprintOptions{.from = ends.from, .to = ends.to};
}

void write_energy_window(JsonWriter& json, const analyze::Window& window) {
  write_time(json, "from_ns", window.from);
  write_time(json, "to_ns", window.to);
}

void write_energy_gap(JsonWriter& json, const analyze::EnergyGap& gap) {
  json.begin_object();
  write_energy_window(json, gap.window);
  json.member("missing_s", gap.missing_s).end_object();
}

void write_split(JsonWriter& json, const EnergyPart& part) {
  json.key("split");
  if (part.split) {
    json.begin_object().member("joules", part.split->joules).member("share", part.split->share);
    json.member("method", "modelled").member("by", part.split->by);
    write_optional(json, "idle_w", part.split->idle_w);
    json.end_object();
  } else {
    json.null();
  }
  write_text(json, "unsplit", part.unsplit);
}

void write_energy_part(JsonWriter& json, const EnergyPart& part) {
  json.begin_object().member("component", analyze::component_name(part.component));
  json.member("source", part.source).member("joules", part.joules);
  json.member("method", analyze::energy_method_name(part.method)).member("metric", part.metric);
  json.member("coverage", part.coverage);
  write_array(json, "gaps", part.gaps, write_energy_gap);
  json.key("by_power");
  if (part.other) {
    json.begin_object().member("metric", part.other->metric).member("joules", part.other->joules);
    json.member("difference", part.other->difference).end_object();
  } else {
    json.null();
  }
  write_split(json, part);
  json.end_object();
}

void write_unit_energy(JsonWriter& json, const analyze::UnitEnergy& one) {
  json.begin_object().member("unit", one.unit.name);
  write_optional(json, "count", one.unit.count);
  write_optional(json, "joules", one.joules);
  write_text(json, "from", one.unit.count ? one.unit.from : "");
  write_text(json, "reason", one.unit.count ? "" : one.unit.from);
  json.end_object();
}

void write_prices(JsonWriter& json, const Footprint& found) {
  const analyze::EnergyPrices& prices = found.prices;
  write_optional(json, "pue", prices.pue);
  write_optional(json, "kwh", found.kwh);
  json.key("emissions");
  if (found.grams) {
    json.begin_object().member("co2e_g", *found.grams);
    write_optional(json, "intensity_g_per_kwh", prices.intensity_g_per_kwh);
    write_text(json, "intensity_source", prices.intensity_source);
    write_optional(json, "intensity_year", prices.intensity_year);
    json.end_object();
  } else {
    json.null();
  }
  json.key("cost");
  if (found.cost) {
    json.begin_object().member("total", found.cost->total());
    write_text(json, "currency", prices.currency);
    write_optional(json, "energy", found.cost->energy);
    write_optional(json, "time", found.cost->time);
    write_optional(json, "price_per_kwh", prices.price_per_kwh);
    write_optional(json, "price_per_hour", prices.price_per_hour);
    json.end_object();
  } else {
    json.null();
  }
}

void write_efficiency(JsonWriter& json, const analyze::Efficiency& found) {
  json.key("efficiency").begin_object();
  write_array(json, "devices", found.devices, [](JsonWriter& out, const auto& device) {
    out.begin_object().member("source", device.source).member("hours", device.hours);
    write_optional(out, "activity", device.activity);
    write_text(out, "metric", device.metric);
    write_optional(out, "idle_hours", device.idle_hours);
    out.end_object();
  });
  json.key("cpus").begin_object();
  write_optional(json, "allowed", found.cpus_allowed);
  write_optional(json, "used", found.cpus_used);
  json.end_object().key("memory").begin_object();
  write_optional(json, "peak_bytes", found.memory_peak);
  write_optional(json, "limit_bytes", found.memory_limit);
  write_text(json, "metric", found.memory_metric);
  json.end_object();
  write_array(json, "profile", found.profile, [](JsonWriter& out, const auto& one) {
    out.begin_object().member("name", one.name);
    write_text(out, "source", one.source);
    write_optional(out, "value", one.value);
    out.member("unit", one.unit);
    write_text(out, "metric", one.value ? one.metric : "");
    write_text(out, "reason", one.reason);
    out.end_object();
  });
  json.end_object();
}

Response written_footprint(const store::Run& run, const Footprint& found) {
  return object_response([&](JsonWriter& json) {
    json.member("run", run.id.hex());
    write_energy_window(json, found.window);
    json.member("provisional", found.provisional).member("summary", found.summary);
    write_array(json, "warnings", found.warnings,
                [](JsonWriter& out, const std::string& text) { out.value(text); });
    write_optional(json, "joules", found.joules);
    json.member("modelled", found.modelled);
    write_optional(json, "coverage", found.joules ? std::optional(found.coverage) : std::nullopt);
    write_array(json, "parts", found.parts, write_energy_part);
    write_array(json, "missing", found.missing, [](JsonWriter& out, const auto& one) {
      out.begin_object().member("component", analyze::component_name(one.first));
      out.member("reason", one.second).end_object();
    });
    write_array(json, "units", found.units, write_unit_energy);
    write_prices(json, found);
    write_efficiency(json, found.efficiency);
  });
}

}  // namespace

Answer footprint(const Request& request, Context& context) {
  const analyze::FootprintOptions options = TRY_PARSED(read_footprint_options(request));
  const RunId id = TRY(requested_run(request, context));
  const auto make = [&context, id, options](const Left& left) -> Answer {
    analyze::FootprintOptions wanted = options;
    wanted.left = left;
    const auto counted = TRY(counted_units(context, id));
    wanted.known_units = counted.get();
    const store::Run run = TRY(read_run(context.reader, id));
    return written_footprint(run, TRY(analyze::find_footprint(context.reader, run, wanted)));
  };
  return late_answer(request, context, id, make);
}

}  // namespace corral::server::api
