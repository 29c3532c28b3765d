// Changes in a window: series ranked by how much their values in a window differ from those before
// it, or from a window of another series (the same phase of a baseline, or its same steps).
//
// A window is cut into kChangeColumns equal columns. Windows of some thousand to some ten thousand
// points get fewer (at least kLeastChangeColumns), so that few points are read. The other side is
// cut into columns of the same length, at most four times as many; its columns are longer if that
// is not enough. The sample of a window is the means of its columns that have points, which are
// single points if no column has more. Equal columns make the deviations of both sides comparable,
// and bound the work to some buckets of the pyramid per column (query/series/resample.h, kAligned).
// Counters are taken as rates. Sources: the store, 256 pairs in a snapshot. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyze/sample_difference.h"
#include "core/ids.h"
#include "core/result.h"
#include "query/chart/chart.h"
#include "query/series/axis_cells.h"
#include "store/reader.h"

namespace corral::analyze {

inline constexpr std::size_t kMaxChangeSeries = 4096;
inline constexpr std::uint32_t kChangeColumns = 256;
inline constexpr std::uint32_t kLeastChangeColumns = 64;
inline constexpr std::uint32_t kMostAgainstColumns = 4 * kChangeColumns;
inline constexpr std::size_t kLeastValues = 5;  // in each of the two samples

// Half open, ns or steps.
struct ChangeWindow {
  std::int64_t from = 0, to = 0;
};
// A series of the request against a window of another, UTC or steps.
struct Baseline {
  SeriesId series, against;
  ChangeWindow window;
};

struct ChangesRequest {
  std::vector<SeriesId> series;
  std::vector<std::int64_t> origins =
      {};  // one for each series, UTC in ns; else the windows are UTC
  ChangeWindow window;
  std::optional<ChangeWindow> against = {};  // left out: window_before(window)
  std::vector<Baseline> baseline = {};       // per series; replaces `against` where given
  query::ChartMode mode = query::ChartMode::kAuto;
  query::GridAxis axis =
      query::GridAxis::kTime;  // for all windows; points without a step are on kTime only
};

// Just before a window, four times as long, as far as time reaches.
ChangeWindow window_before(const ChangeWindow& window);

struct Change {
  SeriesId series;
  SampleDifference difference;
  bool rate = false;
  bool means = false;  // some values are means of several points
  bool lost = false;   // points are missing that were damaged
};

struct Changes {
  std::vector<Change> changes;  // by distance, then |d|, then as asked for
  std::uint32_t flat = 0;       // one value in both windows, but for rounding
  std::uint32_t too_few = 0;    // fewer than kLeastValues in either
};

// kInvalidArgument: an empty window, a baseline that measures something else or of a series that is
// not in the request; kNotFound: an unknown series.
Result<Changes> find_changes(const store::Reader& store, const ChangesRequest& request);

}  // namespace corral::analyze
