// Strays: values outside of what the catalogue says is possible, by series: a broken sensor, or a
// driver's word for "unknown". They are stored as they were read; this counts them, so that the run
// can say it: once when it begins, and at its end how many there were. One thread.
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
  static constexpr std::size_t kMost = 256;  // series; what more there are is not counted

  // What began since it was last asked.
  struct First {
    std::string text;  // a line for a person
    bool new_metric;   // the first of its metric, whatever the source
  };

  // `series` outlives this.
  void add(const collect::SeriesInfo& series, double value);
  std::vector<First> take_new();
  // "outside.METRIC of SOURCE": how many there were, from which to which.
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
