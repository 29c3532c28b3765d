#include "cli/bench_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <thread>

#include "analyze/split_mix.h"
#include "cli/table.h"
#include "cli/version.h"
#include "core/json.h"
#include "core/text.h"

namespace corral::cli {
namespace {

using analyze::RatioInterval;
using RunValue = std::function<double(const OneRun&)>;

constexpr std::size_t kFewPairs = 30;

double step_p99(const OneRun& run) { return quantile(run.training.steps_s, 0.99).value_or(0); }

// Covers the setting's pairs in which both values are known.
std::vector<double> log_ratios(const Bench& bench, std::size_t setting, const RunValue& value) {
  std::vector<double> logs;
  for (const Pair& pair : bench.pairs) {
    if (pair.setting != setting || !pair.complete()) continue;
    const double off = value(*pair.off);
    const double on = value(*pair.on);
    if (off > 0 && on > 0) logs.push_back(std::log(on / off));
  }
  return logs;
}

double time_spread(const Bench& bench, std::size_t setting, bool on) {
  std::vector<double> logs;
  for (const Pair& pair : bench.pairs) {
    if (pair.setting != setting || !pair.complete()) continue;
    logs.push_back(std::log((on ? pair.on : pair.off)->training.wall_s));
  }
  return analyze::ratio_interval(logs, kConfidence).log_deviation;
}

void add_costs(const Bench& bench, std::size_t setting, Summary& out) {
  double cpu = 0;
  double wall = 0;
  double written = 0;
  for (const Pair& pair : bench.pairs) {
    if (pair.setting != setting || !pair.complete()) continue;
    ++out.pairs;
    wall += pair.on->training.wall_s;
    cpu += pair.on->collecting_cpu_s;
    written += static_cast<double>(pair.on->collecting_written_bytes);
    out.collecting_peak_bytes = std::max(out.collecting_peak_bytes, pair.on->collecting_peak_bytes);
  }
  if (wall <= 0) return;
  out.collecting_cores = cpu / wall;
  out.collecting_bytes_per_s = written / wall;
}

std::string percent(double ratio) {
  return std::isfinite(ratio) ? fmt::format("{:+.2f} %", (ratio - 1) * 100) : "–";
}
std::string range(const RatioInterval& i) {
  if (!std::isfinite(i.low)) return "–";
  return fmt::format("{:+.2f} to {:+.2f} %", (i.low - 1) * 100, (i.high - 1) * 100);
}

std::string verdict_text(const Bench& bench, const Summary& s) {
  const std::string margin = fmt::format("{:g} %", bench.margin * 100);
  if (!s.setting->missing.empty()) return "not available: " + s.setting->missing;
  if (s.verdict != analyze::Equivalence::kUndecided)
    return fmt::format("{} {}", analyze::name_of(s.verdict), margin);
  if (s.pairs < 2) return "undecided: too few pairs";
  if (!s.pairs_wanted) return "undecided: too close to the margin for any number of pairs";
  return fmt::format("undecided: needs about {} pairs", *s.pairs_wanted);
}

std::string jitter_text(const Summary& s) {
  if (s.step_p99.pairs > 0) return percent(s.step_p99.mean);
  if (s.pairs < 2) return "–";
  return fmt::format("{:.1f} → {:.1f} %", s.spread_off * 100, s.spread_on * 100);
}

std::vector<TableColumn> report_columns(const std::vector<Summary>& all) {
  const bool steps =
      std::ranges::any_of(all, [](const Summary& s) { return s.step_p99.pairs > 0; });
  return {{"", "SETTING"},
          {"", "PAIRS", true},
          {"", "TIME", true},
          {"", "90 % INTERVAL", true},
          {"", "VERDICT"},
          {"", "BOOTSTRAP", true},
          {"", "CPU OF TRAINING", true},
          {"", "COLLECTING", true},
          {"", "MEMORY", true},
          {"", "WRITTEN", true},
          {"", steps ? "P99 OF STEPS" : "SPREAD OFF → ON", true}};
}

std::vector<std::string> report_cells(const Bench& bench, const Summary& s) {
  const bool alone = s.setting->kind == Setting::Kind::kOff || s.pairs == 0;
  return {s.setting->name,
          std::to_string(s.pairs),
          percent(s.time.mean),
          range(s.time),
          verdict_text(bench, s),
          range(s.bootstrap),
          percent(s.cpu.mean),
          alone ? "–" : fmt::format("{:.2f} % of a core", s.collecting_cores * 100),
          alone ? "–" : human_bytes(static_cast<double>(s.collecting_peak_bytes)),
          alone ? "–" : human_bytes(s.collecting_bytes_per_s) + "/s",
          jitter_text(s)};
}

std::vector<Summary> summarize_all(const Bench& bench) {
  std::vector<Summary> all;
  for (std::size_t i = 0; i < bench.settings.size(); ++i) all.push_back(summarize(bench, i));
  return all;
}

constexpr int kTimeColumns = 6;  // that are about the time of the training

// Those about the time of the training, or the others; the setting's name is in front.
template <class T>
std::vector<T> half(std::vector<T> all, bool of_time) {
  const auto middle = all.begin() + kTimeColumns;
  all.erase(of_time ? middle : all.begin() + 1, of_time ? all.end() : middle);
  return all;
}

std::string table_text(const Bench& bench, const std::vector<Summary>& all, bool of_time) {
  Table table(half(report_columns(all), of_time));
  for (const Summary& s : all) {
    std::vector<Cell> row;
    for (const std::string& cell : half(report_cells(bench, s), of_time))
      row.push_back(plain(cell));
    table.add(std::move(row));
  }
  return table.print("table");
}

std::string markdown_text(const Bench& bench, const std::vector<Summary>& all) {
  std::string out = "|";
  std::string rule = "|";
  for (const TableColumn& c : report_columns(all)) {
    out += " " + lower_ascii(c.title) + " |";
    rule += c.right ? "---:|" : "---|";
  }
  out += "\n" + rule + "\n";
  for (const Summary& s : all) {
    out += "|";
    for (const std::string& cell : report_cells(bench, s)) {
      out += " ";
      for (const char c : cell) out += c == '|' ? "\\|" : std::string(1, c);
      out += " |";
    }
    out += "\n";
  }
  return out;
}

std::size_t complete_pairs(const Bench& bench) {
  return static_cast<std::size_t>(std::ranges::count_if(bench.pairs, &Pair::complete));
}
std::size_t planned_pairs(const Bench& bench) {
  const auto present =
      std::ranges::count_if(bench.settings, [](const Setting& s) { return s.missing.empty(); });
  return bench.wanted_pairs * static_cast<std::size_t>(present);
}

// Describes the conditions that the numbers hold for.
std::string preface(const Bench& bench) {
  std::string out = fmt::format(
      "Training: {}\nOff and on in turns of random order (seed {}), {} pairs each, fixed "
      "beforehand; "
      "none left out.\n{} processors, load {:.1f} before and {:.1f} after.\n",
      bench.training, bench.seed, bench.wanted_pairs, std::thread::hardware_concurrency(),
      bench.load_before, bench.load_after);
  if (complete_pairs(bench) < planned_pairs(bench))
    out += fmt::format("INCOMPLETE: {} of {} pairs were made.\n", complete_pairs(bench),
                       planned_pairs(bench));
  if (bench.wanted_pairs < kFewPairs)
    out += fmt::format("Fewer than {} pairs: an exercise, not evidence.\n", kFewPairs);
  return out;
}

std::string legend(const Bench& bench) {
  std::string out;
  for (const Setting& s : bench.settings) out += fmt::format("{}: {}\n", s.name, s.about);
  return out;
}

}  // namespace

std::vector<Pair> plan_pairs(const std::vector<std::size_t>& settings, std::size_t pairs,
                             std::uint64_t seed) {
  analyze::SplitMix random(seed);
  std::vector<Pair> plan;
  for (std::size_t number = 0; number < pairs; number += 2) {
    std::vector<Pair> round;
    round.reserve(settings.size());
    for (const std::size_t setting : settings)
      round.push_back({.setting = setting, .number = number, .on_first = random.below(2) == 1});
    for (std::size_t i = round.size(); i > 1; --i) std::swap(round[i - 1], round[random.below(i)]);
    plan.insert(plan.end(), round.begin(), round.end());
    if (number + 1 == pairs) break;
    std::ranges::reverse(round);
    for (Pair& pair : round) {
      ++pair.number;
      pair.on_first = !pair.on_first;
    }
    plan.insert(plan.end(), round.begin(), round.end());
  }
  return plan;
}

Summary summarize(const Bench& bench, std::size_t setting) {
  Summary s;
  s.setting = &bench.settings[setting];
  add_costs(bench, setting, s);
  const auto wall = log_ratios(bench, setting, [](const OneRun& r) { return r.training.wall_s; });
  s.time = analyze::ratio_interval(wall, kConfidence);
  s.bootstrap = analyze::bootstrap_interval(wall, {.confidence = kConfidence, .seed = bench.seed});
  s.cpu = analyze::ratio_interval(
      log_ratios(bench, setting, [](const OneRun& r) { return r.training.cpu_s; }), kConfidence);
  s.step_p99 = analyze::ratio_interval(log_ratios(bench, setting, step_p99), kConfidence);
  s.spread_off = time_spread(bench, setting, false);
  s.spread_on = time_spread(bench, setting, true);
  s.verdict = analyze::judge(s.time, bench.margin);
  s.pairs_wanted = analyze::pairs_to_decide(s.time, bench.margin, kConfidence);
  return s;
}

std::string print_bench(const Bench& bench, const std::string& format) {
  if (format == "json") return bench_json(bench) + "\n";
  const std::vector<Summary> all = summarize_all(bench);
  if (format == "markdown") return markdown_text(bench, all);
  return preface(bench) + "\nTime of the training\n" + table_text(bench, all, true) +
         "\nWhat it took\n" + table_text(bench, all, false) + "\n" + legend(bench);
}

namespace {

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json to_json(const analyze::RatioInterval& i) {
  return Json::Object{{"mean", number(i.mean)},
                      {"low", number(i.low)},
                      {"high", number(i.high)},
                      {"log_deviation", number(i.log_deviation)},
                      {"pairs", static_cast<std::int64_t>(i.pairs)}};
}

Json to_json(const Summary& s) {
  Json out{Json::Object{}};
  out.set("name", s.setting->name);
  out.set("about", s.setting->about);
  out.set("peer", s.setting->is_peer());
  if (!s.setting->missing.empty()) out.set("not_available", s.setting->missing);
  out.set("pairs", static_cast<std::int64_t>(s.pairs));
  out.set("time", to_json(s.time));
  out.set("time_bootstrap", to_json(s.bootstrap));
  out.set("verdict", s.setting->missing.empty() ? Json(analyze::name_of(s.verdict)) : Json());
  out.set("pairs_wanted",
          s.pairs_wanted ? Json(static_cast<std::int64_t>(*s.pairs_wanted)) : Json());
  out.set("cpu", to_json(s.cpu));
  out.set("step_p99", to_json(s.step_p99));
  out.set("spread_off", number(s.spread_off));
  out.set("spread_on", number(s.spread_on));
  out.set("collecting_cores", s.collecting_cores);
  out.set("collecting_peak_bytes", s.collecting_peak_bytes);
  out.set("collecting_bytes_per_s", s.collecting_bytes_per_s);
  return out;
}

// One run under the names that both formats have.
Json::Object run_fields(const Bench& bench, const Pair& pair, bool on) {
  const OneRun& run = on ? *pair.on : *pair.off;
  const auto step = [&](double p) {
    const auto value = quantile(run.training.steps_s, p);
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
      if (on ? pair.on : pair.off) runs.push_back(run_fields(bench, pair, on));
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
    settings.push_back(to_json(summarize(bench, i)));
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
