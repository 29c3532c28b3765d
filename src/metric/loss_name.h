// Selects the loss among a run's series: one rule for lists, sparklines and progress. Any thread.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace corral::metric {

inline constexpr std::string_view kLossSuffix = "loss";

inline bool is_loss(std::string_view name) { return name.ends_with(kLossSuffix); }

// Compares two different names that are losses: returns true if `a` says more about the training
// than `b`.
inline bool better_loss(std::string_view a, std::string_view b) {
  constexpr std::array<std::string_view, 4> kNames = {"loss", "train/loss", "train_loss",
                                                      "training_loss"};
  const auto rank = [&](std::string_view name) {
    return std::ranges::find(kNames, name) - kNames.begin();
  };
  return rank(a) != rank(b) ? rank(a) < rank(b) : a < b;
}

}  // namespace corral::metric
