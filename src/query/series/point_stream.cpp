#include "query/series/point_stream.h"

#include <algorithm>
#include <limits>

namespace corral::query {
namespace {

std::pair<std::int64_t, std::int64_t> head_position(const PointSpan& span) {
  return {span.times.front(), span.order};
}

}  // namespace

Result<PointStream> PointStream::open(Cursor& cursor, std::int64_t from, std::int64_t to,
                                      PointParts parts) {
  parts.times = true;
  PointStream stream(cursor, from, to, parts);
  TRY(stream.find_sources());
  return stream;
}

Result<> PointStream::find_sources() {
  for (std::int64_t b = 0; b * kBlockPoints < cursor_->in_blocks(); ++b) TRY(add_block(b));
  for (std::size_t i = 0; i < cursor_->chunks(); ++i) {
    const PointSpan span = TRY(cursor_->chunk(i, parts_));
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
  const codec::Bucket* low = TRY(cursor_->bucket(kBlockLevel, 2 * block));
  Source source{.t0 = low == nullptr ? 0 : low->t0, .order = order, .end = order + kBlockPoints};
  const codec::Bucket* high =
      low == nullptr ? nullptr : TRY(cursor_->bucket(kBlockLevel, 2 * block + 1));
  if (low != nullptr && high != nullptr) {
    if (high->t1 >= from_ && source.t0 < to_) sources_.push_back(source);
    return {};
  }
  const auto first = cursor_->at(order, false);
  if (!first && first.error().code != Code::kCorruption)
    return tl::unexpected<Error>(first.error());
  source.t0 = first ? first->time : from_;
  if (source.t0 < to_) sources_.push_back(source);
  return {};
}

void PointStream::keep(Head& head, const PointSpan& read) {
  head.times.assign(read.times.begin(), read.times.end());
  head.steps.assign(read.steps.begin(), read.steps.end());
  head.values.assign(read.values.begin(), read.values.end());
  head.span = {.order = read.order,
               .session = read.session,
               .times = head.times,
               .steps = head.steps,
               .values = head.values,
               .since = {}};
}

// The next points of the head that lie in the range; false: it has no more.
Result<bool> PointStream::refill(Head& head) {
  while (head.order < head.end) {
    if (head.in_chunk) {
      head.span = TRY(cursor_->chunk(head.chunk, parts_));
      head.order = head.end;
    } else {
      const std::int64_t order = head.order;
      head.order += kVectorPoints;
      keep(head, TRY(cursor_->read(order, kVectorPoints, parts_)));
    }
    const auto times = head.span.times;
    const auto first = std::ranges::lower_bound(times, from_) - times.begin();
    const auto last = std::ranges::lower_bound(times, to_) - times.begin();
    if (first == last) continue;
    head.span =
        head.span.part(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
    return true;
  }
  return false;
}

std::size_t PointStream::earliest() const {
  std::size_t best = 0;
  for (std::size_t i = 1; i < open_.size(); ++i)
    if (head_position(open_[i]->span) < head_position(open_[best]->span)) best = i;
  return best;
}

// Opens every source that may have the next point.
Result<> PointStream::open_due() {
  while (opened_ < sources_.size()) {
    const Source& source = sources_[opened_];
    if (!open_.empty() &&
        std::pair(source.t0, source.order) > head_position(open_[earliest()]->span))
      break;
    ++opened_;
    auto head = std::make_unique<Head>();
    head->order = source.order;
    head->end = source.end;
    head->in_chunk = source.order >= cursor_->in_blocks();
    head->chunk = source.chunk;
    if (TRY(refill(*head))) open_.push_back(std::move(head));
  }
  return {};
}

// The number of the chosen head's points that come before those of all others.
std::size_t PointStream::due(std::size_t chosen) const {
  const PointSpan& span = open_[chosen]->span;
  std::pair<std::int64_t, std::int64_t> limit{std::numeric_limits<std::int64_t>::max(),
                                              std::numeric_limits<std::int64_t>::max()};
  if (opened_ < sources_.size()) limit = {sources_[opened_].t0, sources_[opened_].order};
  for (std::size_t i = 0; i < open_.size(); ++i)
    if (i != chosen) limit = std::min(limit, head_position(open_[i]->span));
  if (span.times.back() < limit.first) return span.size();
  const auto end = span.order < limit.second ? std::ranges::upper_bound(span.times, limit.first)
                                             : std::ranges::lower_bound(span.times, limit.first);
  return static_cast<std::size_t>(end - span.times.begin());
}

Result<PointSpan> PointStream::next() {
  if (given_ != nullptr) {
    Head& head = *given_;
    given_ = nullptr;
    if (given_points_ < head.span.size()) {
      head.span = head.span.part(given_points_, head.span.size() - given_points_);
    } else if (!TRY(refill(head))) {
      std::erase_if(open_, [&](const auto& c) { return c.get() == &head; });
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
