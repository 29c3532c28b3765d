#include "run/schedule/choose.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/sha256.h"
#include "core/text.h"

namespace corral::run::schedule {
namespace {

bool matches(const std::vector<std::string>& patterns, const plan::Workload& workload) {
  const std::string full = workload.experiment + "/" + workload.name;
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return glob_match(pattern, workload.name) || glob_match(pattern, full);
  });
}

// Returns the verdict on the workload alone, without those that it waits for.
Verdict own_verdict(const plan::Workload& workload, const Book& book, const Selection& selection,
                    const Begun& begun) {
  bool finished = true;
  bool ended = true;
  bool was_begun = true;
  for (const plan::Row& row : workload.rows) {
    const Standing standing = book.standing(row, workload.repetition);
    finished = finished && standing == Standing::kFinished;
    ended = ended && standing != Standing::kOpen;
    was_begun = was_begun && begun.contains({row.key, workload.repetition});
  }
  if (finished) return Verdict::kFinished;
  if (was_begun) return Verdict::kFailed;
  if (!is_selected(workload, selection)) return Verdict::kNotSelected;
  return ended && !selection.rerun ? Verdict::kFailed : Verdict::kRun;
}

// The place depends only on the seed and the workload, not on the other workloads of the file.
std::uint64_t shuffle_key(const plan::Workload& workload, std::uint64_t seed) {
  const Sha256 hash = sha256(fmt::format("{}\n{}", seed, workload_label(workload)));
  return std::accumulate(hash.begin(), hash.begin() + 8, std::uint64_t{0},
                         [](std::uint64_t sum, std::uint8_t byte) { return sum << 8 | byte; });
}

class Judge {
 public:
  Judge(const std::vector<plan::Workload>& workloads, std::vector<Verdict> own)
      : workloads_(workloads), verdicts_(std::move(own)) {
    for (std::size_t i = 0; i < workloads.size(); ++i)
      by_name_[{workloads[i].experiment, workloads[i].name, workloads[i].repetition}] = i;
  }

  Choice judge(std::size_t index) {
    Choice choice{.workload = index, .verdict = verdicts_[index], .reason = {}};
    if (choice.verdict != Verdict::kRun) return choice;
    for (const std::string& name : workloads_[index].after) {
      const auto before = dependency(index, name);
      if (!before) continue;  // the plan's check names it
      const Verdict verdict = settled(*before);
      if (verdict == Verdict::kFinished) continue;
      const bool comes = verdict == Verdict::kRun || verdict == Verdict::kWaits;
      choice.verdict = comes ? Verdict::kWaits : Verdict::kBlocked;
      choice.reason = fmt::format("after {}, which {}", name, words(verdict));
      if (!comes) break;
    }
    return choice;
  }

 private:
  static std::string_view words(Verdict verdict) {
    switch (verdict) {
      case Verdict::kFailed:
        return "failed";
      case Verdict::kNotSelected:
        return "is not selected";
      case Verdict::kBlocked:
        return "will not run";
      default:
        return "has not finished";
    }
  }
  // Returns the index of the same repetition of a workload, or of its last repetition.
  [[nodiscard]] std::optional<std::size_t> dependency(std::size_t of,
                                                      const std::string& name) const {
    const plan::Workload& workload = workloads_[of];
    for (int repetition = workload.repetition; repetition >= 1; --repetition) {
      const auto found = by_name_.find({workload.experiment, name, repetition});
      if (found != by_name_.end()) return found->second;
    }
    return std::nullopt;
  }
  // Follows chains of dependencies, which may be as long as the file, without recursion:
  // dependencies are settled first. A workload that waits for itself is blocked.
  Verdict settled(std::size_t index) {
    std::vector<std::size_t> path;
    if (!settled_.contains(index)) path.push_back(index);
    while (!path.empty()) {
      const std::size_t top = path.back();
      if (settled_.try_emplace(top, Verdict::kBlocked).second) {
        open_.insert(top);
        push_unsettled(top, path);
        continue;
      }
      path.pop_back();
      if (open_.erase(top) > 0) settled_[top] = judge(top).verdict;
    }
    return settled_.at(index);
  }
  void push_unsettled(std::size_t index, std::vector<std::size_t>& path) const {
    if (verdicts_[index] != Verdict::kRun) return;
    for (const std::string& name : workloads_[index].after) {
      const auto before = dependency(index, name);
      if (before && !settled_.contains(*before)) path.push_back(*before);
    }
  }

  const std::vector<plan::Workload>& workloads_;
  std::vector<Verdict> verdicts_;
  std::map<std::tuple<std::string, std::string, int>, std::size_t> by_name_;
  std::map<std::size_t, Verdict> settled_;
  std::set<std::size_t> open_;  // verdicts that are being settled
};

}  // namespace

std::string workload_label(const plan::Workload& workload) {
  return workload.experiment + "/" + workload.recorded_name();
}

bool is_selected(const plan::Workload& workload, const Selection& selection) {
  return (selection.only.empty() || matches(selection.only, workload)) &&
         !matches(selection.skip, workload);
}

std::vector<Choice> judge(const std::vector<plan::Workload>& workloads, const Book& book,
                          const Selection& selection, const Begun& begun) {
  std::vector<Verdict> own;
  own.reserve(workloads.size());
  for (const plan::Workload& workload : workloads)
    own.push_back(own_verdict(workload, book, selection, begun));
  std::vector<std::size_t> order(workloads.size());
  std::iota(order.begin(), order.end(), 0);
  if (selection.shuffle) {
    // Repetitions stay behind each other: each is a block.
    std::vector<std::pair<int, std::uint64_t>> places;
    places.reserve(workloads.size());
    for (const plan::Workload& workload : workloads)
      places.emplace_back(workload.repetition, shuffle_key(workload, *selection.shuffle));
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return places[i]; });
  }
  Judge judge(workloads, std::move(own));
  std::vector<Choice> choices;
  choices.reserve(order.size());
  for (const std::size_t index : order) choices.push_back(judge.judge(index));
  return choices;
}

}  // namespace corral::run::schedule
