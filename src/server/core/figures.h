// Figures: the server's counters of its answers, and GET /metrics, which reports them to
// Prometheus.
//
// note() is called once per answer from the I/O threads. It uses atomics only, except for the first
// answer of a route, which creates the counters of that route under a lock. Latencies are from the
// complete head of a request to the last byte of its answer. Text format 0.0.4:
// https://prometheus.io/docs/instrumenting/exposition_formats/.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/mutex.h"
#include "server/core/http_types.h"

namespace corral::server {

class Figures {
 public:
  Figures() = default;
  Figures(const Figures&) = delete;
  Figures& operator=(const Figures&) = delete;

  void note(const http::Exchange& exchange);
  // The transport counts in this object.
  [[nodiscard]] const std::shared_ptr<http::Traffic>& traffic() const { return traffic_; }

  // Appends all figures as text.
  void write(std::string& out) const;

 private:
  static constexpr std::size_t kBuckets = 14;
  static constexpr std::size_t kClasses = 5;  // 1xx to 5xx
  static constexpr std::size_t kSlots = 1024;
  static constexpr std::size_t kMostRoutes = kSlots / 2;

  // One method of one route.
  struct Route {
    std::string_view pattern;
    Method method = Method::kOther;
    std::array<std::atomic<std::uint64_t>, kClasses> answers{};
    // Counts per bucket, not cumulative.
    std::array<std::atomic<std::uint64_t>, kBuckets + 1> buckets{};
    std::atomic<std::uint64_t> took_ns{0};
  };
  Route& find_route(std::string_view pattern, Method method);
  [[nodiscard]] std::vector<const Route*> routes() const;
  static void write_latencies(std::string& out, const Route& route);
  void write_traffic(std::string& out) const;

  // Constant after construction.
  const std::shared_ptr<http::Traffic> traffic_ = std::make_shared<http::Traffic>();

  // Counts requests without a route, and those of routes beyond kMostRoutes.
  Route unrouted_;
  // Open addressing; a slot is filled once and stays.
  std::array<std::atomic<Route*>, kSlots> slots_{};
  std::atomic<std::uint64_t> broken_{0};

  mutable Mutex mutex_;
  // Guarded by mutex_.
  std::vector<std::unique_ptr<Route>> routes_ GUARDED_BY(mutex_);
};

// One figure with HELP and TYPE. `type`: "counter" or "gauge".
struct Figure {
  std::string_view name;
  std::string_view type;
  std::string_view help;
};
void write_figure(std::string& out, const Figure& figure, double value);

}  // namespace corral::server
