#include "collect/cgroup/cgroup_listener.h"

#include <gtest/gtest.h>

#include <array>

#include "collect/cgroup/parse.h"
#include "collect/test_roots.h"

namespace corral::collect {
namespace {

struct Job {
  explicit Job(const FakeRoot& root)
      : listener(open_cgroup_listener({.root = root.path(), .run_pid = 7}, table)) {}
  Values fast() { return sample_once(*listener, table, kFastGroup); }
  Values slow() { return sample_once(*listener, table, kSlowGroup); }
  SeriesTable table;
  std::unique_ptr<Listener> listener;
};

const std::string kPod = "sys/fs/cgroup/pods/pod1/";
const std::string kGroup = kPod + "train/";
const std::string kSource = "/pods/pod1/train";

// Unified hierarchy: a pod with limits, and in it the group of the run, which has none of its own.
void write_v2(const FakeRoot& root) {
  root.write("proc/7/cgroup", "0::/pods/pod1/train\n");
  root.write("proc/self/mountinfo",
             "24 30 0:22 / /proc rw - proc proc rw\n"
             "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
  root.write(
      "proc/devices",
      "Character devices:\n  7 vcs\nBlock devices:\n  7 loop\n253 device-mapper\n259 blkext\n");
  for (const std::string& group : {kPod, kGroup}) {
    root.write(group + "cgroup.type", "domain\n");
    const bool pod = group == kPod;
    root.write(group + "cpu.max", pod ? "150000 100000\n" : "max 100000\n");
    root.write(group + "memory.max", pod ? "4294967296\n" : "max\n");
    root.write(group + "cpu.stat", std::string("usage_usec ") + (pod ? "9000000" : "2500000") +
                                       "\nuser_usec 2000000\nsystem_usec 500000\nnr_periods " +
                                       (pod ? "40" : "0") + "\nnr_throttled " + (pod ? "30" : "0") +
                                       "\nthrottled_usec " + (pod ? "1750000" : "0") + "\n");
  }
  root.write(kGroup + "memory.current", "1048576\n");
  root.write(kGroup + "memory.peak", "2097152\n");
  root.write(kGroup + "memory.swap.current", "4096\n");
  root.write(kGroup + "memory.stat", "anon 600000\nfile 400000\nkernel 1\npgmajfault 12\n");
  root.write(kGroup + "memory.events",
             "low 0\nhigh 3\nmax 5\noom 1\noom_kill 1\noom_group_kill 0\n");
  root.write(kGroup + "io.stat",
             "259:0 rbytes=1000 wbytes=2000 rios=3 wios=4 dbytes=0 dios=0\n"
             "253:0 rbytes=1000 wbytes=2000 rios=3 wios=4 dbytes=0 dios=0\n"
             "8:16 rbytes=10 wbytes=20 rios=1 wios=1 dbytes=9 dios=9\n");
  root.write(kGroup + "pids.current", "33\n");
  for (const char* resource : {"cpu", "memory", "io"}) {
    root.write(kGroup + resource + ".pressure",
               "some avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\n"
               "full avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n");
  }
}

TEST(CgroupV2, ReadsTheGroupAndTheTightestLimitsAboveIt) {
  const FakeRoot root;
  write_v2(root);
  Job run(root);
  EXPECT_TRUE(run.table.missing().empty());
  const auto named = [](const Values& values) {
    Values short_names;
    for (const auto& [name, value] : values) {
      EXPECT_TRUE(name.ends_with("/" + kSource)) << name;
      short_names[name.substr(0, name.find('/'))] = value;
    }
    return short_names;
  };
  EXPECT_EQ(named(run.fast()), (Values{{"cgroup.cpu.used", 2.5},
                                       {"cgroup.cpu.user", 2},
                                       {"cgroup.cpu.system", 0.5},
                                       {"cgroup.cpu.periods", 40},
                                       {"cgroup.cpu.throttled_periods", 30},
                                       {"cgroup.cpu.throttled", 1.75},
                                       {"cgroup.memory.used", 1048576},
                                       {"cgroup.pressure.cpu.some", 2},
                                       {"cgroup.pressure.cpu.full", 1},
                                       {"cgroup.pressure.memory.some", 2},
                                       {"cgroup.pressure.memory.full", 1},
                                       {"cgroup.pressure.io.some", 2},
                                       {"cgroup.pressure.io.full", 1}}));
  EXPECT_EQ(named(run.slow()), (Values{{"cgroup.cpu.limit", 1.5},
                                       {"cgroup.tasks", 33},
                                       {"cgroup.memory.peak", 2097152},
                                       {"cgroup.memory.limit", 4294967296},
                                       {"cgroup.memory.swap", 4096},
                                       {"cgroup.memory.anonymous", 600000},
                                       {"cgroup.memory.file", 400000},
                                       {"cgroup.memory.major_faults", 12},
                                       {"cgroup.memory.high_hits", 3},
                                       {"cgroup.memory.limit_hits", 5},
                                       {"cgroup.memory.oom_kills", 1},
                                       {"cgroup.io.read", 1010},
                                       {"cgroup.io.write", 2020},
                                       {"cgroup.io.reads", 4},
                                       {"cgroup.io.writes", 5}}));
}

TEST(CgroupV2, ALimitThatIsSetLaterIsFollowedAndOneThatIsLiftedIsMissing) {
  const FakeRoot root;
  write_v2(root);
  Job run(root);
  root.write(kGroup + "memory.max", "1000000000\n");
  root.write(kGroup + "cpu.max", "50000 100000\n");
  EXPECT_EQ(run.slow().at("cgroup.memory.limit/" + kSource), 1e9);
  EXPECT_EQ(run.slow().at("cgroup.cpu.limit/" + kSource), 0.5);
  for (const std::string& group : {kPod, kGroup}) {
    root.write(group + "memory.max", "max\n");
    root.write(group + "cpu.max", "max 100000\n");
  }
  EXPECT_FALSE(run.slow().contains("cgroup.memory.limit/" + kSource));
  EXPECT_FALSE(run.slow().contains("cgroup.cpu.limit/" + kSource));
}

TEST(CgroupV2, SaysWhichControllersAreNotThere) {
  const FakeRoot root;
  write_v2(root);
  for (const char* file : {"memory.current", "io.stat", "pids.current", "io.pressure"})
    root.remove(kGroup + file);
  Job run(root);
  EXPECT_NE(missing(run.table, "cgroup.memory.*").find("not enabled"), std::string::npos);
  EXPECT_NE(missing(run.table, "cgroup.io.*").find("not enabled"), std::string::npos);
  EXPECT_NE(missing(run.table, "cgroup.tasks").find("not enabled"), std::string::npos);
  EXPECT_NE(missing(run.table, "cgroup.pressure.io.*").find("No such file"), std::string::npos);
  EXPECT_EQ(run.fast().at("cgroup.cpu.used/" + kSource), 2.5);
  EXPECT_EQ(run.slow().size(), 1u) << "the CPU limit";
}

TEST(CgroupV2, AGroupThatIsGoneIsMissingAndNotZero) {
  const FakeRoot root;
  write_v2(root);
  Job run(root);
  EXPECT_FALSE(run.slow().empty());
  for (const char* file :
       {"cpu.stat", "io.stat", "memory.stat", "memory.current", "memory.events", "memory.peak",
        "memory.swap.current", "pids.current", "cpu.pressure", "memory.pressure", "io.pressure"})
    root.write(kGroup + file, "");
  for (const char* file : {"cpu.stat", "cpu.max", "memory.max"}) root.write(kPod + file, "");
  root.write(kGroup + "memory.max", "");
  EXPECT_TRUE(run.fast().empty());
  EXPECT_TRUE(run.slow().empty());
}

TEST(CgroupV2, TheRootGroupIsTheHost) {
  const FakeRoot root;
  write_v2(root);
  root.write("proc/7/cgroup", "0::/\n");
  root.write("sys/fs/cgroup/cpu.stat", "usage_usec 1\n");
  const Job run(root);
  EXPECT_EQ(run.listener, nullptr);
  EXPECT_NE(missing(run.table, "cgroup.cpu.used").find("whole host"), std::string::npos);
}

TEST(CgroupV2, AContainerSeesItsOwnGroupAtTheMount) {
  const FakeRoot root;
  write_v2(root);
  root.write("proc/7/cgroup", "0::/docker/abc\n");
  root.write("proc/self/mountinfo",
             "35 24 0:30 /docker/abc /sys/fs/cgroup\\0401 ro - cgroup2 cgroup rw\n");
  root.write("sys/fs/cgroup 1/cgroup.type", "domain\n");
  root.write("sys/fs/cgroup 1/cpu.stat", "usage_usec 4000000\n");
  EXPECT_EQ(Job(root).fast(), (Values{{"cgroup.cpu.used//docker/abc", 4}}));
}

// A hierarchy for each controller; the unified one has none, but counts CPU time and pressure.
void write_hybrid(const FakeRoot& root) {
  root.write(
      "proc/7/cgroup",
      "9:name=systemd:/\n6:memory:/job\n5:pids:/job\n4:blkio:/job\n3:cpu,cpuacct:/job\n0::/job\n");
  std::string mounts;
  for (const char* controller : {"memory", "pids", "blkio", "cpu,cpuacct"}) {
    mounts += std::string("35 31 0:31 / /sys/fs/cgroup/") + controller +
              " rw,relatime - cgroup cgroup rw," + controller + "\n";
    root.write(std::string("sys/fs/cgroup/") + controller + "/cgroup.sane_behavior", "0\n");
  }
  root.write("proc/self/mountinfo",
             mounts + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  const std::string cpu = "sys/fs/cgroup/cpu,cpuacct/job/";
  root.write(cpu + "cpuacct.usage", "2500000000\n");
  root.write(cpu + "cpu.stat", "nr_periods 4\nnr_throttled 3\nthrottled_time 1500000000\n");
  root.write(cpu + "cpu.cfs_quota_us", "25000\n");
  root.write(cpu + "cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  const std::string memory = "sys/fs/cgroup/memory/job/";
  root.write(memory + "memory.usage_in_bytes", "1000\n");
  root.write(memory + "memory.max_usage_in_bytes", "2000\n");
  root.write(memory + "memory.limit_in_bytes", "9223372036854771712\n");
  root.write(memory + "memory.failcnt", "6\n");
  root.write(memory + "memory.stat",
             "cache 1\ntotal_cache 400\ntotal_rss 500\ntotal_pgmajfault 7\n");
  root.write(memory + "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  const std::string blkio = "sys/fs/cgroup/blkio/job/blkio.throttle.io_";
  root.write(blkio + "service_bytes_recursive",
             "8:0 Read 100\n8:0 Write 200\n8:0 Sync 300\n8:0 Total 300\nTotal 300\n");
  root.write(blkio + "serviced_recursive", "8:0 Read 1\n8:0 Write 2\nTotal 3\n");
  root.write("sys/fs/cgroup/pids/job/pids.current", "5\n");
  root.write("sys/fs/cgroup/unified/job/cgroup.type", "domain\n");
  root.write("sys/fs/cgroup/unified/job/cpu.stat", "usage_usec 2500001\n");
  root.write("sys/fs/cgroup/unified/job/cpu.pressure", "some avg10=0.00 total=5\n");
}

TEST(CgroupV1, ReadsEachControllerInItsHierarchyAndPressureInTheUnifiedOne) {
  const FakeRoot root;
  write_hybrid(root);
  Job run(root);
  const Values fast = run.fast();
  EXPECT_EQ(fast.at("cgroup.cpu.used//job"), 2.5);
  EXPECT_EQ(fast.at("cgroup.cpu.throttled//job"), 1.5);
  EXPECT_EQ(fast.at("cgroup.memory.used//job"), 1000);
  EXPECT_DOUBLE_EQ(fast.at("cgroup.pressure.cpu.some//job"), 5e-6);
  const Values slow = run.slow();
  EXPECT_EQ(slow.at("cgroup.cpu.limit//job"), 0.25);
  EXPECT_EQ(slow.at("cgroup.memory.file//job"), 400);
  EXPECT_EQ(slow.at("cgroup.memory.anonymous//job"), 500);
  EXPECT_EQ(slow.at("cgroup.memory.limit_hits//job"), 6);
  EXPECT_EQ(slow.at("cgroup.memory.oom_kills//job"), 2);
  EXPECT_EQ(slow.at("cgroup.io.read//job"), 100);
  EXPECT_EQ(slow.at("cgroup.io.writes//job"), 2);
  EXPECT_EQ(slow.at("cgroup.tasks//job"), 5);
  EXPECT_EQ(missing(run.table, "cgroup.memory.limit"), "the group's memory is not limited");
}

TEST(CgroupV1, CountsCpuTimeInTheUnifiedHierarchyWhenItsOwnHasOnlyTheRoot) {
  const FakeRoot root;
  write_hybrid(root);
  root.write("proc/7/cgroup", "3:cpu,cpuacct:/\n0::/job\n");
  Job run(root);
  EXPECT_DOUBLE_EQ(run.fast().at("cgroup.cpu.used//job"), 2.500001);
  EXPECT_NE(missing(run.table, "cgroup.cpu.limit, cgroup.cpu.throttled").find("whole host"),
            std::string::npos);
}

TEST(Cgroup, SurvivesNonsense) {
  const FakeRoot root;
  EXPECT_EQ(Job(root).listener, nullptr) << "nothing there";
  write_v2(root);
  root.write("proc/7/cgroup", "0::/../../elsewhere\n::\nx\n:\n4:memory\n");
  const Job run(root);
  EXPECT_EQ(run.listener, nullptr) << "a group outside of what is mounted";
  EXPECT_NE(missing(run.table, "cgroup.cpu.used").find("not in a mounted hierarchy"),
            std::string::npos);
}

TEST(CgroupParse, TakesLimitsOnlyWhereThereAre) {
  EXPECT_EQ(cgroup::parse_cpu_max("50000 100000\n"), 0.5);
  for (const char* text : {"max 100000\n", "", "5", "5 0", "x y"})
    EXPECT_FALSE(cgroup::parse_cpu_max(text)) << text;
}

TEST(CgroupParse, APathNeverLeadsOutOfTheMount) {
  const auto mounts = cgroup::parse_mounts("1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  const auto place = [&](const std::string& path) {
    return cgroup::find_group_path("", cgroup::parse_memberships("0::" + path), mounts);
  };
  EXPECT_EQ(place("///etc")->relative, "etc");
  EXPECT_EQ(place("/")->relative, "");
  EXPECT_FALSE(place("/a/../../etc"));
}

TEST(CgroupParse, IoLinesThatAreBrokenAreLeftOut) {
  const std::array<std::uint64_t, 1> skipped{253};
  const auto io = cgroup::parse_io_stat(
      "8:0 rbytes=5 junk wbytes=7\n8:x rbytes=9\n253:1 rbytes=9\n9:1 rbytes= wios=4\n8:1", skipped);
  EXPECT_EQ(io.read_bytes, 5u);
  EXPECT_EQ(io.write_bytes, 0u);
  EXPECT_EQ(io.writes, 0u);
  const auto blkio =
      cgroup::parse_blkio("8:0 Read\n8:0 Write 4\nTotal 9\n253:0 Write 8\n", skipped);
  EXPECT_EQ(blkio.read, 0u);
  EXPECT_EQ(blkio.write, 4u);
}

}  // namespace
}  // namespace corral::collect
