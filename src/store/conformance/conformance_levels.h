// The part of the conformance suite that is about levels: needs more points than the rest.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "codec/block/column.h"
#include "store/conformance/conformance.h"

namespace corral::store {

struct LevelRow {
  std::int64_t time = 0;  // boot time
  std::int64_t step = 0;
  std::vector<double> values;
};

// A point as it was logged, to compare by bits.
struct LoggedPoint {
  std::int64_t time = 0;  // UTC
  std::int64_t step = 0;
  std::uint64_t bits = 0;
  auto operator<=>(const LoggedPoint&) const = default;
};

codec::SamplesBody body_of(const std::vector<LevelRow>& rows);

class StoreLevels : public StoreConformance {
 protected:
  // Frames of at most 1,000 rows.
  void log(testing::SessionWriter& writer, const std::vector<LevelRow>& rows) {
    for (std::size_t at = 0; at < rows.size(); at += 1000) {
      const auto first = rows.begin() + static_cast<std::ptrdiff_t>(at);
      const auto last =
          rows.begin() + static_cast<std::ptrdiff_t>(std::min(at + 1000, rows.size()));
      append({writer.frame(body_of({first, last}))});
      for (auto row = first; row != last; ++row) {
        for (std::size_t series = 0; series < row->values.size(); ++series) {
          expected_[series].push_back({.time = ns_of(testing::utc(row->time)),
                                       .step = row->step,
                                       .bits = std::bit_cast<std::uint64_t>(row->values[series])});
        }
      }
    }
  }

  std::vector<LoggedPoint> read(SeriesId series) {
    std::vector<LoggedPoint> found;
    const auto done = reader_of(*store_).view(std::array{series}, [&](PointView& view) -> Result<> {
      for (std::int64_t no = 0; no < view.block_count(series); ++no) {
        const auto block = TRY(view.block(series, no));
        std::vector<std::int64_t> times(codec::kColumnEntries), steps(codec::kColumnEntries);
        std::vector<double> values(codec::kColumnEntries);
        TRY(block->times(0, times));
        TRY(block->steps(0, steps));
        TRY(block->values(0, values));
        EXPECT_TRUE(std::ranges::is_sorted(times));
        for (std::size_t i = 0; i < times.size(); ++i)
          found.push_back({.time = times[i],
                           .step = steps[i],
                           .bits = std::bit_cast<std::uint64_t>(values[i])});
      }
      for (const Chunk& chunk : view.recent(series)) {
        EXPECT_TRUE(std::ranges::is_sorted(*chunk.times));
        for (std::size_t i = 0; i < chunk.values.size(); ++i)
          found.push_back({.time = (*chunk.times)[i],
                           .step = (*chunk.steps)[i],
                           .bits = std::bit_cast<std::uint64_t>(chunk.values[i])});
      }
      return {};
    });
    EXPECT_TRUE(done);
    return found;
  }

  void expect_all(RunId run) {
    for (auto& [series, logged] : expected_) {
      const Series known = only_series(run, "s" + std::to_string(series + 1));
      auto found = read(known.id);
      std::ranges::sort(found);
      std::ranges::sort(logged);
      EXPECT_EQ(found, logged) << known.name;
      EXPECT_EQ(known.points, static_cast<std::int64_t>(logged.size()));
    }
  }

  std::int64_t blocks_of(SeriesId series) {
    std::int64_t blocks = 0;
    EXPECT_TRUE(reader_of(*store_).view(std::array{series}, [&](PointView& view) -> Result<> {
      blocks = view.block_count(series);
      return {};
    }));
    return blocks;
  }

  std::map<std::size_t, std::vector<LoggedPoint>> expected_;
};

}  // namespace corral::store
