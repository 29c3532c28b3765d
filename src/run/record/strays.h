// Strays: counts values outside of the catalogue's range, by series: a broken sensor, or a driver's
// code for "unknown". Such values are stored as they were read. The run reports each series once
// when it begins to stray, and the counts at its end. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "codec/frame.h"
#include "collect/series.h"

namespace corral::run {

class Strays {
 public:
  static constexpr std::size_t kMost = 256;  // most series that are counted

  // A series that strayed for the first time.
  struct First {
    std::string text;  // a line for the user
    bool new_metric;   // the first of its metric, in all sources
  };

  // `series` outlives this.
  void add(const collect::SeriesInfo& series, double value);
  std::vector<First> take_new();
  // Returns facts "outside.METRIC of SOURCE": the count, the least and the greatest value.
  [[nodiscard]] std::vector<codec::Fact> facts() const;

 private:
  struct Stray {
    const collect::SeriesInfo* series;
    double first, least, greatest;
    std::uint64_t count;
  };

  std::vector<Stray> strays_;  // a series has one; few have any
  std::size_t told_ = 0;
  bool more_ = false;  // series than kMost
};

}  // namespace corral::run
