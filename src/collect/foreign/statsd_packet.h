// statsd: one datagram -> its metrics. Pure.
//
// `name:value|type[|@rate][|#tags]`, one a line; several values as `name:1:2:3|ms`. Types: g
// (gauge; +n and -n change it), c (counter), ms, h and d (a value each: a time in ms, a number).
// Sets (s), events (_e) and checks (_sc) are not read.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace corral::collect::foreign {

enum class StatsdKind : std::uint8_t { kGauge, kGaugeChange, kCount, kTime, kValue };

struct StatsdMetric {
  std::string_view name;
  std::string_view tags;  // "k:v,k2:v2"
  StatsdKind kind = StatsdKind::kGauge;
  double value = 0;  // a count is divided by the sample rate; times in s
};

// The number of lines that are not understood. Views are valid during the call.
std::size_t read_statsd(std::string_view datagram,
                        const std::function<void(const StatsdMetric&)>& take);

}  // namespace corral::collect::foreign
