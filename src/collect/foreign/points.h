// PointQueue: points of foreign sources on their way to the journal.
//
// Series are declared once and then named by their number, so that a point is small and a flood of
// points is cheap. The queue is bounded: a full queue drops the point and counts it, and no thread
// ever waits. Any number of threads push, one drains.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/guarded.h"
#include "core/time.h"
#include "metric/catalogue.h"

namespace corral::collect::foreign {

// Aggregates as a mean, because it is unknown whether a sum makes sense.
struct ForeignSeries {
  std::string name;    // at most limits::kNameBytes, valid UTF-8, never empty
  std::string source;  // "gpu=0"; empty: the metric as a whole
  std::string unit;
  metric::Kind kind = metric::Kind::kGauge;
  metric::Owner owner = metric::Owner::kRun;
  bool own = false;  // Corral's, of the catalogue; others that take such a name get a source
  bool operator==(const ForeignSeries&) const = default;
};

using SeriesNumber = std::uint32_t;  // from 0, without gaps, in the order of declaration
inline constexpr SeriesNumber kNoSeries = std::numeric_limits<SeriesNumber>::max();

struct ForeignPoint {
  SeriesNumber series = kNoSeries;
  BootTime time{};
  std::optional<std::int64_t> step{};
  double value = 0;  // any, NaN and infinities too
};

class PointQueue {
 public:
  // Holds this many points, and this many series over its life.
  explicit PointQueue(std::size_t points = 65536, std::size_t series = 16384);

  struct Declared {
    SeriesNumber number = kNoSeries;  // kNoSeries: there are too many
    std::string shared;               // another giver of that name and source; empty: there is none
  };
  // The series that `giver` ("prometheus.gpu") calls by this name and source; its first unit and
  // kind stay. Two givers never share one: the second's source says whose it is ("gpu=0,from=
  // prometheus.gpu").
  Declared declare(ForeignSeries series, std::string_view giver);
  // Returns false, and counts the point, when the queue is full or the series is kNoSeries.
  bool push(const ForeignPoint& point);

  struct Drained {
    std::vector<ForeignSeries> series;  // declared since the last drain; number of the first:
    SeriesNumber first_series = 0;
    std::vector<ForeignPoint> points;  // in the order of push
  };
  Drained drain();
  // Returns the number of points that it takes before it drops one.
  [[nodiscard]] std::size_t room() const;
  // Counts points that a source itself dropped because of its limits.
  void count_dropped(std::uint64_t points);
  // Returns the number of all dropped points so far.
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  struct Known {
    SeriesNumber number = kNoSeries;
    std::string giver;
  };
  struct State {
    std::map<std::pair<std::string, std::string>, Known> series;  // by name and source
    std::vector<ForeignSeries> fresh;                             // not drained yet
    std::vector<ForeignPoint> points;
    std::uint64_t dropped = 0;
  };
  // Constant after construction.
  const std::size_t max_points_;
  const std::size_t max_series_;

  Guarded<State> state_;
};

}  // namespace corral::collect::foreign
