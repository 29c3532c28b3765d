#include "query/series/point_stream.h"

#include <algorithm>
#include <limits>

namespace corral::query {
namespace {

std::pair<std::int64_t, std::int64_t> head(const PointSpan& span) {
  return {span.times.front(), span.order};
}

}  // namespace

Result<PointStream> PointStream::open(SeriesLevels& levels, std::int64_t from, std::int64_t to,
                                      PointParts parts) {
  parts.times = true;
  PointStream stream(levels, from, to, parts);
  TRY(stream.find_sources());
  return stream;
}

Result<> PointStream::find_sources() {
  for (std::int64_t b = 0; b * kBlockPoints < levels_->in_blocks(); ++b) TRY(add_block(b));
  for (std::size_t i = 0; i < levels_->chunks(); ++i) {
    const PointSpan span = levels_->chunk(i, parts_);
    if (span.times.empty() || span.times.back() < from_ || span.times.front() >= to_) continue;
    sources_.push_back({.t0 = span.times.front(),
                        .order = span.order,
                        .end = span.order + static_cast<std::int64_t>(span.size()),
                        .chunk = i});
  }
  std::ranges::sort(sources_, {}, [](const Source& s) { return std::pair(s.t0, s.order); });
  return {};
}

// By its two buckets of 4,096; without them the block is read.
Result<> PointStream::add_block(std::int64_t block) {
  const std::int64_t order = block * kBlockPoints;
  const codec::Bucket* low = TRY(levels_->bucket(kBlockLevel, 2 * block));
  Source source{.t0 = low == nullptr ? 0 : low->t0, .order = order, .end = order + kBlockPoints};
  const codec::Bucket* high =
      low == nullptr ? nullptr : TRY(levels_->bucket(kBlockLevel, 2 * block + 1));
  if (low != nullptr && high != nullptr) {
    if (high->t1 >= from_ && source.t0 < to_) sources_.push_back(source);
    return {};
  }
  const auto first = levels_->at(order);
  if (!first && first.error().code != Code::kCorruption)
    return tl::unexpected<Error>(first.error());
  source.t0 = first ? first->time : from_;
  if (source.t0 < to_) sources_.push_back(source);
  return {};
}

void PointStream::keep(Cursor& cursor, const PointSpan& read) {
  cursor.times.assign(read.times.begin(), read.times.end());
  cursor.steps.assign(read.steps.begin(), read.steps.end());
  cursor.values.assign(read.values.begin(), read.values.end());
  cursor.span = {.order = read.order,
                 .session = read.session,
                 .times = cursor.times,
                 .steps = cursor.steps,
                 .values = cursor.values,
                 .since = {}};
}

// The next points of the cursor that lie in the range; false: it has no more.
Result<bool> PointStream::refill(Cursor& cursor) {
  while (cursor.order < cursor.end) {
    if (cursor.in_chunk) {
      cursor.span = levels_->chunk(cursor.chunk, parts_);
      cursor.order = cursor.end;
    } else {
      const std::int64_t order = cursor.order;
      cursor.order += kVectorPoints;
      keep(cursor, TRY(levels_->read(order, kVectorPoints, parts_)));
    }
    const auto times = cursor.span.times;
    const auto first = std::ranges::lower_bound(times, from_) - times.begin();
    const auto last = std::ranges::lower_bound(times, to_) - times.begin();
    if (first == last) continue;
    cursor.span =
        cursor.span.part(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
    return true;
  }
  return false;
}

std::size_t PointStream::earliest() const {
  std::size_t best = 0;
  for (std::size_t i = 1; i < open_.size(); ++i)
    if (head(open_[i]->span) < head(open_[best]->span)) best = i;
  return best;
}

// Opens every source that may have the next point.
Result<> PointStream::open_due() {
  while (opened_ < sources_.size()) {
    const Source& source = sources_[opened_];
    if (!open_.empty() && std::pair(source.t0, source.order) > head(open_[earliest()]->span)) break;
    ++opened_;
    auto cursor = std::make_unique<Cursor>();
    cursor->order = source.order;
    cursor->end = source.end;
    cursor->in_chunk = source.order >= levels_->in_blocks();
    cursor->chunk = source.chunk;
    if (TRY(refill(*cursor))) open_.push_back(std::move(cursor));
  }
  return {};
}

// How many of the chosen cursor's points come before those of all others.
std::size_t PointStream::due(std::size_t chosen) const {
  const PointSpan& span = open_[chosen]->span;
  std::pair<std::int64_t, std::int64_t> limit{std::numeric_limits<std::int64_t>::max(),
                                              std::numeric_limits<std::int64_t>::max()};
  if (opened_ < sources_.size()) limit = {sources_[opened_].t0, sources_[opened_].order};
  for (std::size_t i = 0; i < open_.size(); ++i)
    if (i != chosen) limit = std::min(limit, head(open_[i]->span));
  if (span.times.back() < limit.first) return span.size();
  const auto end = span.order < limit.second ? std::ranges::upper_bound(span.times, limit.first)
                                             : std::ranges::lower_bound(span.times, limit.first);
  return static_cast<std::size_t>(end - span.times.begin());
}

Result<PointSpan> PointStream::next() {
  if (given_ != nullptr) {
    Cursor& cursor = *given_;
    given_ = nullptr;
    if (given_points_ < cursor.span.size()) {
      cursor.span = cursor.span.part(given_points_, cursor.span.size() - given_points_);
    } else if (!TRY(refill(cursor))) {
      std::erase_if(open_, [&](const auto& c) { return c.get() == &cursor; });
    }
  }
  TRY(open_due());
  if (open_.empty()) return PointSpan{};
  const std::size_t chosen = earliest();
  given_ = open_[chosen].get();
  given_points_ = due(chosen);
  return given_->span.part(0, given_points_);
}

}  // namespace corral::query
