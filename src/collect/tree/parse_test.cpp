#include "collect/tree/parse.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "collect/test_roots.h"

namespace corral::collect::tree {
namespace {

TEST(ParseProcessStat, FindsTheEndOfANastyName) {
  ProcessStat stat;
  const std::string text = fixture_text("root_nasty/proc/2000/stat");
  ASSERT_TRUE(parse_process_stat(text, stat));
  EXPECT_EQ(stat.comm, ") (evil) R 1");
  EXPECT_EQ(stat.state, 'S');
  EXPECT_EQ(stat.pid, 2000);
  EXPECT_EQ(stat.parent, 1000);
  EXPECT_EQ(stat.session, 2000);
  EXPECT_EQ(stat.threads, 3u);
  EXPECT_EQ(stat.start_time, 500u);
}

TEST(ParseProcessStat, AddsReapedChildren) {
  ProcessStat stat;
  const std::string text = fixture_text("root_nasty/proc/2000/stat");
  ASSERT_TRUE(parse_process_stat(text, stat));
  EXPECT_EQ(stat.user_ticks, 1100u);
  EXPECT_EQ(stat.system_ticks, 2200u);
  EXPECT_EQ(stat.minor_faults, 11u);
  EXPECT_EQ(stat.major_faults, 22u);
}

TEST(ParseProcessStat, TakesAnyByteInAName) {
  ProcessStat stat;
  const std::string text = fixture_text("root_nasty/proc/2010/stat");
  ASSERT_TRUE(parse_process_stat(text, stat));
  EXPECT_EQ(stat.comm, "a\n) R 1 (b");
  EXPECT_EQ(stat.state, 'D');
}

TEST(ParseProcessStat, RefusesWhatIsCutOff) {
  ProcessStat stat;
  const std::string text = fixture_text("root_nasty/proc/2000/stat");
  for (std::size_t n = 0; n < text.find(" 500 "); ++n) {
    EXPECT_FALSE(parse_process_stat(std::string_view(text).substr(0, n), stat)) << n;
  }
  EXPECT_FALSE(parse_process_stat(")(", stat));
}

TEST(ParseStatm, TakesTheSecondNumber) {
  std::uint64_t pages = 0;
  EXPECT_TRUE(parse_statm("765 441 412 5 0 123 0\n", pages));
  EXPECT_EQ(pages, 441u);
  EXPECT_FALSE(parse_statm("765", pages));
}

TEST(ParseProcessIo, WantsAllSix) {
  Counters io{};
  const std::string text = fixture_text("root_nasty/proc/2001/io");
  ASSERT_TRUE(parse_process_io(text, io));
  EXPECT_EQ(io[kReadSyscallBytes], 10u);
  EXPECT_EQ(io[kWriteSyscallBytes], 20u);
  EXPECT_EQ(io[kReadSyscalls], 30u);
  EXPECT_EQ(io[kWriteSyscalls], 40u);
  EXPECT_EQ(io[kReadBlockBytes], 50u);
  EXPECT_EQ(io[kWriteBlockBytes], 60u) << "not cancelled_write_bytes";
  EXPECT_FALSE(parse_process_io("rchar: 1\nwchar: 2\n", io));
}

TEST(ParseStatusMemory, IsMissingForZombies) {
  EXPECT_EQ(parse_status_memory(fixture_text("root_nasty/proc/2001/status")).peak_resident_kib,
            9000u);
  EXPECT_EQ(parse_status_memory(fixture_text("root_nasty/proc/2003/status")).peak_resident_kib, 0u);
}

TEST(ParseStatusMemory, TellsHugePages) {
  const StatusMemory memory = parse_status_memory(
      "VmHWM:\t    1024 kB\nVmSwap:\t       0 kB\nHugetlbPages:\t    4096 kB\n");
  EXPECT_EQ(memory.peak_resident_kib, 1024u);
  EXPECT_EQ(memory.hugetlb_kib, 4096u);
}

TEST(ParseChildren, StopsWhereTheSpanIsFull) {
  std::array<pid_t, 2> pids{};
  EXPECT_EQ(parse_children("12 345 6 ", pids), 2u);
  EXPECT_EQ(pids[1], 345);
  EXPECT_EQ(parse_children("", pids), 0u);
}

}  // namespace
}  // namespace corral::collect::tree
