#include "query/summary.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <tuple>

namespace corral::query {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"loss", "train/loss", "train_loss",
                                                    "training_loss"};

std::size_t rank_of(const std::string& name) {
  return static_cast<std::size_t>(std::ranges::find(kNames, name) - kNames.begin());
}

// The better of two series as a run's loss.
bool better(const store::Series& a, const store::Series& b) {
  const std::size_t rank_a = rank_of(a.name);
  const std::size_t rank_b = rank_of(b.name);
  if (rank_a != rank_b) return rank_a < rank_b;
  if (a.name != b.name) return a.name < b.name;
  return std::pair(a.last.has_value(), a.last_time) > std::pair(b.last.has_value(), b.last_time);
}

}  // namespace

const store::Series* loss_series(std::span<const store::Series> series) {
  const store::Series* best = nullptr;
  for (const store::Series& s : series) {
    if (s.owner != metric::Owner::kRun || s.points == 0 || !s.name.ends_with(kLossSuffix)) continue;
    if (best == nullptr || better(s, *best)) best = &s;
  }
  return best;
}

std::optional<Loss> loss_of(std::span<const store::Series> series) {
  const store::Series* best = loss_series(series);
  if (best == nullptr) return std::nullopt;
  return Loss{.metric = best->name,
              .value = best->last.value_or(std::numeric_limits<double>::quiet_NaN()),
              .step = best->last_step};
}

Result<std::unordered_map<RunId, Loss>> losses_of(store::Store& store,
                                                  std::span<const RunId> runs) {
  std::unordered_map<RunId, std::vector<store::Series>> by_run;
  for (auto& [run, series] : TRY(store.series_ending(runs, kLossSuffix)))
    by_run[run].push_back(std::move(series));
  std::unordered_map<RunId, Loss> losses;
  for (const auto& [run, series] : by_run) {
    if (auto loss = loss_of(series)) losses.emplace(run, *std::move(loss));
  }
  return losses;
}

}  // namespace corral::query
