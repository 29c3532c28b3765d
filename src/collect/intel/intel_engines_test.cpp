// Engines by perf's PMU and what Level Zero adds, below made-up files and on a fake library.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "collect/intel/fake/control.h"
#include "collect/intel/intel_listener.h"
#include "collect/nvidia/fake/fake_driver.h"
#include "collect/test_roots.h"
#include "core/test_paths.h"

namespace corral::collect::intel {
namespace {

using nvidia::holds;
using nvidia::just;
using nvidia::ScratchFile;
using nvidia::TestClock;

const std::string kDevice = "sys/class/drm/card0/device/";
const std::string kPmus = "sys/bus/event_source/devices/";

// A count for each read, written beforehand.
int counts(std::vector<std::uint64_t> all) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) return -1;
  for (const std::uint64_t count : all)
    EXPECT_EQ(::write(pipe[1], &count, sizeof count), ssize_t{sizeof count});
  ::close(pipe[1]);
  return pipe[0];
}
int refusing(const perf_event_attr&, unsigned) {
  errno = EACCES;
  return -1;
}
int absent(const perf_event_attr&, unsigned) {
  errno = ENOENT;
  return -1;
}
// i915's: three reads of each engine.
int i915_event(const perf_event_attr& attr, unsigned cpu) {
  if (attr.type != 27 || cpu != 4) return absent(attr, cpu);
  const std::uint64_t base = attr.config * 1'000'000;
  return counts({base, base + 500'000'000, base + 1'500'000'000});
}
// xe's: there are rcs0 and ccs0, and vcs0 on the second GT.
int xe_event(const perf_event_attr& attr, unsigned cpu) {
  const std::uint64_t gt = attr.config >> 60U;
  const std::uint64_t engine = (attr.config >> 20U) & 0xffU;
  const std::uint64_t instance = (attr.config >> 12U) & 0xffU;
  const bool there =
      instance == 0 && ((gt == 0 && (engine == 0 || engine == 4)) || (gt == 1 && engine == 2));
  if (attr.type != 31 || !there) return absent(attr, cpu);
  const bool active = (attr.config & 0xfffU) == 2;
  if (!active) return counts({1000, 2000, 1500, 2500});  // the third: a reset
  return engine == 4 ? counts({900, 1000, 1000, 1000}) : counts({500, 1250, 100, 600});
}

void write_i915(const FakeRoot& root) {
  root.write(kDevice + "vendor", "0x8086\n");
  root.write(kDevice + "uevent", "DRIVER=i915\nPCI_SLOT_NAME=0000:00:02.0\n");
  root.write("sys/class/drm/card0/gt_act_freq_mhz", "700\n");
  root.write(kPmus + "i915/type", "27\n");
  root.write(kPmus + "i915/cpumask", "4\n");
  root.write(kPmus + "i915/events/rcs0-busy", "config=0x0\n");
  root.write(kPmus + "i915/events/rcs0-busy.unit", "ns\n");
  root.write(kPmus + "i915/events/rcs0-wait", "config=0x1\n");
  root.write(kPmus + "i915/events/vcs1-busy", "config=0x2010\n");
  root.write(kPmus + "i915/events/vcs1-busy.unit", "ns\n");
  root.write(kPmus + "i915/events/rc6-residency", "config=0x100003\n");
}
void write_xe(const FakeRoot& root) {
  root.write(kDevice + "vendor", "0x8086\n");
  root.write(kDevice + "uevent", "DRIVER=xe\nPCI_SLOT_NAME=0000:03:00.0\n");
  root.write(kDevice + "tile0/gt0/freq0/act_freq", "2400\n");
  const std::string pmu = kPmus + "xe_0000_03_00.0/";
  root.write(pmu + "type", "31\n");
  root.write(pmu + "events/engine-active-ticks", "event=0x02\n");
  root.write(pmu + "events/engine-total-ticks", "event=0x03\n");
  root.write(pmu + "format/gt", "config:60-63\n");
  root.write(pmu + "format/engine_class", "config:20-27\n");
  root.write(pmu + "format/engine_instance", "config:12-19\n");
}

struct Machine {
  explicit Machine(const FakeRoot& root, OpenEvent open_event = absent,
                   const std::string& timeline = "",
                   const std::string& library = "/no/such/libze_loader.so.1")
      : file(timeline) {
    ::setenv("CORRAL_FAKE_ZE", file.path().c_str(), 1);
    ::setenv("CORRAL_ZE_LIBRARY", library.c_str(), 1);
    handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    listener = open_listener({.root = root.path(), .news = news}, table, open_event, clock);
    ::unsetenv("CORRAL_ZE_LIBRARY");
  }
  ~Machine() {
    if (handle != nullptr) ::dlclose(handle);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  Values at(double s, Group group = kFastGroup) {
    clock.pass(s - now);
    now = s;
    if (handle != nullptr) {
      reinterpret_cast<decltype(corral_fake_ze_set_time)*>(
          ::dlsym(handle, "corral_fake_ze_set_time"))(s);
    }
    return sample_once(*listener, table, group);
  }
  [[nodiscard]] std::string why(std::string_view what) const { return missing(table, what); }

  ScratchFile file;
  void* handle = nullptr;
  TestClock clock;
  double now = 0;
  std::shared_ptr<News> news = std::make_shared<News>();
  SeriesTable table;
  std::unique_ptr<Listener> listener;
};

TEST(IntelEngines, I915CountsTheTimeOfEachEngine) {
  const FakeRoot root;
  write_i915(root);
  Machine machine(root, i915_event);
  machine.at(1);
  EXPECT_EQ(machine.at(2), (Values{{"host.gpu.clock.graphics/intel0", 7e8},
                                   {"host.gpu.engine.busy/intel0.rcs0", 0.5},
                                   {"host.gpu.engine.busy/intel0.vcs1", 0x2010 * 1e-3 + 0.5}}));
  EXPECT_EQ(machine.at(3).at("host.gpu.engine.busy/intel0.rcs0"), 1.5);
  EXPECT_FALSE(machine.at(4).contains("host.gpu.engine.busy/intel0.rcs0")) << "a read that fails";
}

TEST(IntelEngines, XeCountsTicks) {
  const FakeRoot root;
  write_xe(root);
  Machine machine(root, xe_event);
  EXPECT_EQ(machine.at(10).at("host.gpu.engine.busy/intel0.rcs0"), 0);
  const Values v = machine.at(12);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.engine.busy/intel0.rcs0"), 1.5) << "750 of 1000 ticks in 2 s";
  EXPECT_DOUBLE_EQ(v.at("host.gpu.engine.busy/intel0.ccs0"), 0.2);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.engine.busy/intel0.gt1.vcs0"), 1.5);
  EXPECT_EQ(v.size(), 4U) << "no engine that is not there";
  EXPECT_DOUBLE_EQ(machine.at(14).at("host.gpu.engine.busy/intel0.rcs0"), 1.5) << "reset";
  EXPECT_DOUBLE_EQ(machine.at(16).at("host.gpu.engine.busy/intel0.rcs0"), 2.5);
}

TEST(IntelEngines, SaysWhyThereAreNone) {
  const FakeRoot root;
  write_xe(root);
  const std::string what = "host.gpu.engine.busy of intel0";
  EXPECT_TRUE(holds(Machine(root, refusing).why(what), "CAP_PERFMON"));
  EXPECT_TRUE(holds(Machine(root, absent).why(what), "No such file"));
  root.write(kPmus + "xe_0000_03_00.0/format/gt", "nonsense\n");
  EXPECT_TRUE(holds(Machine(root, xe_event).why(what), "no perf PMU"));
  root.remove(kPmus + "xe_0000_03_00.0");
  // The PMU of the integrated GPU is not that of another one.
  root.write(kPmus + "i915/type", "27\n");
  EXPECT_TRUE(holds(Machine(root, i915_event).why(what), "no perf PMU"));
}

const std::string kCard =
    "memories 3\nmemory0.size 8000\nmemory0.free 3000\nmemory0.subdevice 0\n"
    "memory1.size 8000\nmemory1.free 8000\nmemory1.subdevice 1\n"
    "memory2.location 0\nmemory2.size 99\nmemory2.subdevice 0\n"
    "powers 2\npower0.value 5000000+2000000\npower1.value 77\n"
    "frequencies 2\nfrequency0.kind 0\nfrequency0.value 1500\nfrequency1.kind 1\n"
    "frequency1.value 1200\n"
    "temperatures 3\ntemperature0.kind 0\ntemperature0.value 99\ntemperature1.kind 1\n"
    "temperature1.value 61\ntemperature2.kind 2\ntemperature2.value 70\n"
    "engines 3\nengine0.kind 0\nengine0.value 1\nengine1.kind 4\nengine1.value 250000\n"
    "engine2.kind 4\nengine2.value 750000\n";

TEST(IntelSysman, AddsWhatFilesAndPmuLack) {
  const FakeRoot root;
  write_xe(root);
  Machine machine(root, refusing, kCard, built("fakes/libze_loader.so.1"));
  EXPECT_EQ(machine.at(3), (Values{{"host.gpu.clock.graphics/intel0", 2.4e9},  // value of the file
                                   {"host.gpu.clock.memory/intel0", 1.2e9},
                                   {"host.gpu.memory.used/intel0", 5000},
                                   {"host.gpu.memory.free/intel0", 11000},
                                   {"host.gpu.energy/intel0", 11},
                                   {"host.gpu.engine.busy/intel0.ccs0", 0.25},
                                   {"host.gpu.engine.busy/intel0.ccs1", 0.75}}));
  EXPECT_EQ(machine.at(3, kSlowGroup), (Values{{"host.gpu.memory.total/intel0", 16000},
                                               {"host.gpu.temperature/intel0", 61},
                                               {"host.gpu.memory.temperature/intel0", 70}}));
  EXPECT_EQ(machine.why("host.gpu.engine.busy of intel0"), "");
}

// Older loaders list decoders, later ones codecs, some both.
TEST(IntelSysman, CountsEachMediaEngineOnce) {
  const FakeRoot root;
  write_xe(root);
  const std::string decoder = "engines 2\nengine0.kind 6\nengine0.value 1000000\n";
  const auto values = [&](const std::string& engines) {
    Machine machine(root, refusing, engines, built("fakes/libze_loader.so.1"));
    return machine.at(3);
  };
  EXPECT_EQ(values(decoder).at("host.gpu.engine.busy/intel0.vcs0"), 1);
  const Values both = values(decoder + "engine1.kind 14\nengine1.value 2000000\n");
  EXPECT_EQ(both.at("host.gpu.engine.busy/intel0.vcs0"), 2);
  EXPECT_FALSE(both.contains("host.gpu.engine.busy/intel0.vcs1"));
}

TEST(IntelSysman, LeavesToTheFilesAndThePmuWhatTheyHave) {
  const FakeRoot root;
  write_xe(root);
  root.write(kDevice + "hwmon/hwmon2/energy1_input", "9000000\n");
  Machine machine(root, xe_event, kCard, built("fakes/libze_loader.so.1"));
  machine.at(1);
  const Values v = machine.at(2);
  EXPECT_EQ(v.at("host.gpu.energy/intel0"), 9);
  EXPECT_EQ(v.at("host.gpu.engine.busy/intel0.ccs0"), 0.1);
  EXPECT_FALSE(v.contains("host.gpu.engine.busy/intel0.ccs1"));
  EXPECT_TRUE(v.contains("host.gpu.memory.used/intel0"));
}

TEST(IntelSysman, SaysWhatIsRefused) {
  const FakeRoot root;
  write_xe(root);
  EXPECT_TRUE(holds(Machine(root).why("memory of intel0"), "Level Zero is not installed"));
  const auto why = [&](const std::string& lines, std::string_view what) {
    return Machine(root, absent, kCard + lines, built("fakes/libze_loader.so.1")).why(what);
  };
  EXPECT_TRUE(holds(why("call.zesInit.status 2013265921\n", "memory of intel0"), "no driver"));
  EXPECT_TRUE(holds(why("call.zesDeviceGet.status 1879113728\n", "memory of intel0"),
                    "does not list this GPU"));
  EXPECT_TRUE(
      holds(why("call.zesMemoryGetState.status 1879113728\n", "host.gpu.memory.used of intel0"),
            "permission denied"));
  EXPECT_TRUE(
      holds(why("call.zesEngineGetActivity.status 1879113728\n", "host.gpu.engine.busy of intel0"),
            "permission denied"));
  EXPECT_TRUE(
      holds(why("frequency1.value -1\n", "host.gpu.clock.memory of intel0"), "not supported"));
}

TEST(IntelSysman, ALostDeviceEndsItsValuesAndIsToldOnce) {
  const FakeRoot root;
  write_xe(root);
  Machine machine(root, absent, kCard + "at 5 lost 1\n", built("fakes/libze_loader.so.1"));
  EXPECT_TRUE(machine.at(1).contains("host.gpu.memory.used/intel0"));
  machine.at(6);
  machine.at(6, kSlowGroup);
  EXPECT_EQ(machine.at(7), (Values{{"host.gpu.clock.graphics/intel0", 2.4e9}}));
  std::vector<std::string> told;
  machine.news->drain([&](const News::Item& item) { told.emplace_back(item.text); });
  EXPECT_TRUE(just(told, "the device is lost"));
}

TEST(IntelSysman, AnyFunctionMayBeMissing) {
  const FakeRoot root;
  write_xe(root);
  constexpr auto kFunctions = std::to_array<std::string_view>(
      {"zesInit", "zesDriverGet", "zesDeviceGet", "zesDevicePciGetProperties",
       "zesDeviceEnumEngineGroups", "zesDeviceEnumPowerDomains", "zesDeviceEnumFrequencyDomains",
       "zesDeviceEnumTemperatureSensors", "zesDeviceEnumMemoryModules", "zesEngineGetProperties",
       "zesPowerGetProperties", "zesFrequencyGetProperties", "zesTemperatureGetProperties",
       "zesMemoryGetProperties", "zesEngineGetActivity", "zesPowerGetEnergyCounter",
       "zesFrequencyGetState", "zesTemperatureGetState", "zesMemoryGetState"});
  const std::size_t all = [&] {
    Machine machine(root, absent, kCard, built("fakes/libze_loader.so.1"));
    return machine.at(1).size() + machine.at(1, kSlowGroup).size();
  }();
  for (const std::string_view function : kFunctions) {
    const std::string& lacking =
        vendor::library_without(function, built("fakes/libze_loader.so.1"));
    Machine machine(root, absent, kCard, lacking);
    const std::size_t there = machine.at(1).size() + machine.at(1, kSlowGroup).size();
    EXPECT_LT(there, all) << function;
    EXPECT_GE(there, 1U) << function << ": the files are still there";
  }
}

}  // namespace
}  // namespace corral::collect::intel
