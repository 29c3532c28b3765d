#include "collect/node/node_listener.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "collect/node/parse.h"
#include "collect/test_roots.h"

namespace corral::collect {
namespace {

struct Machine {
  explicit Machine(const FakeRoot& root)
      : listener(open_node_listener({.root = root.path()}, table)) {}
  Values sample() { return sample_once(*listener, table, kSlowGroup); }
  SeriesTable table;
  std::unique_ptr<Listener> listener;
};

const std::string kNode = "sys/devices/system/node/node";

void write_node(const FakeRoot& root, const std::string& node, const std::string& used) {
  root.write(kNode + node + "/meminfo", "Node " + node + " MemTotal:  9000 kB\nNode " + node +
                                            " MemFree:  100 kB\nNode " + node +
                                            " MemUsed:  " + used + " kB\n");
  root.write(
      kNode + node + "/numastat",
      "numa_hit 10\nnuma_miss 3\nnuma_foreign 1\ninterleave_hit 0\nlocal_node 8\nother_node 2\n");
}

TEST(Numa, RecordsEachNodeOfSeveral) {
  const FakeRoot root;
  write_node(root, "0", "50");
  write_node(root, "10", "70");
  root.write("sys/devices/system/node/online", "0,10\n");
  const Values v = Machine(root).sample();
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  EXPECT_EQ(v.at("host.numa.memory.used/node0"), 50 * 1024);
  EXPECT_EQ(v.at("host.numa.memory.used/node10"), 70 * 1024);
  EXPECT_EQ(v.at("host.numa.memory.free/node0"), 100 * 1024);
  EXPECT_EQ(v.at("host.numa.memory.misses/node0"), 3 * page);
  EXPECT_EQ(v.at("host.numa.memory.local/node0"), 8 * page);
  EXPECT_EQ(v.at("host.numa.memory.remote/node0"), 2 * page);
}

TEST(Numa, OneNodeIsTheHost) {
  const FakeRoot root;
  write_node(root, "0", "50");
  const Machine machine(root);
  EXPECT_EQ(machine.listener, nullptr);
  EXPECT_NE(missing(machine.table, "host.numa.memory.*").find("one NUMA node"), std::string::npos);
}

TEST(HugePages, AreRecordedBySizeWhereSomeAreSetAside) {
  const std::string directory = "sys/kernel/mm/hugepages/hugepages-";
  const FakeRoot root{{directory + "2048kB/nr_hugepages", "8\n"},
                      {directory + "2048kB/free_hugepages", "3\n"},
                      {directory + "1048576kB/nr_hugepages", "0\n"},
                      {directory + "xkB/nr_hugepages", "5\n"}};
  EXPECT_EQ(Machine(root).sample(), (Values{{"host.hugepages.total/2 MiB", 16 << 20},
                                            {"host.hugepages.free/2 MiB", 6 << 20}}));
}

TEST(Reclaim, ComesFromVmstatInBytes) {
  const FakeRoot root{{"proc/vmstat",
                       "workingset_refault_file 5\npgsteal_kswapd 6\npgsteal_direct 7\n"
                       "compact_stall 8\nthp_fault_alloc 9\nthp_fault_fallback 10\n"}};
  Machine machine(root);
  const Values v = machine.sample();
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  EXPECT_EQ(v.at("host.paging.refaults"), 5 * page);
  EXPECT_EQ(v.at("host.paging.reclaimed_directly"), 7 * page);
  EXPECT_EQ(v.at("host.hugepages.fallbacks"), 10);
  EXPECT_NE(missing(machine.table, "host.numa.hint_faults").find("does not report"),
            std::string::npos);
}

constexpr const char* kMountstats =
    "device proc mounted on /proc with fstype proc\n"
    "device data.example:/export mounted on /mnt/my\\040data with fstype nfs4 statvers=1.1\n"
    "\topts:\trw,vers=4.2,rsize=1048576\n"
    "\tage:\t120\n"
    "\tcaps:\tcaps=0x3fff,wtmult=512\n"
    "\tevents:\t1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27\n"
    "\tbytes:\t100 200 300 400 5000 6000 7 8\n"
    "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
    "\txprt:\ttcp 0 0 2 0 1 28 28 0 28 0 2 0 0\n"
    "\tper-op statistics\n"
    "\t        NULL: 1 1 0 44 24 0 0 0 0\n"
    "\t        READ: 10 12 1 2000 5100 3 40 50 0\n"
    "\t       WRITE: 20 20 0 6100 2000 1 60 70 0\n"
    "device other:/x mounted on /home with fstype nfs statvers=1.0\n"
    "\tbytes:\t1 2 3 4 9 8 7 6\n"
    "device nfsd mounted on /proc/fs/nfsd with fstype nfsd\n"
    "\tbytes:\t1 2 3 4 5 6 7 8\n"
    "device tmpfs mounted on /x with fstype tmpfs\n";

TEST(Nfs, RecordsEachMountOfTheClient) {
  const FakeRoot root{{"proc/self/mountstats", kMountstats}};
  Machine machine(root);
  EXPECT_EQ(machine.sample(), (Values{{"host.nfs.read//mnt/my\\040data", 5000},
                                      {"host.nfs.write//mnt/my\\040data", 6000},
                                      {"host.nfs.operations//mnt/my\\040data", 31},
                                      {"host.nfs.retransmits//mnt/my\\040data", 2},
                                      {"host.nfs.rtt//mnt/my\\040data", 0.1},
                                      {"host.nfs.time//mnt/my\\040data", 0.12},
                                      {"host.nfs.read//home", 9},
                                      {"host.nfs.write//home", 8},
                                      {"host.nfs.operations//home", 0},
                                      {"host.nfs.retransmits//home", 0},
                                      {"host.nfs.rtt//home", 0},
                                      {"host.nfs.time//home", 0}}));
  root.write(
      "proc/self/mountstats",
      "device other:/x mounted on /home with fstype nfs statvers=1.0\n\tbytes: 0 0 0 0 77 0\n"
      "device new:/x mounted on /new with fstype nfs\n");
  const Values after = machine.sample();
  EXPECT_EQ(after.at("host.nfs.read//home"), 77);
  EXPECT_EQ(after.size(), 6u) << "the mount that is gone is missing, the new one was not declared";
}

TEST(Nfs, SurvivesNonsense) {
  std::array<node::NfsMount, 1> mounts;
  EXPECT_EQ(node::parse_mountstats("device a mounted on  with fstype nfs", mounts), 0u);
  EXPECT_EQ(node::parse_mountstats("device  with fstype nfs\n\tbytes: 1\n", mounts), 0u);
  EXPECT_EQ(node::parse_mountstats("\tbytes: 1 2 3 4 5 6\n", mounts), 0u);
  EXPECT_EQ(node::parse_mountstats(kMountstats, mounts), 1u) << "full";
  EXPECT_EQ(node::parse_mountstats(
                "device a mounted on /m with fstype nfs\n\tbytes: 1 2 3\n\tper-op statistics\n"
                "\tREAD: 1 2\n\tWRITE\n\t:\n",
                mounts),
            1u);
  EXPECT_EQ(mounts[0].read_bytes + mounts[0].operations, 0u);
}

}  // namespace
}  // namespace corral::collect
