#include "analyze/check_phases.h"

#include <fmt/core.h>

#include <map>

#include "compat/mlflow/wire/phases_of_spans.h"
#include "compat/radt/radt.h"
#include "query/export/lane_stacks.h"
#include "query/export/perfetto.h"

namespace corral::analyze {
namespace {

constexpr std::size_t kMostExamples = 5;

// "3 phases", "1 phase".
std::string count_text(std::int64_t n, std::string_view thing) {
  return fmt::format("{} {}{}", n, thing, n == 1 ? "" : "s");
}

void add(std::vector<std::string>& problems, std::int64_t n, std::string_view thing,
         std::string_view what) {
  if (n > 0) problems.push_back(count_text(n, thing) + " " + std::string(what));
}

bool is_one_thread(std::string_view lane) {
  return lane != mlflow::kTraceLane && lane != mlflow::kRadtLane;
}

class Overlaps {
 public:
  void add(const store::Phase& phase) {
    if (!phase.end || !is_one_thread(phase.lane)) return;
    if (lanes_[phase.lane].place(ns_of(*phase.start), ns_of(*phase.end)) == 0) return;
    ++count_;
    if (examples_.size() < kMostExamples)
      examples_.push_back(fmt::format("'{}' in {}", phase.name, phase.lane));
  }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] std::string examples() const {
    std::string text;
    for (const std::string& example : examples_) text += (text.empty() ? "" : ", ") + example;
    return text;
  }

 private:
  std::map<std::string, query::LaneStacks, std::less<>> lanes_;
  std::int64_t count_ = 0;
  std::vector<std::string> examples_;
};

}  // namespace

Result<PhaseCheck> check_phases(const store::Reader& store, RunId run) {
  const auto found = TRY(store.run(run));
  if (!found) return fail(Code::kNotFound, "there is no run " + run.hex());
  PhaseCheck check;
  check.counts = TRY(store.count_phases(run));
  Overlaps overlaps;
  const auto visit = [&](const store::Phase& phase) {
    overlaps.add(phase);
    return true;
  };
  TRY(query::walk_phases(store, run, visit));
  check.overlaps = overlaps.count();
  const bool running = found->status == store::RunStatus::kRunning;
  if (!running) add(check.problems, check.counts.unended, "phase", "without an end");
  add(check.problems, check.counts.ends_alone, "end", "without a begin");
  add(check.problems, check.counts.backwards, "phase", "with an end before the begin");
  add(check.problems, check.counts.unknown_parents, "phase", "whose parent is not there");
  add(check.problems, check.overlaps, "phase",
      "that overlap others of their thread without nesting: " + overlaps.examples());
  return check;
}

}  // namespace corral::analyze
