// RecentPoints: the points of a series that are in no block yet, as values or as rates.
//
// Given chunk by chunk in order of arrival. A rate of the first sample starts from the newest of
// its session in the blocks. On axes of time, samples of a session whose chunks overlap in time are
// put in order of time before rates are taken. One thread.
#pragma once

#include <unordered_map>
#include <vector>

#include "query/chart/m4/block_points.h"

namespace corral::query::m4 {

class RecentPoints {
 public:
  RecentPoints(store::PointView& view, const Request& request, BlockPoints& blocks)
      : view_(view), request_(request), blocks_(blocks) {}
  Result<> read(ChartSeries& answer, PieceSink& sink);

 private:
  struct Source {
    std::int64_t session = 0;
    std::span<const std::int64_t> times, xs;
    std::span<const double> values;
    std::int64_t position = 0;
  };
  void gather(const store::Chunk& chunk, std::int64_t position);
  void put_in_order();
  void merge(std::vector<Source*>& sources);
  [[nodiscard]] bool in_sight(const Source& source) const;
  Result<> give(const Source& source, PieceSink& sink);

  store::PointView& view_;
  const Request& request_;
  BlockPoints& blocks_;
  std::vector<Source> sources_;
  std::unordered_map<std::int64_t, codec::CounterRates> rates_;  // by session
  std::vector<std::vector<std::int64_t>> merged_times_;
  std::vector<std::vector<double>> merged_values_;
  std::vector<double> buffer_;
};

}  // namespace corral::query::m4
