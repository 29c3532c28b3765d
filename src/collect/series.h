// The data that a listener fills: columns declared once at open, one row of values per tick.
//
// Columns belong to one of two groups: fast ones are sampled at every tick, slow ones once a
// second. Rows are borrowed memory of the sampler, all absent at the start of a tick; a value that
// a listener does not set is missing, not 0. A third group has no rows: its points come with times
// of their own, any number of them in a tick.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"
#include "metric/catalogue.h"

namespace corral::collect {

struct SeriesInfo {
  const metric::Metric* metric;  // never null
  std::string source;            // "cpu0", "nvme0n1", "" when there is only one
};

// The reason why something is not measured here; each is reported once.
struct Unavailable {
  std::string source;  // the missing item: a metric, a pattern of metrics or a listener
  std::string reason;
};

// Identity of a source, reported once: {"gpu0.uuid", "GPU-8a2f…"}; a fact of the run.
struct Description {
  std::string key;
  std::string value;
};

enum Group : int { kFastGroup = 0, kSlowGroup = 1, kTimedGroup = 2 };
inline constexpr int kGroupCount = 2;  // that have rows

using Column = std::uint32_t;
// Row::set ignores it, so that a reader need not know which of its values are recorded.
inline constexpr Column kNoColumn = std::numeric_limits<Column>::max();

class SeriesTable {
 public:
  // In the group that the catalogue says; the name must be in the catalogue.
  Column add(std::string_view metric, std::string source = "");
  Column add_to(Group group, std::string_view metric, std::string source = "");
  void unavailable(std::string_view source, std::string_view reason);
  // "METRIC of SOURCE" is unavailable.
  void unavailable(std::string_view metric, std::string_view source, std::string_view reason);
  void describe(std::string key, std::string value);

  [[nodiscard]] std::span<const SeriesInfo> series(Group group) const { return series_[group]; }
  // Returns the number of series in all groups.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::span<const Unavailable> missing() const { return missing_; }
  [[nodiscard]] std::span<const Description> descriptions() const { return descriptions_; }

 private:
  std::vector<SeriesInfo> series_[kGroupCount + 1];
  std::vector<Unavailable> missing_;
  std::vector<Description> descriptions_;
};

class TimedPoints;

class Row {
 public:
  // `timed` takes the points of the third group; null: they are dropped.
  Row(std::span<double> values, std::span<std::uint8_t> present, TimedPoints* timed = nullptr)
      : values_(values), present_(present), timed_(timed) {}
  void set(Column column, double value) {
    if (column >= values_.size()) return;
    values_[column] = value;
    present_[column] = 1;
  }
  void set(Column column, std::uint64_t value) { set(column, static_cast<double>(value)); }
  // When the reads of this row began, which is its time in the host's fast group; zero: unknown.
  void begin(BootTime time) { time_ = time; }
  [[nodiscard]] BootTime time() const { return time_; }
  // One point of a column of kTimedGroup; a column's points come in the order of their times.
  void add(Column column, BootTime time, double value);

 private:
  std::span<double> values_;
  std::span<std::uint8_t> present_;
  TimedPoints* timed_;
  BootTime time_{};
};

// A metric for a number of what a parser finds, and the columns of a table of them.
template <class Parsed>
struct NumberMetric {
  std::string_view metric;
  std::uint64_t Parsed::*number;
  double scale = 1;  // from the number's unit to the metric's
};

template <class Parsed, std::size_t kCount>
void add_columns(const std::array<NumberMetric<Parsed>, kCount>& metrics, const std::string& source,
                 std::array<Column, kCount>& columns, SeriesTable& table) {
  for (std::size_t i = 0; i < kCount; ++i) columns[i] = table.add(metrics[i].metric, source);
}

template <class Parsed, std::size_t kCount>
void set_columns(const std::array<NumberMetric<Parsed>, kCount>& metrics, const Parsed& parsed,
                 const std::array<Column, kCount>& columns, Row& row) {
  for (std::size_t i = 0; i < kCount; ++i)
    row.set(columns[i], static_cast<double>(parsed.*metrics[i].number) * metrics[i].scale);
}

}  // namespace corral::collect
