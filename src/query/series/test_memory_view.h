// MemoryView: a PointView over points in memory, with damage on request, for tests and benchmarks.
//
// Points of each session are cut into blocks of 8,192 as they arrive, sorted by time inside a
// block; the remaining points are chunks. Counts the reads. One thread.
#pragma once

#include <map>
#include <set>
#include <tuple>

#include "store/model/point_view.h"

namespace corral::query::testing {

struct Points {
  std::vector<std::int64_t> times, steps;  // steps empty: none
  std::vector<double> values;
};

// In the order of a view: blocks, then chunks.
struct Arrived {
  std::int64_t session = 0;
  std::int64_t time = 0;
  std::optional<std::int64_t> step;
  double value = 0;
};

class MemoryView final : public store::PointView {
 public:
  // Goes on with the session's points; a session whose points begin or cease to have steps starts a
  // chunk of its own.
  void add(SeriesId series, std::int64_t session, const Points& points);
  // When all is added. `rates`: with a rate channel.
  void finish(bool rates = false);

  [[nodiscard]] std::vector<Arrived> arrived(SeriesId series) const;

  void damage_block(SeriesId series, std::int64_t no) { bad_blocks_.emplace(series, no); }
  void damage_row(SeriesId series, store::Channel channel, int tier, std::int64_t no) {
    bad_rows_.emplace(series, channel, tier, no);
  }
  // As if the pyramid had only got so far.
  void lose_rows(SeriesId series, int tier) { lost_tiers_.emplace(series, tier); }
  // As a host's series.
  void measure_same_thing(SeriesId series) { same_.insert(series); }
  void lose_time(SeriesId series, store::Damage damage) { all_[series].damaged.push_back(damage); }

  [[nodiscard]] std::int64_t block_count(SeriesId series) const override;
  [[nodiscard]] std::span<const store::Chunk> recent(SeriesId series) const override;
  [[nodiscard]] std::span<const store::Damage> damaged(SeriesId series) const override;
  [[nodiscard]] bool same_thing(SeriesId series) const override { return same_.contains(series); }
  Result<std::shared_ptr<const store::Block>> block(SeriesId series, std::int64_t no) override;
  Result<std::shared_ptr<const codec::PyramidRow>> pyramid(SeriesId series, store::Channel channel,
                                                           int tier, std::int64_t no) override;

  std::size_t blocks_read = 0, rows_read = 0;

 private:
  struct Open {
    bool steps = false;
    Points points;
  };
  struct Series {
    std::vector<std::shared_ptr<const store::Block>> blocks;
    std::vector<std::int64_t> order;  // sessions whose open points are chunks
    std::map<std::int64_t, Open> open;
    std::vector<store::Chunk> chunks;
    std::vector<store::Damage> damaged;
    std::map<std::tuple<store::Channel, int, std::int64_t>,
             std::shared_ptr<const codec::PyramidRow>>
        rows;
  };
  static void cut(Series& series, std::int64_t session, Open& open);
  static void spill(Series& series, std::int64_t session, Open& open);
  static void build(Series& series, store::Channel channel);

  std::map<SeriesId, Series> all_;
  std::set<std::pair<SeriesId, std::int64_t>> bad_blocks_;
  std::set<std::tuple<SeriesId, store::Channel, int, std::int64_t>> bad_rows_;
  std::set<std::pair<SeriesId, int>> lost_tiers_;
  std::set<SeriesId> same_;
};

}  // namespace corral::query::testing
