// Summaries of a run for lists: its loss.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "store/reader.h"

namespace corral::query {

struct Loss {
  std::string metric;
  double value = 0;                  // the newest one; NaN when that is NaN or infinite
  std::optional<std::int64_t> step;  // not known of NaN
};

// The newest value of the first of `loss`, `train/loss`, `train_loss`, `training_loss` that is
// among the series, else of the first name in alphabetical order that ends in `loss`. If it has
// several sources, the one with the newest point counts.
std::optional<Loss> loss_of(std::span<const store::Series> series);
// That series; null: there is none.
const store::Series* loss_series(std::span<const store::Series> series);

// The losses of many runs at once; runs without a loss are left out.
Result<std::unordered_map<RunId, Loss>> read_losses(const store::Reader& store,
                                                    std::span<const RunId> runs);

}  // namespace corral::query
