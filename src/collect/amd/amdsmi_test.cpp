#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "collect/amd/amd_listener.h"
#include "collect/nvidia/fake/fake_driver.h"
#include "collect/test_roots.h"
#include "core/test_paths.h"

namespace corral::collect::amd {
namespace {

using nvidia::holds;
using nvidia::ScratchFile;

const std::string kCard = "sys/class/drm/card1/device/";

// A GPU whose gpu_metrics has an unknown format, at the PCI address of the fake's first or second.
struct Machine {
  explicit Machine(const std::string& timeline, const std::string& address = "0000:83:02.1",
                   const std::string& library = built("fakes/libamd_smi.so"))
      : root{{kCard + "vendor", "0x1002\n"},
             {kCard + "gpu_busy_percent", "87\n"},
             {kCard + "gpu_metrics", std::string("\x10\x00\x09\x09", 4)},
             {kCard + "uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=" + address + "\nMODALIAS=x\n"}},
        file(timeline) {
    ::setenv("CORRAL_FAKE_AMDSMI", file.path().c_str(), 1);
    ::setenv("CORRAL_AMDSMI_LIBRARY", library.c_str(), 1);
    listener = open_listener({.root = root.path()}, table, clock);
    ::unsetenv("CORRAL_AMDSMI_LIBRARY");
  }
  Values fast() { return sample_once(*listener, table, kFastGroup); }
  // The next that has what held the clocks down: ten slow ticks, a second each, after the last.
  Values throttling() {
    Values v = sample_once(*listener, table, kSlowGroup);
    for (int tick = 1; tick < 10; ++tick) {
      EXPECT_FALSE(
          sample_once(*listener, table, kSlowGroup).contains("host.gpu.throttle.power/amd0"));
    }
    clock.pass(10);
    return v;
  }
  [[nodiscard]] std::string why() const { return missing(table, "host.gpu.energy of amd0"); }

  FakeRoot root;
  ScratchFile file;
  SeriesTable table;
  nvidia::TestClock clock;
  std::unique_ptr<Listener> listener;
};

TEST(AmdSmi, GivesTheEnergyThatTheFilesDoNot) {
  Machine machine("gpu0.energy 1000000\ngpu1.energy 4000000\n");
  const Values v = machine.fast();
  EXPECT_DOUBLE_EQ(v.at("host.gpu.energy/amd0"), 61) << "of the GPU at that address";
  EXPECT_DOUBLE_EQ(v.at("host.gpu.busy/amd0"), 0.87) << "which has a file";
  EXPECT_EQ(machine.why(), "");
  EXPECT_DOUBLE_EQ(
      Machine("gpu0.energy 1000000\n", "0000:03:02.1").fast().at("host.gpu.energy/amd0"), 15.25);
}

TEST(AmdSmi, SaysWhyThereIsNoEnergy) {
  const auto why = [](const std::string& timeline, const std::string& address = "0000:83:02.1",
                      const std::string& library = built("fakes/libamd_smi.so")) {
    Machine machine("gpu1.energy 4000000\n" + timeline, address, library);
    EXPECT_FALSE(machine.fast().contains("host.gpu.energy/amd0"));
    return machine.why();
  };
  EXPECT_TRUE(holds(why("", "0000:99:00.0"), "format without it; amdsmi does not list this GPU"));
  EXPECT_TRUE(holds(why("gpu1.energy 0\n"), "not supported")) << "a counter that never counts";
  EXPECT_TRUE(holds(why("gpu1.energy.status 10\n"), "Permission Denied"));
  EXPECT_TRUE(holds(why("call.amdsmi_init.status 34\n"), "amdsmi: status 34"));
  EXPECT_TRUE(holds(why("call.amdsmi_get_socket_handles.status 10\n"), "Permission"));
  EXPECT_TRUE(holds(why("", "0000:83:02.1", "/no/such/libamd_smi.so"), "not installed"));
}

TEST(AmdSmi, GivesWhatHeldTheClocksDownWhereTheFilesDoNot) {
  // 1000 steps from one read to the next: half of them for power, all for memory over the wrap.
  Machine machine(
      "gpu1.energy 1\ngpu1.violations 4294967000+1000\ngpu1.hot 7\ngpu1.power 100+500\n"
      "gpu1.socket 3+250\ngpu1.memory 4294967290+1000\n");
  EXPECT_EQ(missing(machine.table, "host.gpu.throttle.* of amd0"), "");
  EXPECT_EQ(machine.throttling().at("host.gpu.throttle.power/amd0"), 0);
  const Values v = machine.throttling();
  EXPECT_DOUBLE_EQ(v.at("host.gpu.throttle.power/amd0"), 5);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.throttle.thermal/amd0"), 2.5);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.throttle.memory_thermal/amd0"), 10);
  EXPECT_DOUBLE_EQ(v.at("host.gpu.throttle.hardware_thermal/amd0"), 0);
  EXPECT_FALSE(v.contains("host.gpu.throttle.regulator_thermal/amd0")) << "it is not counted";
}

TEST(AmdSmi, SaysWhyItDoesNotTellWhatHeldTheClocksDown) {
  const auto why = [](const std::string& timeline,
                      const std::string& library = built("fakes/libamd_smi.so")) {
    Machine machine("gpu1.energy 1\n" + timeline, "0000:83:02.1", library);
    EXPECT_EQ(machine.throttling(), Values{});
    return missing(machine.table, "host.gpu.throttle.* of amd0");
  };
  EXPECT_TRUE(holds(why("gpu1.violations.status 2\n"), "amdsmi: Feature not supported"));
  EXPECT_TRUE(holds(why(""), "amdsmi: Feature not supported")) << "all ones";
  EXPECT_TRUE(holds(
      why("gpu1.violations 5\n",
          vendor::library_without("amdsmi_get_violation_status", built("fakes/libamd_smi.so"))),
      "amdsmi: "));
}

TEST(AmdSmi, AnyFunctionMayBeMissing) {
  constexpr auto kFunctions = std::to_array<std::string_view>(
      {"amdsmi_init", "amdsmi_shut_down", "amdsmi_get_socket_handles",
       "amdsmi_get_processor_handles", "amdsmi_get_gpu_device_bdf", "amdsmi_get_energy_count",
       "amdsmi_get_violation_status", "amdsmi_status_code_to_string"});
  for (const std::string_view function : kFunctions) {
    const std::string& lacking = vendor::library_without(function, built("fakes/libamd_smi.so"));
    Machine machine("gpu1.energy 4000000\n", "0000:83:02.1", lacking);
    const bool needless = function == "amdsmi_shut_down" ||
                          function == "amdsmi_status_code_to_string" ||
                          function == "amdsmi_get_violation_status";
    EXPECT_EQ(machine.fast().contains("host.gpu.energy/amd0"), needless) << function;
    EXPECT_EQ(machine.why().empty(), needless) << function;
  }
}

}  // namespace
}  // namespace corral::collect::amd
