// For tests of foreign sources: what came out of the queue.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "collect/foreign/points.h"
#include "sys/clock.h"

namespace corral::collect::foreign {

// Drains a queue again and again and keeps all that came, by "name" or "name/source".
class Collected {
 public:
  explicit Collected(PointQueue& queue) : queue_(queue) {}

  Collected& look() {
    PointQueue::Drained drained = queue_.drain();
    for (ForeignSeries& series : drained.series) series_.push_back(std::move(series));
    for (const ForeignPoint& point : drained.points)
      points_[key(series_.at(point.series))].push_back(point);
    return *this;
  }
  std::vector<double> values(const std::string& name) {
    std::vector<double> found;
    for (const ForeignPoint& point : look().points_[name]) found.push_back(point.value);
    return found;
  }
  const std::vector<ForeignPoint>& points(const std::string& name) { return look().points_[name]; }
  // Null when there is none.
  const ForeignSeries* series(const std::string& name) {
    look();
    for (const ForeignSeries& series : series_) {
      if (key(series) == name) return &series;
    }
    return nullptr;
  }
  std::vector<std::string> names() {
    std::vector<std::string> found;
    for (const ForeignSeries& series : look().series_) found.push_back(key(series));
    return found;
  }

 private:
  static std::string key(const ForeignSeries& series) {
    return series.source.empty() ? series.name : series.name + "/" + series.source;
  }
  PointQueue& queue_;
  std::vector<ForeignSeries> series_;
  std::map<std::string, std::vector<ForeignPoint>> points_;
};

// Waits until it holds, at most 20 s; whether it did.
inline bool eventually(const std::function<bool()>& holds) {
  const BootTime deadline = sys::boot_now() + std::chrono::seconds(20);
  while (!holds()) {
    if (sys::boot_now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace corral::collect::foreign
