// The history of a series as MLflow's interface tells it: every point, by time, step and value;
// points that agree in all three are one (a client may send a batch again).
//
// A history is read page by page, each from the place where the one before it ended: a page reads
// the blocks and chunks that its own time touches. Damaged parts are left out. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "store/reader.h"

namespace corral::analyze {

struct HistoryPoint {
  std::int64_t time_ms = 0;  // UTC
  std::int64_t step = 0;     // 0 where the point has none
  double value = 0;
};
// The order of a history.
bool history_less(const HistoryPoint& a, const HistoryPoint& b);
// Milliseconds of a time in ns, rounded down.
constexpr std::int64_t history_ms(std::int64_t ns) {
  constexpr std::int64_t kNsPerMs = 1'000'000;
  return ns / kNsPerMs - (ns % kNsPerMs < 0 ? 1 : 0);
}

// The points at `time_ms` but the first `skip` of them, and all later ones.
struct HistoryPlace {
  std::int64_t time_ms = std::numeric_limits<std::int64_t>::min();
  std::size_t skip = 0;
  bool operator==(const HistoryPlace&) const = default;
};

struct HistoryPage {
  std::vector<HistoryPoint> points;
  std::optional<HistoryPlace> next;  // the start of the rest; nullopt at the end
};

// A page that is large enough to cost little more than its points.
inline constexpr std::size_t kHistoryPagePoints = 25'000;
// One that may wait in memory, as text, for a slow reader.
inline constexpr std::size_t kStreamedPagePoints = 5'000;

// At most `most` points. In memory: those, and all of one millisecond.
Result<HistoryPage> history_page(const store::Reader& store, SeriesId series,
                                 const HistoryPlace& from, std::size_t most);
// The same over a view of the series.
Result<HistoryPage> history_page(store::PointView& view, SeriesId series, const HistoryPlace& from,
                                 std::size_t most);

// Those of `points` that the history has. `points` are in the order of a history, each once.
Result<std::vector<HistoryPoint>> known_points(const store::Reader& store, SeriesId series,
                                               std::span<const HistoryPoint> points);

// ---- samples
// A history thinned out for a chart of MLflow's interface: the first, last, least and greatest
// point of stretches of steps, so that no spike is lost.
//
// As long as steps rise from point to point (a run that was not started again at an earlier step),
// long stretches are cut at buckets of the pyramid: only the chosen points are read, and memory
// does not grow with the series. Everywhere else the history is read whole. Any thread.

struct SampleQuery {
  SeriesId series;
  // Both belong to it.
  std::int64_t first_step = std::numeric_limits<std::int64_t>::min();
  std::int64_t last_step = std::numeric_limits<std::int64_t>::max();
  std::size_t most = 2500;  // points, at least 4
};

// By step, then time.
Result<std::vector<HistoryPoint>> sample_history(const store::Reader& store,
                                                 const SampleQuery& query);

// At most `most` of the points (at least 4), which are by step, then time, in stretches of equal
// numbers of steps; of points where there are few steps.
std::vector<HistoryPoint> thin_out(std::vector<HistoryPoint> points, std::size_t most);

}  // namespace corral::analyze
