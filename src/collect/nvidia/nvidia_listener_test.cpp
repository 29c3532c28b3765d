#include "collect/nvidia/nvidia_listener.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

#include "collect/nvidia/fake/fake_driver.h"
#include "collect/nvidia/fields.h"
#include "core/json.h"

namespace corral::collect::nvidia {
namespace {

TEST(NvidiaListener, ReadsADeviceInSiUnits) {
  FakeDriver driver(timeline("one"));
  Opened gpu(driver);
  EXPECT_TRUE(gpu.table.missing().empty()) << gpu.table.missing().front().source;
  const Values idle = gpu.fast_at(5);
  EXPECT_EQ(idle.at("host.gpu.busy/gpu0"), 0);
  EXPECT_DOUBLE_EQ(idle.at("host.gpu.energy/gpu0"), 1000 + 5 * 77);
  const Values v = gpu.fast_at(12);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.busy/gpu0"), 0.97);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.memory.busy/gpu0"), 0.41);
  EXPECT_EQ(v.at("host.gpu.memory.used/gpu0"), 20e9);
  EXPECT_EQ(v.at("host.gpu.memory.free/gpu0"), 150754820096.0 - 600e6 - 20e9);
  EXPECT_EQ(v.at("host.gpu.clock.sm/gpu0"), 1980e6);
  EXPECT_EQ(v.at("host.gpu.clock.memory/gpu0"), 3201e6);
  EXPECT_EQ(v.at("host.gpu.throttle.reasons/gpu0"), 4);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.power/gpu0"), 650);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.power.instant/gpu0"), 655.5);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.energy/gpu0"), 1770 + 2 * 650);
  EXPECT_EQ(v.at("host.gpu.pcie.tx/gpu0"), 1000 + 12 * 2000);
  EXPECT_EQ(v.at("host.gpu.pcie.rx/gpu0"), 5000 + 12 * 1000);
  EXPECT_EQ(v.at("host.gpu.nvlink.tx/gpu0"), (100 + 12 * 1024) * 1024.0);
  EXPECT_EQ(v.at("host.gpu.nvlink.rx/gpu0"), (200 + 12 * 512) * 1024.0);
  const Values slow = gpu.slow_at(12);
  EXPECT_EQ(slow.at("host.gpu.memory.total/gpu0"), 150754820096.0);
  EXPECT_EQ(slow.at("host.gpu.memory.reserved/gpu0"), 600e6);
  EXPECT_EQ(slow.at("host.gpu.temperature/gpu0"), 31);
  EXPECT_EQ(slow.at("host.gpu.memory.temperature/gpu0"), 40);
  EXPECT_EQ(slow.at("host.gpu.power.limit/gpu0"), 700);
  EXPECT_EQ(slow.at("host.gpu.performance_state/gpu0"), 0);
  EXPECT_DOUBLE_EQ(slow.at("host.gpu.decoder.busy/gpu0"), 0.12);
  EXPECT_DOUBLE_EQ(slow.at("host.gpu.throttle.power/gpu0"), 2);
  EXPECT_EQ(slow.at("host.gpu.ecc.corrected/gpu0"), 2);
  EXPECT_EQ(slow.at("host.gpu.pcie.replays/gpu0"), 1);
}

TEST(NvidiaListener, SaysWhatTheDeviceIs) {
  FakeDriver driver(timeline("one"));
  const Opened gpu(driver, {.root = fixture_root("nvml/root")});
  EXPECT_EQ(gpu.described("nvidia.driver"), "580.95.05");
  EXPECT_EQ(gpu.described("gpu0.uuid"), "GPU-00000000-1111-2222-3333-444444444444");
  EXPECT_EQ(gpu.described("gpu0.name"), "NVIDIA H200");
  EXPECT_EQ(gpu.described("gpu0.pci"), "0000:3b:00.0");
  EXPECT_EQ(gpu.described("gpu0.numa_node"), "1");
  EXPECT_EQ(gpu.described("gpu0.cpus"), "48-95");
  EXPECT_EQ(gpu.described("gpu0.mig"), "off");
}

TEST(NvidiaListener, SaysHowTheDeviceIsSetAndHowItStands) {
  FakeDriver driver(timeline("one"));
  const Opened gpu(driver, {.root = fixture_root("nvml/root")});
  EXPECT_EQ(gpu.described("gpu0.persistence"), "on");
  EXPECT_EQ(gpu.described("gpu0.ecc"), "on");
  EXPECT_EQ(gpu.described("gpu0.compute_mode"), "exclusive process");
  EXPECT_EQ(gpu.described("gpu0.power_limit_watts"), "700");
  EXPECT_EQ(gpu.described("at_start.gpu0.temperature_celsius"), "31");
  EXPECT_NE(gpu.described("at_start.gpu0.sm_mhz"), "");
  EXPECT_NE(gpu.described("at_start.gpu0.processes"), "");
}

TEST(NvidiaListener, SaysHowFastItsPcieLinkCanBe) {
  const auto speed = [](const std::string& link) {
    FakeDriver driver(timeline("one") + link);
    return Opened(driver).described("gpu0.pcie_bytes_per_second");
  };
  EXPECT_EQ(speed("gpu0.link.generation 4\ngpu0.link.width 16\n"), "31504000000");
  EXPECT_EQ(speed("gpu0.link.generation 9\ngpu0.link.width 16\n"), "") << "not known yet";
  EXPECT_EQ(speed("gpu0.link.generation 4\n"), "");
}

// The answers of a real driver: the type of each field, its bytes, and the number that they are.
TEST(NvidiaFields, AreReadAsAnH100GaveThem) {
  const Json fields = Json::parse(fixture_text("nvml/h100/fields.json")).value();
  std::size_t read = 0;
  for (const Json& field : *fields.as_array()) {
    if (*field.find("status")->as_int() != 0) continue;
    const std::string& raw = *field.find("raw")->as_string();
    std::array<std::byte, 8> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes.at(i) = std::byte(std::stoul(raw.substr(2 * i, 2), nullptr, 16));
    const auto type = static_cast<ValueType>(*field.find("type")->as_int());
    EXPECT_EQ(read_number(type, bytes), field.find("number")->as_double(-1));
    ++read;
  }
  EXPECT_EQ(read, 22U);
}

TEST(NvidiaListener, FillsAllThatItDeclares) {
  FakeDriver driver(timeline("one"));
  Opened gpu(driver);
  gpu.fast_at(1);
  // GPM needs two samples; one of its metrics is no number here.
  EXPECT_EQ(gpu.fast_at(1.2).size() + 1, gpu.table.series(kFastGroup).size());
  gpu.slow_at(1.1);
  EXPECT_GE(gpu.slow_at(2.1).size(), 21U);
}

TEST(NvidiaListener, AsksOnlyForTheDevicesItIsToldTo) {
  FakeDriver driver(
      "gpus 2\ngpu0.uuid GPU-a\ngpu0.busy 1\ngpu0.memory_busy 1\n"
      "gpu1.uuid GPU-b\ngpu1.busy 2\ngpu1.memory_busy 2\n");
  Opened one(driver, {.device_uuids = {"GPU-b"}});
  const Values v = one.fast_at(1);
  EXPECT_FALSE(v.contains("host.gpu.busy/gpu0"));
  EXPECT_DOUBLE_EQ(v.at("host.gpu.busy/gpu1"), 0.02);
  Opened all(driver);
  EXPECT_DOUBLE_EQ(all.fast_at(2).at("host.gpu.busy/gpu0"), 0.01);
}

TEST(NvidiaListener, GivesUnitActivityOverWindowsThatAreLongEnough) {
  FakeDriver driver(timeline("one"));
  Opened gpu(driver);
  EXPECT_FALSE(gpu.fast_at(5).contains("host.gpu.sm.active/gpu0")) << "there is no window yet";
  EXPECT_FALSE(gpu.fast_at(5.03).contains("host.gpu.sm.active/gpu0"));
  EXPECT_FALSE(gpu.fast_at(5.1).contains("host.gpu.sm.active/gpu0")) << "more than 100 ms";
  Values v;
  for (int tick = 0; tick < 20; ++tick) {
    v = gpu.fast_at(5.2 + tick * 0.1 + (tick % 2 == 0 ? 0.0003 : 0));  // a tick may come early
    ASSERT_DOUBLE_EQ(v.at("host.gpu.sm.active/gpu0"), 0.8725) << tick;
  }
  EXPECT_DOUBLE_EQ(v.at("host.gpu.sm.occupancy/gpu0"), 0.335);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.pipe.tensor_fp16/gpu0"), 0.58);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.dram.active/gpu0"), 0.71);
  EXPECT_EQ(v.at("host.gpu.pcie.rx_rate/gpu0"), 2 * 1048576.0);
  EXPECT_EQ(v.at("host.gpu.nvlink.tx_rate/gpu0"), 4 * 1048576.0);
  EXPECT_FALSE(v.contains("host.gpu.pipe.fp16/gpu0")) << "no number is no value";
  EXPECT_TRUE(v.contains("host.gpu.clock.sm/gpu0")) << "the clock stands beside the activity";
  EXPECT_TRUE(gpu.told().empty());
}

TEST(NvidiaListener, AsksOlderDriversForDoublePrecisionByTheirOwnNumber) {
  FakeDriver driver(timeline("one") + "gpu0.gpm.8 NOT_SUPPORTED\ngpu0.gpm.6 21\n");
  Opened gpu(driver);
  for (const double s : {1.0, 1.1, 1.2, 1.3}) gpu.fast_at(s);
  EXPECT_DOUBLE_EQ(gpu.fast_at(1.4).at("host.gpu.pipe.tensor_fp64/gpu0"), 0.21);
  EXPECT_TRUE(gpu.told().empty());
}

TEST(NvidiaListener, NeverComparesAcrossAPause) {
  FakeDriver driver(timeline("one"));
  Opened gpu(driver);
  gpu.fast_at(1);
  EXPECT_TRUE(gpu.fast_at(1.2).contains("host.gpu.sm.active/gpu0"));
  EXPECT_FALSE(gpu.fast_at(61).contains("host.gpu.sm.active/gpu0"));
  EXPECT_TRUE(gpu.fast_at(61.2).contains("host.gpu.sm.active/gpu0"));
}

TEST(NvidiaListener, AsksForAllUnitsInOneCall) {
  FakeDriver driver(timeline("one"));
  Opened gpu(driver);
  const unsigned long metrics = driver.calls("nvmlGpmMetricsGet");
  const unsigned long samples = driver.calls("nvmlGpmSampleGet");
  for (int tick = 0; tick < 11; ++tick) gpu.fast_at(5 + tick * 0.1);
  EXPECT_EQ(driver.calls("nvmlGpmMetricsGet") - metrics, 9U) << "two ticks without a window";
  EXPECT_EQ(driver.calls("nvmlGpmSampleGet") - samples, 11U);
}

// Metrics that are declared here are not requested from DCGM.
TEST(NvidiaListener, DeclaresNoUnitActivityThatCannotBeSampled) {
  for (const char* refused : {"call.nvmlGpmSampleGet.status NO_PERMISSION\n",
                              "call.nvmlGpmMetricsGet.status NO_PERMISSION\n"}) {
    FakeDriver driver(timeline("one") + refused);
    Opened gpu(driver);
    EXPECT_TRUE(
        holds(gpu.missing("host.gpu.sm.active and the like of gpu0"), "Insufficient Permissions"));
    for (const SeriesInfo& series : gpu.table.series(kFastGroup))
      EXPECT_NE(series.metric->name, "host.gpu.sm.active") << refused;
    EXPECT_TRUE(gpu.fast_at(5).contains("host.gpu.power/gpu0"));
    EXPECT_TRUE(gpu.told().empty());
  }
}

TEST(NvidiaListener, SaysWhichUnitsThisDeviceHasNot) {
  FakeDriver driver(timeline("one") + "gpu0.gpm.9 NOT_SUPPORTED\n");
  Opened gpu(driver);
  EXPECT_EQ(gpu.missing("host.gpu.pipe.tensor_int8 of gpu0"), "Not Supported");
  gpu.fast_at(5);
  EXPECT_TRUE(gpu.fast_at(5.2).contains("host.gpu.sm.active/gpu0"));
  EXPECT_TRUE(gpu.told().empty());
}

// The driver's counters of PCIe bytes have 32 bits, mostly: 4.3 GB.
constexpr const char* kNarrow = "gpu0.field.197.wide 0\ngpu0.field.198.wide 0\n";

TEST(NvidiaListener, AddsUpPcieCountersThatWrap) {
  FakeDriver driver(timeline("one") + kNarrow +
                    "gpu0.link.generation 3\ngpu0.link.width 16\n"
                    "gpu0.field.197 4000000000+12000000000\n");
  Opened gpu(driver);
  double last = gpu.fast_at(1).at("host.gpu.pcie.tx/gpu0");
  for (int tick = 1; tick <= 50; ++tick) {
    const double now = gpu.fast_at(1 + tick * 0.1).at("host.gpu.pcie.tx/gpu0");
    EXPECT_NEAR(now - last, 1.2e9, 10) << tick;
    last = now;
  }
  // More than one wrap may lie in a longer pause: nothing then, and a new count.
  EXPECT_FALSE(gpu.fast_at(8).contains("host.gpu.pcie.tx/gpu0"));
  EXPECT_NEAR(gpu.fast_at(8.1).at("host.gpu.pcie.tx/gpu0"), 1.2e9, 10);
  EXPECT_TRUE(just(gpu.told(), "gpu0: host.gpu.pcie.tx and rx: read too late"));
}

TEST(NvidiaListener, PcieCountersThatWrapBetweenTicksAreNotThere) {
  FakeDriver driver(timeline("one") + kNarrow + "gpu0.link.generation 5\ngpu0.link.width 16\n");
  Opened often(driver, {.tick = std::chrono::milliseconds(50)});
  EXPECT_EQ(often.missing("host.gpu.pcie.tx of gpu0"), "");
  Opened gpu(driver);
  EXPECT_TRUE(holds(gpu.missing("host.gpu.pcie.tx of gpu0"), "wraps every 68 ms"));
  EXPECT_TRUE(holds(gpu.missing("host.gpu.pcie.tx of gpu0"), "host.gpu.pcie.tx_rate"));
  EXPECT_FALSE(gpu.fast_at(5).contains("host.gpu.pcie.rx/gpu0"));
  EXPECT_TRUE(gpu.fast_at(5.2).contains("host.gpu.pcie.rx_rate/gpu0"));
}

TEST(NvidiaListener, APcieLinkThatIsNotKnownIsTakenForTheFastest) {
  FakeDriver driver(timeline("one") + kNarrow);
  Opened gpu(driver);
  EXPECT_TRUE(holds(gpu.missing("host.gpu.pcie.rx of gpu0"), "wraps every 35 ms"));
}

TEST(NvidiaListener, APcieCounterOf64BitsMayBeReset) {
  FakeDriver driver(timeline("one") +
                    "gpu0.field.197 4000000000+1000000000\nat 10 gpu0.field.197 100+1000\n");
  Opened gpu(driver);
  EXPECT_EQ(gpu.fast_at(1).at("host.gpu.pcie.tx/gpu0"), 5e9);
  EXPECT_EQ(gpu.fast_at(11).at("host.gpu.pcie.tx/gpu0"), 1100);
}

TEST(NvidiaListener, APcieCounterOf64BitsThatWrapsAt32IsGivenUp) {
  FakeDriver driver(timeline("one") + "gpu0.field.197 4000000000\nat 10 gpu0.field.197 100+1000\n");
  Opened gpu(driver);
  EXPECT_TRUE(gpu.fast_at(1).contains("host.gpu.pcie.tx/gpu0"));
  EXPECT_FALSE(gpu.fast_at(11).contains("host.gpu.pcie.tx/gpu0"));
  EXPECT_FALSE(gpu.fast_at(12).contains("host.gpu.pcie.tx/gpu0"));
  EXPECT_TRUE(just(gpu.told(), "gpu0: host.gpu.pcie.tx: the driver's counter wraps at 32"));
}

TEST(NvidiaListener, NamesTheScopeOfPowerThatIsNotTheGpusAlone) {
  {
    FakeDriver driver(timeline("one"));
    EXPECT_EQ(Opened(driver).described("gpu0.power_scope"), "");
  }
  FakeDriver driver("gpus 1\ngpu0.field.185.1 900000\ngpu0.field.186.1 910000\n");
  Opened gpu(driver);
  EXPECT_EQ(gpu.fast_at(1).at("host.gpu.power/gpu0"), 900);
  EXPECT_EQ(gpu.described("gpu0.power_scope"), "module: CPU and GPU together");
}

TEST(NvidiaListener, ListsMigInstancesAsSourcesOfTheirOwn) {
  FakeDriver driver(timeline("mig"));
  Opened gpu(driver);
  gpu.fast_at(5);
  const Values v = gpu.fast_at(5.2);
  EXPECT_EQ(v.at("host.gpu.mig.memory.used/gpu0.mig0"), 4e9);
  EXPECT_EQ(v.at("host.gpu.mig.memory.total/gpu0.mig2"), 71e9);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.mig.sm.active/gpu0.mig0"), 1.04) << "kept as it is";
  EXPECT_DOUBLE_EQ(v.at("host.gpu.mig.sm.active/gpu0.mig2"), 0.1);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.sm.active/gpu0"), 0.2);
  EXPECT_FALSE(v.contains("host.gpu.mig.memory.used/gpu0.mig1"));
  EXPECT_EQ(gpu.described("gpu0.mig2.uuid"), "MIG-bbbbbbbb-0000-0000-0000-000000000002");
  EXPECT_TRUE(holds(gpu.missing("host.gpu.busy of gpu0"), "MIG mode"));
  EXPECT_TRUE(holds(gpu.missing("power, energy, clocks, temperature and utilization of gpu0.mig0"),
                    "see gpu0"));
  EXPECT_TRUE(v.contains("host.gpu.power/gpu0")) << "the device's own power is there, once";
}

TEST(NvidiaListener, FindsADeviceByAnInstancesUuid) {
  FakeDriver driver(timeline("mig"));
  Opened gpu(driver, {.device_uuids = {"MIG-bbbbbbbb-0000-0000-0000-000000000002"}});
  EXPECT_NE(gpu.listener, nullptr);
  Opened none(driver, {.device_uuids = {"GPU-of-another-host"}});
  EXPECT_EQ(none.listener, nullptr);
}

TEST(NvidiaListener, LeavesASleepingDeviceAlone) {
  FakeDriver driver(timeline("one"));
  Opened gpu(driver, {.root = fixture_root("nvml/root_asleep")});
  const auto before = driver.calls("nvmlDeviceGetUtilizationRates");
  EXPECT_TRUE(gpu.fast_at(1).empty());
  EXPECT_EQ(driver.calls("nvmlDeviceGetUtilizationRates"), before);
}

TEST(NvidiaListener, RecordsWhatItsCallsCost) {
  FakeDriver driver(timeline("one") + "call.nvmlDeviceGetUtilizationRates.latency 0.0005\n");
  Opened gpu(driver);
  gpu.slow_at(1);
  for (int tick = 1; tick <= 10; ++tick) gpu.fast_at(1 + tick * 0.1);
  const Values v = gpu.slow_at(2);
  EXPECT_NEAR(v.at("corral.collector.call.mean/nvidia.utilization"), 0.0005, 1e-9);
  EXPECT_NEAR(v.at("corral.collector.call.longest/nvidia.utilization"), 0.0005, 1e-9);
  EXPECT_EQ(v.at("corral.collector.call.mean/nvidia.memory"), 0);
  EXPECT_DOUBLE_EQ(v.at("corral.collector.call.p99/nvidia.utilization"), 512e-6);
  EXPECT_DOUBLE_EQ(v.at("corral.collector.call.p99/nvidia.memory"), 1e-6);
}

TEST(NvidiaListener, FindsThatEnergyAndPowerOverTimeAgree) {
  FakeDriver driver(timeline("one"));
  Opened gpu(driver);
  for (int i = 0; i <= 400; ++i) gpu.fast_at(5 + i * 0.1);
  EXPECT_TRUE(gpu.told().empty());
}

TEST(NvidiaListener, TellsOnceThatEnergyAndPowerOverTimeDiffer) {
  FakeDriver driver("gpus 1\ngpu0.energy 0+100000\ngpu0.field.185 120000\n");
  Opened gpu(driver);
  for (int i = 0; i <= 300; ++i) gpu.fast_at(20 + i * 0.25);
  EXPECT_TRUE(
      just(gpu.told(),
           "gpu0: energy is implausible: in 30 s the counter grew by 3000 J, power over time "
           "by 3600 J"));
}

TEST(NvidiaListener, ComparesEnergyWithPowerOfOlderDriversToo) {
  FakeDriver driver("gpus 1\ngpu0.energy 0+100000\ngpu0.power 120000\n");
  Opened gpu(driver);
  for (int i = 0; i <= 300; ++i) gpu.fast_at(20 + i * 0.25);
  EXPECT_TRUE(just(gpu.told(), "gpu0: energy is implausible"));
}

}  // namespace
}  // namespace corral::collect::nvidia
