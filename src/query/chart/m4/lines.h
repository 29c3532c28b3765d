// Lines: takes the buckets and points of one series that a reduction chose, draws them together as
// columns, and cuts them into segments where steps go back. One thread.
#pragma once

#include <vector>

#include "query/chart/m4/columns.h"
#include "query/chart/m4/reduce.h"
#include "query/series/cursor.h"

namespace corral::query::m4 {

// A bucket that was taken whole and may hold the first or the last point of its column, at a time
// that is not known yet.
struct OpenEdge {
  std::uint32_t column = 0;
  bool last = false;
  Node node;
  std::int64_t bound = 0;  // no earlier (of first), no later (of last) than this
};

class Lines {
 public:
  Lines(const Request& request, ChartSeries& answer);

  // Steps nearer than this to one before them do not count as going back; 0 in an exact answer.
  void set_tolerance(std::uint64_t units) { tolerance_ = units; }
  [[nodiscard]] const Grid& grid() const { return grid_; }
  // A bucket inside the range, in the column of its first point.
  void add(const codec::Bucket& bucket, Node node);
  // Steps [s0, s1] that are out of sight went by.
  void pass(std::int64_t s0, std::int64_t s1);
  void add(const PointSpan& span);

  // Exact: edges that are still open, the best bounds first.
  [[nodiscard]] std::vector<OpenEdge> open_edges();
  [[nodiscard]] bool settled(const OpenEdge& edge, std::int64_t bound, Node node) const;
  void offer(const OpenEdge& edge, const Candidate& candidate);
  void finish();
  // Nothing that was taken stands in another column, or at another end of one, than its points
  // would.
  [[nodiscard]] bool exact() const { return exact_; }
  // Everything anew.
  void reset();

 private:
  void add_steps(const PointSpan& span);
  void add_run(const PointSpan& span);
  void offer_edges(std::uint32_t column, const codec::Bucket& bucket, Node node);
  void count(std::uint64_t points, std::uint64_t not_finite);
  void split();

  const Request& request_;
  ChartSeries& answer_;
  Grid grid_;
  ColumnSet columns_;
  bool steps_;
  std::uint64_t tolerance_ = 0;
  bool exact_ = true;
  bool any_before_ = false;
  std::int64_t before_ = 0;  // the last step
  std::vector<OpenEdge> open_;
};

}  // namespace corral::query::m4
