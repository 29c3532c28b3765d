// BlockPoints: reads the points of a series' blocks, a vector at a time, as values or as rates.
//
// What cannot be read is marked in the answer as a gap: as wide as the bucket that covers it, or of
// unknown extent. One thread; lives as long as one query.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <set>

#include "codec/block/rate.h"
#include "query/chart/m4/descent.h"
#include "query/chart/m4/request.h"

namespace corral::query::m4 {

// Consecutive points; the spans last until the next are read. `xs` is the time or the step.
struct Piece {
  std::span<const std::int64_t> xs;
  std::span<const double> values;
  std::int64_t position = 0;
};

class PieceSink {
 public:
  virtual ~PieceSink() = default;
  virtual void take(const Piece& piece) = 0;
};

class BlockPoints {
 public:
  // `answer` must outlive it.
  BlockPoints(store::PointView& view, const Request& request, ChartSeries& answer)
      : view_(view), request_(request), answer_(answer) {}

  // Points without an x (no steps on the step axis) are left out.
  Result<> read(Node node, const codec::Bucket* cover, PieceSink& sink);
  // The time of one point; nullopt: damaged, and not marked.
  Result<std::optional<std::int64_t>> time_of(std::int64_t position);
  // The newest finite sample of a session in blocks before `end`.
  Result<std::optional<codec::CounterSample>> newest_before(std::int64_t end, std::int64_t session);
  void mark(const codec::Bucket* cover);
  [[nodiscard]] std::uint32_t damaged_blocks() const {
    return static_cast<std::uint32_t>(damaged_.size() + partly_damaged_.size());
  }

 private:
  using BlockPtr = std::shared_ptr<const store::Block>;

  Result<BlockPtr> open(std::int64_t no);
  Result<> read_block(std::int64_t no, Node node, const codec::Bucket* cover, PieceSink& sink);
  // False: damaged.
  Result<bool> read_vector(const store::Block& block, std::int64_t vector);
  Result<> to_rates(const store::Block& block, std::int64_t first);
  Result<bool> good(Result<> result, std::int64_t no);

  store::PointView& view_;
  const Request& request_;
  ChartSeries& answer_;
  std::int64_t open_no_ = -1;
  BlockPtr open_;
  std::set<std::int64_t> damaged_, partly_damaged_;
  codec::CounterRates rates_;
  std::int64_t rates_session_ = 0, rates_end_ = -1;  // what rates_ goes on from
  std::int64_t vector_ = -1;  // what the buffers hold; numbered through all blocks
  std::array<std::int64_t, codec::kVectorEntries> times_, steps_;
  std::array<double, codec::kVectorEntries> values_;
};

}  // namespace corral::query::m4
