#include "collect/jetson/jetson_listener.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>

#include "collect/jetson/tegrastats.h"
#include "collect/test_roots.h"
#include "sys/clock.h"

namespace corral::collect {
namespace {

struct Board {
  explicit Board(const FakeRoot& root)
      : listener(open_jetson_listener({.root = root.path()}, series)) {}
  Values fast() { return sample_once(*listener, series, kFastGroup); }
  SeriesTable series;
  std::unique_ptr<Listener> listener;
};

TEST(JetsonListener, MultipliesVoltageAndCurrentOfEachRail) {
  const std::string monitor = "sys/class/hwmon/hwmon1/";
  const FakeRoot root{{monitor + "name", "ina3221\n"},
                      {monitor + "in1_label", "VDD_IN\n"},
                      {monitor + "in1_input", "5000\n"},
                      {monitor + "curr1_input", "1200\n"},
                      {monitor + "in2_label", "NC\n"},
                      {monitor + "in2_input", "0\n"},
                      {monitor + "curr2_input", "0\n"},
                      {"sys/class/devfreq/17000000.ga10b/device/load", "735\n"},
                      {"sys/class/devfreq/17000000.ga10b/cur_freq", "918000000\n"},
                      {"sys/class/devfreq/15340000.vic/device/load", "9\n"}};
  Board board(root);
  EXPECT_EQ(board.fast(), (Values{{"host.power.rail/VDD_IN", 6},
                                  {"host.gpu.busy/jetson", 0.735},
                                  {"host.gpu.clock.graphics/jetson", 918e6}}));
  root.write(monitor + "curr1_input", "");
  EXPECT_FALSE(board.fast().contains("host.power.rail/VDD_IN"));
}

TEST(JetsonListener, ReadsTheOlderDriversRails) {
  const std::string device = "sys/bus/iio/devices/iio:device0/";
  const FakeRoot root{{device + "name", "ina3221x\n"},
                      {device + "rail_name_0", "POM_5V_GPU\n"},
                      {device + "in_power0_input", "1532\n"}};
  EXPECT_EQ(Board(root).fast(), (Values{{"host.power.rail/POM_5V_GPU", 1.532}}));
}

std::map<std::string, double> values_of(std::string_view line) {
  std::map<std::string, double> values;
  read_tegrastats(line, [&](const TegraValue& value) {
    values[std::string(value.metric) + "/" + std::string(value.source)] = value.value;
  });
  return values;
}

TEST(TegraStats, ReadsTheLinesOfOlderAndNewerBoards) {
  EXPECT_EQ(
      values_of(
          "RAM 1903/3964MB (lfb 2x2MB) SWAP 0/1982MB (cached 0MB) IRAM 0/252kB(lfb 252kB) CPU "
          "[10%@1224,5%@1224,off,off] EMC_FREQ 3%@1600 GR3D_FREQ 99%@921 APE 25 PLL@35C "
          "CPU@38C PMIC@100C GPU@36.5C AO@41C thermal@37.25C POM_5V_IN 1532/1500 "
          "POM_5V_GPU 0/0"),
      (Values{{"host.gpu.memory.busy/jetson", 0.03},
              {"host.gpu.clock.memory/jetson", 1600e6},
              {"host.gpu.busy/jetson", 0.99},
              {"host.gpu.clock.graphics/jetson", 921e6},
              {"host.gpu.temperature/jetson", 36.5},
              {"host.power.rail/POM_5V_IN", 1.532},
              {"host.power.rail/POM_5V_GPU", 0}}));
  EXPECT_EQ(
      values_of("05-06-2023 01:02:03 RAM 4722/62780MB (lfb 12766x4MB) SWAP 0/31390MB (cached 0MB) "
                "CPU [0%@1190,off] EMC_FREQ 0% GR3D_FREQ 45%@[905,1020] VIC_FREQ 729 APE 174 "
                "CV0@-256C CPU@46.3C Tboard@35C GPU@-256C tj@46C VDD_GPU_SOC 2390mW/2310mW "
                "NC 0mW/0mW VIN_SYS_5V0 3529mW/3529mW"),
      (Values{{"host.gpu.memory.busy/jetson", 0},
              {"host.gpu.busy/jetson", 0.45},
              {"host.gpu.clock.graphics/jetson", 1020e6},
              {"host.power.rail/VDD_GPU_SOC", 2.39},
              {"host.power.rail/VIN_SYS_5V0", 3.529}}));
  for (const char* line : {"", "GR3D_FREQ", "GR3D_FREQ %@", "GR3D_FREQ x%@1", "EMC_FREQ 1%@[",
                           "A 1/", "A /1", "A 1mW/1", "GPU@C", "1/2 GPU@-300C"})
    EXPECT_TRUE(values_of(line).empty() || values_of(line).contains("host.gpu.memory.busy/jetson"))
        << line;
}

void write_program(const FakeRoot& root, const std::string& script) {
  root.write("usr/bin/tegrastats", "#!/bin/sh\n" + script);
  std::filesystem::permissions(root.path() / "usr/bin/tegrastats",
                               std::filesystem::perms::owner_all);
}

TEST(TegraStats, StreamsWhatTheFilesDoNotGiveAndEndsWithTheListener) {
  const std::string monitor = "sys/class/hwmon/hwmon1/";
  const FakeRoot root{{monitor + "name", "ina3221\n"},
                      {monitor + "in1_label", "VDD_IN\n"},
                      {monitor + "in1_input", "5000\n"},
                      {monitor + "curr1_input", "1200\n"}};
  // The first line says what there is; the next ones come when the test says so.
  const std::string go = (root.path() / "go").string();
  const std::string pid = (root.path() / "pid").string();
  ASSERT_EQ(::mkfifo(go.c_str(), 0600), 0);
  write_program(root, "echo $$ $1 $2 > " + pid +
                          "\necho 'GR3D_FREQ 10%@100 VDD_IN 1mW/1mW VDD_SOC 2000mW/2000mW'\n"
                          "read x < " +
                          go +
                          "\necho 'GR3D_FREQ 20%@100'\n"
                          "echo 'GR3D_FREQ 30%@200 VDD_SOC 3000mW/1mW NEW 1mW/1mW'\n"
                          "printf 'GR3D_FREQ 9'\nexec sleep 100\n");
  pid_t process = 0;
  {
    Board board(root);
    ASSERT_NE(board.listener, nullptr);
    EXPECT_EQ(board.fast(), (Values{{"host.power.rail/VDD_IN", 6}}));
    std::string arguments;
    std::ifstream file(pid);
    file >> process;
    std::getline(file, arguments);
    EXPECT_EQ(arguments, " --interval 1000");
    EXPECT_EQ(sample_once(*board.listener, board.series, kSlowGroup), Values{});
    std::ofstream(go) << "x\n";
    Values values;
    const BootTime deadline = sys::boot_now() + std::chrono::seconds(20);
    while (!values.contains("host.power.rail/VDD_SOC") && sys::boot_now() < deadline)
      values.merge(sample_once(*board.listener, board.series, kSlowGroup));
    EXPECT_EQ(values.at("host.power.rail/VDD_SOC"), 3);
    EXPECT_FALSE(values.contains("host.power.rail/NEW"));
    EXPECT_EQ(::kill(process, 0), 0);
  }
  EXPECT_EQ(::kill(process, 0), -1);
}

TEST(TegraStats, OneThatSaysNothingOrEndsIsTold) {
  const FakeRoot root;
  write_program(root, "exit 1\n");
  const Board silent(root);
  EXPECT_EQ(silent.listener, nullptr);
  EXPECT_EQ(missing(silent.series, "jetson: tegrastats"), "tegrastats ended without a line");
  write_program(root, "echo 'GR3D_FREQ 10%@100'\n");
  SeriesTable series;
  const auto news = std::make_shared<News>();
  const auto listener = open_jetson_listener({.root = root.path(), .news = news}, series);
  ASSERT_NE(listener, nullptr);
  std::string told;
  const BootTime deadline = sys::boot_now() + std::chrono::seconds(20);
  while (told.empty() && sys::boot_now() < deadline) {
    sample_once(*listener, series, kSlowGroup);
    news->drain([&](const News::Item& item) { told = item.text; });
  }
  EXPECT_EQ(told, "has ended: its values are missing from here on");
}

TEST(JetsonListener, IsNotForOtherMachines) {
  const FakeRoot root;
  const Board board(root);
  EXPECT_EQ(board.listener, nullptr);
  EXPECT_EQ(board.series.missing().size(), 1u);
}

}  // namespace
}  // namespace corral::collect
