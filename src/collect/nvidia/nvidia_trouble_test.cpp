// Failures of drivers: missing, old, refusing, slow, strict, lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "collect/nvidia/fake/fake_driver.h"
#include "collect/nvidia/nvml.h"
#include "core/test_paths.h"

namespace corral::collect::nvidia {
namespace {

// A driver without some functions: a copy of the fake whose symbol table has lost their names.
std::string library_without(const std::vector<std::string>& functions) {
  std::string binary = sys::read_file(fake_nvml()).value();
  for (const std::string& function : functions) {
    const std::string name = '\0' + function + '\0';
    std::size_t found = 0;
    for (auto at = binary.find(name); at != std::string::npos; at = binary.find(name, at + 1)) {
      binary[at + 1] = 'x';
      ++found;
    }
    EXPECT_GT(found, 0U) << function;
  }
  return binary;
}

// All at once, in ticks and slow ticks; what it gives is not looked at.
void exercise(Opened& gpu) {
  if (gpu.listener == nullptr) return;
  for (int tick = 0; tick < 30; ++tick) {
    gpu.fast_at(gpu.driver.at() + 0.1);
    if (tick % 10 == 0) gpu.slow_at(gpu.driver.at());
  }
}

TEST(NvidiaTrouble, ThereIsNoDriver) {
  FakeDriver driver(timeline("one"));
  const Opened gpu(driver, {.library_path = "/no/such/libnvidia-ml.so.1"});
  EXPECT_EQ(gpu.listener, nullptr);
  EXPECT_TRUE(holds(gpu.missing("host.gpu.*"), "no NVIDIA driver is installed"));
  EXPECT_TRUE(holds(gpu.missing("host.gpu.*"), "/no/such"));
}

TEST(NvidiaTrouble, TheDriverIsNotLoaded) {
  FakeDriver driver("call.nvmlInit_v2.status DRIVER_NOT_LOADED\n");
  const Opened gpu(driver);
  EXPECT_EQ(gpu.listener, nullptr);
  EXPECT_TRUE(holds(gpu.missing("host.gpu.*"), "Driver Not Loaded"));
}

TEST(NvidiaTrouble, TheDriverHasNoDevice) {
  FakeDriver driver("gpus 0\n");
  const Opened gpu(driver);
  EXPECT_EQ(gpu.listener, nullptr);
  EXPECT_TRUE(holds(gpu.missing("host.gpu.*"), "no device"));
}

TEST(NvidiaTrouble, OneDeviceIsNotForThisUser) {
  FakeDriver driver(timeline("one") + "gpu1.handle NO_PERMISSION\n");
  FakeDriver two("gpus 2\ngpu0.handle NO_PERMISSION\ngpu1.busy 5\ngpu1.memory_busy 5\n");
  Opened gpu(two);
  EXPECT_EQ(gpu.missing("host.gpu.* of gpu0"), "Insufficient Permissions");
  EXPECT_DOUBLE_EQ(gpu.fast_at(1).at("host.gpu.busy/gpu1"), 0.05);
}

TEST(NvidiaTrouble, ARefusedValueTakesNoOtherWithIt) {
  FakeDriver driver(timeline("one") + "at 0 gpu0.field.186 NOT_SUPPORTED\n");
  std::string lines = timeline("one");
  lines.replace(lines.find("gpu0.field.82 40"), 16, "gpu0.field.82 NO_PERMISSION");
  lines.replace(lines.find("gpu0.temperature 31"), 19, "gpu0.temperature NOT_SUPPORTED");
  FakeDriver refusing(lines);
  Opened gpu(refusing);
  const Values v = gpu.slow_at(1);
  EXPECT_EQ(gpu.missing("host.gpu.memory.temperature of gpu0"), "Insufficient Permissions");
  EXPECT_EQ(gpu.missing("host.gpu.temperature of gpu0"), "Not Supported");
  EXPECT_FALSE(v.contains("host.gpu.temperature/gpu0"));
  EXPECT_EQ(v.at("host.gpu.power.limit/gpu0"), 700);
}

TEST(NvidiaTrouble, AValueThatEndsForAWhileIsToldOnce) {
  FakeDriver driver(timeline("one") + "at 20 gpu0.busy TIMEOUT\nat 30 gpu0.busy 50\n");
  Opened gpu(driver);
  EXPECT_TRUE(gpu.fast_at(15).contains("host.gpu.busy/gpu0"));
  for (int tick = 0; tick < 5; ++tick) {
    const Values v = gpu.fast_at(20 + tick * 0.1);
    EXPECT_FALSE(v.contains("host.gpu.busy/gpu0"));
    EXPECT_TRUE(v.contains("host.gpu.power/gpu0"));
  }
  EXPECT_DOUBLE_EQ(gpu.fast_at(31).at("host.gpu.busy/gpu0"), 0.5);
  EXPECT_TRUE(just(gpu.told(), "gpu0: no values of utilization for now"));
}

TEST(NvidiaTrouble, ALostDeviceEndsAloneAndIsLeftAlone) {
  std::string two = timeline("one");
  two.replace(two.find("gpus 1"), 6, "gpus 2");
  FakeDriver driver(two + "gpu1.busy 7\ngpu1.memory_busy 7\nat 20 gpu0.lost 1\n");
  Opened gpu(driver);
  EXPECT_TRUE(gpu.fast_at(19).contains("host.gpu.busy/gpu0"));
  EXPECT_FALSE(gpu.fast_at(20).contains("host.gpu.busy/gpu0"));
  const auto calls = driver.calls("nvmlDeviceGetFieldValues");
  for (int tick = 0; tick < 50; ++tick) {
    const Values v = gpu.fast_at(21 + tick * 0.1);
    EXPECT_EQ(v.size(), 2U);
    EXPECT_DOUBLE_EQ(v.at("host.gpu.busy/gpu1"), 0.07);
  }
  gpu.slow_at(30);
  EXPECT_EQ(driver.calls("nvmlDeviceGetFieldValues"), calls);
  EXPECT_TRUE(just(gpu.told(), "gpu0: GPU is lost; its values end here"));
}

TEST(NvidiaTrouble, TheDriverIsUnloadedDuringTheRun) {
  FakeDriver driver(timeline("one") + "at 20 driver.gone 1\n");
  Opened gpu(driver);
  EXPECT_FALSE(gpu.fast_at(19).empty());
  exercise(gpu);
  EXPECT_TRUE(gpu.fast_at(25).empty());
  EXPECT_TRUE(just(gpu.told(), "gpu0: Driver Not Loaded; its values end here"));
}

TEST(NvidiaTrouble, AnOldDriverHasNoNewerVersionsOfItsFunctions) {
  const ScratchFile old(library_without(
      {"nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetFieldValues", "nvmlGpmQueryDeviceSupport",
       "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetMigMode"}));
  FakeDriver driver(timeline("one") + "gpu0.power 321000\n", old.path());
  Opened gpu(driver);
  const Values v = gpu.fast_at(12);
  EXPECT_EQ(v.at("host.gpu.memory.used/gpu0"), 600e6 + 20e9) << "v1 counts what is reserved in";
  EXPECT_EQ(v.at("host.gpu.power/gpu0"), 321);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.energy/gpu0"), 1770 + 2 * 650);
  EXPECT_EQ(v.at("host.gpu.throttle.reasons/gpu0"), 4);
  EXPECT_FALSE(v.contains("host.gpu.sm.active/gpu0"));
  EXPECT_TRUE(holds(gpu.missing("host.gpu.memory.reserved of gpu0"), "no such function"));
  EXPECT_TRUE(holds(gpu.missing("host.gpu.power.instant of gpu0"), "no such function"));
  EXPECT_TRUE(holds(gpu.missing("host.gpu.sm.active and the like of gpu0"), "no such function"));
  EXPECT_EQ(gpu.slow_at(12).at("host.gpu.memory.total/gpu0"), 150754820096.0);
}

TEST(NvidiaTrouble, AnyFunctionMayBeMissing) {
  for (const char* function : {"nvmlInit_v2",
                               "nvmlShutdown",
                               "nvmlErrorString",
                               "nvmlSystemGetDriverVersion",
                               "nvmlDeviceGetCount_v2",
                               "nvmlDeviceGetHandleByIndex_v2",
                               "nvmlDeviceGetUUID",
                               "nvmlDeviceGetName",
                               "nvmlDeviceGetPciInfo_v3",
                               "nvmlDeviceGetUtilizationRates",
                               "nvmlDeviceGetMemoryInfo_v2",
                               "nvmlDeviceGetMemoryInfo",
                               "nvmlDeviceGetFieldValues",
                               "nvmlDeviceGetPowerUsage",
                               "nvmlDeviceGetTotalEnergyConsumption",
                               "nvmlDeviceGetClockInfo",
                               "nvmlDeviceGetCurrentClocksEventReasons",
                               "nvmlDeviceGetTemperature",
                               "nvmlDeviceGetSamples",
                               "nvmlDeviceGetPerformanceState",
                               "nvmlDeviceGetEncoderUtilization",
                               "nvmlDeviceGetDecoderUtilization",
                               "nvmlDeviceGetMigMode",
                               "nvmlDeviceGetMaxMigDeviceCount",
                               "nvmlDeviceGetMigDeviceHandleByIndex",
                               "nvmlDeviceGetGpuInstanceId",
                               "nvmlGpmQueryDeviceSupport",
                               "nvmlGpmSampleAlloc",
                               "nvmlGpmSampleFree",
                               "nvmlGpmSampleGet",
                               "nvmlGpmMigSampleGet",
                               "nvmlGpmMetricsGet"}) {
    SCOPED_TRACE(function);
    const ScratchFile lacking(library_without({function}));
    FakeDriver driver(timeline("mig"), lacking.path());
    Opened gpu(driver);
    exercise(gpu);
    EXPECT_LE(gpu.told().size(), 16U);
  }
}

TEST(NvidiaTrouble, AStrictDriverWantsAnotherVersion) {
  FakeDriver driver(timeline("one") +
                    "call.nvmlDeviceGetMemoryInfo_v2.version 50331696\n"
                    "call.nvmlGpmMetricsGet.version 2\n");
  Opened gpu(driver);
  gpu.fast_at(1);
  const Values v = gpu.fast_at(2);
  EXPECT_EQ(v.at("host.gpu.memory.used/gpu0"), 600e6) << "the older version does";
  EXPECT_FALSE(v.contains("host.gpu.sm.active/gpu0"));
  EXPECT_TRUE(
      holds(gpu.missing("host.gpu.sm.active and the like of gpu0"), "Argument Version Mismatch"));
}

TEST(NvidiaTrouble, AUnifiedMemoryHasNoSizeOfItsOwn) {
  std::string lines = timeline("one");
  lines.replace(lines.find("gpu0.memory.total 150754820096"), 30, "gpu0.memory.total 0");
  FakeDriver driver(lines);
  Opened gpu(driver);
  EXPECT_EQ(gpu.missing("host.gpu.memory.used of gpu0"), "Not Supported");
  EXPECT_FALSE(gpu.fast_at(1).contains("host.gpu.memory.used/gpu0"));
}

// The driver's word for a value that it does not have, in 64 bits.
TEST(NvidiaTrouble, AMemoryThatIsNotAvailableIsMissing) {
  std::string lines = timeline("one");
  lines.replace(lines.find("gpu0.memory.used 0"), 18, "gpu0.memory.used 18446744073709551615");
  FakeDriver driver(lines);
  Opened gpu(driver);
  EXPECT_EQ(gpu.missing("host.gpu.memory.used of gpu0"), "Not Supported");
  EXPECT_FALSE(gpu.fast_at(1).contains("host.gpu.memory.used/gpu0"));
}

// In so many ticks of 100 ms from that time on: values of a metric.
int values_in(Opened& gpu, double from, int ticks, const std::string& metric) {
  int values = 0;
  for (int tick = 0; tick < ticks; ++tick)
    values += gpu.fast_at(from + tick * 0.1).contains(metric) ? 1 : 0;
  return values;
}

TEST(NvidiaTrouble, ADearCallIsMadeLessOftenAndNotedOnce) {
  FakeDriver driver(
      "gpus 1\ngpu0.busy 1\ngpu0.memory_busy 1\ngpu0.power 100000\n"
      "at 5 call.nvmlDeviceGetUtilizationRates.latency 0.0024\n"
      "at 50 call.nvmlDeviceGetUtilizationRates.latency 0.02\n"
      "at 200 call.nvmlDeviceGetUtilizationRates.latency 0.0001\n");
  Opened gpu(driver);
  EXPECT_EQ(values_in(gpu, 4, 10, "host.gpu.busy/gpu0"), 10);
  EXPECT_TRUE(gpu.told().empty());
  values_in(gpu, 5, 150, "host.gpu.busy/gpu0");
  EXPECT_EQ(gpu.told(), std::vector<std::string>({"note: nvidia: the driver's call for utilization "
                                                  "would take more than 1 % of a core: it is made "
                                                  "less often"}));
  EXPECT_EQ(values_in(gpu, 20, 30, "host.gpu.busy/gpu0"), 10) << "of 2.4 ms, in 1 % of the time";
  EXPECT_EQ(values_in(gpu, 30, 30, "host.gpu.power/gpu0"), 30) << "the others go on";
  values_in(gpu, 50, 100, "host.gpu.busy/gpu0");
  EXPECT_EQ(values_in(gpu, 60, 100, "host.gpu.busy/gpu0"), 10) << "once a second, however dear";
  values_in(gpu, 200, 2000, "host.gpu.busy/gpu0");
  EXPECT_EQ(values_in(gpu, 400, 10, "host.gpu.busy/gpu0"), 10) << "cheap again";
  EXPECT_EQ(gpu.told(), std::vector<std::string>());
}

TEST(NvidiaTrouble, TheTwoCallsOfUnitActivityStayTogether) {
  FakeDriver driver(timeline("one") +
                    "call.nvmlGpmSampleGet.latency 0.002\ncall.nvmlGpmMetricsGet.latency 0.0025\n");
  Opened gpu(driver);
  values_in(gpu, 5, 200, "host.gpu.sm.active/gpu0");
  EXPECT_NEAR(values_in(gpu, 30, 100, "host.gpu.sm.active/gpu0"), 20, 1) << "4.5 ms: every 500 ms";
}

TEST(NvidiaTrouble, NowAndThenASlowCallIsForgiven) {
  FakeDriver driver(timeline("one") +
                    "at 10 call.nvmlDeviceGetUtilizationRates.latency 0.005\n"
                    "at 10.05 call.nvmlDeviceGetUtilizationRates.latency 0\n"
                    "at 20 call.nvmlDeviceGetUtilizationRates.latency 0.005\n"
                    "at 20.05 call.nvmlDeviceGetUtilizationRates.latency 0\n"
                    "at 30 call.nvmlDeviceGetUtilizationRates.latency 0.005\n"
                    "at 30.05 call.nvmlDeviceGetUtilizationRates.latency 0\n");
  Opened gpu(driver);
  for (int tick = 0; tick < 300; ++tick) gpu.fast_at(5 + tick * 0.1);
  EXPECT_TRUE(gpu.told().empty());
}

}  // namespace
}  // namespace corral::collect::nvidia
