#include "analyze/history.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <span>
#include <tuple>

#include "query/series/cursor.h"
#include "query/series/grid.h"
#include "query/series/point_stream.h"

namespace corral::analyze {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

// The first moment of a millisecond, or of all time.
std::int64_t to_ns(std::int64_t ms) {
  constexpr auto kLimits = std::numeric_limits<std::int64_t>();
  if (ms < kLimits.min() / kNsPerMs) return kLimits.min();
  return std::min(ms, kLimits.max() / kNsPerMs) * kNsPerMs;
}

bool same(const HistoryPoint& a, const HistoryPoint& b) {
  return !history_less(a, b) && !history_less(b, a);
}

// Takes points by time and puts those of one millisecond in order once all of them have come.
class Pager {
 public:
  Pager(const HistoryPlace& from, std::size_t most) : from_(from), most_(most) {
    points_.reserve(std::min(most, kHistoryPagePoints) + 1);
  }

  // False: the page is full.
  bool add(const query::PointSpan& span) {
    for (std::size_t i = 0; i < span.size(); ++i) {
      const std::int64_t time = history_ms(span.times[i]);
      if (points_.size() > moment_ && points_.back().time_ms != time) {
        end_moment();
        if (points_.size() > most_) return false;
      }
      points_.push_back({.time_ms = time,
                         .step = span.steps.empty() ? 0 : span.steps[i],
                         .value = span.values[i]});
    }
    return true;
  }

  HistoryPage finish() && {
    end_moment();
    HistoryPage page;
    if (points_.size() > most_) {
      page.next = place_before(most_);
      points_.resize(most_);
    }
    page.points = std::move(points_);
    return page;
  }

 private:
  void end_moment() {
    const auto begin = points_.begin() + static_cast<std::ptrdiff_t>(moment_);
    if (points_.end() - begin > 1) {
      std::sort(begin, points_.end(), history_less);
      points_.erase(std::unique(begin, points_.end(), same), points_.end());
    }
    const auto count = points_.size() - moment_;
    if (count > 0 && begin->time_ms == from_.time_ms)
      points_.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(from_.skip, count)));
    moment_ = points_.size();
  }

  [[nodiscard]] HistoryPlace place_before(std::size_t index) const {
    HistoryPlace place{.time_ms = points_[index].time_ms, .skip = 0};
    while (place.skip < index && points_[index - place.skip - 1].time_ms == place.time_ms)
      ++place.skip;
    if (place.time_ms == from_.time_ms) place.skip += from_.skip;
    return place;
  }

  const HistoryPlace from_;
  const std::size_t most_;
  std::vector<HistoryPoint> points_;
  std::size_t moment_ = 0;  // first point of the newest time, which may get more
};

}  // namespace

// NaN stands where 0 does, as MLflow's server stores it; beside 0, behind it.
bool history_less(const HistoryPoint& a, const HistoryPoint& b) {
  if (a.time_ms != b.time_ms) return a.time_ms < b.time_ms;
  if (a.step != b.step) return a.step < b.step;
  const bool nan = std::isnan(a.value), other_nan = std::isnan(b.value);
  const double value = nan ? 0 : a.value, other = other_nan ? 0 : b.value;
  return value != other ? value < other : nan < other_nan;
}

Result<HistoryPage> history_page(store::PointView& view, SeriesId series, const HistoryPlace& from,
                                 std::size_t most) {
  query::Cursor cursor(view, series, store::Channel::kValue);
  auto stream = TRY(query::PointStream::open(cursor, to_ns(from.time_ms),
                                             std::numeric_limits<std::int64_t>::max(),
                                             {.times = true, .steps = true}));
  Pager pager(from, most);
  for (;;) {
    const query::PointSpan span = TRY(stream.next());
    if (span.size() == 0 || !pager.add(span)) break;
  }
  return std::move(pager).finish();
}

Result<HistoryPage> history_page(const store::Reader& store, SeriesId series,
                                 const HistoryPlace& from, std::size_t most) {
  HistoryPage page;
  const auto read = [&](store::PointView& view) -> Result<> {
    page = TRY(history_page(view, series, from, most));
    return {};
  };
  // A client that has logged a point finds it in the history.
  TRY(store.fresh_view(std::span(&series, 1), read));
  return page;
}

Result<std::vector<HistoryPoint>> known_points(const store::Reader& store, SeriesId series,
                                               std::span<const HistoryPoint> points) {
  constexpr std::size_t kPage = 1000;
  std::vector<HistoryPoint> known;
  HistoryPlace from;
  for (auto at = points.begin(); at != points.end();) {
    if (at->time_ms > from.time_ms) from = {.time_ms = at->time_ms, .skip = 0};
    const HistoryPage page = TRY(history_page(store, series, from, kPage));
    const auto end = page.next
                         ? std::upper_bound(at, points.end(), page.points.back(), history_less)
                         : points.end();
    std::set_intersection(at, end, page.points.begin(), page.points.end(),
                          std::back_inserter(known), history_less);
    if (!page.next) break;
    at = end;
    from = *page.next;
  }
  return known;
}

namespace {

constexpr query::PointParts kAllParts{.times = true, .steps = true};
// A stretch that has fewer of them is made of points.
constexpr std::int64_t kBucketsOfStretch = 4;
constexpr auto kWhole = std::numeric_limits<std::size_t>::max();

std::size_t stretch_count(std::size_t most) { return std::max<std::size_t>(1, most / 4); }

// Cuts steps [first, last] into stretches of equally many; where there are fewer steps than
// stretches, `count` positions.
class Stretches {
 public:
  Stretches(std::int64_t first, std::int64_t last, std::size_t count, std::size_t most)
      : by_step_(query::distance(first, last) >= stretch_count(most)),
        last_(by_step_ ? last : static_cast<std::int64_t>(count)),
        grid_(by_step_ ? first : 0, last_, static_cast<std::uint32_t>(stretch_count(most))) {}

  [[nodiscard]] std::uint32_t of(std::int64_t step, std::size_t position) const {
    const std::int64_t x = by_step_ ? step : static_cast<std::int64_t>(position);
    return x >= last_ ? grid_.width() - 1 : grid_.column(x);
  }
  // True while the point may be of the stretch.
  [[nodiscard]] bool within(std::uint32_t stretch, std::int64_t step, std::size_t position) const {
    const std::int64_t x = by_step_ ? step : static_cast<std::int64_t>(position);
    return stretch + 1 == grid_.width() || x < grid_.border(stretch + 1);
  }

 private:
  bool by_step_;
  std::int64_t last_;
  query::Grid grid_;
};

// The first, last, least and greatest of points of one stretch, in the order of the points.
void keep_four(std::span<const HistoryPoint> stretch, std::vector<HistoryPoint>& kept) {
  std::size_t least = 0, most = 0;
  for (std::size_t i = 1; i < stretch.size(); ++i) {
    const double value = stretch[i].value;
    if (value < stretch[least].value || std::isnan(stretch[least].value)) least = i;
    if (value > stretch[most].value || std::isnan(stretch[most].value)) most = i;
  }
  std::array chosen{std::size_t{0}, least, most, stretch.size() - 1};
  std::ranges::sort(chosen);
  const auto end = std::unique(chosen.begin(), chosen.end());
  for (auto at = chosen.begin(); at != end; ++at) kept.push_back(stretch[*at]);
}

// Consecutive points whose steps do not go down; positions count from the series' first point.
struct Piece {
  std::int64_t first = 0, end = 0;
  std::int64_t s0 = 0, s1 = 0;
  double min = 0, max = 0;
  std::int64_t min_at = -1, max_at = -1;  // -1: all are NaN
};

Piece make_piece(const codec::Bucket& bucket, std::int64_t first) {
  Piece piece{.first = first, .end = first + bucket.count, .s0 = bucket.s0, .s1 = bucket.s1};
  if (bucket.count == bucket.nan) return piece;
  piece.min = bucket.min;
  piece.max = bucket.max;
  piece.min_at = first + bucket.min_at;
  piece.max_at = first + bucket.max_at;
  return piece;
}

Piece make_piece(const query::PointSpan& span) {
  Piece piece{.first = span.order,
              .end = span.order + static_cast<std::int64_t>(span.size()),
              .s0 = span.steps.front(),
              .s1 = span.steps.back()};
  for (std::size_t i = 0; i < span.size(); ++i) {
    const double value = span.values[i];
    if (std::isnan(value)) continue;
    const bool none = piece.min_at < 0;
    const std::int64_t at = span.order + static_cast<std::int64_t>(i);
    if (none || value < piece.min) std::tie(piece.min, piece.min_at) = std::pair(value, at);
    if (none || value > piece.max) std::tie(piece.max, piece.max_at) = std::pair(value, at);
  }
  return piece;
}

// The points of a range of steps as pieces in rising order.
class Outline {
 public:
  Outline(query::Cursor& cursor, const SampleQuery& query) : cursor_(cursor), query_(query) {}

  // Draws buckets of at most that level. False: steps go down somewhere, or that is not known.
  Result<bool> draw(int level) {
    pieces_.clear();
    last_step_ = std::numeric_limits<std::int64_t>::min();
    for (std::int64_t at = 0; at < cursor_.in_blocks();) {
      const std::int64_t end = TRY(add_bucket(level, at));
      if (end == at) return false;
      at = end;
    }
    for (std::size_t i = 0; i < cursor_.chunks(); ++i) {
      if (!add_points(TRY(cursor_.chunk(i, kAllParts)))) return false;
    }
    return true;
  }

  [[nodiscard]] std::span<const Piece> pieces() const { return pieces_; }
  [[nodiscard]] std::int64_t points() const {
    return pieces_.empty() ? 0 : pieces_.back().end - pieces_.front().first;
  }

 private:
  // Adds the bucket that begins at the position. Returns its end, or the position itself if its
  // steps do not rise.
  Result<std::int64_t> add_bucket(int level, std::int64_t at) {
    const codec::Bucket* bucket = nullptr;
    for (; bucket == nullptr && level >= 0; --level) {
      if (at % query::bucket_points(level) == 0)
        bucket = TRY(cursor_.bucket(level, at / query::bucket_points(level)));
    }
    if (bucket == nullptr || !bucket->has_steps() || !bucket->steps_ascend) return at;
    if (bucket->s0 < last_step_) return at;
    const bool beyond = bucket->s1 < query_.first_step || bucket->s0 > query_.last_step;
    const bool cut = bucket->s0 < query_.first_step || bucket->s1 > query_.last_step;
    const bool infinite = bucket->positive_infinity + bucket->negative_infinity > 0;
    const std::int64_t end = at + bucket->count;
    if (!beyond && (cut || infinite)) return TRY(add_parts(level, at, end)) ? end : at;
    last_step_ = bucket->s1;
    if (!beyond) pieces_.push_back(make_piece(*bucket, at));
    return end;
  }

  // With buckets of at most that level; -1: with points.
  Result<bool> add_parts(int level, std::int64_t at, std::int64_t end) {
    while (at < end) {
      if (level < 0) return add_points(TRY(cursor_.read(at, codec::kBucketPoints, kAllParts)));
      const std::int64_t next = TRY(add_bucket(level, at));
      if (next == at) return false;
      at = next;
    }
    return true;
  }

  bool add_points(query::PointSpan span) {
    if (span.size() == 0) return true;
    if (span.steps.empty() || span.steps.front() < last_step_ ||
        !std::ranges::is_sorted(span.steps))
      return false;
    last_step_ = span.steps.back();
    const auto first = std::ranges::lower_bound(span.steps, query_.first_step);
    const auto end = std::ranges::upper_bound(span.steps, query_.last_step);
    if (first >= end) return true;
    span = span.part(static_cast<std::size_t>(first - span.steps.begin()),
                     static_cast<std::size_t>(end - first));
    for (std::size_t at = 0; at < span.size(); at += codec::kBucketPoints)
      pieces_.push_back(
          make_piece(span.part(at, std::min<std::size_t>(codec::kBucketPoints, span.size() - at))));
    return true;
  }

  query::Cursor& cursor_;
  const SampleQuery& query_;
  std::vector<Piece> pieces_;
  std::int64_t last_step_ = 0;
};

// Reads points by their positions, best in rising order.
class Reader {
 public:
  explicit Reader(query::Cursor& cursor) : cursor_(cursor) {}

  // Adds the positions [first, end), except damaged ones.
  Result<> add(std::int64_t first, std::int64_t end, std::vector<HistoryPoint>& points) {
    while (first < end) {
      const query::PointSpan span = TRY(part_from(first, end));
      for (std::size_t i = 0; i < span.size(); ++i) {
        points.push_back(
            {.time_ms = history_ms(span.times[i]), .step = span.steps[i], .value = span.values[i]});
      }
      first = next_;
    }
    return {};
  }

 private:
  Result<query::PointSpan> part_from(std::int64_t first, std::int64_t end) {
    if (first < cursor_.in_blocks()) {
      next_ = std::min(end, (first / query::kVectorPoints + 1) * query::kVectorPoints);
      return TRY(cursor_.read(first, static_cast<std::size_t>(next_ - first), kAllParts));
    }
    if (chunk_ > 0 && TRY(cursor_.chunk(chunk_, {})).order > first) chunk_ = 0;
    query::PointSpan span = TRY(cursor_.chunk(chunk_, kAllParts));
    while (span.order + static_cast<std::int64_t>(span.size()) <= first)
      span = TRY(cursor_.chunk(++chunk_, kAllParts));
    next_ = std::min(end, span.order + static_cast<std::int64_t>(span.size()));
    return span.part(static_cast<std::size_t>(first - span.order),
                     static_cast<std::size_t>(next_ - first));
  }

  query::Cursor& cursor_;
  std::size_t chunk_ = 0;
  std::int64_t next_ = 0;
};

// The positions that are kept of pieces of one stretch.
void choose(std::span<const Piece> stretch, std::vector<std::int64_t>& chosen) {
  const Piece* least = nullptr;
  const Piece* most = nullptr;
  for (const Piece& piece : stretch) {
    if (piece.min_at < 0) continue;
    if (least == nullptr || piece.min < least->min) least = &piece;
    if (most == nullptr || piece.max > most->max) most = &piece;
  }
  const std::int64_t first = stretch.front().first;
  const std::int64_t last = stretch.back().end - 1;
  std::array of_stretch{first, least == nullptr ? first : least->min_at,
                        most == nullptr ? first : most->max_at, last};
  std::ranges::sort(of_stretch);
  chosen.insert(chosen.end(), of_stretch.begin(),
                std::unique(of_stretch.begin(), of_stretch.end()));
}

Result<std::vector<HistoryPoint>> sample_pieces(query::Cursor& cursor,
                                                std::span<const Piece> pieces, std::size_t most) {
  const std::int64_t begin = pieces.front().first;
  const Stretches stretches(pieces.front().s0, pieces.back().s1,
                            static_cast<std::size_t>(pieces.back().end - begin), most);
  const auto stretch_of = [&](const Piece& piece) {
    return stretches.of(piece.s0, static_cast<std::size_t>(piece.first - begin));
  };
  std::vector<std::int64_t> chosen;
  for (std::size_t i = 0, first = 0; i < pieces.size(); ++i) {
    if (i + 1 < pieces.size() && stretch_of(pieces[i + 1]) == stretch_of(pieces[first])) continue;
    choose(pieces.subspan(first, i + 1 - first), chosen);
    first = i + 1;
  }
  Reader reader(cursor);
  std::vector<HistoryPoint> points;
  for (const std::int64_t at : chosen) TRY(reader.add(at, at + 1, points));
  return points;
}

// As a history orders them within a step. Two that are the same become one.
void put_in_order(std::vector<HistoryPoint>& points) {
  const auto before = [](const HistoryPoint& a, const HistoryPoint& b) {
    if (a.step != b.step) return a.step < b.step;
    return history_less(a, b);
  };
  if (!std::ranges::is_sorted(points, before)) std::ranges::sort(points, before);
  const auto same = [&](const auto& a, const auto& b) { return !before(a, b) && !before(b, a); };
  points.erase(std::unique(points.begin(), points.end(), same), points.end());
}

// Returns nullopt if steps go down, or if that is not known.
Result<std::optional<std::vector<HistoryPoint>>> sample_rising(store::PointView& view,
                                                               const SampleQuery& query) {
  query::Cursor cursor(view, query.series, store::Channel::kValue);
  Outline outline(cursor, query);
  const auto level_for = [&](std::int64_t points) {
    const auto wanted = static_cast<std::int64_t>(stretch_count(query.most)) * kBucketsOfStretch;
    int level = -1;
    while (level < query::kTopLevel && query::bucket_points(level + 1) <= points / wanted) ++level;
    return level;
  };
  // The fewer points the range has, the smaller the buckets.
  for (int level = level_for(cursor.points());; level = level_for(outline.points())) {
    if (!TRY(outline.draw(std::max(level, 0)))) return std::nullopt;
    if (level < 0 || level_for(outline.points()) >= level) break;
  }
  std::vector<HistoryPoint> points;
  if (outline.pieces().empty()) return points;
  if (level_for(outline.points()) >= 0) {
    points = TRY(sample_pieces(cursor, outline.pieces(), query.most));
    return points;
  }
  points.reserve(static_cast<std::size_t>(outline.points()));
  Reader reader(cursor);
  TRY(reader.add(outline.pieces().front().first, outline.pieces().back().end, points));
  return points;
}

}  // namespace

std::vector<HistoryPoint> thin_out(std::vector<HistoryPoint> points, std::size_t most) {
  if (points.size() <= most) return points;
  const Stretches stretches(points.front().step, points.back().step, points.size(), most);
  std::vector<HistoryPoint> kept;
  kept.reserve(most);
  for (std::size_t begin = 0; begin < points.size();) {
    const std::uint32_t stretch = stretches.of(points[begin].step, begin);
    std::size_t end = begin + 1;
    while (end < points.size() && stretches.within(stretch, points[end].step, end)) ++end;
    keep_four(std::span(points).subspan(begin, end - begin), kept);
    begin = end;
  }
  return kept;
}

Result<std::vector<HistoryPoint>> sample_history(const store::Reader& store,
                                                 const SampleQuery& query) {
  std::vector<HistoryPoint> points;
  const auto read = [&](store::PointView& view) -> Result<> {
    if (auto rising = TRY(sample_rising(view, query))) {
      points = *std::move(rising);
      return {};
    }
    points = TRY(history_page(view, query.series, {}, kWhole)).points;
    std::erase_if(points, [&](const HistoryPoint& point) {
      return point.step < query.first_step || point.step > query.last_step;
    });
    return {};
  };
  TRY(store.fresh_view(std::span(&query.series, 1), read));
  put_in_order(points);
  return thin_out(std::move(points), query.most);
}

}  // namespace corral::analyze
