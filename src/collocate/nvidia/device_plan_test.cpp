#include "collocate/nvidia/device_plan.h"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "collect/nvidia/fake/fake_driver.h"
#include "collocate/nvidia/fake_machine.h"
#include "collocate/nvidia/mig.h"
#include "collocate/nvidia/settings.h"
#include "collocate/undo.h"
#include "core/test_paths.h"

namespace corral::collocate::nvidia {
namespace {

using Lines = std::vector<std::string>;

class DevicePlanTest : public FakeMachine {
 protected:
  // Sets up, passes the plan to `look`, undoes all changes.
  template <class F>
  void with(const std::vector<plan::Share>& shares, F look) {
    auto planned = plan(shares);
    ASSERT_TRUE(planned) << planned.error().message;
    Journal log = journal();
    const auto set = planned->set(log);
    ASSERT_TRUE(set) << set.error().message;
    look(*planned);
    const auto back = put_back(log, 0, undo_options());
    ASSERT_TRUE(back) << back.error().message;
    ASSERT_TRUE(log.close());
  }
};

std::string visible(const std::string& devices) { return "CUDA_VISIBLE_DEVICES=" + devices; }

TEST_F(DevicePlanTest, DevicesAreNamedByUuidHoweverTheyAreWritten) {
  state("gpus 2\n");
  const auto planned =
      plan({on({"1"}), on({kGpu0}), on({"00000000:27:00.0"}), on({"0", "1"}), on({})});
  ASSERT_TRUE(planned) << planned.error().message;
  const auto& seats = planned->seats();
  EXPECT_EQ(seats[0].environment, (Lines{"CUDA_DEVICE_ORDER=PCI_BUS_ID", visible(kGpu1)}));
  EXPECT_EQ(seats[1].environment[1], visible(kGpu0));
  EXPECT_EQ(seats[2].environment[1], visible(kGpu1));
  EXPECT_EQ(seats[3].environment[1], visible(std::string(kGpu0) + "," + kGpu1));
  EXPECT_TRUE(seats[4].environment.empty());
  EXPECT_EQ(planned->gpus(), (Lines{kGpu1, kGpu0}));
  EXPECT_EQ(planned->addresses(3), (Lines{"0000:17:00.0", "0000:27:00.0"}));
  EXPECT_TRUE(planned->changes().empty());
}

TEST_F(DevicePlanTest, WithoutADriverDevicesArePassedOnAsWritten) {
  library_ = "/nonexistent/libnvidia-ml.so.1";
  const auto planned = plan({on({"0", "1"}), on({})});
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned->seats()[0].environment[1], visible("0,1"));
  EXPECT_EQ(planned->seats()[0].devices[1].device, "1");
  EXPECT_EQ(planned->gpus(), (Lines{"0", "1"}));
  EXPECT_TRUE(planned->addresses(0).empty());
  ASSERT_EQ(planned->seats()[0].notes.size(), 1U);
  EXPECT_NE(planned->seats()[0].notes[0].find("no NVIDIA driver is installed"), std::string::npos);
  const std::string text = refusal({on({"0"}), mps(), mig("3g.20gb")});
  EXPECT_NE(text.find("run 1: MPS: no NVIDIA driver is installed here"), std::string::npos) << text;
  EXPECT_NE(text.find("\nrun 2: MIG 3g.20gb: no NVIDIA driver"), std::string::npos) << text;
}

TEST_F(DevicePlanTest, EverythingThatDoesNotFitIsSaidAtOnce) {
  state("gpus 2\n");
  plan::Share slow = on({"0"});
  slow.sm_clock_mhz = 1200;
  plan::Share fast = on({"0"});
  fast.sm_clock_mhz = 1410;
  plan::Share two = mig("1g.5gb");
  two.devices = {"0", "1"};
  const std::string text =
      refusal({slow, fast, on({"7"}), on({"1", "1"}), mig("9g.1gb", "1"), two});
  EXPECT_NE(
      text.find("run 1: SM clock, MHz of GPU 0: 1410, but another run of the workload requests "
                "1200"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("run 2: there is no GPU '7' here; there are 0 (NVIDIA A100-SXM4-40GB), 1 ("),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("run 3: GPU 1 is named twice"), std::string::npos) << text;
  EXPECT_NE(text.find("run 3: it has all of GPU 1, of which run 4 has a MIG instance"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("run 4: GPU 1 (NVIDIA A100-SXM4-40GB) has no MIG profile 9g.1gb"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("run 5: a program sees one MIG instance only"), std::string::npos) << text;
  EXPECT_EQ(state_now(), "gpus 2\n");
}

TEST_F(DevicePlanTest, MakesMigInstancesAndTakesThemAway) {
  const std::string before = state_now();
  with({mig("2g.10gb"), mig("3g.20gb"), mig("2g.10gb")}, [&](const DevicePlan& planned) {
    EXPECT_EQ(planned.changes(), (Lines{"MIG mode of GPU 0: off -> on",
                                        "MIG 3g.20gb on GPU 0, memory slices 4-7: created",
                                        "MIG 2g.10gb on GPU 0, memory slices 0-1: created",
                                        "MIG 2g.10gb on GPU 0, memory slices 2-3: created"}));
    const auto& seats = planned.seats();
    EXPECT_EQ(seats[1].devices[0].device, kGpu0);
    EXPECT_EQ(seats[1].devices[0].profile, "3g.20gb");
    EXPECT_TRUE(seats[1].devices[0].instance.starts_with("MIG-"));
    EXPECT_EQ(seats[1].environment[1], visible(seats[1].devices[0].instance));
    EXPECT_NE(seats[0].environment, seats[2].environment);
    EXPECT_NE(state_now().find("gpu0.gi.1 9 4 4"), std::string::npos) << state_now();
  });
  EXPECT_EQ(state_now(), before);
}

TEST_F(DevicePlanTest, AnOldDriversProfilesAreNamedForIt) {
  for (const char* driver : {"profile_version 1\n", "profiles_need_mode 1\n"}) {
    state(driver);
    with({mig("1g.10gb"), mig("1g.5gb+me")}, [&](const DevicePlan& planned) {
      EXPECT_EQ(planned.seats()[1].devices[0].profile, "1g.5gb+me") << driver;
      EXPECT_NE(state_now().find(" 15 0 2\n"), std::string::npos) << driver << state_now();
    });
    EXPECT_EQ(state_now(), driver);
  }
  const std::string bare =
      collect::vendor::library_without("nvmlDeviceGetGpuInstanceProfileInfoV", fake_gpu());
  library_ = bare;
  state("");
  with({mig("7g.40gb")}, [&](const DevicePlan& planned) {
    EXPECT_EQ(planned.changes()[1], "MIG 7g.40gb on GPU 0, memory slices 0-7: created");
  });
}

// The driver knows the profiles 0 to 4, 7 and 9.
TEST_F(DevicePlanTest, ProfilesBehindAGapInTheirNumbersAreFound) {
  with({mig("1g.10gb"), mig("1g.5gb+me"), mig("2g.10gb")}, [&](const DevicePlan& planned) {
    EXPECT_EQ(planned.changes().size(), 4U);
    EXPECT_EQ(planned.seats()[1].devices[0].profile, "1g.5gb+me");
  });
}

TEST_F(DevicePlanTest, MpsSharesAreAsManyAsTheNewestDriverTakes) {
  state("gpus 1\n");
  EXPECT_EQ(refusal(std::vector<plan::Share>(60, mps())), "");
  const std::string text = refusal(std::vector<plan::Share>(61, mps()));
  EXPECT_NE(text.find("61 runs share it by MPS, which serves at most 60 contexts"),
            std::string::npos)
      << text;
}

TEST_F(DevicePlanTest, InstancesOfOthersStayAndIdleOnesAreUsed) {
  state("gpu0.mig 1\ngpu0.gi.1 9 0 4\ngpu0.ci.1.0 3\ngpu0.gi.2 14 4 2\ngpu0.ci.2.0 2\n");
  const std::string before = state_now();
  with({mig("3g.20gb"), mig("1g.5gb")}, [&](const DevicePlan& planned) {
    EXPECT_EQ(planned.changes(), (Lines{"MIG 1g.5gb on GPU 0, memory slices 6-6: created"}));
    EXPECT_NE(planned.seats()[0].notes.at(0).find("it is used as it is"), std::string::npos);
    EXPECT_NE(planned.seats()[0].devices[0].instance, planned.seats()[1].devices[0].instance);
  });
  EXPECT_EQ(state_now(), before);
  EXPECT_NE(refusal({mig("3g.20gb"), mig("3g.20gb")}).find("2 instances that are there already"),
            std::string::npos);
  EXPECT_NE(refusal({on({"0"})}).find("is divided into 2 MIG instances, which Corral did not make"),
            std::string::npos);
  // An instance that is named itself is used without a profile; a busy one is not used.
  const std::string uuid = "MIG-c0de0000-fa4e-4000-8000-000001000000";
  const auto named = plan({on({uuid})});
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_EQ(named->seats()[0].environment[1], visible(uuid));
  EXPECT_EQ(named->seats()[0].devices[0].device, kGpu0);
  EXPECT_EQ(named->seats()[0].devices[0].profile, "3g.20gb");
  add_state("gpu0.process.4711 1.0\n");
  EXPECT_NE(refusal({mig("3g.20gb")}).find("does not fit"), std::string::npos);
}

TEST_F(DevicePlanTest, AnIdleInstanceThatIsTakenMeanwhileIsLeft) {
  state("gpu0.mig 1\ngpu0.gi.1 9 0 4\ngpu0.ci.1.0 3\n");
  auto planned = plan({mig("3g.20gb")});
  ASSERT_TRUE(planned);
  EXPECT_TRUE(planned->changes().empty());
  add_state("gpu0.process.4711 1.0\n");
  Journal log = journal();
  const auto set = planned->set(log);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, Code::kConflict);
  EXPECT_NE(set.error().message.find("is in use meanwhile"), std::string::npos)
      << set.error().message;
}

TEST_F(DevicePlanTest, WithoutPrivilegeInstancesAreRefusedWhenTheyAreMade) {
  state("gpu0.mig 1\nrefuse.nvmlDeviceGetGpuInstancePossiblePlacements_v2 4\n");
  auto planned = plan({mig("3g.20gb")});
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned->changes(), (Lines{"MIG 3g.20gb on GPU 0: created"}));
  Journal log = journal();
  const auto set = planned->set(log);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, Code::kPermission);
  EXPECT_NE(set.error().message.find("needs root"), std::string::npos) << set.error().message;
}

TEST_F(DevicePlanTest, AnEmptyMigModeIsLeftForARunOnTheWholeGpu) {
  state("gpu0.mig 1\n");
  with({on({"0"})}, [&](const DevicePlan& planned) {
    EXPECT_EQ(planned.changes(), (Lines{"MIG mode of GPU 0: on -> off"}));
    EXPECT_EQ(state_now(), "");
  });
  EXPECT_EQ(state_now(), "gpu0.mig 1\n");
}

TEST_F(DevicePlanTest, MigModeIsNotTouchedUnderAProcess) {
  state("gpu0.process.1 -\n");
  const std::string text = refusal({mig("1g.5gb")});
  EXPECT_NE(text.find("GPU 0: MIG mode cannot be turned on while process 1 ("), std::string::npos)
      << text;
}

TEST_F(DevicePlanTest, ADriverThatStillTidiesUpIsWaitedFor) {
  // A process that has ended, which the driver still lists for a moment.
  state("gpu0.process.99999999 -\n");
  std::thread driver([this] {
    ::usleep(50'000);
    state("");
  });
  EXPECT_EQ(refusal({mig("1g.5gb")}), "");
  driver.join();
}

TEST_F(DevicePlanTest, AResetThatTheDriverWantsIsReportedAndNothingIsLeftPending) {
  state("gpu0.needs_reset 1\n");
  auto planned = plan({mig("1g.5gb")});
  ASSERT_TRUE(planned);
  Journal log = journal();
  const auto set = planned->set(log);
  ASSERT_FALSE(set);
  EXPECT_NE(set.error().message.find("requires a reset"), std::string::npos) << set.error().message;
  EXPECT_TRUE(log.standing().empty());
  EXPECT_EQ(state_now(), "gpu0.needs_reset 1\n");
  add_state("gpu0.mig.pending 1\n");
  EXPECT_NE(refusal({on({"0"})}).find("becomes on at the next reset"), std::string::npos);
}

TEST_F(DevicePlanTest, WithoutPermissionOneMessageNamesEveryChange) {
  state("refuse.nvmlDeviceSetMigMode 4\n");
  plan::Share share = mig("3g.20gb");
  auto planned = plan({share, mig("2g.10gb")});
  ASSERT_TRUE(planned);
  Journal log = journal();
  const auto set = planned->set(log);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, Code::kPermission);
  EXPECT_EQ(set.error().message.find('\n'), std::string::npos);
  EXPECT_NE(set.error().message.find("needs root"), std::string::npos) << set.error().message;
  EXPECT_NE(set.error().message.find("MIG 2g.10gb on GPU 0"), std::string::npos);
  EXPECT_TRUE(log.standing().empty());
}

TEST_F(DevicePlanTest, AGpuWithoutMigSaysSo) {
  state("model t4\n");
  const std::string text = refusal({mig("1g.5gb")});
  EXPECT_NE(text.find("run 0: GPU 0 (Tesla T4) cannot be divided by MIG: Not Supported"),
            std::string::npos)
      << text;
  EXPECT_EQ(refusal({on({"0"})}), "");
}

TEST_F(DevicePlanTest, ExclusiveComputeModeIsOpenedForSeveralRunsAndClosedAgain) {
  state("gpu0.compute_mode 3\n");
  EXPECT_TRUE(plan({on({"0"})})->changes().empty());
  // Clients of one daemon are one process for the driver.
  EXPECT_EQ(plan({mps(), mps()})->changes().size(), 1U);
  with({on({"0"}), on({"0"})}, [&](const DevicePlan& planned) {
    EXPECT_EQ(planned.changes(), (Lines{"compute mode of GPU 0: exclusive process -> default"}));
    EXPECT_EQ(state_now(), "");
  });
  EXPECT_EQ(state_now(), "gpu0.compute_mode 3\n");
  state("gpu0.compute_mode 2\n");
  EXPECT_NE(refusal({on({"0"})}).find("forbids programs"), std::string::npos);
}

TEST_F(DevicePlanTest, OtherProcessesOnAGpuAreTold) {
  state("gpus 2\ngpu0.process.1 -\n");
  const auto planned = plan({on({"0"}), on({"1"})});
  ASSERT_TRUE(planned);
  ASSERT_EQ(planned->seats()[0].notes.size(), 1U);
  EXPECT_TRUE(planned->seats()[0].notes[0].starts_with("GPU 0: process 1 ("));
  EXPECT_TRUE(planned->seats()[1].notes.empty());
}

// A driver may write shorter entries than its header declares.
TEST_F(DevicePlanTest, EachOfTheOtherProcessesIsNamed) {
  state(
      "gpus 1\ngpu0.process.1 -\ngpu0.process.999999 -\n"
      "call.nvmlDeviceGetComputeRunningProcesses_v3.entry 16\n");
  const auto planned = plan({on({"0"})});
  ASSERT_TRUE(planned);
  ASSERT_EQ(planned->seats()[0].notes.size(), 1U);
  EXPECT_NE(planned->seats()[0].notes[0].find("), 999999 "), std::string::npos)
      << planned->seats()[0].notes[0];
}

// Reading only: the settings of a real GPU are never changed by a test.
TEST(RealGpuTest, IsReadAndPlannedForWithoutAnyChange) {
  const auto control = Control::open("");
  if (!control) GTEST_SKIP() << control.error().message;
  const auto gpus = find_gpus(**control);
  ASSERT_TRUE(gpus) << gpus.error().message;
  if (gpus->empty()) GTEST_SKIP() << "the driver lists no GPU";
  const Gpu& gpu = gpus->front();
  EXPECT_TRUE(gpu.uuid.starts_with("GPU-"));
  EXPECT_EQ(find_gpu(*gpus, gpu.address), &gpu);
  for (const Setting* setting : {&persistence_setting, &compute_mode_setting, &power_setting}) {
    if (const auto value = setting->read(**control, gpu))
      std::printf("%s: %s\n", std::string(setting->label).c_str(), setting->words(*value).c_str());
  }
  if (const auto profiles = read_profiles(**control, gpu)) {
    for (const Profile& p : *profiles) {
      std::printf("%u %s: %u slices, at most %u, placements", p.id, p.name.c_str(), p.slices,
                  p.most);
      for (const Placement& at : p.placements) std::printf(" %u:%u", at.start, at.size);
      std::printf("\n");
    }
  }
  const auto planned =
      DevicePlan::plan({on({"0"})}, {.nvml = "", .mps_control = "", .state = "/tmp"});
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_EQ(planned->gpus(), Lines{gpu.uuid});
}

}  // namespace
}  // namespace corral::collocate::nvidia
