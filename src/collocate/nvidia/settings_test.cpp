#include "collocate/nvidia/settings.h"

#include "collect/nvidia/fake/fake_driver.h"
#include "collocate/nvidia/fake_machine.h"
#include "collocate/undo.h"
#include "core/test_paths.h"

namespace corral::collocate::nvidia {
namespace {

class SettingsTest : public FakeMachine {
 protected:
  [[nodiscard]] plan::Share tuned() const {
    plan::Share share = on({"0"});
    share.sm_clock_mhz = 1200;
    share.memory_clock_mhz = 1215;
    share.power_watts = 250;
    return share;
  }
  Result<> set(Journal& log, const std::vector<plan::Share>& shares) {
    DevicePlan planned = TRY(plan(shares));
    return planned.set(log);
  }
};

TEST_F(SettingsTest, ClocksAndPowerAreSetAndPutBack) {
  state("gpu0.power 300000\n");
  Journal log = journal();
  ASSERT_EQ(
      plan({tuned()})->changes(),
      (std::vector<std::string>{
          "persistence mode of GPU 0: off -> on", "SM clock of GPU 0: locked at 1200 MHz",
          "memory clock of GPU 0: locked at 1215 MHz", "power limit of GPU 0: 300 W -> 250 W"}));
  ASSERT_TRUE(set(log, {tuned()}));
  EXPECT_EQ(state_now(),
            "gpu0.lock.gpu 1200 1200\ngpu0.lock.memory 1215 1215\ngpu0.persistence 1\n"
            "gpu0.power 250000\n");
  ASSERT_TRUE(put_back(log, 0, undo_options()));
  EXPECT_EQ(state_now(), "gpu0.power 300000\n");
}

TEST_F(SettingsTest, WhatIsSoAlreadyIsNotTouched) {
  state("gpu0.persistence 1\ngpu0.power 250000\n");
  plan::Share share = on({"0"});
  share.power_watts = 250;
  EXPECT_TRUE(plan({share})->changes().empty());
  Journal log = journal();
  ASSERT_TRUE(set(log, {share}));
  EXPECT_TRUE(log.standing().empty());
}

TEST_F(SettingsTest, WhatSomebodyElseChangedSinceIsLeft) {
  plan::Share share = on({"0"});
  share.power_watts = 250;
  Journal log = journal();
  ASSERT_TRUE(set(log, {share}));
  state("gpu0.persistence 1\ngpu0.power 200000\n");
  ASSERT_TRUE(put_back(log, 0, undo_options()));
  EXPECT_EQ(state_now(), "gpu0.power 200000\n");
  EXPECT_TRUE(log.standing().empty());
}

TEST_F(SettingsTest, ValuesThatTheGpuDoesNotHaveAreRefused) {
  plan::Share share = on({"0"});
  share.sm_clock_mhz = 1203;
  share.memory_clock_mhz = 9000;
  share.power_watts = 1000;
  const std::string text = refusal({share});
  EXPECT_NE(text.find("no SM clock of 1203 MHz; the nearest is 1200 MHz"), std::string::npos)
      << text;
  EXPECT_NE(text.find("no memory clock of 9000 MHz; the nearest is 1215 MHz"), std::string::npos);
  EXPECT_NE(text.find("a power limit of 1000 W is not possible: expected 100 W to 400 W"),
            std::string::npos)
      << text;
  plan::Share nothing = on({"0"});
  nothing.power_watts = 0;
  EXPECT_NE(refusal({nothing}).find("0 is not a valid value"), std::string::npos);
}

TEST_F(SettingsTest, ADriverWithoutTheFunctionIsReported) {
  const std::string old =
      collect::vendor::library_without("nvmlDeviceSetMemoryLockedClocks", fake_gpu());
  library_ = old;
  Journal log = journal();
  const auto made = set(log, {tuned()});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kUnsupported);
  EXPECT_NE(
      made.error().message.find("memory clock of GPU 0: locked at 1215 MHz: this driver has no "
                                "such function"),
      std::string::npos)
      << made.error().message;
  ASSERT_TRUE(put_back(log, 0, undo_options()));
  EXPECT_EQ(state_now(), "");
}

TEST_F(SettingsTest, ARefusalLeavesNoEntry) {
  state("refuse.nvmlDeviceSetPowerManagementLimit 4\n");
  Journal log = journal();
  const auto made = set(log, {tuned()});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kPermission);
  EXPECT_EQ(log.standing().size(), 3U);
  ASSERT_TRUE(put_back(log, 0, undo_options()));
  EXPECT_EQ(state_now(), "refuse.nvmlDeviceSetPowerManagementLimit 4\n");
}

// The fake of the reading part has none of the changing functions, like a driver older than all of
// them.
TEST_F(SettingsTest, TheOldestDriverStillNamesDevices) {
  const collect::nvidia::FakeDriver reading(
      "gpus 1\ngpu0.uuid GPU-1\ngpu0.name Tesla K80\ngpu0.bus 23\n");
  library_ = reading.library();
  const auto planned = plan({on({"0"})});
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned->seats()[0].environment[1], "CUDA_VISIBLE_DEVICES=GPU-1");
  EXPECT_EQ(planned->addresses(0), std::vector<std::string>{"0000:17:00.0"});
}

}  // namespace
}  // namespace corral::collocate::nvidia
