// The raw pairs of `corral bench listeners`, as JSON with the statistics and as CSV.
#include <fmt/core.h>

#include <cmath>
#include <thread>

#include "cli/bench_report.h"
#include "cli/version.h"
#include "core/json.h"

namespace corral::cli {
namespace {

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json json_of(const analyze::RatioInterval& i) {
  Json out{Json::Object{}};
  out.set("mean", number(i.mean));
  out.set("low", number(i.low));
  out.set("high", number(i.high));
  out.set("log_deviation", number(i.log_deviation));
  out.set("pairs", static_cast<std::int64_t>(i.pairs));
  return out;
}

Json json_of(const Summary& s) {
  Json out{Json::Object{}};
  out.set("name", s.setting->name);
  out.set("about", s.setting->about);
  out.set("peer", s.setting->is_peer());
  if (!s.setting->missing.empty()) out.set("not_available", s.setting->missing);
  out.set("pairs", static_cast<std::int64_t>(s.pairs));
  out.set("time", json_of(s.time));
  out.set("time_bootstrap", json_of(s.bootstrap));
  out.set("verdict", s.setting->missing.empty() ? Json(analyze::name_of(s.verdict)) : Json());
  out.set("pairs_wanted",
          s.pairs_wanted ? Json(static_cast<std::int64_t>(*s.pairs_wanted)) : Json());
  out.set("cpu", json_of(s.cpu));
  out.set("step_p99", json_of(s.step_p99));
  out.set("spread_off", number(s.spread_off));
  out.set("spread_on", number(s.spread_on));
  out.set("collecting_cores", s.collecting_cores);
  out.set("collecting_peak_bytes", s.collecting_peak_bytes);
  out.set("collecting_bytes_per_s", s.collecting_bytes_per_s);
  return out;
}

// One run under the names that both formats have.
Json::Object fields_of(const Bench& bench, const Pair& pair, bool on) {
  const OneRun& run = on ? *pair.on : *pair.off;
  const auto step = [&](double p) {
    const auto value = quantile_of(run.training.steps_s, p);
    return value ? Json(*value) : Json();
  };
  return {{"setting", bench.settings[pair.setting].name},
          {"pair", static_cast<std::int64_t>(pair.number)},
          {"side", on ? "on" : "off"},
          {"first", pair.on_first == on},
          {"began", iso_utc(run.began)},
          {"wall_s", run.training.wall_s},
          {"cpu_s", run.training.cpu_s},
          {"peak_bytes", run.training.peak_bytes},
          {"steps", static_cast<std::int64_t>(run.training.steps_s.size())},
          {"step_p50_s", step(0.5)},
          {"step_p99_s", step(0.99)},
          {"whole_s", run.whole_s},
          {"collecting_cpu_s", run.collecting_cpu_s},
          {"collecting_peak_bytes", run.collecting_peak_bytes},
          {"collecting_written_bytes", run.collecting_written_bytes}};
}

// Returns all runs in the order in which they were made.
std::vector<Json::Object> all_runs(const Bench& bench) {
  std::vector<Json::Object> runs;
  for (const Pair& pair : bench.pairs) {
    for (const bool on : {pair.on_first, !pair.on_first}) {
      if (on ? pair.on : pair.off) runs.push_back(fields_of(bench, pair, on));
    }
  }
  return runs;
}

}  // namespace

std::string bench_json(const Bench& bench) {
  Json out{Json::Object{}};
  out.set("corral", kVersion);
  out.set("began", iso_utc(bench.began));
  out.set("training", bench.training);
  Json::Array words(bench.command.begin(), bench.command.end());
  out.set("command", std::move(words));
  out.set("processors", static_cast<std::int64_t>(std::thread::hardware_concurrency()));
  out.set("load_before", bench.load_before);
  out.set("load_after", bench.load_after);
  out.set("seed", static_cast<std::int64_t>(bench.seed));
  out.set("margin", bench.margin);
  out.set("confidence", kConfidence);
  out.set("pairs_wanted", static_cast<std::int64_t>(bench.wanted_pairs));
  Json::Array settings;
  for (std::size_t i = 0; i < bench.settings.size(); ++i)
    settings.push_back(json_of(summarize(bench, i)));
  out.set("settings", std::move(settings));
  Json::Array runs;
  for (Json::Object& run : all_runs(bench)) runs.emplace_back(std::move(run));
  out.set("runs", std::move(runs));
  return out.dump();
}

std::string bench_csv(const Bench& bench) {
  std::string out;
  for (const Json::Object& run : all_runs(bench)) {
    if (out.empty()) {
      for (const auto& [name, value] : run) out += (out.empty() ? "" : ",") + name;
      out += "\n";
    }
    std::string line;
    for (const auto& [name, value] : run) {
      const std::string* text = value.as_string();
      line += line.empty() ? "" : ",";
      if (!value.is_null()) line += text != nullptr ? *text : value.dump();
    }
    out += line + "\n";
  }
  return out;
}

}  // namespace corral::cli
