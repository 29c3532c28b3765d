#include "collect/intel/intel_listener.h"

#include <gtest/gtest.h>

#include "collect/test_roots.h"

namespace corral::collect {
namespace {

struct Machine {
  explicit Machine(const FakeRoot& root)
      : listener(open_intel_listener({.root = root.path()}, series)) {}
  Values all() {
    Values values = sample_once(*listener, series, kFastGroup);
    values.merge(sample_once(*listener, series, kSlowGroup));
    return values;
  }
  SeriesTable series;
  std::unique_ptr<Listener> listener;
};

const std::string kCard = "sys/class/drm/card0/";

TEST(IntelListener, ReadsXe) {
  const std::string device = kCard + "device/";
  const std::string monitor = device + "hwmon/hwmon2/";
  const FakeRoot root{{device + "vendor", "0x8086\n"},
                      {device + "tile0/gt0/freq0/act_freq", "2400\n"},
                      {device + "tile0/gt0/gtidle/idle_residency_ms", "5500\n"},
                      {monitor + "energy1_label", "card\n"},
                      {monitor + "energy1_input", "9000000\n"},
                      {monitor + "energy2_label", "pkg\n"},
                      {monitor + "energy2_input", "7000000\n"},
                      {monitor + "power1_max", "190000000\n"},
                      {monitor + "temp2_label", "pkg\n"},
                      {monitor + "temp2_input", "55000\n"},
                      {monitor + "temp3_label", "vram\n"},
                      {monitor + "temp3_input", "66000\n"},
                      {monitor + "fan1_input", "1200\n"}};
  EXPECT_EQ(Machine(root).all(), (Values{{"host.gpu.clock.graphics/intel0", 2.4e9},
                                         {"host.gpu.idle/intel0", 5.5},
                                         {"host.gpu.energy/intel0", 9},
                                         {"host.gpu.power.limit/intel0", 190},
                                         {"host.gpu.temperature/intel0", 55},
                                         {"host.gpu.memory.temperature/intel0", 66},
                                         {"host.gpu.fan/intel0", 1200}}));
}

TEST(IntelListener, ReadsI915WithAndWithoutGts) {
  const FakeRoot root{{kCard + "device/vendor", "0x8086\n"},
                      {kCard + "gt_act_freq_mhz", "700\n"},
                      {kCard + "power/rc6_residency_ms", "250\n"}};
  const Values old = {{"host.gpu.clock.graphics/intel0", 7e8}, {"host.gpu.idle/intel0", 0.25}};
  EXPECT_EQ(Machine(root).all(), old);
  root.write(kCard + "gt/gt0/rps_act_freq_mhz", "900\n");
  root.write(kCard + "gt/gt0/rc6_residency_ms", "500\n");
  EXPECT_EQ(Machine(root).all(),
            (Values{{"host.gpu.clock.graphics/intel0", 9e8}, {"host.gpu.idle/intel0", 0.5}}));
}

TEST(IntelListener, SaysWhatIsNotThere) {
  const FakeRoot root{{kCard + "device/vendor", "0x1002\n"}};
  const Machine none(root);
  EXPECT_EQ(none.listener, nullptr);
  EXPECT_NE(missing(none.series, "Intel's GPUs").find("no card"), std::string::npos);
  root.write(kCard + "device/vendor", "0x8086\n");
  EXPECT_NE(missing(Machine(root).series, "host.gpu.* of intel0").find("none of the files"),
            std::string::npos);
}

}  // namespace
}  // namespace corral::collect
