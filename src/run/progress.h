// Progress: how far a run is, in a few values, for the scheduler that started it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace corral::run {

struct Progress {
  std::string phase{};  // "epoch 3"; empty: none was seen
  std::optional<std::int64_t> step{};
  std::optional<double> loss{};
  std::optional<double> cores{};  // CPUs' worth of time over the last second or more
  // Share of time that a GPU was busy, by index and by UUID; only in the run that samples its
  // workload's devices.
  std::vector<std::pair<std::string, double>> gpus{};
  bool operator==(const Progress&) const = default;
};

}  // namespace corral::run
