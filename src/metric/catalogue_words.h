// Short words for the catalogue's rows.
#pragma once

#include "metric/catalogue.h"

namespace corral::metric::rows {

inline constexpr Kind kGauge = Kind::kGauge;
inline constexpr Kind kCounter = Kind::kCounter;
inline constexpr Aggregation kMean = Aggregation::kMean;
inline constexpr Aggregation kSum = Aggregation::kSum;
inline constexpr Aggregation kOnce = Aggregation::kSharedOnce;
inline constexpr Owner kRun = Owner::kRun;
inline constexpr Owner kHost = Owner::kHost;
inline constexpr bool kFast = false;
inline constexpr bool kSlow = true;

}  // namespace corral::metric::rows
