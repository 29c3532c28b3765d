// Emitter: one source's readings -> points in the queue, within that source's limits.
//
// Every reading of every source passes here: its name and unit are made fit, its series declared
// at first sight, its rate and number of series held down. One thread per emitter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "collect/foreign/points.h"
#include "collect/foreign/problems.h"
#include "core/time.h"
#include "metric/catalogue.h"

namespace corral::collect::foreign {

// The content of one line, sample or datagram; views of it.
struct Reading {
  std::string_view name;
  std::string_view source{};
  std::string_view unit{};
  metric::Kind kind = metric::Kind::kGauge;
  std::optional<std::int64_t> step{};
  double value = 0;
};

// So many a second, and no more than one second's worth at once. One thread.
class RateLimit {
 public:
  explicit RateLimit(std::uint32_t per_second) : per_second_(per_second), left_(per_second) {}

  // Takes one from the allowance and returns true if there was one; `now` may come out of order.
  bool take(BootTime now) {
    refill(now);
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }
  // Returns true if take() would.
  bool room(BootTime now) {
    refill(now);
    return left_ >= 1;
  }

 private:
  void refill(BootTime now) {
    if (now <= last_) return;
    left_ = std::min(per_second_, left_ + per_second_ * seconds(now - last_));
    last_ = now;
  }
  double per_second_;
  double left_;
  BootTime last_{};
};

class Emitter {
 public:
  struct Limits {
    std::uint32_t series;
    std::uint32_t points_per_s;
    metric::Owner owner = metric::Owner::kRun;  // owner of its series
  };
  // Both outlive it. `label` is the source in problems, as "exec.power".
  Emitter(std::string label, std::string prefix, Limits limits, PointQueue& queue,
          ProblemBox& problems);

  // True when the queue took it.
  bool emit(const Reading& reading, BootTime time);
  // Counts one that is not worth reading because there is no room for it.
  void skip();
  // Counts points that are left out for another reason.
  void count_dropped(std::uint64_t points) { queue_.count_dropped(points); }
  // Counts one whose series is one too many.
  void refuse_series(std::string_view name);
  // Returns true if a point would be within the rate.
  bool room(BootTime now) { return rate_.room(now); }

  void trouble(Trouble trouble, std::string message);
  void recovered(Trouble trouble, std::string_view message);
  [[nodiscard]] const std::string& label() const { return label_; }

 private:
  struct Series {
    SeriesNumber number;
    const metric::Metric* known;  // the catalogue's, when it has one of that name
  };
  void report_series(std::string_view name);
  void report_shared(std::string_view name, std::string_view other);
  const Series* find(const Reading& reading);
  const Series* declare(const Reading& reading);
  void check_range(const Series& series, const Reading& reading);

  std::string label_;
  std::string prefix_;
  Limits limits_;
  PointQueue& queue_;
  ProblemBox& problems_;
  RateLimit rate_;
  bool heard_ = false;                              // a value came
  std::unordered_map<std::string, Series> series_;  // by name, NUL, source
  std::string key_;
};

}  // namespace corral::collect::foreign
