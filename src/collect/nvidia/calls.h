// CallMeter: what calls into a vendor library cost, by kind of call, and which of them are too
// dear for every tick.
//
// A kind of call may take 1 % of a core for each device or MIG instance. One that takes more is
// made at every second, third, ... tick only, at least once a second; that is noted once. Costs are
// series: per second the longest and the mean, and the 99th percentile of the run so far, from a
// histogram. One thread; no allocation after construction.
#pragma once

#include <fmt/core.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "collect/news.h"
#include "collect/nvidia/nvml.h"
#include "collect/nvidia/nvml_types.h"
#include "collect/series.h"
#include "core/time.h"
#include "sys/clock.h"

namespace corral::collect::nvidia {

enum class Call : std::uint8_t {
  kUtilization,
  kMemory,
  kMemorySizes,
  kFields,
  kSlowFields,
  kSmClock,
  kMemoryClock,
  kThrottleReasons,
  kPower,
  kEnergy,
  kTemperature,
  kPerformanceState,
  kEncoder,
  kDecoder,
  kSamples,
  kInstanceMemory,
  kGpmSample,
  kGpmMetrics,
};
inline constexpr std::size_t kCallCount = 18;
std::string_view call_name(Call call);

class CallMeter {
 public:
  static constexpr double kShare =
      0.01;  // a kind of call may have this part of a core, for each device
  static constexpr Nanos kLongestPause = std::chrono::seconds(1);

  // `tick` is the time from one begin() to the next.
  CallMeter(sys::Clock& clock, std::shared_ptr<News> news, Nanos tick);
  // Series of the calls made so far: after the open, whose probes make each once.
  void declare(SeriesTable& table);

  // Begins a tick: from here to the next one a call is due or it is not, for every device alike.
  // kGpmMetrics says it of both calls of GPM, which are made together.
  void begin(BootTime now);
  [[nodiscard]] bool due(Call call) const { return of(call).due; }
  [[nodiscard]] BootTime now() const { return now_; }

  template <class Work>
  Status measure(Call call, Work&& work) {
    const BootTime before = clock_->now();
    const Status status = work();
    count(call, clock_->now() - before);
    return status;
  }
  // Fills the series and begins the next second.
  void sample(Row& row);

 private:
  // Calls by binary order of their time: [0] below 1 us, [1] below 2 us, [2] below 4 us, ...
  using Histogram = std::array<std::uint32_t, 24>;
  struct Meter {
    Histogram histogram{};
    Nanos longest{0};  // longest call of this second
    Nanos sum{0};
    std::uint32_t calls = 0;
    bool made = false;
    // The last tick's, all devices together.
    Nanos tick_cost{0};
    std::uint32_t tick_calls = 0;
    std::array<double, 16> recent{};  // s for a device
    std::size_t costs = 0;            // ever
    Nanos period{0};
    bool noted = false;
    bool due = true;
    BootTime next{};
    Column longest_column = kNoColumn;
    Column mean_column = kNoColumn;
    Column p99_column = kNoColumn;
  };
  void count(Call call, Nanos took);
  void choose_period(Call call, Meter& meter);
  static Nanos p99(const Histogram& histogram);
  [[nodiscard]] const Meter& of(Call call) const { return meters_[static_cast<std::size_t>(call)]; }

  sys::Clock* clock_;
  std::shared_ptr<News> news_;
  Nanos tick_;
  BootTime now_{};
  std::array<Meter, kCallCount> meters_;
};

// False of a status that may pass, a timeout for instance.
bool ends_the_device(Status status);

// DeviceHealth: the results of one device's calls so far, so that each trouble is reported once.
//
// A device that is lost, or whose driver went away, is left alone from then on: its values end. Any
// other refusal in the middle of a run is reported once for each kind of call; the values are
// missing while it lasts. One thread; no allocation.
class DeviceHealth {
 public:
  DeviceHealth(const Nvml& nvml, std::shared_ptr<News> news, std::string source);

  [[nodiscard]] bool lost() const { return lost_; }
  // True when the call gave values.
  bool accept(Call call, Status status);
  template <class... Args>
  void tell(fmt::format_string<Args...> format, Args&&... args) const {
    collect::tell(news_, source_, format, std::forward<Args>(args)...);
  }
  [[nodiscard]] const std::string& source() const { return source_; }

 private:
  const Nvml* nvml_;
  std::shared_ptr<News> news_;
  std::string source_;
  std::uint32_t reported_ = 0;  // bit per call
  bool lost_ = false;
};
static_assert(kCallCount <= 32);

}  // namespace corral::collect::nvidia
