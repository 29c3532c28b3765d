#include "collocate/cpu_sets.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "collocate/group_files.h"
#include "collocate/run_group.h"
#include "core/cpu_list.h"
#include "core/text.h"

namespace corral::collocate {
namespace {

// ---- topology

std::vector<int> list_in(const fs::path& file) {
  return parse_cpu_list(read_control(file)).value_or(std::vector<int>());
}

// Returns the CPUs that the cpuset of this process allows; empty if it names none.
std::vector<int> allowed_cpus(const fs::path& root) {
  const auto tree = GroupTree::read(root);
  if (!tree) return {};
  const fs::path own = tree->own("cpuset");
  for (const char* name : {"cpuset.effective_cpus", "cpuset.cpus.effective", "cpuset.cpus"}) {
    if (auto cpus = list_in(own / name); !cpus.empty()) return cpus;
  }
  return {};
}

std::vector<int> common(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  return both;
}

std::map<int, int> nodes_of_cpus(const fs::path& nodes, std::vector<int>& found) {
  std::map<int, int> of_cpu;
  for (const std::string& name : sys::list_directory(nodes)) {
    const auto node = name.starts_with("node") ? parse_int(name.substr(4)) : std::nullopt;
    if (!node) continue;
    found.push_back(static_cast<int>(*node));
    for (const int cpu : list_in(nodes / name / "cpulist")) of_cpu[cpu] = static_cast<int>(*node);
  }
  std::ranges::sort(found);
  return of_cpu;
}

// ---- sets

// The use of a core so far.
struct CoreUse {
  std::set<int> used;  // threads that a run has
  bool kept = false;   // one run has the whole core
  bool split = false;  // runs that split siblings have threads of it
};

class Allocation {
 public:
  Allocation(const Topology& topology, std::span<const CpuRequest> requests)
      : topology_(topology), requests_(requests), uses_(topology.cores.size()) {
    sets_.of_run.resize(requests.size());
  }

  Result<CpuSets> run() {
    if (std::ranges::none_of(requests_, &CpuRequest::any)) return sets_;
    for (std::size_t i = 0; i < requests_.size(); ++i) assign_exact(i);
    for (const std::size_t i : by_constraint()) assign_count(i);
    for (std::size_t i = 0; i < requests_.size(); ++i) assign_rest(i);
    if (!problems_.empty()) return fail(Code::kUnprocessable, join(problems_, "\n"));
    assign_housekeeping();
    return std::move(sets_);
  }

 private:
  void problem(std::size_t run, const std::string& text) {
    problems_.push_back(fmt::format("run {}: {}", run, text));
  }

  void assign_exact(std::size_t run) {
    const CpuRequest& request = requests_[run];
    for (const int cpu : request.exact) {
      if (topology_.has(cpu)) continue;
      return problem(run, fmt::format("CPU {} cannot be used here: there are {}", cpu,
                                      format_cpu_list(topology_.cpus)));
    }
    if (request.node && !topology_.has_node(*request.node)) {
      return problem(run, fmt::format("no NUMA node {}: there are {}", *request.node,
                                      format_cpu_list(topology_.nodes)));
    }
    sets_.of_run[run] = request.exact;
    for (std::size_t c = 0; c < uses_.size(); ++c) {
      for (const int cpu : topology_.cores[c].cpus) {
        if (std::ranges::find(request.exact, cpu) != request.exact.end()) uses_[c].used.insert(cpu);
      }
    }
  }

  // Runs that fit in fewer places come first.
  [[nodiscard]] std::vector<std::size_t> by_constraint() const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i].count && requests_[i].exact.empty()) order.push_back(i);
    }
    const auto rank = [&](std::size_t i) {
      return requests_[i].node ? 0 : requests_[i].near.empty() ? 2 : 1;
    };
    std::ranges::stable_sort(order, std::less<>(), rank);
    return order;
  }

  [[nodiscard]] bool is_free(std::size_t core) const {
    return uses_[core].used.empty() && !uses_[core].kept;
  }

  [[nodiscard]] bool is_near(const CpuRequest& request, std::size_t core) const {
    return std::ranges::any_of(topology_.cores[core].cpus, [&](int cpu) {
      return std::ranges::find(request.near, cpu) != request.near.end();
    });
  }

  // Returns the free cores for a request, the best first: near the devices, then all on one node
  // (the one that they fill best), the core of CPU 0 last.
  [[nodiscard]] std::vector<std::size_t> candidates(const CpuRequest& request) const {
    std::vector<std::size_t> found;
    std::map<int, int> room;  // free CPUs of each node
    for (std::size_t c = 0; c < uses_.size(); ++c) {
      const Core& core = topology_.cores[c];
      if (!is_free(c) || (request.node && core.node != *request.node)) continue;
      found.push_back(c);
      room[core.node] += request.split ? 1 : static_cast<int>(core.cpus.size());
    }
    const auto rank = [&](std::size_t c) {
      const int here = room[topology_.cores[c].node];
      const bool fits = here >= *request.count;
      const bool near = !request.near.empty() && is_near(request, c);
      return std::tuple(!near, !fits, fits ? here : -here, topology_.cores[c].node,
                        topology_.cores[c].cpus.front() == 0, c);
    };
    std::ranges::sort(found, std::less<>(), rank);
    return found;
  }

  void assign_count(std::size_t run) {
    const CpuRequest& request = requests_[run];
    std::vector<int>& set = sets_.of_run[run];
    const auto wanted = static_cast<std::size_t>(*request.count);
    for (const std::size_t c : candidates(request)) {
      if (set.size() == wanted) break;
      const std::vector<int>& threads = topology_.cores[c].cpus;
      const std::size_t some = request.split ? 1 : std::min(wanted - set.size(), threads.size());
      set.insert(set.end(), threads.begin(), threads.begin() + static_cast<std::ptrdiff_t>(some));
      uses_[c].used.insert(threads.begin(), threads.begin() + static_cast<std::ptrdiff_t>(some));
      uses_[c].kept = !request.split;
      uses_[c].split = request.split;
    }
    if (request.split && set.size() < wanted) share_cores(run);
    std::ranges::sort(set);
    if (set.size() == wanted) return;
    problem(run, fmt::format("{} CPUs requested, {} left{}{}", wanted, set.size(),
                             request.node ? fmt::format(" on NUMA node {}", *request.node) : "",
                             request.split ? ", one thread of a core" : ", by whole cores"));
  }

  // Gives a run the other threads of cores that runs have split.
  void share_cores(std::size_t run) {
    const CpuRequest& request = requests_[run];
    std::vector<int>& set = sets_.of_run[run];
    for (std::size_t c = 0; c < uses_.size(); ++c) {
      const Core& core = topology_.cores[c];
      if (set.size() == static_cast<std::size_t>(*request.count)) break;
      const bool own = std::ranges::any_of(
          core.cpus, [&](int cpu) { return std::ranges::find(set, cpu) != set.end(); });
      if (!uses_[c].split || own || (request.node && core.node != *request.node)) continue;
      for (const int cpu : core.cpus) {
        if (!uses_[c].used.insert(cpu).second) continue;
        set.push_back(cpu);
        shared_.insert(run);
        break;
      }
    }
  }

  // Gives a run without a request all CPUs that no run has for itself.
  void assign_rest(std::size_t run) {
    const CpuRequest& request = requests_[run];
    if (!request.exact.empty() || request.count) return;
    for (std::size_t c = 0; c < uses_.size(); ++c) {
      const Core& core = topology_.cores[c];
      if (uses_[c].kept || uses_[c].split || (request.node && core.node != *request.node)) continue;
      sets_.of_run[run].insert(sets_.of_run[run].end(), core.cpus.begin(), core.cpus.end());
    }
    std::ranges::sort(sets_.of_run[run]);
    if (sets_.of_run[run].empty()) problem(run, "no CPU is left: other runs have them all");
  }

  void assign_housekeeping() {
    std::vector<int> whole;
    std::vector<int> siblings;
    for (std::size_t c = 0; c < uses_.size(); ++c) {
      for (const int cpu : topology_.cores[c].cpus) {
        if (is_free(c)) whole.push_back(cpu);
        if (!uses_[c].used.contains(cpu)) siblings.push_back(cpu);
      }
    }
    sets_.housekeeping = whole.empty() ? siblings : whole;
    std::ranges::sort(sets_.housekeeping);
    if (sets_.housekeeping.empty()) {
      sets_.notes.emplace_back(
          "no CPU is left for Corral's own processes: they run on those of the runs");
    } else if (whole.empty()) {
      sets_.notes.push_back(
          fmt::format("Corral's own processes run on CPU {}, threads of cores that the runs use",
                      format_cpu_list(sets_.housekeeping)));
    }
    for (const std::size_t run : shared_)
      sets_.notes.push_back(fmt::format("run {} shares cores with another: one thread each", run));
  }

  const Topology& topology_;
  std::span<const CpuRequest> requests_;
  std::vector<CoreUse> uses_;
  std::set<std::size_t> shared_;
  std::vector<std::string> problems_;
  CpuSets sets_;
};

}  // namespace

// ---- topology

Result<Topology> Topology::read(const fs::path& root) {
  const fs::path cpus = root / "sys/devices/system/cpu";
  Topology topology;
  const std::string online = TRY(sys::read_file(cpus / "online"));
  topology.cpus = TRY(parse_cpu_list(online));
  if (const auto allowed = allowed_cpus(root); !allowed.empty())
    topology.cpus = common(topology.cpus, allowed);
  if (topology.cpus.empty()) return fail(Code::kUnsupported, "no CPU is allowed here");
  const auto node_of = nodes_of_cpus(root / "sys/devices/system/node", topology.nodes);
  if (topology.nodes.empty()) topology.nodes.push_back(0);
  std::vector<bool> seen(static_cast<std::size_t>(topology.cpus.back()) + 1);
  for (const int cpu : topology.cpus) {
    if (seen[static_cast<std::size_t>(cpu)]) continue;
    const fs::path own = cpus / ("cpu" + std::to_string(cpu)) / "topology";
    auto siblings = common(list_in(own / "thread_siblings_list"), topology.cpus);
    // A virtual machine may give no siblings, or wrong ones.
    if (std::ranges::find(siblings, cpu) == siblings.end()) siblings = {cpu};
    for (const int sibling : siblings) seen[static_cast<std::size_t>(sibling)] = true;
    const auto node = node_of.find(cpu);
    topology.cores.push_back(
        {.node = node == node_of.end() ? 0 : node->second, .cpus = std::move(siblings)});
  }
  return topology;
}

bool Topology::has(int cpu) const { return std::ranges::binary_search(cpus, cpu); }
bool Topology::has_node(int node) const { return std::ranges::binary_search(nodes, node); }

std::vector<int> cpus_near(const fs::path& root, const std::string& address) {
  if (address.empty() || address.find('/') != std::string::npos) return {};
  return list_in(root / "sys/bus/pci/devices" / lower_ascii(address) / "local_cpulist");
}

// ---- sets

Result<CpuSets> allocate_cpus(const Topology& topology, std::span<const CpuRequest> requests) {
  return Allocation(topology, requests).run();
}

}  // namespace corral::collocate
