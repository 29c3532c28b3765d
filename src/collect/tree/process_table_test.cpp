#include "collect/tree/process_table.h"

#include <gtest/gtest.h>

#include "collect/fixture_root.h"
#include "collect/tree/tree_listener.h"

namespace corral::collect::tree {
namespace {

// Of root_nasty: 1000 is the supervisor, 2000 the run; 2002 is listed but gone, 2003 a zombie, 2010
// the child of a second thread whose io cannot be read, 3000 and 3001 helpers of the supervisor,
// 3002 an orphan of the run, 4000 unreadable.
ProcessTable nasty_table() {
  return ProcessTable(
      {.root = fixture_root("root_nasty"), .run_pid = 2000, .supervisor_pid = 1000});
}

TEST(ProcessTable, FindsTheRunsProcessesAndNoOthers) {
  ProcessTable table = nasty_table();
  const TreeSums& sums = table.walk();
  EXPECT_EQ(sums.processes, 4u) << "2000, 2001, 2010 and 3002";
  EXPECT_EQ(sums.threads, 3u + 65 + 2 + 1);
  EXPECT_EQ(sums.resident_pages, 1000u + 2000 + 3000 + 500);
  EXPECT_EQ(sums.peak_resident_kib, 10000u);
}

TEST(ProcessTable, SumsTheCountersOfLivingAndZombies) {
  ProcessTable table = nasty_table();
  const Counters& c = table.walk().counters;
  EXPECT_EQ(c[kUserTicks], 1100u + 7 + 70);
  EXPECT_EQ(c[kSystemTicks], 2200u + 8 + 80);
  EXPECT_EQ(c[kMinorFaults], 11u + 100 + 1000 + 10000 + 5);
  EXPECT_EQ(c[kMajorFaults], 22u);
  EXPECT_EQ(c[kReadSyscallBytes], 1111u);
  EXPECT_EQ(c[kWriteBlockBytes], 6666u);
}

TEST(ProcessTable, AnotherWalkChangesNothing) {
  ProcessTable table = nasty_table();
  const TreeSums first = table.walk();
  const TreeSums& second = table.walk();
  EXPECT_EQ(second.counters, first.counters);
  EXPECT_EQ(second.processes, first.processes);
}

TEST(ProcessTable, IsEmptyWhereTheRunIsUnknown) {
  ProcessTable table({.root = fixture_root("root_vm"), .run_pid = 77, .supervisor_pid = 1});
  EXPECT_EQ(table.walk().processes, 0u);
}

TEST(TreeListener, ReadsCpuTimeAndFaultsFromProcWithoutPerf) {
  SeriesTable series;
  const auto listener = open_tree_listener(
      {.root = fixture_root("root_nasty"), .run_pid = 2000, .supervisor_pid = 1000}, series);
  EXPECT_TRUE(series.series(kFastGroup).empty());
  const Values v = sample_once(*listener, series, kSlowGroup);
  EXPECT_DOUBLE_EQ(v.at("run.cpu.used"), v.at("run.cpu.user") + v.at("run.cpu.system"));
  EXPECT_EQ(v.at("run.memory.major_faults"), 22);
  EXPECT_FALSE(v.contains("run.scheduler.context_switches"));
  EXPECT_EQ(series.missing().size(), kPerfEvents + 1)
      << "each event with its reason, and the hardware's together";
  EXPECT_EQ(series.missing().back().source, "run.pmu.*");
}

TEST(TreeListener, SaysWhyIoIsMissing) {
  SeriesTable series;
  const auto listener =
      open_tree_listener({.root = fixture_root("root_nasty"), .run_pid = 2010}, series);
  EXPECT_FALSE(sample_once(*listener, series, kSlowGroup).contains("run.io.read_block_bytes"));
  EXPECT_EQ(series.missing().back().source, "run.io.*");
}

TEST(TreeListener, IsNotThereWithoutARun) {
  SeriesTable series;
  EXPECT_EQ(open_tree_listener({.run_pid = 0}, series), nullptr);
  ASSERT_EQ(series.missing().size(), 1u);
  EXPECT_EQ(series.missing()[0].reason, "there is no run");
}

}  // namespace
}  // namespace corral::collect::tree
