// Pairs of runs of `corral bench listeners`: their order, their statistics, and all of it as text.
//
// Ratios are on by off, paired, as geometric means with the 90 % interval of
// analyze/compare/ratio.h. Pure functions of the data; nothing is left out, whatever its value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/compare/ratio.h"
#include "cli/bench_stage.h"

namespace corral::cli {

inline constexpr double kConfidence = 0.9;

struct Pair {
  std::size_t setting = 0;  // index into Bench::settings
  std::size_t number = 0;   // counts the setting's pairs from 0
  bool on_first = false;
  std::optional<OneRun> off = {}, on = {};
  [[nodiscard]] bool complete() const { return off && on; }
};

// The order in which the pairs of all settings are made, in rounds of two pairs of each setting:
// all settings in a random order and then back, a setting's second pair the other way round than
// its first (off on, on off: ABBA, or BAAB), so that a drift of the machine falls on both sides
// alike. The same seed gives the same order.
std::vector<Pair> plan_pairs(const std::vector<std::size_t>& settings, std::size_t pairs,
                             std::uint64_t seed);

struct Bench {
  std::string training;  // in words
  std::vector<std::string> command;
  std::vector<Setting> settings;
  std::vector<Pair> pairs;  // in the order of their making
  std::size_t wanted_pairs = 0;
  double margin = 0.01;
  std::uint64_t seed = 1;
  double load_before = 0, load_after = 0;  // the machine's load average over 1 min
  UtcTime began;
};

struct Summary {
  const Setting* setting = nullptr;
  std::size_t pairs = 0;
  analyze::RatioInterval time, bootstrap, cpu,
      step_p99;                          // step_p99.pairs is 0 where no steps are known
  double spread_off = 0, spread_on = 0;  // standard deviation of the logarithm of the time
  analyze::Equivalence verdict = analyze::Equivalence::kUndecided;
  std::optional<std::size_t> pairs_wanted;
  double collecting_cores = 0;  // CPU time by the time of the training
  std::int64_t collecting_peak_bytes = 0;
  double collecting_bytes_per_s = 0;
};
Summary summarize(const Bench& bench, std::size_t setting);

// `format`: table, markdown or json.
std::string print_bench(const Bench& bench, const std::string& format);
// Everything: settings with their statistics, and every run.
std::string bench_json(const Bench& bench);
// A line per run.
std::string bench_csv(const Bench& bench);

}  // namespace corral::cli
