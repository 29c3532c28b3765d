// Gather: collects points of one session that move up a level, grouped by their time columns.
//
// Points arrive in parts: rows with a time (and perhaps a step) each, and columns of values of some
// series at all rows of a part. take() gives them back as sampling groups: series of the same parts
// share one time column. Points of a series with steps are separate from those without. The groups
// are sorted by time; equal times keep the order of arrival. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "codec/block/row_group.h"
#include "codec/frame.h"
#include "core/ids.h"
#include "core/time.h"
#include "store/model/statistics.h"

namespace corral::store {

class Gather {
 public:
  // Returns the number that add_column() takes. `steps` is empty or as long as `times`.
  std::size_t add_part(std::vector<std::int64_t> times, std::vector<std::int64_t> steps);
  // As many values as the part has rows; they must live until take().
  void add_column(SeriesId series, std::size_t part, std::span<const double> values);

  // All columns of `samples` whose series is in `series`; boot times become UTC. `samples` must
  // live until take().
  void add(const codec::SamplesBody& samples, const SeriesMap& series, const ClockAnchor& anchor);
  // `groups` must live until take().
  void add(std::span<const codec::SamplingGroup> groups);

  // Returns everything and empties this object. Groups may be longer than codec::kColumnEntries;
  // their columns ascend by series.
  std::vector<codec::SamplingGroup> take();

 private:
  struct Part {
    std::vector<std::int64_t> times, steps;
  };
  struct Pieces {
    std::vector<std::uint32_t> parts;
    std::vector<std::span<const double>> values;
  };
  void add(const codec::SampleGroup& group, const SeriesMap& series, const ClockAnchor& anchor);
  [[nodiscard]] codec::SamplingGroup join(const std::vector<std::uint32_t>& parts) const;

  std::vector<Part> parts_;
  std::map<std::pair<SeriesId, bool>, Pieces> pieces_;  // with steps or without
};

// The same points in groups of at most `rows` rows.
std::vector<codec::SamplingGroup> cut(std::vector<codec::SamplingGroup> groups, std::size_t rows);

}  // namespace corral::store
