#include "collect/proc/proc_listener.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "collect/proc_file.h"
#include "collect/test_roots.h"

namespace corral::collect {
namespace {

struct Host {
  explicit Host(const std::string& root) {
    listener = open_proc_listener({.root = fixture_root(root)}, table);
  }
  Values sample() { return sample_once(*listener, table, kFastGroup); }
  [[nodiscard]] std::string missing(std::string_view source) const {
    return collect::missing(table, source);
  }

  SeriesTable table;
  std::unique_ptr<Listener> listener;
};

double tick_seconds() { return 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK)); }

TEST(ProcListener, ReadsACapturedMachineInSiUnits) {
  Host host("root_vm");
  const Values v = host.sample();
  EXPECT_TRUE(host.table.missing().empty());
  EXPECT_EQ(v.at("host.memory.total"), 24684096.0 * 1024);
  EXPECT_EQ(v.at("host.memory.used"), v.at("host.memory.total") - v.at("host.memory.available"));
  EXPECT_NEAR(v.at("host.cpu.busy"),
              v.at("host.cpu.core.busy/cpu0") + v.at("host.cpu.core.busy/cpu1"),
              3 * tick_seconds());
  EXPECT_TRUE(v.contains("host.disk.read/vda"));
  EXPECT_FALSE(v.contains("host.disk.read/zram0"));
  EXPECT_TRUE(v.contains("host.net.rx/eth0"));
  EXPECT_FALSE(v.contains("host.net.rx/ifb0"));
  EXPECT_GE(v.size(), 30u);
}

TEST(ProcListener, SaysTheSpeedOfLinksThatAreReal) {
  const FakeRoot root{{"proc/net/dev",
                       "Inter-| Receive\n face |bytes\n"
                       "  eth0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
                       "  eth1: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
                       " bond0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n"},
                      {"sys/class/net/eth0/device/vendor", "0x8086\n"},
                      {"sys/class/net/eth0/speed", "10000\n"},
                      {"sys/class/net/eth1/device/vendor", "0x1af4\n"},
                      {"sys/class/net/eth1/speed", "-1\n"},
                      {"sys/class/net/bond0/speed", "10000\n"}};
  SeriesTable table;
  const auto listener = open_proc_listener({.root = root.path()}, table);
  std::vector<std::pair<std::string, std::string>> speeds;
  for (const Description& one : table.descriptions()) speeds.emplace_back(one.key, one.value);
  EXPECT_EQ(speeds, (std::vector<std::pair<std::string, std::string>>{
                        {"eth0.link_bytes_per_second", "1250000000"}}));
}

TEST(ProcListener, DeclaresNothingThatItDoesNotFill) {
  Host host("root_vm");
  EXPECT_EQ(host.sample().size(), host.table.series(kFastGroup).size());
}

TEST(ProcListener, TellsDisksInBytesAndSeconds) {
  const Values v = Host("root_nasty").sample();
  EXPECT_EQ(v.at("host.disk.read/nvme3n1"), 32 * 512.0);
  EXPECT_EQ(v.at("host.disk.write/nvme3n1"), 48 * 512.0);
  EXPECT_DOUBLE_EQ(v.at("host.disk.busy/nvme3n1"), 1.003);
  EXPECT_DOUBLE_EQ(v.at("host.disk.queue/nvme3n1"), 5.003);
  EXPECT_EQ(std::ranges::count_if(
                v, [](const auto& e) { return e.first.starts_with("host.disk.read/"); }),
            130);
}

// Two readings of a clock of 10 ms may differ by a tick too much for each CPU.
TEST(PacedTime, NeverRisesFasterThanItsCpusCanWork) {
  proc::PacedTime busy(0);
  const auto told = [&](std::int64_t ms, double busy_s) {
    double value = 0;
    std::uint8_t present = 0;
    Row row(std::span(&value, 1), std::span(&present, 1));
    row.begin(boot_time(ms * 1'000'000));
    busy.set(row, busy_s, 2);
    return value;
  };
  EXPECT_DOUBLE_EQ(told(1000, 50.0), 50.0);
  EXPECT_DOUBLE_EQ(told(1038, 50.161), 50.076) << "no more than 2 cores";
  EXPECT_DOUBLE_EQ(told(1138, 50.2), 50.2) << "nothing is lost";
  EXPECT_DOUBLE_EQ(told(1238, 50.2), 50.2) << "idle";
  EXPECT_DOUBLE_EQ(told(1338, 1), 1) << "a counter that went back says so";
}

TEST(ProcListener, TellsEveryCpuThatIsOnline) {
  const Values v = Host("root_nasty").sample();
  EXPECT_EQ(std::ranges::count_if(
                v, [](const auto& e) { return e.first.starts_with("host.cpu.core.busy/"); }),
            300);
  EXPECT_FALSE(v.contains("host.cpu.core.busy/cpu7"));
  EXPECT_DOUBLE_EQ(v.at("host.cpu.core.busy/cpu301"),
                   (1301 + 301 % 3 + 501 + 5 + 7) * tick_seconds());
}

TEST(ProcListener, SaysWhyAndLeavesOutWhatAKernelDoesNotReport) {
  Host host("root_nasty");
  const Values v = host.sample();
  EXPECT_NE(host.missing("host.pressure.memory.*").find("No such file"), std::string::npos);
  EXPECT_NE(host.missing("host.memory.used").find("MemAvailable"), std::string::npos);
  EXPECT_NE(host.missing("host.paging.major_faults").find("pgmajfault"), std::string::npos);
  EXPECT_FALSE(v.contains("host.pressure.memory.some"));
  EXPECT_FALSE(v.contains("host.memory.used"));
  EXPECT_DOUBLE_EQ(v.at("host.pressure.cpu.some"), 5.0);
  EXPECT_FALSE(v.contains("host.pressure.cpu.full"))
      << "the kernel writes 0 there, which means nothing";
}

TEST(ProcListener, FollowsLinesThatMoveOnInALongFile) {
  const std::string rest = "\nnr_unstable 0\nnr_other 5\n" + std::string(2000, '\n');
  const FakeRoot root{{"proc/vmstat", "pgfault 1\npgmajfault 2" + rest}};
  SeriesTable table;
  const auto listener = open_proc_listener({.root = root.path()}, table);
  for (const std::size_t moved : {0u, 200u, 5000u, 10u}) {
    std::string text(moved, '\n');
    text.append("pgfault 3\npgmajfault 4").append(rest);
    root.write("proc/vmstat", text);
    const Values v = sample_once(*listener, table, kFastGroup);
    EXPECT_EQ(v.at("host.paging.faults"), 3) << moved;
    EXPECT_EQ(v.at("host.paging.major_faults"), 4) << moved;
  }
}

TEST(ProcListener, ReadsADisksOwnFileWhereOthersWouldBeReadInVain) {
  const std::string zeros = " 0 0 0 0 0 0 0 0 0 0 0\n";
  const FakeRoot root{
      {"proc/diskstats",
       "7 0 loop0" + zeros + "7 1 loop1" + zeros + "8 0 sda 1 0 2 0 3 0 4 0 0 5 6\n"},
      {"sys/block/sda/stat", "      10        0       20 0 30 0 40 0 0 50 60 0 0 0 0 0 0\n"}};
  SeriesTable table;
  const auto listener = open_proc_listener({.root = root.path()}, table);
  const Values v = sample_once(*listener, table, kFastGroup);
  EXPECT_EQ(v.at("host.disk.reads/sda"), 10);
  EXPECT_EQ(v.at("host.disk.read/sda"), 20 * 512);
  EXPECT_EQ(v.at("host.disk.writes/sda"), 30);
  EXPECT_EQ(v.at("host.disk.write/sda"), 40 * 512);
  EXPECT_DOUBLE_EQ(v.at("host.disk.busy/sda"), 0.05);
  EXPECT_DOUBLE_EQ(v.at("host.disk.queue/sda"), 0.06);
  root.write("sys/block/sda/stat", "");
  EXPECT_FALSE(sample_once(*listener, table, kFastGroup).contains("host.disk.reads/sda"));
}

// The kernel hands over a page of such a file at a time.
TEST(ProcFile, IsReadToItsEndWhenItGrowsBeyondAPage) {
  auto file = ProcFile::open("/proc/self/maps").value();
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  constexpr std::size_t kPages = 64;
  void* memory = ::mmap(nullptr, kPages * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  for (std::size_t i = 0; i < kPages; i += 2)  // each a mapping of its own
    ::mprotect(static_cast<char*>(memory) + i * page, page, PROT_NONE);
  const std::string last = sys::read_file("/proc/self/maps").value();
  for (int i = 0; i < 2; ++i) {
    const std::string text(file.read());
    EXPECT_EQ(std::ranges::count(text, '\n'), std::ranges::count(last, '\n'));
    EXPECT_GT(text.size(), page);
  }
  constexpr std::size_t kSome = 3000;  // more than the line of any path
  const std::string beginning(file.read_beginning(kSome));
  EXPECT_TRUE(last.starts_with(beginning));
  EXPECT_TRUE(beginning.ends_with('\n'));
  EXPECT_LE(beginning.size(), kSome);
  ::munmap(memory, kPages * page);
}

TEST(ProcListener, HasNothingToSayAboutAnEmptyRoot) {
  Host host("no_such_root");
  EXPECT_TRUE(host.table.series(kFastGroup).empty());
  EXPECT_GE(host.table.missing().size(), 7u);
  EXPECT_TRUE(host.sample().empty());
}

}  // namespace
}  // namespace corral::collect
