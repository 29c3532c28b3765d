// A metric over another: lines through pairs of values, reduced to the visible points of a picture
// of given pixels, and their binary form.
//
// Pairs: pair_up(); each line in a snapshot of its own. Reduction: query/chart/path_reduce.h; a
// line that would still be longer than kMostXyPoints comes as the cells that it passes, unjoined.
// Memory: kMostXyPairs points of all lines together. Any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "query/chart/chart.h"
#include "query/chart/path_reduce.h"
#include "query/series/axis_cells.h"
#include "query/series/cursor.h"
#include "store/reader.h"

namespace corral::query {

inline constexpr std::size_t kMaxXyLines = 64;
inline constexpr std::uint64_t kMostXyPairs = std::uint64_t{1} << 21;
inline constexpr std::size_t kMostXyPoints = std::size_t{1} << 17;  // given, of a line

// kAuto: by step if both have steps and any is common, else by time.
enum class XyPairing : std::uint8_t { kAuto, kStep, kTime };

struct XyAxis {
  std::optional<double> from = {}, to = {};  // left out: where the pairs begin and end
  std::uint32_t pixels = 1;
  bool log = false;  // values up to 0 are left out
};

struct XyRequest {
  struct Line {
    SeriesId x, y;
  };
  std::vector<Line> lines = {};
  XyPairing pairing = XyPairing::kAuto;
  bool joined = true;  // drawn as lines, not as points
  ChartMode mode = ChartMode::kAuto;
  XyAxis x = {}, y = {};
  std::optional<std::int64_t> from = {}, to = {};  // UTC, ns; half open
};

struct XyLine {
  std::uint64_t pairs = 0, unpaired = 0;
  std::uint64_t not_finite = 0;  // pairs that cannot be drawn, on a log axis those up to 0, too
  std::uint64_t left_out = 0;    // pixels that hold points and are not given
  bool exact = true;             // every pair is one point of each
  bool by_step = false;
  bool joined = true;
  std::uint8_t rate = 0;  // bit 0: x was taken as a rate, bit 1: y
  Lost lost;
  std::vector<PathPoint> points;  // in order of time
};

struct Xy {
  PixelPlane plane;
  std::vector<XyLine> lines;  // as asked for
};

// kInvalidArgument, kNotFound for an unknown series.
Result<Xy> make_xy(const store::Reader& store, const XyRequest& request);

// docs/api.md, "A metric over another".
std::string encode_xy(const Xy& xy);

// ---- pairs
// Pairs the points of two series, so that one can be drawn over the other.
//
// By step: a point of y is paired with the point of x at the same step. If a step came more than
// once (a training that resumed), the point nearest in time counts. By time: a point of y is paired
// with the last point of x at or before it, unless that lies more than ten median spacings of x
// back. Pairs come in the order of y's time. If both series have more than `most` points together,
// the pairs are the means of both in kMaxGridColumns equal columns of their common steps or time.
// Sources: one PointView; its thread. Memory: about 60 bytes a point, of at most `most`.

enum class PairBy : std::uint8_t { kStep, kTime };

struct PairRequest {
  SeriesInput x, y;
  PairBy by = PairBy::kStep;
  std::int64_t from = std::numeric_limits<std::int64_t>::min();  // UTC, ns; half open
  std::int64_t to = std::numeric_limits<std::int64_t>::max();
  std::uint64_t most = std::uint64_t{1} << 21;
};

struct Pairs {
  // Finite. Cut where steps go back, beside points that are not finite, and by time where x is
  // missing. Means by step have times of 0.
  std::vector<PathPoint> path = {};
  std::uint64_t unpaired = 0;    // points of y without one of x
  std::uint64_t not_finite = 0;  // pairs of which one is not
  bool exact = true;             // every pair is one point of each
  Lost lost = {};
};

Result<Pairs> pair_up(store::PointView& view, const PairRequest& request);

}  // namespace corral::query
