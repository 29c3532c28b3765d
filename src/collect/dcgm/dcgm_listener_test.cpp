#include "collect/dcgm/dcgm_listener.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "collect/dcgm/fake/control.h"
#include "collect/nvidia/fake/fake_driver.h"
#include "core/test_paths.h"

namespace corral::collect::dcgm {
namespace {

using nvidia::FakeDriver;
using nvidia::holds;
using nvidia::just;
using nvidia::ScratchFile;

constexpr const char* kNoDriver = "/no/such/libnvidia-ml.so.1";

// The host engine inside the fake library, on the clock of a fake driver.
class FakeEngine {
 public:
  FakeEngine(const std::string& timeline, const std::string& library) : file_(timeline) {
    library_ = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) return;
    symbol<decltype(corral_fake_dcgm_begin)>("corral_fake_dcgm_begin")(file_.path().c_str());
  }
  ~FakeEngine() {
    if (library_ != nullptr) ::dlclose(library_);
  }
  FakeEngine(const FakeEngine&) = delete;
  FakeEngine& operator=(const FakeEngine&) = delete;
  void set_time(double s) const {
    symbol<decltype(corral_fake_dcgm_set_time)>("corral_fake_dcgm_set_time")(s);
  }
  [[nodiscard]] unsigned long calls(const char* function) const {
    return symbol<decltype(corral_fake_dcgm_calls)>("corral_fake_dcgm_calls")(function);
  }
  [[nodiscard]] long state(const char* what) const {
    return symbol<decltype(corral_fake_dcgm_state)>("corral_fake_dcgm_state")(what);
  }

 private:
  template <class F>
  [[nodiscard]] F* symbol(const char* name) const {
    return reinterpret_cast<F*>(::dlsym(library_, name));
  }
  ScratchFile file_;
  void* library_ = nullptr;
};

struct Opened {
  explicit Opened(const std::string& engine_timeline, const std::string& driver_timeline = "",
                  Dcgm::Options options = {}, std::vector<std::string> uuids = {})
      : driver(driver_timeline),
        engine(engine_timeline,
               options.library.empty() ? built("fakes/libdcgm.so.4") : options.library) {
    if (options.library.empty()) options.library = built("fakes/libdcgm.so.4");
    listener =
        open_listener({.device_uuids = std::move(uuids),
                       .news = news,
                       .library_path = driver_timeline.empty() ? kNoDriver : driver.library()},
                      table, options, driver.clock);
  }
  Values fast_at(double s) { return at(s, kFastGroup); }
  Values slow_at(double s) { return at(s, kSlowGroup); }
  [[nodiscard]] std::string missing(std::string_view source) const {
    return collect::missing(table, source);
  }
  std::vector<std::string> told() { return drained(*news); }

  FakeDriver driver;
  FakeEngine engine;
  std::shared_ptr<News> news = std::make_shared<News>();
  SeriesTable table;
  std::unique_ptr<Listener> listener;

 private:
  Values at(double s, Group group) {
    driver.set_time(s);
    engine.set_time(s);
    return sample_once(*listener, table, group);
  }
};

// One A100: DCGM calls it 0, NVML 1.
const std::string kEngine =
    "gpus 1\ngpu0.index 1\ngpu0.uuid GPU-b\n"
    "gpu0.1001 0.9\ngpu0.1002 0.75\ngpu0.1003 0.5\ngpu0.1004 0.25\ngpu0.1005 0.6\n"
    "gpu0.1006 0\ngpu0.1007 0.125\ngpu0.1008 0\ngpu0.1009 1000\ngpu0.1010 2000\n"
    "gpu0.1011 3000\ngpu0.1012 4000\ngpu0.1013 0\ngpu0.1014 0.2\ngpu0.1015 0.1\ngpu0.1016 0.3\n"
    "gpu0.203 97\ngpu0.204 41\ngpu0.252 2048\ngpu0.251 1024\ngpu0.155 250.5\ngpu0.157 260\n"
    "gpu0.156 1000+250000\ngpu0.100 1410\ngpu0.101 1215\ngpu0.112 4\n"
    "gpu0.250 40960\ngpu0.150 55\ngpu0.140 60\ngpu0.190 0\ngpu0.206 5\ngpu0.207 6\ngpu0.202 3\n"
    "gpu0.240 0+500000000\ngpu0.241 2000000000\ngpu0.242 0\ngpu0.243 0\ngpu0.244 0\n"
    "gpu0.245 3000000\ngpu0.246 0+750000000\ngpu0.247 0\n"
    "gpu0.1422 1000000000\ngpu0.1423 0\ngpu0.1424 0\n";
// An Ampere by the driver: no GPM.
const std::string kAmpere =
    "gpus 2\ngpu0.uuid GPU-a\ngpu0.busy 1\ngpu0.memory_busy 1\n"
    "gpu1.uuid GPU-b\ngpu1.busy 97\ngpu1.memory_busy 41\ngpu1.field.185 250500\n";

TEST(DcgmListener, AddsWhatTheDriverDoesNotGive) {
  Opened gpu(kEngine, kAmpere);
  ASSERT_NE(gpu.listener, nullptr);
  const Values v = gpu.fast_at(1);
  EXPECT_EQ(v.at("host.gpu.graphics.active/gpu1"), 0.9);
  EXPECT_EQ(v.at("host.gpu.sm.active/gpu1"), 0.75);
  EXPECT_EQ(v.at("host.gpu.sm.occupancy/gpu1"), 0.5);
  EXPECT_EQ(v.at("host.gpu.pipe.tensor/gpu1"), 0.25);
  EXPECT_EQ(v.at("host.gpu.dram.active/gpu1"), 0.6);
  EXPECT_EQ(v.at("host.gpu.pipe.fp32/gpu1"), 0.125);
  EXPECT_EQ(v.at("host.gpu.pcie.tx_rate/gpu1"), 1000);
  EXPECT_EQ(v.at("host.gpu.pcie.rx_rate/gpu1"), 2000);
  EXPECT_EQ(v.at("host.gpu.nvlink.tx_rate/gpu1"), 3000);
  EXPECT_EQ(v.at("host.gpu.nvlink.rx_rate/gpu1"), 4000);
  EXPECT_EQ(v.at("host.gpu.pipe.tensor_fp16/gpu1"), 0.2);
  EXPECT_EQ(v.at("host.gpu.pipe.tensor_fp64/gpu1"), 0.1);
  EXPECT_EQ(v.at("host.gpu.pipe.integer/gpu1"), 0.3);
  EXPECT_FALSE(v.contains("host.gpu.busy/gpu1")) << "the driver gives it";
  EXPECT_FALSE(v.contains("host.gpu.power/gpu1")) << "the driver gives it";
  EXPECT_TRUE(v.contains("host.gpu.energy/gpu1")) << "this driver does not";
  EXPECT_TRUE(gpu.told().empty());
}

// A Hopper whose driver has the monitors but refuses them.
TEST(DcgmListener, HasTheUnitActivityThatTheDriverCannotSample) {
  Opened gpu(kEngine,
             "gpus 2\ngpu0.uuid GPU-a\ngpu1.uuid GPU-b\ngpu1.gpm 1\ngpu1.gpm.2 50\n"
             "call.nvmlGpmSampleGet.status NO_PERMISSION\n");
  ASSERT_NE(gpu.listener, nullptr);
  EXPECT_EQ(gpu.fast_at(1).at("host.gpu.sm.active/gpu1"), 0.75);
}

TEST(DcgmListener, GivesTheDevicesValuesInSiUnitsWithoutADriver) {
  Opened gpu(kEngine);
  const Values v = gpu.fast_at(2);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.busy/gpu1"), 0.97);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.memory.busy/gpu1"), 0.41);
  EXPECT_EQ(v.at("host.gpu.memory.used/gpu1"), 2147483648.0);
  EXPECT_EQ(v.at("host.gpu.memory.free/gpu1"), 1073741824.0);
  EXPECT_EQ(v.at("host.gpu.power/gpu1"), 250.5);
  EXPECT_EQ(v.at("host.gpu.power.instant/gpu1"), 260);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.energy/gpu1"), 501);
  EXPECT_EQ(v.at("host.gpu.clock.sm/gpu1"), 1.41e9);
  EXPECT_EQ(v.at("host.gpu.clock.memory/gpu1"), 1.215e9);
  EXPECT_EQ(v.at("host.gpu.throttle.reasons/gpu1"), 4);
  const Values slow = gpu.slow_at(3);
  EXPECT_EQ(slow.at("host.gpu.memory.total/gpu1"), 40960 * 1048576.0);
  EXPECT_EQ(slow.at("host.gpu.temperature/gpu1"), 55);
  EXPECT_EQ(slow.at("host.gpu.memory.temperature/gpu1"), 60);
  EXPECT_EQ(slow.at("host.gpu.performance_state/gpu1"), 0);
  EXPECT_DOUBLE_EQ(slow.at("host.gpu.encoder.busy/gpu1"), 0.05);
  EXPECT_DOUBLE_EQ(slow.at("host.gpu.decoder.busy/gpu1"), 0.06);
  EXPECT_EQ(slow.at("host.gpu.pcie.replays/gpu1"), 3);
  EXPECT_EQ(slow.size(), 7U + 11);
}

TEST(DcgmListener, GivesTheTimesThatClocksWereHeldDown) {
  Opened gpu(kEngine + "gpu0.1423 blank:2\nrefuse.1424 -13\n");
  const Values v = gpu.slow_at(4);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.throttle.power/gpu1"), 2);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.throttle.thermal/gpu1"), 2);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.throttle.reliability/gpu1"), 0.003);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.throttle.application_clocks/gpu1"), 3);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.throttle.software_thermal/gpu1"), 1);
  EXPECT_TRUE(holds(gpu.missing("host.gpu.throttle.hardware_thermal of gpu1"), "not support"));
  EXPECT_TRUE(holds(gpu.missing("host.gpu.throttle.power_brake of gpu1"), "DCGM: "))
      << "a host engine that does not know the field";
  Opened driver(kEngine, kAmpere + "gpu1.field.74 0\n");
  const Values rest = driver.slow_at(4);
  EXPECT_FALSE(rest.contains("host.gpu.throttle.power/gpu1")) << "the driver gives it";
  EXPECT_TRUE(rest.contains("host.gpu.throttle.thermal/gpu1"));
}

TEST(DcgmListener, AsksOnceATickForAllOfIt) {
  Opened gpu(kEngine, kAmpere);
  const auto before = gpu.engine.calls("dcgmEntitiesGetLatestValues");
  for (int tick = 0; tick < 10; ++tick) gpu.fast_at(1 + tick * 0.1);
  EXPECT_EQ(gpu.engine.calls("dcgmEntitiesGetLatestValues"), before + 10);
  for (int tick = 0; tick < 10; ++tick) gpu.fast_at(3 + tick * 0.01);
  EXPECT_LE(gpu.engine.calls("dcgmEntitiesGetLatestValues"), before + 12) << "no shorter windows";
  EXPECT_EQ(gpu.engine.state("interval_us"), 1'000'000)
      << "of the slow part; the other kept 100 ms";
}

TEST(DcgmListener, LetsTheHostEngineKeepTheRunsPace) {
  Opened gpu(kEngine, kAmpere);
  gpu.fast_at(1);
  gpu.fast_at(9);  // one that came late
  for (const double s : {9.5, 10.002, 10.5, 11.0}) gpu.fast_at(s);
  EXPECT_EQ(gpu.engine.state("interval_us"), 500'000);
  gpu.fast_at(11.5);
  EXPECT_EQ(gpu.fast_at(12).at("host.gpu.sm.active/gpu1"), 0.75);
}

TEST(DcgmListener, GivesAValueOnce) {
  Opened gpu(kEngine, kAmpere);
  EXPECT_TRUE(gpu.fast_at(1.01).contains("host.gpu.sm.active/gpu1"));
  EXPECT_FALSE(gpu.fast_at(1.07).contains("host.gpu.sm.active/gpu1")) << "not renewed since";
  EXPECT_TRUE(gpu.fast_at(1.13).contains("host.gpu.sm.active/gpu1"));
}

TEST(DcgmListener, LeavesTheHostEngineAloneWhereTheDriverGivesAll) {
  const std::string hopper = nvidia::timeline("one") + "gpu0.uuid GPU-b\n";
  const std::string engine = "gpus 1\ngpu0.index 0\ngpu0.uuid GPU-b\n";
  Opened gpu(engine, hopper);
  EXPECT_EQ(gpu.listener, nullptr);
  EXPECT_TRUE(holds(gpu.missing("DCGM's fields"),
                    "the driver's own library (NVML, GPM) provides all of them"));
  EXPECT_EQ(gpu.engine.state("groups") + gpu.engine.state("watches"), 1) << "another's group";
  EXPECT_EQ(gpu.engine.state("connections"), 0);
}

TEST(DcgmListener, RemovesWhatItMadeAndNothingElse) {
  Opened gpu(kEngine, kAmpere);
  EXPECT_GT(gpu.engine.state("groups"), 1);
  EXPECT_GT(gpu.engine.state("watches"), 0);
  EXPECT_EQ(gpu.engine.state("connections"), 1);
  gpu.listener.reset();
  EXPECT_EQ(gpu.engine.state("groups"), 1);
  EXPECT_EQ(gpu.engine.state("field_groups"), 1);
  EXPECT_EQ(gpu.engine.state("watches"), 0);
  EXPECT_EQ(gpu.engine.state("foreign"), 2);
  EXPECT_EQ(gpu.engine.state("connections"), 0);
}

TEST(DcgmListener, SaysWhyThereIsNothing) {
  const Opened library(kEngine, "", {.library = "/no/such/libdcgm.so.4", .address = ""});
  EXPECT_EQ(library.listener, nullptr);
  EXPECT_TRUE(holds(library.missing("DCGM's fields"), "library is not installed"));
  EXPECT_TRUE(holds(library.missing("DCGM's fields"), "NVML and GPM"));
  const Opened nobody("engine.gone 1\n");
  EXPECT_TRUE(holds(nobody.missing("DCGM's fields"),
                    "no host engine of DCGM answers at localhost:5555: Host engine connection"));
  const Opened version("call.dcgmConnect_v2.status -12\n");
  EXPECT_TRUE(holds(version.missing("DCGM's fields"), "API version mismatch"));
  EXPECT_TRUE(holds(Opened("gpus 0\n").missing("DCGM's fields"), "lists no device"));
  EXPECT_TRUE(holds(Opened("call.dcgmGetAllSupportedDevices.status -99\n").missing("DCGM's fields"),
                    "unknown error"));
}

TEST(DcgmListener, ConnectsToTheAddressThatItIsTold) {
  const std::string at = "engine.address ";
  EXPECT_NE(
      Opened(at + "10.0.0.1:7777\n" + kEngine, "", {.library = "", .address = "10.0.0.1:7777"})
          .listener,
      nullptr);
  for (const char* path : {"/run/dcgm.sock", "unix:///run/dcgm.sock"}) {
    EXPECT_NE(
        Opened(at + "/run/dcgm.sock\n" + kEngine, "", {.library = "", .address = path}).listener,
        nullptr)
        << path;
  }
}

TEST(DcgmListener, TakesBlanksForMissing) {
  Opened gpu(
      "gpus 1\ngpu0.index 0\ngpu0.1001 0.5\ngpu0.1002 blank:2\ngpu0.1003 blank:3\n"
      "gpu0.1004 blank:0\nat 5 gpu0.1004 0.5\ngpu0.1005 0.5\nat 5 gpu0.1005 blank:1\n"
      "gpu0.203 2147483632\ngpu0.204 blank:2\ngpu0.1006 status:-6\n");
  EXPECT_TRUE(holds(gpu.missing("host.gpu.sm.active of gpu0"), "does not support"));
  EXPECT_TRUE(holds(gpu.missing("host.gpu.sm.occupancy of gpu0"), "not permitted"));
  EXPECT_TRUE(holds(gpu.missing("host.gpu.memory.busy of gpu0"), "does not support"));
  EXPECT_TRUE(holds(gpu.missing("host.gpu.pipe.fp64 of gpu0"), "not supported"));
  const Values first = gpu.fast_at(1);
  EXPECT_EQ(first.at("host.gpu.graphics.active/gpu0"), 0.5);
  EXPECT_FALSE(first.contains("host.gpu.pipe.tensor/gpu0")) << "may come later";
  EXPECT_FALSE(first.contains("host.gpu.busy/gpu0")) << "a blank of 32 bits";
  const Values later = gpu.fast_at(6);
  EXPECT_EQ(later.at("host.gpu.pipe.tensor/gpu0"), 0.5);
  EXPECT_FALSE(later.contains("host.gpu.dram.active/gpu0"));
  gpu.fast_at(7);
  EXPECT_TRUE(just(gpu.told(), "gpu0: no values of host.gpu.dram.active for now"));
}

TEST(DcgmListener, OneFieldThatIsRefusedTakesNoOtherWithIt) {
  Opened gpu(kEngine + "refuse.1006 -36\n", kAmpere);
  EXPECT_TRUE(holds(gpu.missing("host.gpu.pipe.fp64 of gpu1"), "Profiling is not supported"));
  const Values v = gpu.fast_at(1);
  EXPECT_EQ(v.at("host.gpu.pipe.fp32/gpu1"), 0.125) << "and no value slips into another's place";
  EXPECT_EQ(v.at("host.gpu.sm.active/gpu1"), 0.75);
  EXPECT_EQ(gpu.engine.state("foreign"), 2);
}

TEST(DcgmListener, OneDeviceThatIsRefusedTakesNoOtherWithIt) {
  Opened gpu(
      "gpus 2\ngpu0.index 0\ngpu0.1002 0.5\ngpu1.index 1\ngpu1.1002 0.25\ngpu1.refuse -36\n"
      "refuse.52 0\n");
  EXPECT_EQ(gpu.fast_at(1).at("host.gpu.sm.active/gpu0"), 0.5);
  EXPECT_TRUE(holds(gpu.missing("host.gpu.sm.active of gpu1"), "Profiling is not supported"));
}

TEST(DcgmListener, SaysOnceThatTheHostEngineMayNot) {
  Opened gpu(kEngine + "refuse.1001 -29\n", kAmpere);
  EXPECT_TRUE(holds(gpu.missing("host.gpu.graphics.active and the like of gpu1"), "requires root"));
  EXPECT_TRUE(gpu.fast_at(1).contains("host.gpu.energy/gpu1")) << "which is no matter of profiling";
}

TEST(DcgmListener, ALostDeviceEndsItsOwnValues) {
  Opened gpu(
      "gpus 2\ngpu0.index 0\ngpu0.1002 0.5\ngpu0.1001 0.5\nat 5 gpu0.1001 status:-18\n"
      "gpu1.index 1\ngpu1.1002 0.25\n");
  EXPECT_TRUE(gpu.fast_at(1).contains("host.gpu.sm.active/gpu0"));
  gpu.fast_at(6);
  const Values v = gpu.fast_at(7);
  EXPECT_FALSE(v.contains("host.gpu.sm.active/gpu0"));
  EXPECT_TRUE(v.contains("host.gpu.sm.active/gpu1"));
  EXPECT_TRUE(just(gpu.told(), "gpu0: DCGM: GPU is lost; its values end here"));
}

TEST(DcgmListener, AHostEngineThatGoesEndsAllAndIsToldOnce) {
  Opened gpu(kEngine + "at 5 engine.gone 1\n", kAmpere);
  EXPECT_FALSE(gpu.fast_at(1).empty());
  EXPECT_TRUE(gpu.fast_at(6).empty());
  EXPECT_TRUE(gpu.fast_at(7).empty());
  EXPECT_TRUE(just(gpu.told(), "dcgm: DCGM: Host engine connection invalid"));
  const auto calls = gpu.engine.calls("dcgmEntitiesGetLatestValues");
  gpu.fast_at(8);
  EXPECT_EQ(gpu.engine.calls("dcgmEntitiesGetLatestValues"), calls) << "it is left alone";
}

TEST(DcgmListener, SaysThatAValueNeverCame) {
  Opened gpu("gpus 1\ngpu0.index 0\ngpu0.1002 status:-14\ngpu0.1001 0.5\n");
  for (int tick = 0; tick < 150; ++tick) gpu.fast_at(1 + tick * 0.1);
  EXPECT_TRUE(just(gpu.told(), "gpu0: no values of host.gpu.sm.active for now: DCGM: there is no"));
}

TEST(DcgmListener, GivesMigInstancesTheirNames) {
  // An A100 in MIG mode: the driver has no GPM for it.
  Opened gpu(
      "gpus 1\ngpu0.index 0\ngis 2\ngi0.gpu 0\ngi0.instance 3\ngi0.1002 0.5\ngi0.1005 0.25\n"
      "gi1.gpu 0\ngi1.instance 9\ngi1.1002 1.04\n",
      nvidia::timeline("mig") + "gpu0.gpm 0\n");
  const Values v = gpu.fast_at(1);
  EXPECT_EQ(v.at("host.gpu.mig.sm.active/gpu0.mig0"), 0.5);
  EXPECT_EQ(v.at("host.gpu.mig.dram.active/gpu0.mig0"), 0.25);
  EXPECT_EQ(v.at("host.gpu.mig.sm.active/gpu0.mig2"), 1.04) << "kept as it is";
  EXPECT_FALSE(v.contains("host.gpu.sm.active/gpu0.mig0"));
}

TEST(DcgmListener, AsksOnlyForTheDevicesItIsToldTo) {
  Opened other(kEngine, kAmpere, {}, {"GPU-a"});
  EXPECT_EQ(other.listener, nullptr);
  EXPECT_NE(Opened(kEngine, kAmpere, {}, {"GPU-b"}).listener, nullptr);
  EXPECT_NE(Opened(kEngine, "", {}, {"GPU-b"}).listener, nullptr) << "without a driver, too";
}

TEST(DcgmListener, AnyFunctionMayBeMissing) {
  // Without these it goes on.
  constexpr auto kNeedless = std::to_array<std::string_view>(
      {"dcgmDisconnect", "dcgmGetGpuInstanceHierarchy", "dcgmUpdateAllFields", "errorString"});
  constexpr auto kFunctions = std::to_array<std::string_view>(
      {"dcgmInit", "dcgmConnect_v2", "dcgmDisconnect", "dcgmGetAllSupportedDevices",
       "dcgmGetGpuInstanceHierarchy", "dcgmGroupCreate", "dcgmGroupAddEntity", "dcgmGroupDestroy",
       "dcgmFieldGroupCreate", "dcgmFieldGroupDestroy", "dcgmWatchFields", "dcgmUnwatchFields",
       "dcgmUpdateAllFields", "dcgmEntitiesGetLatestValues", "errorString"});
  for (const std::string_view function : kFunctions) {
    const std::string& lacking = vendor::library_without(function, built("fakes/libdcgm.so.4"));
    Opened gpu(kEngine, "", {.library = lacking, .address = ""});
    const bool needless = std::ranges::find(kNeedless, function) != kNeedless.end();
    EXPECT_TRUE(!needless || gpu.listener != nullptr) << function;
    EXPECT_EQ(gpu.listener != nullptr, gpu.table.missing().empty()) << function;
    if (gpu.listener == nullptr) continue;
    EXPECT_FALSE(gpu.fast_at(1).empty()) << function;
    gpu.listener.reset();
    EXPECT_EQ(gpu.engine.state("watches"), 0) << function;
  }
}

}  // namespace
}  // namespace corral::collect::dcgm
