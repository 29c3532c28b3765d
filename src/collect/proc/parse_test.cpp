#include "collect/proc/parse.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collect/test_roots.h"

namespace corral::collect::proc {
namespace {

TEST(ParseStat, ReadsTheTotalsInTheKernelsColumns) {
  const StatFile stat = parse_stat(
      "cpu  1 2 3 4 5 6 7 8 9 10\nintr 30 1 2 3\nctxt 40\nbtime 1\nprocesses 50\nprocs_running "
      "2\nprocs_blocked 1\n",
      {});
  EXPECT_TRUE(stat.complete);
  EXPECT_EQ(stat.total.user, 3u);
  EXPECT_EQ(stat.total.system, 3u);
  EXPECT_EQ(stat.total.irq, 13u);
  EXPECT_EQ(stat.total.iowait, 5u);
  EXPECT_EQ(stat.total.steal, 8u);
  EXPECT_EQ(stat.total.busy(), 19u);
  EXPECT_EQ(stat.interrupts, 30u);
  EXPECT_EQ(stat.context_switches, 40u);
  EXPECT_EQ(stat.forks, 50u);
  EXPECT_EQ(stat.running, 2u);
  EXPECT_EQ(stat.blocked, 1u);
}

TEST(ParseStat, KnowsThreeHundredCpusWithGaps) {
  std::vector<CoreTicks> cores(400);
  const StatFile stat = parse_stat(fixture_text("root_nasty/proc/stat"), cores);
  ASSERT_EQ(stat.cores, 300u);
  EXPECT_TRUE(stat.complete);
  EXPECT_EQ(cores[6].cpu, 6u);
  EXPECT_EQ(cores[7].cpu, 8u) << "CPU 7 is offline";
  EXPECT_EQ(cores[299].cpu, 301u);
  EXPECT_EQ(cores[299].ticks.system, 501u);
  EXPECT_EQ(stat.interrupts, ~std::uint64_t{0});
}

TEST(ParseStat, StopsWhereTheSpanIsFullAndSaysWhatIsMissing) {
  std::vector<CoreTicks> cores(5);
  EXPECT_EQ(parse_stat(fixture_text("root_nasty/proc/stat"), cores).cores, 5u);
  EXPECT_FALSE(parse_stat("cpu 1 2 3\nctxt 5\n", cores).complete);
  EXPECT_FALSE(parse_stat("", {}).complete);
}

TEST(ParseLoadavg, ReadsAllFive) {
  LoadAverage load;
  ASSERT_TRUE(parse_loadavg("312.07 299.50 1.00 301/65536 4194304\n", load));
  EXPECT_DOUBLE_EQ(load.one, 312.07);
  EXPECT_DOUBLE_EQ(load.five, 299.5);
  EXPECT_DOUBLE_EQ(load.fifteen, 1.0);
  EXPECT_EQ(load.runnable, 301u);
  EXPECT_EQ(load.threads, 65536u);
  EXPECT_FALSE(parse_loadavg("0.1 0.2", load));
}

TEST(IsWholeDisk, FollowsTheKernelsNames) {
  for (const char* disk : {"sda", "sdab", "vdb", "xvda", "hda", "nvme0n1", "nvme11n12", "mmcblk0",
                           "nbd3", "pmem0", "dasda"}) {
    EXPECT_TRUE(is_whole_disk(disk)) << disk;
  }
  for (const char* other :
       {"", "sda1", "sdab12", "vdb2", "xvda15", "nvme0n1p1", "mmcblk0p2", "mmcblk0boot0", "nbd3p1",
        "loop0", "ram3", "zram0", "dm-0", "md127", "sr0", "fd0"}) {
    EXPECT_FALSE(is_whole_disk(other)) << other;
  }
}

TEST(ParseDiskstats, KeepsWholeDisksOfAHundredAndThirty) {
  std::vector<DiskLine> disks(400);
  const std::string text = fixture_text("root_nasty/proc/diskstats");
  ASSERT_EQ(parse_diskstats(text, disks), 130u);
  EXPECT_EQ(disks[3].name, "nvme3n1");
  EXPECT_EQ(disks[3].reads, 4u);
  EXPECT_EQ(disks[3].sectors_read, 32u);
  EXPECT_EQ(disks[3].writes, 6u);
  EXPECT_EQ(disks[3].sectors_written, 48u);
  EXPECT_EQ(disks[3].busy_ms, 1003u);
  EXPECT_EQ(disks[3].queue_ms, 5003u);
  EXPECT_EQ(disks[129].busy_ms, 1129u);
}

TEST(ParseNetDev, KeepsRealInterfacesAndTheirColumns) {
  std::vector<NetLine> lines(300);
  const std::string text = fixture_text("root_nasty/proc/net/dev");
  ASSERT_EQ(parse_net_dev(text, lines), 3u);
  EXPECT_EQ(lines[1].name, "enp3s0f0np0");
  EXPECT_EQ(lines[1].rx_bytes, 123456789012345u) << "no blank after the colon";
  EXPECT_EQ(lines[1].rx_packets, 2u);
  EXPECT_EQ(lines[1].rx_errors, 3u);
  EXPECT_EQ(lines[1].rx_drops, 4u);
  EXPECT_EQ(lines[1].tx_bytes, 5u);
  EXPECT_EQ(lines[1].tx_packets, 6u);
  EXPECT_EQ(lines[1].tx_errors, 7u);
  EXPECT_EQ(lines[1].tx_drops, 8u);
}

TEST(ParsePressure, TakesTheTotals) {
  const Pressure p = parse_pressure(fixture_text("root_nasty/proc/pressure/io"));
  EXPECT_TRUE(p.has_some && p.has_full);
  EXPECT_EQ(p.some_us, 2500000u);
  EXPECT_EQ(p.full_us, 1500000u);
  EXPECT_FALSE(parse_pressure("some avg10=0.00 total=").has_some);
  EXPECT_FALSE(parse_pressure("").has_full);
}

}  // namespace
}  // namespace corral::collect::proc
