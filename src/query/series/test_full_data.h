// Scenarios for the tests of full-data queries: points of one series in a MemoryView, and the plain
// list of them that oracles work on.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "query/series/test_memory_view.h"

namespace corral::query::testing {

inline constexpr std::size_t kPartPoints = 8192;

using Sample = Arrived;
using Samples = std::vector<Sample>;  // in order of arrival

// The shape of the points; everything else follows from the seed.
struct Scenario {
  std::uint64_t seed = 1;
  int blocks = 2;  // parts of 8,192 points
  int chunks = 1;  // parts of fewer
  int sessions = 1;
  bool overlap = false;  // parts of a series overlap in time
  bool not_finite = false;
  bool steps = false;  // ascending but for a resume now and then
  bool counter = false;
  bool ties = false;  // points at equal times
};

class ScenarioData {
 public:
  explicit ScenarioData(const Scenario& s) : s_(s), random_(s.seed) {
    for (int i = 0; i < s.blocks; ++i) part(kPartPoints);
    for (int i = 0; i < s.chunks; ++i) part(1 + random_() % 700);
    view.finish(s.counter);
    all = view.arrived(SeriesId{1});
  }

  Samples all;
  MemoryView view;

  // Finite and not, in order of time, then of arrival.
  [[nodiscard]] Samples by_time() const {
    Samples sorted = all;
    std::ranges::stable_sort(sorted, {}, &Sample::time);
    return sorted;
  }
  // [first, last] of all times or steps.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> extent(bool steps) const {
    std::int64_t low = std::numeric_limits<std::int64_t>::max();
    std::int64_t high = std::numeric_limits<std::int64_t>::min();
    for (const Sample& s : all) {
      const std::int64_t x = steps ? s.step.value_or(0) : s.time;
      low = std::min(low, x);
      high = std::max(high, x);
    }
    return {low, high};
  }

 private:
  void part(std::size_t points) {
    const auto session = static_cast<std::int64_t>(random_() % static_cast<unsigned>(s_.sessions));
    if (s_.overlap && random_() % 2 == 0)
      time_ -= static_cast<std::int64_t>(random_() % 400'000'000);
    if (s_.steps && random_() % 3 == 0) step_ = std::max<std::int64_t>(0, step_ - 500);
    const bool has_steps = s_.steps && random_() % 5 != 0;
    Points samples;
    for (std::size_t i = 0; i < points; ++i) {
      if (!s_.ties || random_() % 3 != 0)
        time_ += 1 + static_cast<std::int64_t>(random_() % 200'000);
      samples.times.push_back(time_);
      if (has_steps) samples.steps.push_back(step_);
      samples.values.push_back(value());
      if (s_.steps) step_ += static_cast<std::int64_t>(random_() % 3);
      if (s_.steps && random_() % 5000 == 0) step_ = std::max<std::int64_t>(0, step_ - 300);
    }
    view.add(SeriesId{1}, session, samples);
  }
  double value() {
    const double noise = static_cast<double>(random_() % 20'001) / 1000 - 10;
    if (s_.not_finite && random_() % 50 == 0) {
      constexpr double kOdd[] = {std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity()};
      return kOdd[random_() % 3];
    }
    if (!s_.counter) return 100 * std::sin(static_cast<double>(time_) * 1e-9) + noise;
    count_ = random_() % 4000 == 0 ? 0 : count_ + static_cast<double>(random_() % 1000);
    return count_;
  }

  Scenario s_;
  std::mt19937_64 random_;
  std::int64_t time_ = 1'000'000'000;
  std::int64_t step_ = 0;
  double count_ = 0;
};

}  // namespace corral::query::testing
