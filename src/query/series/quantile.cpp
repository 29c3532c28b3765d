#include "query/series/quantile.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "query/series/cell_walk.h"
#include "query/series/extent.h"

namespace corral::query {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t kMostSampled = std::uint64_t{1} << 18;
constexpr int kVectorLevel = 1;  // its buckets are vectors

// The values that a skipped bucket may hold.
struct Band {
  double min = 0, max = 0;
  std::uint64_t count = 0;
};

class Sampler {
 public:
  explicit Sampler(std::uint64_t stride) : stride_(stride) {}

  // Vectors that a border cuts are always read.
  [[nodiscard]] bool takes(std::size_t, const codec::Bucket& b, int level, bool whole) {
    if (stride_ <= 1 || !whole || level != kVectorLevel) return false;
    if (b.count == b.not_finite()) return true;
    return next_++ % stride_ != 0;
  }
  void bucket(std::size_t, const codec::Bucket& b, std::int64_t) {
    const std::uint32_t count = b.count - b.not_finite();
    if (count > 0) bands.push_back({b.min, b.max, count});
  }
  void points(std::size_t, const PointSpan& span) {
    for (const double v : span.values)
      if (std::isfinite(v)) values.push_back(v);
  }

  std::vector<double> values;
  std::vector<Band> bands;

 private:
  std::uint64_t stride_;
  std::uint64_t next_ = 0;
};

// Returns the quantile of type 7. The values need not be sorted.
double select(std::vector<double>& values, double p) {
  if (values.empty()) return kNone;
  const double place = p * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(low);
  std::nth_element(values.begin(), at, values.end());
  const double share = place - static_cast<double>(low);
  if (share == 0) return *at;
  const double next = *std::min_element(at + 1, values.end());
  return std::lerp(*at, next, share);
}

// All points, those that were left out at one end of their buckets: weighted values, ascending.
class Bound {
 public:
  Bound(const Sampler& sample, double Band::*end) {
    all_.reserve(sample.values.size() + sample.bands.size());
    for (const double v : sample.values) all_.emplace_back(v, 1);
    for (const Band& b : sample.bands) all_.emplace_back(b.*end, b.count);
    std::ranges::sort(all_);
    std::uint64_t count = 0;
    for (auto& [value, weight] : all_) weight = count += weight;
  }

  // There is a point.
  [[nodiscard]] double quantile(double p) const {
    const double place = p * static_cast<double>(all_.back().second - 1);
    const double low = std::floor(place);
    return std::lerp(at(low), at(low + 1), place - low);
  }

 private:
  [[nodiscard]] double at(double place) const {
    const auto found = std::ranges::upper_bound(all_, static_cast<std::uint64_t>(place), {},
                                                &std::pair<double, std::uint64_t>::second);
    return found == all_.end() ? all_.back().first : found->first;
  }

  std::vector<std::pair<double, std::uint64_t>> all_;  // value, points up to and with it
};

std::vector<Quantile> exact_ones(Sampler& sample, const std::vector<double>& probabilities) {
  std::vector<Quantile> found;
  for (const double p : probabilities) {
    const double value = select(sample.values, p);
    found.push_back({.value = value, .least = value, .most = value});
  }
  return found;
}

std::vector<Quantile> estimates(Sampler& sample, const std::vector<double>& probabilities) {
  std::vector<Quantile> found;
  const Bound low(sample, &Band::min);
  const Bound high(sample, &Band::max);
  for (const double p : probabilities) {
    Quantile q{.value = 0, .least = low.quantile(p), .most = high.quantile(p)};
    const double value = select(sample.values, p);
    q.value = std::isnan(value) ? q.least : std::clamp(value, q.least, q.most);
    found.push_back(q);
  }
  return found;
}

Result<SeriesQuantiles> one_series(store::PointView& view, const SeriesInput& input,
                                   const QuantileRequest& request) {
  const bool steps = request.axis == GridAxis::kStep;
  const std::int64_t origin = steps ? 0 : input.origin;
  const AxisCells window({add_clipped(request.from, origin), add_clipped(request.to, origin)});
  Cursor cursor(view, input.series, input.channel);
  const std::uint64_t points =
      TRY(count_points(cursor, request.axis, window.begin(), window.end()));
  const std::uint64_t sampled =
      std::clamp<std::uint64_t>(request.max_points, kVectorPoints, kMostSampled);
  Sampler sample(points <= request.max_points ? 1 : (points + sampled - 1) / sampled);
  TRY(walk_cells(cursor, window, {.axis = request.axis, .max_level = kVectorLevel}, sample));
  SeriesQuantiles answer;
  answer.id = input.series;
  answer.exact = sample.bands.empty();
  answer.sample = answer.count = sample.values.size();
  for (const Band& b : sample.bands) answer.count += b.count;
  answer.quantiles = answer.exact ? exact_ones(sample, request.probabilities)
                                  : estimates(sample, request.probabilities);
  answer.lost = cursor.lost(request.axis, window);
  return answer;
}

}  // namespace

Result<std::vector<SeriesQuantiles>> quantiles(store::PointView& view,
                                               const QuantileRequest& request) {
  if (request.from >= request.to)
    return fail(Code::kInvalidArgument, "the window must begin before it ends");
  for (const double p : request.probabilities) {
    if (!(p >= 0 && p <= 1))
      return fail(Code::kInvalidArgument,
                  fmt::format("a probability must lie between 0 and 1, got {}", p));
  }
  std::vector<SeriesQuantiles> all;
  all.reserve(request.series.size());
  for (const SeriesInput& input : request.series)
    all.push_back(TRY(one_series(view, input, request)));
  return all;
}

}  // namespace corral::query
