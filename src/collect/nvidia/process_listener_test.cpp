#include "collect/nvidia/process_listener.h"

#include <gtest/gtest.h>

#include "collect/nvidia/fake/fake_driver.h"

namespace corral::collect::nvidia {
namespace {

// The fixture's processes: supervisor 100 has the run 200, which has 210, which has 211; 300 is an
// orphan of the run that the supervisor was given; 900 is somebody else's.
constexpr pid_t kSupervisor = 100;
constexpr pid_t kRun = 200;

constexpr const char* kGpus =
    "gpus 2\n"
    "gpu0.uuid GPU-a\ngpu1.uuid GPU-b\n"
    "gpu0.process.211 3000000000\ngpu0.process.211.sm 40\n"
    "gpu0.process.300 500000000\ngpu0.process.300.sm 5\n"
    "gpu0.process.900 7000000000\ngpu0.process.900.sm 50\n"
    "gpu0.process.99999 1\n"
    "gpu1.process.900 7000000000\n";

struct Processes {
  explicit Processes(FakeDriver& its_driver, const std::string& root = "nvml/root_processes")
      : driver(its_driver) {
    listener = open_process_listener({.root = fixture_root(root),
                                      .run_pid = kRun,
                                      .supervisor_pid = kSupervisor,
                                      .news = news,
                                      .library_path = driver.library()},
                                     table, driver.clocks());
  }
  Values at(double s) {
    driver.set_time(s);
    return sample_once(*listener, table, kSlowGroup);
  }

  FakeDriver& driver;
  std::shared_ptr<News> news = std::make_shared<News>();
  SeriesTable table;
  std::unique_ptr<Listener> listener;
};

TEST(NvidiaProcesses, CountsTheRunsOwnAndNobodyElses) {
  FakeDriver driver(kGpus);
  Processes processes(driver);
  const Values v = processes.at(1);
  EXPECT_EQ(v.at("run.gpu.processes/gpu0"), 2);
  EXPECT_EQ(v.at("run.gpu.memory.used/gpu0"), 3.5e9);
  EXPECT_DOUBLE_EQ(v.at("run.gpu.busy/gpu0"), 0.45);
  EXPECT_FALSE(v.contains("run.gpu.memory.used/gpu1")) << "the run never used it";
  EXPECT_TRUE(processes.table.missing().empty());
}

TEST(NvidiaProcesses, ADeviceThatTheRunLeftHasZero) {
  FakeDriver driver(std::string(kGpus) + "at 5 gpu0.process.211 -1\nat 5 gpu0.process.300 -1\n");
  Processes processes(driver);
  EXPECT_EQ(processes.at(4).at("run.gpu.memory.used/gpu0"), 3.5e9);
  const Values v = processes.at(6);
  EXPECT_EQ(v.at("run.gpu.processes/gpu0"), 0);
  EXPECT_EQ(v.at("run.gpu.memory.used/gpu0"), 0);
}

TEST(NvidiaProcesses, HasNoSharesOfADeviceInMigMode) {
  FakeDriver driver(std::string(kGpus) + "gpu0.mig 1\ngpu0.mig.privileged 1\n");
  Processes processes(driver);
  const Values v = processes.at(1);
  EXPECT_EQ(v.at("run.gpu.memory.used/gpu0"), 3.5e9);
  EXPECT_FALSE(v.contains("run.gpu.busy/gpu0"));
  ASSERT_EQ(processes.table.missing().size(), 1U);
  EXPECT_EQ(processes.table.missing()[0].source, "run.gpu.busy of gpu0");
  EXPECT_TRUE(holds(processes.table.missing()[0].reason, "MIG mode"));
}

// Drivers have written entries of all three sizes under that name.
TEST(NvidiaProcesses, ReadsListsWhateverSizeTheirEntriesHave) {
  for (const char* size : {"16", "24", "32"}) {
    FakeDriver driver(std::string(kGpus) + "call.nvmlDeviceGetComputeRunningProcesses_v3.entry " +
                      size + "\n");
    Processes processes(driver);
    const Values v = processes.at(1);
    EXPECT_EQ(v.at("run.gpu.processes/gpu0"), 2) << size;
    EXPECT_EQ(v.at("run.gpu.memory.used/gpu0"), 3.5e9) << size;
  }
}

TEST(NvidiaProcesses, SharesAreThoseOfTheNewerCallWhereTheOlderHasNone) {
  const std::string blackwell =
      std::string(kGpus) + "call.nvmlDeviceGetProcessUtilization.status NOT_FOUND\n";
  FakeDriver driver(blackwell);
  Processes processes(driver);
  EXPECT_DOUBLE_EQ(processes.at(1).at("run.gpu.busy/gpu0"), 0.45);
  EXPECT_EQ(processes.at(1).at("run.gpu.busy/gpu0"), 0) << "nobody used it since";
}

TEST(NvidiaProcesses, WhatRunsByMpsUnseenIsNotIdle) {
  FakeDriver driver(std::string(kGpus) + "gpu0.process.211.mps 1\ngpu0.process.300.mps 1\n" +
                    "at 9 gpu0.process.300.mps 0\n");
  Processes processes(driver);
  for (int s = 1; s < 4; ++s) {
    const Values v = processes.at(s);
    EXPECT_EQ(v.at("run.gpu.memory.used/gpu0"), 3.5e9);
    EXPECT_FALSE(v.contains("run.gpu.busy/gpu0"));
  }
  EXPECT_TRUE(just(drained(*processes.news), "gpu0: no run.gpu.busy: the driver has no samples"));
  EXPECT_DOUBLE_EQ(processes.at(10).at("run.gpu.busy/gpu0"), 0.05);
}

// The driver lists the processes of a divided device to administrators only, those of an instance
// to everybody.
TEST(NvidiaProcesses, SumsTheInstancesOfADeviceInMigMode) {
  FakeDriver driver(
      "gpus 1\ngpu0.uuid GPU-a\ngpu0.mig 1\n"
      "gpu0.mig0.uuid MIG-a\ngpu0.mig0.process.211 3000000000\ngpu0.mig0.process.900 7\n"
      "gpu0.mig2.uuid MIG-b\ngpu0.mig2.process.300 500000000\n");
  Processes processes(driver);
  ASSERT_NE(processes.listener, nullptr);
  const Values v = processes.at(1);
  EXPECT_EQ(v.at("run.gpu.processes/gpu0"), 2);
  EXPECT_EQ(v.at("run.gpu.memory.used/gpu0"), 3.5e9);
  EXPECT_EQ(missing(processes.table, "run.gpu.* of gpu0"), "");
}

TEST(NvidiaProcesses, MemoryThatTheDriverDoesNotKnowIsMissing) {
  FakeDriver driver("gpus 1\ngpu0.uuid GPU-a\ngpu0.process.211 18446744073709551615\n");
  Processes processes(driver);
  const Values v = processes.at(1);
  EXPECT_EQ(v.at("run.gpu.processes/gpu0"), 1);
  EXPECT_FALSE(v.contains("run.gpu.memory.used/gpu0"));
}

// Drivers have given samples with times to come, shares above 100 % and processes of no list.
TEST(NvidiaProcesses, SamplesThatCannotBeAreLeftOut) {
  const std::string gpu =
      "gpus 1\ngpu0.uuid GPU-a\ngpu0.process.211 3000\ngpu0.process.211.sm 40\n";
  for (const char* wrong :
       {"gpu0.process.300.sm 4000000000\n", "gpu0.process.300.sm 5\ngpu0.process.300.stamp 3600\n",
        "gpu0.process.300.sm 5\ngpu0.process.300.unlisted 1\n"}) {
    FakeDriver driver(gpu + "gpu0.process.300 500\n" + wrong);
    Processes processes(driver);
    EXPECT_DOUBLE_EQ(processes.at(1).at("run.gpu.busy/gpu0"), 0.4) << wrong;
    EXPECT_DOUBLE_EQ(processes.at(2).at("run.gpu.busy/gpu0"), 0.4) << wrong;
  }
}

TEST(NvidiaProcesses, ASampleOfTheFutureDoesNotSilenceThoseToCome) {
  FakeDriver driver(
      "gpus 1\ngpu0.uuid GPU-a\ngpu0.process.211 3000\ngpu0.process.211.sm 40\n"
      "gpu0.process.900 1\ngpu0.process.900.sm 1\nat 2 gpu0.process.900.stamp 3600\n"
      "at 3 gpu0.process.900.stamp 0\n");
  Processes processes(driver);
  for (int s = 1; s < 6; ++s) EXPECT_DOUBLE_EQ(processes.at(s).at("run.gpu.busy/gpu0"), 0.4) << s;
}

TEST(NvidiaProcesses, GoesOnAfterACallThatFailedOnce) {
  FakeDriver driver(std::string(kGpus) +
                    "at 5 call.nvmlDeviceGetComputeRunningProcesses_v3.status TIMEOUT\n"
                    "at 7 call.nvmlDeviceGetComputeRunningProcesses_v3.status SUCCESS\n");
  Processes processes(driver);
  EXPECT_FALSE(processes.at(4).empty());
  EXPECT_TRUE(processes.at(5).empty()) << "missing, not 0";
  EXPECT_TRUE(processes.at(6).empty());
  EXPECT_EQ(processes.at(8).at("run.gpu.memory.used/gpu0"), 3.5e9);
  const std::vector<std::string> told = drained(*processes.news);
  ASSERT_EQ(told.size(), 2U) << "once for each device";
  EXPECT_TRUE(holds(told[0], "gpu0: no values of run.gpu.* for now: Timeout"));
}

TEST(NvidiaProcesses, ADriverThatGoesAwayIsToldOnce) {
  FakeDriver driver(std::string(kGpus) + "at 5 driver.gone 1\n");
  Processes processes(driver);
  EXPECT_FALSE(processes.at(4).empty());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(processes.at(5 + i).empty());
  int told = 0;
  processes.news->drain([&](const News::Item&) { ++told; });
  EXPECT_EQ(told, 2) << "once for each device";
}

TEST(NvidiaProcesses, AContainersIdsAreNotTheDrivers) {
  FakeDriver driver(kGpus);
  const std::filesystem::path root = ScratchFile("").path() + "_root";
  std::filesystem::create_directories(root / "proc/self/ns");
  std::filesystem::create_symlink("pid:[4026532999]", root / "proc/self/ns/pid");
  RunProcesses in_container({.root = root, .run_pid = kRun, .supervisor_pid = kSupervisor});
  EXPECT_TRUE(holds(in_container.obstacle(), "container"));
  std::filesystem::remove_all(root);
  RunProcesses on_host({.root = fixture_root("nvml/root_processes")});
  EXPECT_EQ(on_host.obstacle(), "");
}

TEST(NvidiaProcesses, ThereIsNoRun) {
  SeriesTable table;
  EXPECT_EQ(open_nvidia_process_listener({}, table), nullptr);
  EXPECT_EQ(table.missing().front().reason, "there is no run");
}

}  // namespace
}  // namespace corral::collect::nvidia
