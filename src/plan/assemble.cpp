#include "plan/assemble.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "core/ids.h"
#include "core/sha256.h"
#include "core/text.h"
#include "plan/spelling.h"

namespace corral::plan {
namespace {

using Group = std::vector<std::size_t>;

// 0 -> A, 25 -> Z, 26 -> AA: radT has no more than 26.
std::string letters(std::size_t number) {
  std::string text;
  for (++number; number > 0; number = (number - 1) / 26)
    text.insert(text.begin(), static_cast<char>('A' + (number - 1) % 26));
  return text;
}

std::string name_of_workload(const Row& row) { return row.experiment + '\0' + row.workload; }

// radT's: "0", "0_A" and "0_B" where rows share a device, "0_A_mps". Recorded as a param, too.
void set_letters(std::vector<Row>& rows, const std::vector<RawRow>& raws) {
  for (const auto& group : rows_by_workload(rows)) {
    std::unordered_map<std::string_view, std::size_t> sharing;
    std::unordered_map<std::string_view, std::size_t> given;
    for (const std::size_t i : group) ++sharing[raws[i][Field::kDevices]];
    for (const std::size_t i : group) {
      const std::string_view devices = raws[i][Field::kDevices];
      Row& row = rows[i];
      row.letter = row.share.devices.empty() ? "cpu" : std::string(devices);
      if (sharing[devices] > 1) row.letter += "_" + letters(given[devices]++);
      const std::string_view way = row.collocation;
      if (way != "-" && !way.empty())
        row.letter += fmt::format("_{}", way.substr(0, way.find_first_of("=:;")));
      if (std::ranges::find(row.params, "letter", &Pairs::value_type::first) == row.params.end())
        row.params.emplace_back("letter", row.letter);
    }
  }
}

// ---- devices and MIG

class DeviceCheck {
 public:
  DeviceCheck(const std::vector<Row>& rows, const std::vector<RawRow>& raws, const Known& known,
              ProblemList& problems)
      : rows_(rows), raws_(raws), known_(known), problems_(problems) {}

  void run() {
    for (std::size_t i = 0; i < rows_.size(); ++i) check_row(i);
    for (const auto& [word, missing] : missing_) report_missing(word, missing);
    for (const auto& group : rows_by_workload(rows_)) {
      check_sharing(group);
      check_cpus(group);
    }
  }

 private:
  struct Missing {
    std::size_t row = 0;
    std::size_t count = 0;
  };

  [[nodiscard]] const KnownDevice* find(std::string_view word) const {
    if (!known_.devices) return nullptr;
    for (const KnownDevice& device : *known_.devices) {
      // Addresses are written with four, eight or no digits of the domain.
      const bool pci = word.find(':') != std::string_view::npos && !device.pci.empty() &&
                       lower_ascii(device.pci).ends_with(lower_ascii(word));
      if (device.index == word || equal_ignoring_case(device.uuid, word) || pci) return &device;
    }
    return nullptr;
  }
  // One name for all spellings of a device.
  [[nodiscard]] std::string canonical(const std::string& word) const {
    const KnownDevice* device = find(word);
    return device == nullptr ? word : device->index;
  }

  void check_row(std::size_t i) {
    const Share& share = rows_[i].share;
    for (const std::string& word : share.devices) {
      // An instance that exists is not looked for: it may be made by then.
      const bool instance = lower_ascii(word).starts_with("mig-");
      if (known_.devices && !instance && find(word) == nullptr) {
        const auto [entry, first] = missing_.try_emplace(word, Missing{i, 0});
        ++entry->second.count;
      }
    }
    if (share.sharing == Sharing::kMig) check_profile(i);
    // Such a run cannot do without; others may run on CPUs.
    const bool gpu_alone = share.sharing == Sharing::kMig || share.sharing == Sharing::kMps;
    if (known_.runs_here && gpu_alone && !share.devices.empty() && known_.devices->empty())
      problems_.add_once(raws_[i], Field::kCollocation,
                         {"needs a GPU, and this machine has none",
                          "--no-devices checks a plan for another machine"});
  }

  void report_missing(const std::string& word, const Missing& missing) {
    const bool none = known_.devices->empty();
    std::string there;
    for (const KnownDevice& device : *known_.devices)
      there += (there.empty() ? "" : ", ") + device.index + " (" + device.model + ")";
    std::string reason = none ? fmt::format("this machine has no GPU, so no device {}", word)
                              : fmt::format("this machine has no device {}", word);
    if (missing.count > 1) reason += fmt::format(" ({} rows)", missing.count);
    problems_.add(raws_[missing.row], Field::kDevices,
                  {reason, none ? "" : fmt::format("there are {}", there)},
                  none ? Severity::kWarning : Severity::kError);
  }

  // The tables that the device may be read by: its own, or all that are published.
  const std::vector<MigTable>& mig_tables(const std::string& word) {
    const KnownDevice* device = find(word);
    if (device == nullptr || device->profiles.empty()) return published_tables();
    std::vector<MigTable>& own = own_tables_[device->index];
    if (!own.empty()) return own;
    MigTable table{device->model, 0, 0, device->profiles};
    for (const MigProfile& profile : device->profiles) {
      table.slices = std::max(table.slices, profile.slices);
      table.memory_slices = std::max(table.memory_slices, profile.memory_slices);
    }
    own.push_back(std::move(table));
    return own;
  }

  void check_profile(std::size_t i) {
    const std::string& profile = rows_[i].share.profile;
    for (const std::string& device : rows_[i].share.devices) {
      if (good_profiles_.contains({device, profile})) continue;
      const auto& tables = mig_tables(device);
      const bool there = std::ranges::any_of(
          tables, [&](const MigTable& t) { return find_profile(t, profile) != nullptr; });
      if (there) {
        good_profiles_.emplace(device, profile);
        continue;
      }
      unknown_profiles_.insert(profile);
      std::vector<std::string_view> names;
      for (const MigTable& table : tables) {
        for (const MigProfile& known : table.profiles) names.push_back(known.name);
      }
      const bool part = profile.find("c.") != std::string::npos;
      problems_.add(
          raws_[i], Field::kCollocation,
          {part                 ? "parts of an instance (1c.…) are not supported"
           : tables.size() == 1 ? fmt::format("{} has no such MIG profile", tables[0].device)
                                : "no such MIG profile",
           suggest(profile, names, "")});
      return;
    }
  }

  // Rows of one workload on one device: the requested state, and the requesting row.
  struct Asked {
    std::vector<std::string> profiles;
    std::optional<std::size_t> mig, mps, plain, sm_clock, memory_clock, power;
  };

  void check_sharing(const Group& group) {
    std::map<std::string, Asked> devices;
    for (const std::size_t i : group) {
      for (const std::string& word : rows_[i].share.devices) {
        Asked& asked = devices[canonical(word)];
        note(asked, i);
        check_factors(asked, i);
      }
    }
    for (const auto& [device, asked] : devices) report_sharing(device, asked);
  }
  void note(Asked& asked, std::size_t i) {
    const Share& share = rows_[i].share;
    if (share.sharing == Sharing::kMig) {
      asked.profiles.push_back(share.profile);
      if (!asked.mig) asked.mig = i;
    } else if (share.sharing == Sharing::kMps) {
      if (!asked.mps) asked.mps = i;
    } else if (!asked.plain) {
      asked.plain = i;
    }
  }
  void report_sharing(const std::string& device, const Asked& asked) {
    const auto other = asked.mps ? asked.mps : asked.plain;
    if (asked.mig && other) {
      problems_.add(raws_[*other], Field::kCollocation,
                    {fmt::format("line {} of the same workload requests device {} in MIG instances",
                                 raws_[*asked.mig].line, device),
                     "in MIG mode only instances can be used"});
    } else if (asked.mps && asked.plain) {
      problems_.warn(raws_[*asked.plain], Field::kCollocation,
                     {fmt::format("line {} of the same workload uses MPS on device {}: this run "
                                  "shares it by time slicing with all of those",
                                  raws_[*asked.mps].line, device)});
    }
    if (!asked.profiles.empty()) check_fit(device, asked);
  }

  void check_fit(const std::string& device, const Asked& asked) {
    for (const std::string& profile : asked.profiles) {
      if (unknown_profiles_.contains(profile)) return;  // said already
    }
    std::optional<std::string> reason;
    for (const MigTable& table : mig_tables(device)) {
      const bool has_all = std::ranges::all_of(asked.profiles, [&](const std::string& profile) {
        return find_profile(table, profile) != nullptr;
      });
      if (!has_all) continue;
      const auto why = cannot_fit(table, asked.profiles);
      if (!why) return;
      if (!reason) reason = why;
    }
    const std::size_t shown = std::min<std::size_t>(asked.profiles.size(), 8);
    std::string all =
        join({asked.profiles.begin(), asked.profiles.begin() + static_cast<std::ptrdiff_t>(shown)},
             " + ");
    if (shown < asked.profiles.size()) all += " + …";
    problems_.add(
        raws_[*asked.mig], Field::kCollocation,
        {fmt::format("workload {} requests {} on device {}, which do not fit together: {}",
                     rows_[*asked.mig].workload, all, device,
                     reason.value_or("no device has all of these profiles"))});
  }

  // Clocks and power are the device's, not the run's.
  void check_factors(Asked& asked, std::size_t i) {
    const Share& share = rows_[i].share;
    const auto compare = [&](auto Share::*factor, std::optional<std::size_t>& first, Field field) {
      if (!(share.*factor)) return;
      if (!first) first = i;
      if (rows_[*first].share.*factor == share.*factor) return;
      problems_.add(raws_[i], field,
                    {fmt::format("line {} of the same workload requests another of the device",
                                 raws_[*first].line)});
    };
    compare(&Share::sm_clock_mhz, asked.sm_clock, Field::kClocks);
    compare(&Share::memory_clock_mhz, asked.memory_clock, Field::kClocks);
    compare(&Share::power_watts, asked.power, Field::kPower);
  }

  void check_cpus(const Group& group) {
    if (!known_.cpus) return;
    std::set<int> used;
    int counted = 0;
    std::optional<std::size_t> last;
    for (const std::size_t i : group) {
      const Share& share = rows_[i].share;
      if (!share.cpus.empty() && share.cpus.back() >= *known_.cpus) {
        problems_.add(raws_[i], Field::kCpus,
                      {fmt::format("this machine has no CPU {}", share.cpus.back()),
                       fmt::format("there are 0 to {}", *known_.cpus - 1)});
        return;
      }
      used.insert(share.cpus.begin(), share.cpus.end());
      counted += share.cpu_count.value_or(0);
      if (share.cpu_count || !share.cpus.empty()) last = i;
    }
    const int all = counted + static_cast<int>(used.size());
    if (last && all > *known_.cpus)
      problems_.add(raws_[*last], Field::kCpus,
                    {fmt::format("workload {} requests {} CPUs together, this machine has {}",
                                 rows_[*last].workload, all, *known_.cpus)});
  }

  const std::vector<Row>& rows_;
  const std::vector<RawRow>& raws_;
  const Known& known_;
  ProblemList& problems_;
  std::map<std::string, Missing> missing_;
  std::set<std::string> unknown_profiles_;
  std::set<std::pair<std::string, std::string>> good_profiles_;  // profiles of a device
  std::map<std::string, std::vector<MigTable>> own_tables_;      // by its index
};

// ---- order and end of workloads

// With repetitions: each is held in memory and reported to the server.
constexpr std::size_t kMostRuns = 500'000;

class WorkloadCheck {
 public:
  WorkloadCheck(const std::vector<Row>& rows, const std::vector<RawRow>& raws,
                ProblemList& problems)
      : rows_(rows), raws_(raws), problems_(problems), groups_(rows_by_workload(rows)) {}

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
      if (parse_row_state(row.status) == RowState::kFinished) ++finished;
      if (row.status.empty() || row.status == "-" || parse_row_state(row.status) != RowState::kNew)
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
    std::map<Sha256, std::size_t> seen;
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
          report_cycle(path, to);
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
  void report_cycle(const std::vector<std::pair<std::size_t, std::size_t>>& path, std::size_t to) {
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

std::vector<std::string> row_keys(const std::vector<RawRow>& raws, bool with_workload) {
  constexpr std::size_t kKeyBytes = 8;
  std::map<Sha256, int> seen;
  std::vector<std::string> keys;
  keys.reserve(raws.size());
  for (const RawRow& raw : raws) {
    Sha256 hash = content_hash(raw, with_workload);
    const int ordinal = seen[hash]++;
    // The second, third, … of equal rows.
    const std::string_view bytes(reinterpret_cast<const char*>(hash.data()), hash.size());
    if (ordinal > 0) hash = sha256(fmt::format("{}{}", bytes, ordinal));
    keys.push_back(hex(hash, kKeyBytes));
  }
  return keys;
}

std::map<std::size_t, const Mark*> marks_by_row(const std::vector<RawRow>& raws, bool with_workload,
                                                const std::vector<Mark>& marks, Marked& marked) {
  std::unordered_map<std::string, std::size_t> rows;
  const auto keys = row_keys(raws, with_workload);
  for (std::size_t i = 0; i < keys.size(); ++i) rows.emplace(keys[i], i);
  std::map<std::size_t, const Mark*> found;
  for (const Mark& mark : marks) {
    const auto row = rows.find(mark.key);
    if (row == rows.end())
      marked.lost.push_back(mark.key);
    else
      found[row->second] = &mark;
  }
  return found;
}

std::vector<std::vector<std::size_t>> rows_by_workload(const std::vector<Row>& rows) {
  std::unordered_map<std::string, std::size_t> index;
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [entry, first] = index.try_emplace(name_of_workload(rows[i]), groups.size());
    if (first) groups.emplace_back();
    groups[entry->second].push_back(i);
  }
  return groups;
}

Plan assemble_plan(const std::vector<RawRow>& raws, const RowContext& context,
                   ProblemList& problems) {
  Plan plan{.rows = read_rows(raws, context, problems), .problems = {}};
  const auto keys = row_keys(raws, !context.sweep);
  for (std::size_t i = 0; i < raws.size(); ++i) plan.rows[i].key = keys[i];
  set_letters(plan.rows, raws);
  if (context.has_groups()) {
    DeviceCheck(plan.rows, raws, context.known, problems).run();
    WorkloadCheck(plan.rows, raws, problems).run();
  }
  plan.problems = problems.take_sorted();
  return plan;
}

}  // namespace corral::plan
