// Queries: what is read from one device by a call of its own, as a table: which call, which
// metrics, how its answer becomes their values in SI units.
//
// The open reads each once; a rejected one is not available and not read again.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collect/nvidia/calls.h"
#include "collect/nvidia/nvml.h"

namespace corral::collect::nvidia {

// Values in the order of the metrics; what stays NaN is missing.
inline constexpr std::size_t kAnswers = 3;
using Answers = std::array<double, kAnswers>;

struct Query {
  Call call;
  std::array<std::string_view, kAnswers> metrics;
  Status (*read)(const Nvml&, Device, Answers&);
  double scale = 1;  // from the driver's unit to the metrics'
};
std::span<const Query> fast_queries();
std::span<const Query> slow_queries();
// Values that older drivers and devices do not have as fields.
std::span<const Query> power_queries();
std::span<const Query> instance_queries();

class QueryList {
 public:
  QueryList(const Nvml& nvml, Device device) : nvml_(&nvml), device_(device) {}
  // `remark` stands behind the driver's words where it refuses.
  struct Subject {
    const std::string& source;
    std::string_view remark;
  };
  void open(std::span<const Query> queries, CallMeter& meter, const Subject& subject,
            SeriesTable& table);
  void sample(CallMeter& meter, DeviceHealth& health, Row& row);
  // The first value of the latest answer whose first metric that is; NaN if there is none.
  [[nodiscard]] double latest(std::string_view metric) const;

 private:
  struct Active {
    const Query* query;
    std::array<Column, kAnswers> columns;
    double latest;
  };
  Status read(const Query& query, CallMeter& meter, Answers& answers);

  const Nvml* nvml_;
  Device device_;
  std::vector<Active> active_;
};

}  // namespace corral::collect::nvidia
