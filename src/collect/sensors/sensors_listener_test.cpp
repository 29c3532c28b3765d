#include "collect/sensors/sensors_listener.h"

#include <gtest/gtest.h>

#include "collect/test_roots.h"

namespace corral::collect {
namespace {

struct Machine {
  explicit Machine(const FakeRoot& root)
      : listener(open_sensors_listener({.root = root.path()}, table)) {}
  Values sample() { return sample_once(*listener, table, kSlowGroup); }
  SeriesTable table;
  std::unique_ptr<Listener> listener;
};

const std::string kHwmon = "sys/class/hwmon/hwmon";
const std::string kCpu = "sys/devices/system/cpu/cpu";

TEST(Sensors, NamesThemByChipAndLabelInSiUnits) {
  const FakeRoot root{
      {kHwmon + "0/name", "acpitz\n"},        {kHwmon + "0/temp1_input", "-5500\n"},
      {kHwmon + "1/name", "nct6798\n"},       {kHwmon + "1/fan2_input", "1250\n"},
      {kHwmon + "1/fan2_label", "chassis\n"}, {kHwmon + "1/in0_input", "900\n"},
      {kHwmon + "2/name", "power_meter\n"},   {kHwmon + "2/power1_average", "231000000\n"},
      {kHwmon + "2/power1_input", "1\n"}};
  EXPECT_EQ(Machine(root).sample(), (Values{{"host.temperature/acpitz temp1", -5.5},
                                            {"host.fan/nct6798 chassis", 1250},
                                            {"host.power.sensor/power_meter power1", 231}}));
}

TEST(Sensors, KeepsThePackageAndLeavesOutItsCores) {
  const FakeRoot root{{kHwmon + "3/name", "coretemp\n"},
                      {kHwmon + "3/temp1_label", "Package id 0\n"},
                      {kHwmon + "3/temp1_input", "67000\n"},
                      {kHwmon + "3/temp2_label", "Core 0\n"},
                      {kHwmon + "3/temp2_input", "66000\n"},
                      {"sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n"},
                      {"sys/class/thermal/thermal_zone0/temp", "67000\n"},
                      {"sys/class/thermal/thermal_zone1/type", "cpu-thermal\n"},
                      {"sys/class/thermal/thermal_zone1/temp", "41000\n"}};
  EXPECT_EQ(Machine(root).sample(), (Values{{"host.temperature/coretemp Package id 0", 67},
                                            {"host.temperature/cpu-thermal", 41}}));
}

TEST(Sensors, TellsChipsOfOneKindApartByTheirDevice) {
  const FakeRoot root{{kHwmon + "1/name", "nvme\n"},  {kHwmon + "1/temp1_input", "30000\n"},
                      {kHwmon + "10/name", "nvme\n"}, {kHwmon + "10/temp1_input", "40000\n"},
                      {"sys/devices/nvme0/x", ""},    {"sys/devices/nvme1/x", ""}};
  namespace fs = std::filesystem;
  fs::create_directory_symlink("../../../devices/nvme0", root.path() / (kHwmon + "1/device"));
  fs::create_directory_symlink("../../../devices/nvme1", root.path() / (kHwmon + "10/device"));
  EXPECT_EQ(Machine(root).sample(), (Values{{"host.temperature/nvme nvme0 temp1", 30},
                                            {"host.temperature/nvme nvme1 temp1", 40}}));
}

TEST(Sensors, LeavesGpusAndSleepingDrivesToThemselves) {
  const FakeRoot root{{kHwmon + "0/name", "amdgpu\n"},
                      {kHwmon + "0/temp1_input", "50000\n"},
                      {kHwmon + "1/name", "drivetemp\n"},
                      {kHwmon + "1/temp1_input", "30000\n"}};
  EXPECT_EQ(Machine(root).listener, nullptr);
}

TEST(Sensors, OneThatAnswersNonsenseIsToldAndTheOthersGoOn) {
  const FakeRoot root{{kHwmon + "0/name", "acpitz\n"},
                      {kHwmon + "0/temp1_input", "N/A\n"},
                      {kHwmon + "0/temp2_input", "20000\n"},
                      {kHwmon + "0/temp_input", "1\n"},
                      {kHwmon + "0/tempx_input", "1\n"}};
  Machine machine(root);
  EXPECT_EQ(machine.sample(), (Values{{"host.temperature/acpitz temp2", 20}}));
  EXPECT_NE(missing(machine.table, "host.temperature of acpitz temp1").find("'N/A'"),
            std::string::npos);
  root.write(kHwmon + "0/temp2_input", "");
  EXPECT_TRUE(machine.sample().empty()) << "a sensor that stops answering is missing, not 0";
}

TEST(Frequencies, AreSummedUpOverTheCpus) {
  const FakeRoot root{{kCpu + "0/cpufreq/scaling_cur_freq", "800000\n"},
                      {kCpu + "1/cpufreq/scaling_cur_freq", "2400000\n"},
                      {kCpu + "10/cpufreq/scaling_cur_freq", "3700000\n"},
                      {kCpu + "2/online", "0\n"},
                      {"sys/devices/system/cpu/cpufreq/boost", "1\n"}};
  Machine machine(root);
  EXPECT_EQ(machine.sample(), (Values{{"host.cpu.frequency.mean", 2.3e9},
                                      {"host.cpu.frequency.min", 0.8e9},
                                      {"host.cpu.frequency.max", 3.7e9}}));
  root.write(kCpu + "0/cpufreq/scaling_cur_freq", "<unknown>\n");
  EXPECT_DOUBLE_EQ(machine.sample().at("host.cpu.frequency.min"), 2.4e9);
}

TEST(Frequencies, OfManyCpusAreReadFromSomeOfThem) {
  const FakeRoot root;
  for (int i = 0; i < 130; ++i)
    root.write(kCpu + std::to_string(i) + "/cpufreq/scaling_cur_freq", std::to_string(i) + "\n");
  EXPECT_EQ(Machine(root).sample().at("host.cpu.frequency.max"), 129e3);
}

TEST(ThermalThrottles, CountCoresAndPackagesOnce) {
  const FakeRoot root;
  for (int cpu = 0; cpu < 4; ++cpu) {  // two cores of two threads each, in one package
    const std::string directory = kCpu + std::to_string(cpu);
    root.write(directory + "/topology/physical_package_id", "0\n");
    root.write(directory + "/topology/core_id", std::to_string(cpu % 2) + "\n");
    root.write(directory + "/thermal_throttle/core_throttle_count",
               std::to_string(10 + cpu % 2) + "\n");
    root.write(directory + "/thermal_throttle/package_throttle_count", "7\n");
    root.write(directory + "/thermal_throttle/package_throttle_total_time_ms", "1500\n");
  }
  Machine machine(root);
  EXPECT_EQ(machine.sample(), (Values{{"host.cpu.throttles.core", 21},
                                      {"host.cpu.throttles.package", 7},
                                      {"host.cpu.throttled.package", 1.5}}));
  root.write(kCpu + "1/thermal_throttle/core_throttle_count", "");
  EXPECT_FALSE(machine.sample().contains("host.cpu.throttles.core"));
}

TEST(SensorsListener, SaysWhatAMachineDoesNotHave) {
  const FakeRoot root;
  const Machine machine(root);
  EXPECT_EQ(machine.listener, nullptr);
  EXPECT_EQ(machine.table.missing().size(), 3u);
}

}  // namespace
}  // namespace corral::collect
