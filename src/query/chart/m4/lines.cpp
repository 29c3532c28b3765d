#include "query/chart/m4/lines.h"

#include <algorithm>
#include <cmath>

namespace corral::query::m4 {
namespace {

// The x of a bucket's point, as if its points were evenly spread.
std::int64_t estimate(std::int64_t x0, std::int64_t x1, std::uint32_t at, std::uint32_t count) {
  if (at == 0 || count < 2) return x0;
  if (at + 1 >= count) return x1;
  const double part = static_cast<double>(at) / (count - 1);
  const auto offset = static_cast<std::uint64_t>(static_cast<double>(distance(x0, x1)) * part);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(x0) +
                                   std::min(offset, distance(x0, x1)));
}

}  // namespace

Lines::Lines(const Request& request, ChartSeries& answer)
    : request_(request),
      answer_(answer),
      grid_(request.from, request.to, request.width),
      columns_(grid_, request.axis == ChartAxis::kStep ? Order::kByArrival : Order::kByX),
      steps_(request.axis == ChartAxis::kStep) {}

void Lines::count(std::uint64_t points, std::uint64_t not_finite) {
  answer_.points += request_.rate ? points - not_finite : points;
  if (!request_.rate) answer_.nan += not_finite;
}

void Lines::add(const codec::Bucket& bucket, Node node) {
  if (steps_) pass(bucket.s0, bucket.s1);
  ++answer_.cost.buckets;
  count(bucket.count, bucket.not_finite());
  const std::int64_t x0 = steps_ ? bucket.s0 : bucket.t0;
  const std::int64_t x1 = steps_ ? bucket.s1 : bucket.t1;
  const std::uint32_t column = grid_.column(x0);
  if (grid_.column(x1) != column || (steps_ && !bucket.steps_ascend)) exact_ = false;
  const auto x_of = [&](std::uint32_t at) { return estimate(x0, x1, at, bucket.count); };
  const std::uint32_t finite = bucket.count - bucket.not_finite();
  columns_.add_extremes(column, {.min = {x_of(bucket.min_at), bucket.min},
                                 .max = {x_of(bucket.max_at), bucket.max},
                                 .points = finite,
                                 .not_finite = request_.rate ? 0 : bucket.not_finite()});
  if (finite > 0) offer_edges(column, bucket, node);
}

void Lines::offer_edges(std::uint32_t column, const codec::Bucket& bucket, Node node) {
  const std::int64_t x0 = steps_ ? bucket.s0 : bucket.t0;
  const std::int64_t x1 = steps_ ? bucket.s1 : bucket.t1;
  const auto candidate = [&](std::uint32_t at, double value) {
    return Candidate{{estimate(x0, x1, at, bucket.count), value}, node.first + at};
  };
  // Steps are in order of arrival, as the bucket's points are; of times it must be known.
  const bool one_block = node.in_one_block();
  const bool first_known = (steps_ || one_block) && bucket.first_at == 0;
  const bool last_known = (steps_ || one_block) && bucket.last_at + 1 == bucket.count;
  if (!request_.exact && (!first_known || !last_known)) exact_ = false;
  if (first_known || !request_.exact) {
    columns_.offer_first(column, candidate(bucket.first_at, bucket.first));
  } else {
    open_.push_back({.column = column, .last = false, .node = node, .bound = x0});
  }
  if (last_known || !request_.exact) {
    columns_.offer_last(column, candidate(bucket.last_at, bucket.last));
  } else {
    open_.push_back({.column = column, .last = true, .node = node, .bound = x1});
  }
}

void Lines::pass(std::int64_t s0, std::int64_t s1) {
  if (any_before_ && s0 < before_) {
    const bool apart = distance(s0, before_) > tolerance_;
    if (apart) split();
    exact_ = exact_ && apart;
  }
  any_before_ = true;
  before_ = s1;
}

void Lines::split() {
  if (columns_.empty()) return;
  if (answer_.segments.size() + 1 >= request_.limits.segments) {
    answer_.segments_folded = true;
    exact_ = false;
    return;
  }
  columns_.flush(answer_);
}

void Lines::add(const PointSpan& span) {
  if (steps_) {
    add_steps(span);
  } else {
    add_run(span);
  }
}

// One ascending run after the other. A sample without a rate is not there: it ends no segment.
void Lines::add_steps(const PointSpan& span) {
  const auto& xs = span.steps;
  const auto there = [&](std::size_t i) { return !request_.rate || std::isfinite(span.values[i]); };
  for (std::size_t i = 0; i < xs.size();) {
    std::size_t end = i + 1;
    if (!there(i)) {
      i = end;
      continue;
    }
    while (end < xs.size() && there(end) && xs[end] >= xs[end - 1]) ++end;
    pass(xs[i], xs[end - 1]);
    add_run(span.part(i, end - i));
    i = end;
  }
}

// The part of an ascending run that is in sight.
void Lines::add_run(const PointSpan& span) {
  const auto& xs = steps_ ? span.steps : span.times;
  if (xs.empty() || xs.back() < grid_.from() || xs.front() >= grid_.to()) return;
  const auto from =
      static_cast<std::size_t>(std::ranges::lower_bound(xs, grid_.from()) - xs.begin());
  const auto to = static_cast<std::size_t>(std::ranges::lower_bound(xs, grid_.to()) - xs.begin());
  if (from >= to) return;
  count(to - from,
        columns_.add_run(xs.subspan(from, to - from), span.values.subspan(from, to - from),
                         span.order + static_cast<std::int64_t>(from)));
}

std::vector<OpenEdge> Lines::open_edges() {
  std::vector<OpenEdge> open = std::move(open_);
  open_.clear();
  std::erase_if(open, [&](const OpenEdge& edge) { return settled(edge, edge.bound, edge.node); });
  std::ranges::sort(open, [](const OpenEdge& a, const OpenEdge& b) {
    if (a.last != b.last) return b.last;
    return a.last ? a.bound > b.bound : a.bound < b.bound;
  });
  return open;
}

bool Lines::settled(const OpenEdge& edge, std::int64_t bound, Node node) const {
  const ColumnState& state = columns_.column(edge.column);
  const Candidate& best = edge.last ? state.last : state.first;
  if (bound != best.point.x) return edge.last ? bound < best.point.x : bound > best.point.x;
  return edge.last ? node.end - 1 < best.position : node.first > best.position;
}

void Lines::offer(const OpenEdge& edge, const Candidate& candidate) {
  if (edge.last) {
    columns_.offer_last(edge.column, candidate);
  } else {
    columns_.offer_first(edge.column, candidate);
  }
}

void Lines::finish() { columns_.flush(answer_); }

void Lines::reset() {
  ChartSeries unused;
  columns_.flush(unused);
  open_.clear();
  exact_ = true;
  any_before_ = false;
}

}  // namespace corral::query::m4
