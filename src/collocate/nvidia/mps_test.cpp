#include "collocate/nvidia/mps.h"

#include <signal.h>
#include <sys/wait.h>

#include "collocate/nvidia/fake_machine.h"
#include "collocate/undo.h"
#include "core/test_paths.h"
#include "core/text.h"
#include "sys/file.h"
#include "sys/process.h"

namespace corral::collocate::nvidia {
namespace {

using Lines = std::vector<std::string>;

std::string value_of(const Lines& environment, const std::string& name) {
  for (const std::string& variable : environment)
    if (variable.starts_with(name + "=")) return variable.substr(name.size() + 1);
  return "";
}

class MpsTest : public FakeMachine {
 protected:
  ~MpsTest() override {
    if (daemon_ > 0) ::kill(daemon_, SIGKILL);
  }
  // Starts a daemon with the plan's changes and finds its process.
  void start(const std::vector<plan::Share>& shares) {
    planned_.emplace(plan(shares).value());
    const auto set = planned_->set(log_);
    ASSERT_TRUE(set) << set.error().message;
    pipe_ = value_of(planned_->seats()[0].environment, "CUDA_MPS_PIPE_DIRECTORY");
    daemon_ = mps_daemon_in(pipe_).value_or(0);
    ASSERT_GT(daemon_, 0);
  }
  // An unreaped zombie counts as gone.
  [[nodiscard]] bool is_gone() const {
    const auto identity = sys::identity_of(daemon_);
    return !mps_daemon_in(pipe_) && !(identity && sys::is_alive(*identity));
  }
  [[nodiscard]] bool nothing_left() const { return !fs::exists(pipe_.parent_path()); }

  Journal log_ = journal();
  std::optional<DevicePlan> planned_;
  fs::path pipe_;
  pid_t daemon_ = 0;
};

TEST_F(MpsTest, ClientsFindTheirOwnDaemonAndItsLimits) {
  plan::Share limited = mps();
  limited.mps_threads_percent = 40;
  limited.mps_memory_bytes = std::int64_t{8} << 30;
  limited.mps_priority = 1;
  start({mps(), limited});
  const auto& seats = planned_->seats();
  EXPECT_EQ(planned_->changes(), Lines{"MPS daemon for GPU 0: started"});
  EXPECT_EQ(value_of(seats[0].environment, "CUDA_VISIBLE_DEVICES"), kGpu0);
  EXPECT_EQ(value_of(seats[0].environment, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "");
  EXPECT_EQ(value_of(seats[1].environment, "CUDA_MPS_PIPE_DIRECTORY"), pipe_);
  EXPECT_EQ(value_of(seats[1].environment, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "40");
  EXPECT_EQ(value_of(seats[1].environment, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), "0=8192M");
  EXPECT_EQ(value_of(seats[1].environment, "CUDA_MPS_CLIENT_PRIORITY"), "1");
  const auto told = sys::read_file(pipe_.parent_path() / "log/control.log");
  EXPECT_TRUE(told->starts_with(std::string("CUDA_VISIBLE_DEVICES=") + kGpu0)) << *told;
  EXPECT_EQ(fs::status(pipe_).permissions(), fs::perms::owner_all);
  ASSERT_TRUE(put_back(log_, 0, undo_options()));
  EXPECT_TRUE(is_gone());
  EXPECT_TRUE(nothing_left());
}

TEST_F(MpsTest, GpusThatOneRunHasTogetherShareADaemon) {
  state("gpus 3\n");
  start({mps({"0", "1"}), mps({"1"}), mps({"2"})});
  const auto& seats = planned_->seats();
  EXPECT_EQ(planned_->changes(),
            (Lines{"MPS daemon for GPU 0, GPU 1: started", "MPS daemon for GPU 2: started"}));
  EXPECT_EQ(value_of(seats[1].environment, "CUDA_MPS_PIPE_DIRECTORY"), pipe_);
  EXPECT_NE(value_of(seats[2].environment, "CUDA_MPS_PIPE_DIRECTORY"), pipe_);
  const auto told = sys::read_file(pipe_.parent_path() / "log/control.log");
  EXPECT_NE(told->find(std::string(kGpu0) + "," + kGpu1), std::string::npos) << *told;
  ASSERT_TRUE(put_back(log_, 0, undo_options()));
  EXPECT_TRUE(nothing_left());
}

TEST_F(MpsTest, ClientsKeepADaemonUntilTheyAreGone) {
  ::setenv("FAKE_MPS_CLIENTS", "4711", 1);
  start({mps()});
  const auto kept = put_back(log_, 0, undo_options());
  ASSERT_FALSE(kept);
  EXPECT_NE(kept.error().message.find("4711"), std::string::npos) << kept.error().message;
  EXPECT_FALSE(is_gone());
  UndoOptions forced = undo_options();
  forced.end_runs = true;
  ASSERT_TRUE(put_back(log_, 0, forced));
  EXPECT_TRUE(is_gone());
}

TEST_F(MpsTest, ADaemonThatDoesNotQuitIsEnded) {
  ::setenv("FAKE_MPS", "stubborn", 1);
  start({mps()});
  ASSERT_TRUE(put_back(log_, 0, undo_options()));
  EXPECT_TRUE(is_gone());
  EXPECT_TRUE(nothing_left());
}

TEST_F(MpsTest, ADaemonThatDoesNotStartLeavesNothing) {
  ::setenv("FAKE_MPS", "refuse", 1);
  auto planned = plan({mps()});
  ASSERT_TRUE(planned);
  const auto set = planned->set(log_);
  ASSERT_FALSE(set);
  EXPECT_NE(set.error().message.find("MPS: "), std::string::npos) << set.error().message;
  EXPECT_NE(set.error().message.find("ends with status 1: Cannot find"), std::string::npos);
  EXPECT_TRUE(log_.standing().empty());
  EXPECT_TRUE(fs::is_empty(path() / "mps"));
}

TEST_F(MpsTest, WithoutTheProgramTheMessageSaysWhereItComesFrom) {
  DeviceOptions chosen = options();
  chosen.mps_control = "/nonexistent/nvidia-cuda-mps-control";
  auto planned = DevicePlan::plan({mps()}, chosen);
  ASSERT_TRUE(planned);
  const auto set = planned->set(log_);
  ASSERT_FALSE(set);
  EXPECT_NE(set.error().message.find("it is part of the driver"), std::string::npos)
      << set.error().message;
  EXPECT_TRUE(log_.standing().empty());
}

TEST_F(MpsTest, AnOperatorsDaemonIsNeitherJoinedNorDisturbed) {
  const fs::path pipe = options().operator_pipe;
  fs::create_directories(pipe);
  ASSERT_TRUE(run_mps_control({.program = fake_mps_control(),
                               .pipe = pipe,
                               .log = path(),
                               .environment = {},
                               .arguments = {"-d"},
                               .input = ""}));
  for (int i = 0; i < 10'000 && !mps_daemon_in(pipe); ++i) ::usleep(1000);
  daemon_ = mps_daemon_in(pipe).value_or(0);
  ASSERT_GT(daemon_, 0);
  const std::string text = refusal({mps()});
  EXPECT_NE(
      text.find("run 0: MPS on GPU 0: an MPS daemon that Corral did not start runs here (pid " +
                std::to_string(daemon_)),
      std::string::npos)
      << text;
  const auto planned = plan({on({"0"})});
  ASSERT_TRUE(planned);
  EXPECT_NE(planned->seats()[0].notes.at(0).find("programs join it by themselves"),
            std::string::npos);
  ASSERT_TRUE(mps_daemon_in(pipe));
}

TEST_F(MpsTest, AReusedPidIsNotTakenForTheDaemon) {
  start({mps()});
  ::kill(daemon_, SIGKILL);
  for (int i = 0; i < 1000 && mps_daemon_in(pipe_); ++i) ::usleep(1000);
  // The file has this process's PID instead of the daemon's.
  std::ofstream(pipe_ / "nvidia-cuda-mps-control.pid") << ::getpid() << "\n";
  ASSERT_TRUE(put_back(log_, 0, undo_options()));
  EXPECT_TRUE(nothing_left());
  daemon_ = 0;
}

TEST_F(MpsTest, ALongStatePathDoesNotBreakTheSocket) {
  const MpsDaemon daemon = mps_daemon(fs::path("/tmp") / std::string(90, 'x'), {kGpu0});
  EXPECT_TRUE(daemon.directory.string().starts_with("/tmp/corral-mps-"));
  EXPECT_LT(daemon.pipe().string().size(), 80U);
}

}  // namespace
}  // namespace corral::collocate::nvidia
