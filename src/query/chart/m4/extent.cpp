#include <algorithm>

#include "query/chart/m4/block_points.h"
#include "query/chart/m4/reduce.h"

namespace corral::query::m4 {
namespace {

class Extents final : public DescentSink, public PieceSink {
 public:
  Extents(store::PointView& view, SeriesId series, bool steps)
      : request_{.series = series,
                 .axis = steps ? ChartAxis::kStep : ChartAxis::kTime,
                 .limits = {}},
        blocks_(view, request_, unused_) {}
  Verdict judge(const codec::Bucket& bucket, Node) override {
    if (request_.axis == ChartAxis::kTime) {
      join(bucket.t0, bucket.t1);
    } else if (bucket.has_steps()) {
      join(bucket.s0, bucket.s1);
    }
    return Verdict::kDone;
  }
  Result<> points(Node node, const codec::Bucket* cover) override {
    return blocks_.read(node, cover, *this);
  }
  void take(const Piece& piece) override {
    if (piece.xs.empty()) return;
    const auto [least, greatest] = std::ranges::minmax(piece.xs);
    join(least, greatest);
  }
  void join(std::int64_t first, std::int64_t last) {
    extent = extent ? Extent{.first = std::min(extent->first, first),
                             .last = std::max(extent->last, last)}
                    : Extent{.first = first, .last = last};
  }

  std::optional<Extent> extent;

 private:
  Request request_;
  ChartSeries unused_;
  BlockPoints blocks_;
};

}  // namespace

Result<std::optional<Extent>> extent_of(store::PointView& view, SeriesId series, bool steps) {
  Extents extents(view, series, steps);
  TRY(Descent(view, series, store::Channel::kValue).run(extents));
  for (const store::Chunk& chunk : view.recent(series)) {
    const auto& xs = steps ? chunk.steps : chunk.times;
    if (xs) extents.take({.xs = *xs, .values = chunk.values, .position = 0});
  }
  return extents.extent;
}

}  // namespace corral::query::m4
