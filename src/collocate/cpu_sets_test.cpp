#include "collocate/cpu_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "collect/test_roots.h"
#include "core/cpu_list.h"

namespace corral::collocate {
namespace {

using Cpus = std::vector<int>;

// A machine as in /sys, numbered like Linux: the first threads of all cores come first.
struct Machine {
  int nodes = 1, cores = 4, threads = 1;  // cores of a node
  [[nodiscard]] int all_cores() const { return nodes * cores; }
  void write(const collect::FakeRoot& root) const {
    const std::string base = "sys/devices/system/";
    root.write(base + "cpu/online", "0-" + std::to_string(all_cores() * threads - 1) + "\n");
    for (int node = 0; node < nodes; ++node) {
      Cpus of_node;
      for (int core = node * cores; core < (node + 1) * cores; ++core) {
        Cpus siblings;
        for (int t = 0; t < threads; ++t) siblings.push_back(core + t * all_cores());
        for (const int cpu : siblings) {
          root.write(base + "cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
                     format_cpu_list(siblings) + "\n");
        }
        of_node.insert(of_node.end(), siblings.begin(), siblings.end());
      }
      std::ranges::sort(of_node);
      root.write(base + "node/node" + std::to_string(node) + "/cpulist",
                 format_cpu_list(of_node) + "\n");
    }
  }
};

Topology topology_of(const Machine& machine) {
  Topology topology;
  for (int core = 0; core < machine.all_cores(); ++core) {
    Core one{.node = core / machine.cores, .cpus = {}};
    for (int t = 0; t < machine.threads; ++t) one.cpus.push_back(core + t * machine.all_cores());
    topology.cpus.insert(topology.cpus.end(), one.cpus.begin(), one.cpus.end());
    topology.cores.push_back(std::move(one));
  }
  std::ranges::sort(topology.cpus);
  for (int node = 0; node < machine.nodes; ++node) topology.nodes.push_back(node);
  return topology;
}

CpuRequest count(int n) {
  CpuRequest request;
  request.count = n;
  return request;
}
CpuRequest exact(Cpus cpus) {
  CpuRequest request;
  request.exact = std::move(cpus);
  return request;
}
CpuRequest split(int n) {
  CpuRequest request = count(n);
  request.split = true;
  return request;
}

std::string error_of(const Result<CpuSets>& sets) { return sets ? "" : sets.error().message; }

TEST(Topology, KnowsCoresAndNodesAndLeavesOfflineCpusOut) {
  const collect::FakeRoot root;
  Machine{.nodes = 2, .cores = 2, .threads = 2}.write(root);
  root.write("sys/devices/system/cpu/online", "0-2,4-7\n");
  const Topology topology = Topology::read(root.path()).value();
  ASSERT_EQ(topology.cores.size(), 4U);
  EXPECT_EQ(topology.cores[0].cpus, (Cpus{0, 4}));
  EXPECT_EQ(topology.cores[3].cpus, (Cpus{7}));
  EXPECT_EQ(topology.cores[3].node, 1);
  EXPECT_FALSE(topology.has(3));
}

TEST(Topology, IsReadAsItIs) {
  const Machine machine{.nodes = 2, .cores = 3, .threads = 2};
  const collect::FakeRoot root;
  machine.write(root);
  const Topology read = Topology::read(root.path()).value();
  const Topology made = topology_of(machine);
  EXPECT_EQ(read.cpus, made.cpus);
  EXPECT_EQ(read.nodes, made.nodes);
  ASSERT_EQ(read.cores.size(), made.cores.size());
  for (std::size_t i = 0; i < made.cores.size(); ++i) {
    EXPECT_EQ(read.cores[i].cpus, made.cores[i].cpus);
    EXPECT_EQ(read.cores[i].node, made.cores[i].node);
  }
}

TEST(Topology, WithoutAnyWordEachCpuIsACore) {
  const collect::FakeRoot root({{"sys/devices/system/cpu/online", "0-1\n"}});
  EXPECT_EQ(Topology::read(root.path()).value().cores.size(), 2U);
}

TEST(Topology, ACpusetOfTheCallerLimitsIt) {
  const collect::FakeRoot root({
      {"proc/self/cgroup", "0::/box\n"},
      {"proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"},
      {"sys/fs/cgroup/box/cpuset.cpus.effective", "2-3\n"},
  });
  Machine{}.write(root);
  EXPECT_EQ(Topology::read(root.path()).value().cpus, (Cpus{2, 3}));
}

TEST(Topology, SaysWhatIsNearADevice) {
  const collect::FakeRoot root({{"sys/bus/pci/devices/0000:65:00.0/local_cpulist", "4-7\n"}});
  EXPECT_EQ(cpus_near(root.path(), "0000:65:00.0"), (Cpus{4, 5, 6, 7}));
  EXPECT_TRUE(cpus_near(root.path(), "0000:66:00.0").empty());
}

TEST(CpuSets, WithoutAWishNothingIsSet) {
  const auto sets = allocate_cpus(topology_of({}), std::vector<CpuRequest>(2)).value();
  EXPECT_TRUE(sets.of_run[0].empty() && sets.of_run[1].empty() && sets.housekeeping.empty());
}

TEST(CpuSets, ExactSetsAreTakenAsWrittenEvenTwice) {
  const auto sets = allocate_cpus(topology_of({}), std::vector{exact({1}), exact({1})}).value();
  EXPECT_EQ(sets.of_run[0], Cpus{1});
  EXPECT_EQ(sets.of_run[1], Cpus{1});
  EXPECT_EQ(sets.housekeeping, (Cpus{0, 2, 3}));
}

TEST(CpuSets, CountedOnesHaveWholeCoresAndLeaveTheFirst) {
  const Topology topology = topology_of({.nodes = 1, .cores = 4, .threads = 2});
  const auto sets = allocate_cpus(topology, std::vector{count(2), count(3)}).value();
  EXPECT_EQ(sets.of_run[0], (Cpus{1, 5}));
  EXPECT_EQ(sets.of_run[1], (Cpus{2, 3, 6}));
  EXPECT_EQ(sets.housekeeping, (Cpus{0, 4}));
}

TEST(CpuSets, SplitOnesShareCoresOnlyWhenTheyAreShort) {
  const Topology topology = topology_of({.nodes = 1, .cores = 4, .threads = 2});
  const auto alone = allocate_cpus(topology, std::vector{split(2), split(1)}).value();
  EXPECT_EQ(alone.of_run[0], (Cpus{1, 2}));
  EXPECT_EQ(alone.of_run[1], (Cpus{3}));
  EXPECT_TRUE(alone.notes.empty());
  const auto shared = allocate_cpus(topology, std::vector{split(4), split(4)}).value();
  EXPECT_EQ(shared.of_run[0], (Cpus{0, 1, 2, 3}));
  EXPECT_EQ(shared.of_run[1], (Cpus{4, 5, 6, 7}));
  EXPECT_EQ(shared.notes.size(), 2U);  // shared cores, no CPU for Corral
}

TEST(CpuSets, FollowTheNodeAndTheDevice) {
  const Topology topology = topology_of({.nodes = 2, .cores = 4, .threads = 1});
  CpuRequest on_first = count(2);
  on_first.node = 0;
  CpuRequest near_second = count(2);
  near_second.near = {4, 5, 6, 7};
  const auto sets = allocate_cpus(topology, std::vector{near_second, on_first}).value();
  EXPECT_EQ(sets.of_run[0], (Cpus{4, 5}));
  EXPECT_EQ(sets.of_run[1], (Cpus{1, 2}));
  CpuRequest too_many = count(5);
  too_many.node = 0;
  EXPECT_EQ(error_of(allocate_cpus(topology, std::vector{too_many})),
            "run 0: 5 CPUs requested, 4 left on NUMA node 0, by whole cores");
}

TEST(CpuSets, ARunThatDoesNotFitIntoOneNodeTakesWhatThereIs) {
  const Topology topology = topology_of({.nodes = 2, .cores = 4, .threads = 1});
  const auto sets = allocate_cpus(topology, std::vector{count(4), count(3)}).value();
  EXPECT_EQ(sets.of_run[0], (Cpus{0, 1, 2, 3}));
  EXPECT_EQ(sets.of_run[1], (Cpus{4, 5, 6}));
  EXPECT_EQ(sets.housekeeping, Cpus{7});
}

TEST(CpuSets, AllThatDoesNotFitIsSaid) {
  CpuRequest nowhere = count(1);
  nowhere.node = 7;
  const auto error =
      error_of(allocate_cpus(topology_of({}), std::vector{exact({0, 9}), nowhere, count(9)}));
  EXPECT_NE(error.find("run 0: CPU 9 cannot be used here: there are 0-3"), std::string::npos);
  EXPECT_NE(error.find("run 1: no NUMA node 7: there are 0"), std::string::npos);
  EXPECT_NE(error.find("run 2: 9 CPUs requested, "), std::string::npos);
}

TEST(CpuSets, ARunWithoutAWishStaysOffTheOthersOwn) {
  const auto sets = allocate_cpus(topology_of({}), std::vector{count(2), CpuRequest()}).value();
  EXPECT_EQ(sets.of_run[0], (Cpus{1, 2}));
  EXPECT_EQ(sets.of_run[1], (Cpus{0, 3}));
  EXPECT_NE(error_of(allocate_cpus(topology_of({}), std::vector{count(4), CpuRequest()})), "");
}

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  int operator()(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random_);
  }

 private:
  std::mt19937 random_;
};

CpuRequest some_wish(Dice& pick, const Machine& machine) {
  if (pick(0, 4) == 0) return {};
  const int cpus = machine.all_cores() * machine.threads;
  CpuRequest request = pick(0, 3) == 0 ? exact({pick(0, cpus - 1)}) : count(pick(1, 4));
  request.split = request.count && pick(0, 1) == 1;
  if (pick(0, 2) == 0) request.node = pick(0, machine.nodes - 1);
  return request;
}

bool share(const Cpus& a, const Cpus& b) {
  return std::ranges::any_of(a, [&](int cpu) { return std::ranges::find(b, cpu) != b.end(); });
}

// Returns all threads of the cores of which a set has a thread.
Cpus cores_of(const Topology& topology, const Cpus& set) {
  Cpus all;
  for (const Core& core : topology.cores) {
    if (share(core.cpus, set)) all.insert(all.end(), core.cpus.begin(), core.cpus.end());
  }
  return all;
}

void expect_alone(const Topology& topology, const CpuSets& sets, std::size_t run,
                  const CpuRequest& request) {
  const Cpus& set = sets.of_run[run];
  EXPECT_EQ(static_cast<int>(set.size()), *request.count);
  const Cpus reserved = request.split ? set : cores_of(topology, set);
  for (std::size_t other = 0; other < sets.of_run.size(); ++other)
    EXPECT_TRUE(other == run || !share(reserved, sets.of_run[other]));
  EXPECT_FALSE(share(set, sets.housekeeping));
  for (const Core& core : topology.cores)
    EXPECT_TRUE(!share(core.cpus, set) || !request.node || core.node == *request.node);
}

// Any machine, any requests: sets lie inside the machine, and a run that asked for a number shares
// no CPU, and no core unless siblings were split.
TEST(CpuSets, AreDisjointForAnyMachineAndAnyWishes) {
  Dice pick(4711);
  int served = 0;
  for (int round = 0; round < 1000; ++round) {
    const Machine machine{.nodes = pick(1, 3), .cores = pick(1, 6), .threads = pick(1, 2)};
    const Topology topology = topology_of(machine);
    std::vector<CpuRequest> requests(static_cast<std::size_t>(pick(1, 4)));
    for (CpuRequest& request : requests) request = some_wish(pick, machine);
    const auto sets = allocate_cpus(topology, requests);
    if (!sets) continue;
    ++served;
    for (std::size_t run = 0; run < requests.size(); ++run) {
      for (const int cpu : sets->of_run[run]) EXPECT_TRUE(topology.has(cpu));
      if (requests[run].count) expect_alone(topology, *sets, run, requests[run]);
    }
  }
  EXPECT_GT(served, 200);
}

}  // namespace
}  // namespace corral::collocate
