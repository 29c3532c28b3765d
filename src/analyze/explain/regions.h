// Regions: the stretches of a run that are worth a look, because metrics jumped where they begin.
//
// Jumps of several series within 2 s (a hundredth of the time, where that is less), one column, or
// what their places are known to, are one region. It lasts until the series that jumped most jumps
// again. Rank: that series' score, times the number of series that jumped. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyze/explain/jumps.h"
#include "analyze/explain/leaves.h"

namespace corral::analyze {

inline constexpr std::size_t kMostRegions = 10;

struct JumpingSeries {
  std::string metric, source;
  std::string unit;  // "B/s", "share"
  Jumps jumps;       // their places are columns
};

// |difference| / deviation, at most 50, times log(1 + columns until the next jump). 0 for less than
// 0.5 % of the values.
double jump_score(const Jump& jump, double deviation);
// That of the greatest; 0: it has none.
double greatest_score(const Jumps& jumps);

struct MovedMetric {
  std::size_t series = 0;  // place among the series
  UtcTime at;              // it jumped
  double before = 0, after = 0;
  double score = 0;
};

struct Region {
  Window window;
  bool to_end = false;  // it lasts until the series end
  double score = 0;
  std::vector<MovedMetric> moved;  // the greatest score first, each series once
  std::string text;                // one sentence
};

struct RegionColumns {
  std::vector<UtcTime> borders;  // one more than there are columns
  UtcTime start;                 // the run's: texts say the time since then
};

// The kMostRegions with the highest rank, highest first.
std::vector<Region> find_regions(std::span<const JumpingSeries> series,
                                 const RegionColumns& columns);

// "12 min", "90 s", "3 h 20 min"; "97 %", "1.5 GiB/s", "0.25".
std::string time_into_run(double seconds);
std::string value_with_unit(double value, std::string_view unit);

}  // namespace corral::analyze
