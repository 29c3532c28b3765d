// A driver that never comes back: the host's metrics go on, and the end of the run does not wait.
#include <gtest/gtest.h>

#include <cstdlib>

#include "collect/nvidia/fake/fake_driver.h"
#include "collect/sampler/lanes.h"
#include "core/test_paths.h"
#include "sys/clock.h"

namespace corral::collect::nvidia {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(NvidiaHang, IsLeftBehindAndMakesNobodyLate) {
  // A library of its own, for it keeps the thread for good. Every probe of the open answers.
  const ScratchFile library(sys::read_file(fake_nvml()).value());
  const ScratchFile lines(timeline("one") +
                          "at 1 call.nvmlDeviceGetUtilizationRates.latency 86400\n");
  ::setenv("CORRAL_FAKE_NVML", lines.path().c_str(), 1);
  void* fake = ::dlopen(library.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(fake, nullptr);
  const auto set_time =
      reinterpret_cast<decltype(corral_fake_set_time)*>(::dlsym(fake, "corral_fake_set_time"));
  set_time(0);
  auto lanes = Lanes::open({.listeners = {"proc", "nvidia"},
                            .interval = milliseconds(10),
                            .library_path = library.path()})
                   .value();
  ASSERT_TRUE(lanes->start());
  const BootTime patience = sys::boot_now() + seconds(60);
  bool opened = false;
  while (!opened && sys::boot_now() < patience) {
    opened = std::ranges::all_of(lanes->all(), [](const auto& lane) { return lane->opened(); });
    sys::system_clock().sleep_until(sys::boot_now() + milliseconds(5));
  }
  ASSERT_TRUE(opened);
  set_time(1);
  const std::uint64_t before = lanes->host().ticks();
  const BootTime hung = sys::boot_now() + milliseconds(700);
  while (lanes->host().ticks() < before + 20 || sys::boot_now() < hung) {
    ASSERT_LT(sys::boot_now(), patience) << "the host's lane stands still";
    sys::system_clock().sleep_until(sys::boot_now() + milliseconds(5));
  }
  EXPECT_EQ(lanes->stop(sys::boot_now() + milliseconds(100)), std::vector<std::string>{"nvidia"});
  EXPECT_TRUE(lanes->left_behind());
}

}  // namespace
}  // namespace corral::collect::nvidia
