#include "query/chart/m4/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "query/chart/m4/lines.h"
#include "query/series/cursor.h"

namespace corral::query::m4 {
namespace {

// At most this many points are read one by one rather than asked from a finer bucket, when all are
// wanted: they lie in one vector.
constexpr auto kFewPoints = static_cast<std::int64_t>(codec::kVectorEntries);

// A bucket's range on an axis.
struct Ends {
  std::int64_t first, last;
};
Ends ends_on(const codec::Bucket& bucket, bool steps) {
  return steps ? Ends{bucket.s0, bucket.s1} : Ends{bucket.t0, bucket.t1};
}

// Reads a cursor's points for an answer; adds their cost, and gaps for damaged ones.
class PointReads {
 public:
  PointReads(Cursor& cursor, const Request& request, ChartSeries& answer)
      : cursor_(cursor),
        request_(request),
        answer_(answer),
        steps_(request.axis == ChartAxis::kStep),
        parts_{.times = !steps_ || request.rate, .steps = steps_} {}

  // Gives `take(PointSpan)` the points that have an x; damage leaves a gap as wide as `cover`.
  template <class Take>
  Result<> read(Node node, const codec::Bucket* cover, Take take) {
    const auto counted = [&](const PointSpan& span) {
      answer_.cost.points += span.size();
      take(span);
    };
    const GridAxis axis = steps_ ? GridAxis::kStep : GridAxis::kTime;
    if (!TRY(cursor_.read_all(node, parts_, axis, counted))) mark(cover);
    return {};
  }

  // Gives recent points: those in sight, or for rates all of them if any is in sight.
  template <class Take>
  Result<> read_recent(Take take) {
    const auto chunks = cursor_.recent();
    const auto in_sight = [&](const auto& times) {
      return !times.empty() && times.back() >= request_.from && times.front() < request_.to;
    };
    if (!steps_ && std::ranges::none_of(
                       chunks, in_sight, [](const auto& c) -> const auto& { return *c.times; }))
      return {};
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      // Steps may go back: all of them are looked at, for the segments.
      if (steps_ ? chunks[i].steps == nullptr : !request_.rate && !in_sight(*chunks[i].times))
        continue;
      const PointSpan span = TRY(cursor_.chunk(i, parts_));
      answer_.cost.points += span.size();
      take(span);
    }
    return {};
  }

  // Marks a bucket's range as a gap; null: a gap of unknown extent.
  void mark(const codec::Bucket* cover) {
    if (cover == nullptr || (steps_ && !cover->has_steps())) {
      answer_.unknown_gap = true;
      return;
    }
    const Ends ends = ends_on(*cover, steps_);
    const std::int64_t from = std::max(ends.first, request_.from);
    const std::int64_t to = std::min(ends.last, request_.to - 1);
    if (from <= to) answer_.gaps.push_back({from - answer_.origin, to - answer_.origin});
  }
  [[nodiscard]] Cursor& cursor() { return cursor_; }

 private:
  Cursor& cursor_;
  const Request& request_;
  ChartSeries& answer_;
  bool steps_;
  PointParts parts_;
};

// Walks the values' pyramid to those points in sight that the rates' one does not cover.
class InSight {
 public:
  InSight(const Request& request, PointReads& points, Lines& lines)
      : request_(request), points_(points), lines_(lines) {}
  Verdict judge(const codec::Bucket& bucket, Node node) {
    const bool steps = request_.axis == ChartAxis::kStep;
    if (steps && !bucket.has_steps()) return Verdict::kDone;
    const Ends ends = ends_on(bucket, steps);
    if (ends.last < request_.from || ends.first >= request_.to) {
      if (steps) lines_.pass(ends.first, ends.last);
      return Verdict::kDone;
    }
    return node.points() <= kFewPoints ? Verdict::kPoints : Verdict::kDescend;
  }
  Result<> points(Node node, const codec::Bucket* cover) {
    return points_.read(node, cover, [&](const PointSpan& span) { lines_.add(span); });
  }

 private:
  const Request& request_;
  PointReads& points_;
  Lines& lines_;
};

// About how many points lie in sight.
class Count {
 public:
  explicit Count(const Request& request) : request_(request) {}
  Verdict judge(const codec::Bucket& bucket, Node node) {
    constexpr std::int64_t kRough = 4096;
    const Ends ends = ends_on(bucket, request_.axis == ChartAxis::kStep);
    if (ends.last < request_.from || ends.first >= request_.to) return Verdict::kDone;
    const bool whole = ends.first >= request_.from && ends.last < request_.to;
    if (!whole && node.points() > kRough) return Verdict::kDescend;
    points_ += static_cast<std::uint64_t>(node.points());
    return Verdict::kDone;
  }
  Result<> points(Node node, const codec::Bucket*) {
    points_ += static_cast<std::uint64_t>(node.points());
    return {};
  }
  [[nodiscard]] std::uint64_t points() const { return points_; }

 private:
  const Request& request_;
  std::uint64_t points_ = 0;
};

// Finds the first or last point of a column inside one node.
class EdgeFinder {
 public:
  EdgeFinder(Lines& lines, PointReads& points, const OpenEdge& edge)
      : lines_(lines), points_(points), edge_(edge) {}
  Verdict judge(const codec::Bucket& bucket, Node node) {
    if (bucket.count == bucket.not_finite()) return Verdict::kDone;
    if (lines_.settled(edge_, edge_.last ? bucket.t1 : bucket.t0, node)) return Verdict::kDone;
    return node.in_one_block() ? Verdict::kPoints : Verdict::kDescend;
  }
  Result<> points(Node node, const codec::Bucket* cover) {
    // A bucket of several blocks may cover a node that no row is left of.
    if (cover == nullptr || cover->count != node.points())
      return points_.read(node, cover, [&](const PointSpan& span) { offer(span); });
    const std::uint32_t at = edge_.last ? cover->last_at : cover->first_at;
    std::int64_t time = edge_.last ? cover->t1 : cover->t0;
    if (at != (edge_.last ? cover->count - 1 : 0)) {
      const auto read = points_.cursor().at(node.first + at, false);
      if (!read && !is_damage(read.error())) return tl::unexpected<Error>(read.error());
      if (!read) points_.mark(cover);
      if (read) time = read->time;
    }
    lines_.offer(edge_, {{time, edge_.last ? cover->last : cover->first}, node.first + at});
    return {};
  }

 private:
  void offer(const PointSpan& span) {
    for (std::size_t i = 0; i < span.size(); ++i) {
      if (std::isfinite(span.values[i]))
        lines_.offer(edge_,
                     {{span.times[i], span.values[i]}, span.order + static_cast<std::int64_t>(i)});
    }
  }

  Lines& lines_;
  PointReads& points_;
  const OpenEdge& edge_;
};

class Reduction {
 public:
  Reduction(store::PointView& view, const Request& request)
      : view_(view),
        request_(request),
        lines_(request_, answer_),
        cursor_(view, request.series, request.rate ? store::Channel::kRate : store::Channel::kValue,
                request.axis == ChartAxis::kStep ? LateChunks::kAsTheyCame
                                                 : LateChunks::kInOrderOfTime),
        values_(view, request.series, store::Channel::kValue),
        points_(cursor_, request_, answer_) {}

  Result<ChartSeries> run();

  Verdict judge(const codec::Bucket& bucket, Node node);
  Result<> points(Node node, const codec::Bucket* cover);

 private:
  void start();
  Result<> pass();
  [[nodiscard]] std::uint64_t most_points() const;
  Result<std::uint64_t> first_tolerance();
  Result<> close_edges();
  [[nodiscard]] bool takes(const codec::Bucket& bucket, Node node) const;
  void mark_lost_times();
  void finish_gaps();

  store::PointView& view_;
  Request request_;
  ChartSeries answer_;
  Lines lines_;
  Cursor cursor_, values_;  // values_: for its pyramid
  PointReads points_;
  std::uint64_t tolerance_ = 0;  // aligned answers: the widest bucket that is taken whole
  std::uint64_t judged_ = 0, read_ = 0;
  std::uint32_t lost_ = 0;  // batch rows and row groups that could not be read
  bool over_ = false;       // a limit was reached: the gathered columns will be discarded
};

void Reduction::start() {
  const ChartCost cost = answer_.cost;  // work that is thrown away counts as well
  answer_ = {};
  answer_.cost = cost;
  answer_.id = request_.series;
  answer_.rate = request_.rate;
  answer_.origin = request_.origin;
  answer_.exact = request_.exact;
  lines_.reset();
  lines_.set_tolerance(request_.exact ? 0 : tolerance_);
  judged_ = read_ = 0;
  over_ = false;
}

std::uint64_t Reduction::most_points() const {
  return request_.exact ? request_.limits.exact_points
                        : (std::uint64_t{request_.width} + 256) * request_.limits.points_per_column;
}

// Returns the tolerance of an aligned answer: a part of a column. If the smallest buckets are wider
// than that and have too many points to be read, it is wide enough for these buckets.
Result<std::uint64_t> Reduction::first_tolerance() {
  const std::uint64_t column = lines_.grid().column_length();
  const std::uint64_t part = column / request_.limits.buckets_per_column;
  Count count(request_);
  TRY(cursor_.descend(count));
  const std::uint64_t few =
      request_.width * request_.limits.buckets_per_column * codec::kBucketPoints;
  return count.points() > most_points() && count.points() < few ? 2 * column : part;
}

Result<ChartSeries> Reduction::run() {
  start();
  if (!request_.exact) {
    tolerance_ = TRY(first_tolerance());
    lines_.set_tolerance(tolerance_);
  }
  TRY(pass());
  if (over_) {
    const std::uint64_t part = lines_.grid().column_length() / request_.limits.buckets_per_column;
    tolerance_ = request_.exact ? part : std::max(tolerance_, part) * 8;
    request_.exact = false;
  }
  for (constexpr std::uint64_t kCoarser = 8; over_;) {
    start();
    TRY(pass());
    tolerance_ = std::max<std::uint64_t>(tolerance_, 1);
    const bool widest = tolerance_ > std::numeric_limits<std::uint64_t>::max() / kCoarser;
    tolerance_ = widest ? std::numeric_limits<std::uint64_t>::max() : tolerance_ * kCoarser;
  }
  TRY(close_edges());
  lines_.finish();
  mark_lost_times();
  answer_.exact = lines_.exact();
  finish_gaps();
  answer_.cost.pyramid_rows = cursor_.rows_read() + values_.rows_read();
  answer_.cost.damaged_rows = cursor_.damaged_rows() + values_.damaged_rows();
  answer_.cost.damaged_blocks = cursor_.damaged_blocks() + lost_;
  return std::move(answer_);
}

Result<> Reduction::pass() {
  lines_.set_tolerance(request_.exact ? 0 : tolerance_);
  TRY(cursor_.descend(*this));
  if (over_) return {};
  return points_.read_recent([&](const PointSpan& span) { lines_.add(span); });
}

// True if the bucket's points may all stand in the column of its first one.
bool Reduction::takes(const codec::Bucket& bucket, Node node) const {
  const bool steps = request_.axis == ChartAxis::kStep;
  const Ends ends = ends_on(bucket, steps);
  if (!lines_.grid().contains(ends.first) || !lines_.grid().contains(ends.last)) return false;
  const bool narrow = !request_.exact && distance(ends.first, ends.last) <= tolerance_;
  // If steps went back inside, or some points have none, the bucket does not tell enough. A step
  // back inside a bucket narrow enough to be taken whole does no harm.
  if (steps && !bucket.steps_ascend) return narrow && node.in_one_block();
  // The step of its first or last point is not known; times are looked for at the end.
  const bool any = bucket.count > bucket.not_finite();
  if (steps && request_.exact && any &&
      (bucket.first_at != 0 || bucket.last_at + 1 != bucket.count))
    return false;
  return narrow || lines_.grid().column(ends.first) == lines_.grid().column(ends.last);
}

Verdict Reduction::judge(const codec::Bucket& bucket, Node node) {
  if (over_) return Verdict::kDone;
  const bool steps = request_.axis == ChartAxis::kStep;
  ++judged_;
  if (steps && !bucket.has_steps()) return Verdict::kDone;
  const Ends ends = ends_on(bucket, steps);
  // Its first or last step may be that of a sample without a rate, which ends no segment.
  const bool vague = steps && request_.rate && request_.exact && bucket.not_finite() > 0;
  if (!vague && (ends.last < request_.from || ends.first >= request_.to)) {
    if (steps) lines_.pass(ends.first, ends.last);
    return Verdict::kDone;
  }
  if (!vague && takes(bucket, node)) {
    lines_.add(bucket, node);
    return Verdict::kDone;
  }
  const std::uint64_t most =
      (std::uint64_t{request_.width} + 256) * request_.limits.judged_per_column;
  if (!request_.exact && judged_ > most)
    over_ = tolerance_ != std::numeric_limits<std::uint64_t>::max();
  return request_.exact && node.points() <= kFewPoints ? Verdict::kPoints : Verdict::kDescend;
}

Result<> Reduction::points(Node node, const codec::Bucket* cover) {
  if (over_) return {};
  read_ += static_cast<std::uint64_t>(node.points());
  const std::uint64_t most = most_points();
  // Points that no bucket covers must be read, whatever the answer is.
  if (read_ > most && cover != nullptr && tolerance_ != std::numeric_limits<std::uint64_t>::max()) {
    over_ = true;
    return {};
  }
  if (request_.rate && cover == nullptr) {
    InSight in_sight(request_, points_, lines_);
    return values_.descend(in_sight, {.within = node});
  }
  return points_.read(node, cover, [&](const PointSpan& span) { lines_.add(span); });
}

Result<> Reduction::close_edges() {
  for (const OpenEdge& edge : lines_.open_edges()) {
    if (lines_.settled(edge, edge.bound, edge.node)) continue;
    EdgeFinder finder(lines_, points_, edge);
    TRY(cursor_.descend(finder, {.within = edge.node}));
  }
  return {};
}

// Marks the times for which the view reports that points may be missing.
void Reduction::mark_lost_times() {
  for (const store::Damage& damage : view_.damaged(request_.series)) {
    ++lost_;
    if (request_.axis == ChartAxis::kStep) {
      answer_.unknown_gap = true;
    } else if (damage.t1 >= request_.from && damage.t0 < request_.to) {
      answer_.gaps.push_back({std::max(damage.t0, request_.from) - request_.origin,
                              std::min(damage.t1, request_.to - 1) - request_.origin});
    }
  }
}

// In order, those that touch as one.
void Reduction::finish_gaps() {
  std::ranges::sort(answer_.gaps, {}, &ChartGap::from);
  std::vector<ChartGap> gaps;
  for (const ChartGap& gap : answer_.gaps) {
    if (!gaps.empty() && gap.from <= gaps.back().to) {
      gaps.back().to = std::max(gaps.back().to, gap.to);
    } else {
      gaps.push_back(gap);
    }
  }
  answer_.gaps = std::move(gaps);
}

}  // namespace

Result<ChartSeries> reduce(store::PointView& view, const Request& request) {
  return Reduction(view, request).run();
}

}  // namespace corral::query::m4
