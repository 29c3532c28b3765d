#include "query/chart/m4/block_points.h"

#include <algorithm>

namespace corral::query::m4 {
namespace {

constexpr auto kBlock = static_cast<std::int64_t>(codec::kColumnEntries);
constexpr auto kVector = static_cast<std::int64_t>(codec::kVectorEntries);
// How many blocks back the last sample of a session is looked for.
constexpr std::int64_t kLookBack = 64;

}  // namespace

void BlockPoints::mark(const codec::Bucket* cover) {
  const bool steps = request_.axis == ChartAxis::kStep;
  if (cover == nullptr || (steps && !cover->has_steps())) {
    answer_.unknown_gap = true;
    return;
  }
  const std::int64_t from = std::max(steps ? cover->s0 : cover->t0, request_.from);
  const std::int64_t to = std::min(steps ? cover->s1 : cover->t1, request_.to - 1);
  if (from <= to) answer_.gaps.push_back({from - answer_.origin, to - answer_.origin});
}

// Null: damaged.
Result<BlockPoints::BlockPtr> BlockPoints::open(std::int64_t no) {
  if (open_no_ == no) return open_;
  if (damaged_.contains(no)) return BlockPtr();
  Result<BlockPtr> block = view_.block(request_.series, no);
  if (!block && block.error().code == Code::kCorruption) {
    damaged_.insert(no);
    return BlockPtr();
  }
  if (!block) return block;
  open_no_ = no;
  open_ = *std::move(block);
  return open_;
}

Result<bool> BlockPoints::good(Result<> result, std::int64_t no) {
  if (result) return true;
  if (result.error().code != Code::kCorruption)
    return tl::unexpected<Error>(std::move(result).error());
  partly_damaged_.insert(no);
  return false;
}

Result<> BlockPoints::read(Node node, const codec::Bucket* cover, PieceSink& sink) {
  while (node.first < node.end) {
    const std::int64_t no = node.first / kBlock;
    const Node part{.first = node.first, .end = std::min(node.end, (no + 1) * kBlock)};
    TRY(read_block(no, part, cover, sink));
    node.first = part.end;
  }
  return {};
}

Result<> BlockPoints::read_block(std::int64_t no, Node node, const codec::Bucket* cover,
                                 PieceSink& sink) {
  const BlockPtr block = TRY(open(no));
  if (!block) {
    mark(cover);
    return {};
  }
  if (request_.axis == ChartAxis::kStep && !block->has_steps()) return {};
  bool damaged = false;
  while (node.first < node.end) {
    const std::int64_t vector = node.first / kVector;
    const std::int64_t end = std::min(node.end, (vector + 1) * kVector);
    if (TRY(read_vector(*block, vector))) {
      const auto at = static_cast<std::size_t>(node.first % kVector);
      const auto n = static_cast<std::size_t>(end - node.first);
      answer_.cost.points += n;
      const auto& xs = request_.axis == ChartAxis::kStep ? steps_ : times_;
      sink.take({.xs = std::span(xs).subspan(at, n),
                 .values = std::span(values_).subspan(at, n),
                 .position = node.first});
    } else {
      damaged = true;
    }
    node.first = end;
  }
  if (damaged) mark(cover);
  return {};
}

// Into the buffers, if it is not there yet: decoding a part of a vector costs as much.
Result<bool> BlockPoints::read_vector(const store::Block& block, std::int64_t vector) {
  if (vector_ == vector) return true;
  vector_ = -1;
  const std::int64_t no = vector * kVector / kBlock;
  const auto at = static_cast<std::size_t>(vector * kVector % kBlock);
  const bool steps = request_.axis == ChartAxis::kStep;
  if (steps && !TRY(good(block.steps(at, steps_), no))) return false;
  const bool timed = !steps || request_.rate;
  if (timed && !TRY(good(block.times(at, times_), no))) return false;
  if (!TRY(good(block.values(at, values_), no))) return false;
  if (request_.rate) TRY(to_rates(block, vector * kVector));
  vector_ = vector;
  return true;
}

Result<> BlockPoints::to_rates(const store::Block& block, std::int64_t first) {
  if (rates_end_ != first || rates_session_ != block.session()) {
    // Reads into buffers of its own; the block stays alive in the caller.
    rates_.start_after(TRY(newest_before(first, block.session())));
    rates_session_ = block.session();
  }
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = rates_.next(times_[i], values_[i]);
  rates_end_ = first + kVector;
  return {};
}

Result<std::optional<std::int64_t>> BlockPoints::time_of(std::int64_t position) {
  const std::int64_t no = position / kBlock;
  const BlockPtr block = TRY(open(no));
  std::int64_t time = 0;
  if (!block ||
      !TRY(good(block->times(static_cast<std::size_t>(position % kBlock), {&time, 1}), no)))
    return std::nullopt;
  return time;
}

// Damage on the way: unknown, so none.
Result<std::optional<codec::CounterSample>> BlockPoints::newest_before(std::int64_t end,
                                                                       std::int64_t session) {
  std::array<double, codec::kVectorEntries> values;
  const std::int64_t last = end > 0 ? (end - 1) / kBlock : -1;
  for (std::int64_t no = last; no >= 0 && no > last - kLookBack; --no) {
    const BlockPtr block = TRY(open(no));
    if (!block) return std::nullopt;
    if (block->session() != session) continue;
    std::int64_t until = std::min(end, (no + 1) * kBlock);
    while (until > no * kBlock) {
      const std::int64_t first = (until - 1) / kVector * kVector;
      const auto n = static_cast<std::size_t>(until - first);
      const auto at = static_cast<std::size_t>(first % kBlock);
      if (!TRY(good(block->values(at, {values.data(), n}), no))) return std::nullopt;
      for (std::size_t i = n; i-- > 0;) {
        if (!std::isfinite(values[i])) continue;
        const auto time = TRY(time_of(first + static_cast<std::int64_t>(i)));
        if (!time) return std::nullopt;
        return codec::CounterSample{.time = *time, .value = values[i]};
      }
      until = first;
    }
  }
  return std::nullopt;
}

}  // namespace corral::query::m4
