#include "query/loss.h"

#include <limits>
#include <utility>

#include "metric/loss_name.h"

namespace corral::query {
namespace {

// The better of two series as a run's loss.
bool better(const store::Series& a, const store::Series& b) {
  if (a.name != b.name) return metric::better_loss(a.name, b.name);
  return std::pair(a.last.has_value(), a.last_time) > std::pair(b.last.has_value(), b.last_time);
}

}  // namespace

const store::Series* loss_series(std::span<const store::Series> series) {
  const store::Series* best = nullptr;
  for (const store::Series& s : series) {
    if (s.owner != metric::Owner::kRun || s.points == 0 || !metric::is_loss(s.name)) continue;
    if (best == nullptr || better(s, *best)) best = &s;
  }
  return best;
}

std::optional<Loss> loss_of(std::span<const store::Series> series) {
  const store::Series* best = loss_series(series);
  if (best == nullptr) return std::nullopt;
  Loss loss{.metric = best->name, .value = std::numeric_limits<double>::quiet_NaN(), .step = {}};
  if (best->last && !best->ends_nan) {
    loss.value = *best->last;
    loss.step = best->last_step;
  }
  return loss;
}

Result<std::unordered_map<RunId, Loss>> read_losses(const store::Reader& store,
                                                    std::span<const RunId> runs) {
  std::unordered_map<RunId, std::vector<store::Series>> by_run;
  for (auto& [run, series] : TRY(store.series_ending(runs, metric::kLossSuffix)))
    by_run[run].push_back(std::move(series));
  std::unordered_map<RunId, Loss> losses;
  for (const auto& [run, series] : by_run) {
    if (auto loss = loss_of(series)) losses.emplace(run, *std::move(loss));
  }
  return losses;
}

}  // namespace corral::query
