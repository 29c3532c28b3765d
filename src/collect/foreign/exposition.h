// The text that a Prometheus endpoint answers with (format 0.0.4, and OpenMetrics where it is the
// same): text -> samples. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metric/catalogue.h"

namespace corral::collect::foreign {

struct Label {
  std::string_view name;
  std::string value;
};

struct ExpositionSample {
  std::string_view name;  // as it stands there: "request_seconds_sum"
  std::vector<Label> labels;
  double value = 0;
  std::optional<std::int64_t> time_ms;  // UTC
  metric::Kind kind = metric::Kind::kGauge;
  std::string_view unit;  // from # UNIT, "(in W)" in its help, or its name's end; "" when unknown
};

struct ExpositionSummary {
  std::size_t samples = 0;
  std::size_t bad = 0;         // lines that are no sample and no comment
  std::string_view first_bad;  // a view of the text
};

// Hands over every sample in order but for what histograms count per bucket and when counters were
// created. Exemplars are skipped. The sample is valid, and may be moved from, during the call; its
// views are of `text`.
ExpositionSummary read_exposition(std::string_view text,
                                  const std::function<void(ExpositionSample&)>& take);

}  // namespace corral::collect::foreign
