#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "core/ids.h"
#include "core/text.h"
#include "plan/finish.h"
#include "plan/plan_file.h"
#include "plan/spelling.h"

namespace corral::plan {
namespace {

using Group = std::vector<std::size_t>;

// With repetitions: each is held in memory and reported to the server.
constexpr std::size_t kMostRuns = 500'000;

class WorkloadCheck {
 public:
  WorkloadCheck(const std::vector<Row>& rows, const std::vector<RawRow>& raws,
                ProblemList& problems)
      : rows_(rows), raws_(raws), problems_(problems), groups_(groups_of(rows)) {}

  void run() {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const Row& row = rows_[groups_[g].front()];
      number_of_[row.experiment][row.workload] = g;
    }
    for (const Group& group : groups_) {
      check_repeat(group);
      check_end(group);
      check_status(group);
      check_copies(group);
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      check_after(i);
      check_run(i);
    }
    check_cycles();
  }

 private:
  void check_repeat(const Group& group) {
    const auto most =
        std::ranges::max_element(group, {}, [&](std::size_t i) { return rows_[i].repeat; });
    const std::size_t before = runs_;
    runs_ += group.size() * static_cast<std::size_t>(rows_[*most].repeat);
    if (before <= kMostRuns && runs_ > kMostRuns)
      problems_.add(
          raws_[*most], Field::kRepeat,
          {fmt::format("with its repetitions the plan has more than {} runs", kMostRuns)});
    for (const std::size_t i : group) {
      if (rows_[i].repeat == rows_[*most].repeat) continue;
      problems_.warn(raws_[i], Field::kRepeat,
                     {fmt::format("a workload repeats as a whole: {} times according to line {}",
                                  rows_[*most].repeat, raws_[*most].line)});
      return;
    }
  }

  void check_end(const Group& group) {
    std::optional<std::size_t> first, named;
    bool all_loop = true;
    for (const std::size_t i : group) {
      if (rows_[i].end == WorkloadEnd::kFirst && !first) first = i;
      if (rows_[i].end == WorkloadEnd::kNamed && !named) named = i;
      all_loop = all_loop && rows_[i].loop;
    }
    if (first && named)
      problems_.add(raws_[std::max(*first, *named)], Field::kEnd,
                    {fmt::format("line {} of the same workload contradicts",
                                 raws_[std::min(*first, *named)].line)});
    if (all_loop)
      problems_.add(
          raws_[group.back()], Field::kLoop,
          {"every run of the workload restarts until the workload ends, so it never ends"});
  }

  void check_status(const Group& group) {
    std::size_t finished = 0;
    for (const std::size_t i : group) {
      const Row& row = rows_[i];
      if (state_of(row.status) == RowState::kFinished) ++finished;
      if (row.status.empty() || row.status == "-" || state_of(row.status) != RowState::kNew)
        continue;
      problems_.warn(raws_[i], Field::kStatus,
                     {"is not FINISHED, FAILED or RUNNING: the row counts as not started"});
    }
    if (finished == 0 || finished == group.size()) return;
    problems_.warn(raws_[group.front()], Field::kStatus,
                   {fmt::format("{} of the {} rows of workload {} are FINISHED: unless the others "
                                "FAILED, all of them run again",
                                finished, group.size(), rows_[group.front()].workload)});
  }

  // A run is one row's. A row that was copied with its Run would never start.
  void check_run(std::size_t i) {
    const std::string& run = rows_[i].run;
    if (run.empty() || run == "-") return;
    const auto [entry, first] = row_of_run_.try_emplace(run, i);
    if (!first)
      problems_.add(raws_[i], Field::kRun,
                    {fmt::format("line {} has the same run", raws_[entry->second].line),
                     "empty Run and Status of a row that was copied"});
    if (!RunId::parse(run))
      problems_.warn(raws_[i], Field::kRun, {"is not a run's id: expected 32 hex digits"});
  }

  // Equal rows beside each other are meant: they share a device. Far apart they are a workload's
  // name used twice.
  void check_copies(const Group& group) {
    if (group.back() - group.front() + 1 == group.size()) return;
    std::map<std::string, std::size_t> seen;
    for (std::size_t n = 0; n < group.size(); ++n) {
      const std::size_t i = group[n];
      const bool apart = n > 0 && group[n - 1] + 1 != i;
      const auto [entry, first] = seen.try_emplace(content_hash(raws_[i], true), i);
      if (first || !apart) continue;
      problems_.warn(
          raws_[i], Field::kWorkload,
          {fmt::format("equals line {} and starts together with it", raws_[entry->second].line),
           "another number, if it is a workload of its own"});
    }
  }

  void check_after(std::size_t i) {
    const Row& row = rows_[i];
    const auto& known = number_of_[row.experiment];
    for (const std::string& name : row.after) {
      if (name == row.workload) {
        problems_.add(raws_[i], Field::kAfter, {"a workload cannot come after itself"});
      } else if (!known.contains(name)) {
        std::vector<std::string_view> names;
        for (const auto& [workload, number] : known) names.emplace_back(workload);
        problems_.add(raws_[i], Field::kAfter,
                      {fmt::format("experiment {} has no workload {}", row.experiment, name),
                       suggest(name, names, "")});
      }
    }
  }

  // Workloads that wait for each other, each circle once. Iterative: a chain may be as long as the
  // file.
  void check_cycles() {
    std::vector<std::vector<std::size_t>> before(groups_.size());
    for (std::size_t g = 0; g < groups_.size(); ++g) before[g] = waits_for(g);
    enum class Mark { kNew, kOpen, kDone };
    std::vector<Mark> marks(groups_.size(), Mark::kNew);
    for (std::size_t start = 0; start < groups_.size(); ++start) {
      if (marks[start] != Mark::kNew) continue;
      std::vector<std::pair<std::size_t, std::size_t>> path = {{start, 0}};
      marks[start] = Mark::kOpen;
      while (!path.empty()) {
        auto& [g, next] = path.back();
        if (next == before[g].size()) {
          marks[g] = Mark::kDone;
          path.pop_back();
          continue;
        }
        const std::size_t to = before[g][next++];
        if (marks[to] == Mark::kOpen) {
          say_cycle(path, to);
        } else if (marks[to] == Mark::kNew) {
          marks[to] = Mark::kOpen;
          path.emplace_back(to, 0);
        }
      }
    }
  }
  [[nodiscard]] std::vector<std::size_t> waits_for(std::size_t g) {
    std::vector<std::size_t> found;
    for (const std::size_t i : groups_[g]) {
      const auto& known = number_of_[rows_[i].experiment];
      for (const std::string& name : rows_[i].after) {
        const auto other = known.find(name);
        if (other != known.end() && other->second != g) found.push_back(other->second);
      }
    }
    return found;
  }
  void say_cycle(const std::vector<std::pair<std::size_t, std::size_t>>& path, std::size_t to) {
    std::string names;
    bool inside = false;
    for (const auto& [g, next] : path) {
      inside = inside || g == to;
      if (inside) names += rows_[groups_[g].front()].workload + " after ";
    }
    names += rows_[groups_[to].front()].workload;
    problems_.add(raws_[with_after(path.back().first)], Field::kAfter,
                  {"workloads wait for each other: " + names});
  }
  // Returns the row of the workload that names its predecessors.
  [[nodiscard]] std::size_t with_after(std::size_t g) const {
    const auto found =
        std::ranges::find_if(groups_[g], [&](std::size_t i) { return !rows_[i].after.empty(); });
    return found == groups_[g].end() ? groups_[g].front() : *found;
  }

  const std::vector<Row>& rows_;
  const std::vector<RawRow>& raws_;
  ProblemList& problems_;
  std::vector<Group> groups_;
  std::size_t runs_ = 0;
  // Experiment -> workload -> number of its group.
  std::unordered_map<std::string, std::unordered_map<std::string, std::size_t>> number_of_;
  std::unordered_map<std::string, std::size_t> row_of_run_;
};

}  // namespace

void check_workloads(const std::vector<Row>& rows, const std::vector<RawRow>& raws,
                     ProblemList& problems) {
  WorkloadCheck(rows, raws, problems).run();
}

}  // namespace corral::plan
