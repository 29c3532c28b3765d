#include "collocate/nvidia/undo.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "collocate/nvidia/fake_machine.h"
#include "collocate/nvidia/mps.h"
#include "collocate/undo.h"
#include "core/failpoint.h"

namespace corral::collocate::nvidia {
namespace {

class UndoTest : public FakeMachine {
 protected:
  // Returns shares with all kinds of changes: two GPUs, one divided, one shared by MPS, with clocks
  // and power.
  [[nodiscard]] static std::vector<plan::Share> everything() {
    plan::Share tuned = mps({"1"});
    tuned.sm_clock_mhz = 1200;
    tuned.power_watts = 300;
    return {mig("3g.20gb"), mig("2g.10gb"), tuned, on({"1"})};
  }
  static constexpr const char* kBefore = "gpu1.compute_mode 3\ngpu1.power 350000\ngpus 2\n";

  // Makes all changes in a process that ends at that place; true if it was reached.
  bool killed_at(const std::string& failpoint) {
    const pid_t child = ::fork();
    if (child == 0) {
      failpoint::arm(failpoint);
      auto planned = plan(everything());
      if (!planned) ::_exit(1);
      Journal log = journal();
      ::_exit(planned->set(log) ? 0 : 2);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_TRUE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == failpoint::kExitStatus)
        << "exit status " << WEXITSTATUS(status);
    return WEXITSTATUS(status) == failpoint::kExitStatus;
  }

  [[nodiscard]] bool directories_left() const {
    return fs::exists(path() / "mps") && !fs::is_empty(path() / "mps");
  }
};

class KilledAt : public UndoTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(KilledAt, TheFormerStateIsReachedFromEveryPlace) {
  int places = 0;
  for (bool reached = true; reached && !HasFailure(); ++places) {
    state(kBefore);
    reached = killed_at(std::string(GetParam()) + ":" + std::to_string(places));
    const UndoReport report = undo_all(undo_options());
    EXPECT_TRUE(report.complete()) << places;
    EXPECT_EQ(state_now(), kBefore) << places;
    EXPECT_FALSE(directories_left()) << places;
    EXPECT_TRUE(Journal::files(path()).value_or(std::vector<fs::path>()).empty()) << places;
    // Nothing is left to undo: a second undo does nothing.
    EXPECT_TRUE(undo_all(undo_options()).lines.empty());
  }
  EXPECT_GT(places, 8);
}
INSTANTIATE_TEST_SUITE_P(Places, KilledAt,
                         ::testing::Values("journal.written", "journal.durable", "nvidia.made"),
                         [](const auto& place) {
                           std::string name = place.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

// A second kill comes while the changes of the first process are undone.
TEST_F(UndoTest, AKilledUndoIsFinishedByTheNext) {
  for (int places = 0;; ++places) {
    state(kBefore);
    ASSERT_FALSE(killed_at("none"));
    const pid_t child = ::fork();
    if (child == 0) {
      failpoint::arm("undo.put_back:" + std::to_string(places));
      undo_all(undo_options());
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(undo_all(undo_options()).complete());
    ASSERT_EQ(state_now(), kBefore) << places;
    ASSERT_FALSE(directories_left());
    if (WEXITSTATUS(status) == 0) break;
  }
}

TEST_F(UndoTest, AnInstanceThatIsNotOursAnyMoreIsLeft) {
  state("gpu0.mig 1\n");
  auto planned = plan({mig("3g.20gb")});
  ASSERT_TRUE(planned);
  Journal log = journal();
  ASSERT_TRUE(planned->set(log));
  // Another process removed the instance and made one at its place, which has another ID.
  state("gpu0.mig 1\ngpu0.gi.5 9 0 4\ngpu0.ci.5.0 3\n");
  const std::string theirs = state_now();
  ASSERT_TRUE(put_back(log, 0, undo_options()));
  EXPECT_EQ(state_now(), theirs);
}

TEST_F(UndoTest, AnInstanceInUseIsKeptAndNamed) {
  auto planned = plan({mig("3g.20gb")});
  ASSERT_TRUE(planned);
  Journal log = journal();
  ASSERT_TRUE(planned->set(log));
  add_state("gpu0.process.1 1.0\n");
  const auto kept = put_back(log, 0, undo_options());
  ASSERT_FALSE(kept);
  EXPECT_NE(kept.error().message.find("1 ("), std::string::npos) << kept.error().message;
  EXPECT_EQ(log.standing().size(), 3U);
}

// The user of a clock cannot be found, and a run may have no group: the journal names the owner of
// the runs.
TEST_F(UndoTest, WhatNoGroupHoldsIsKeptWhileACommandOfItsOwnerLives) {
  state("gpus 2\n");
  {
    plan::Share tuned = on({"1"});
    tuned.sm_clock_mhz = 1200;
    tuned.power_watts = 300;
    auto planned = plan({tuned});
    ASSERT_TRUE(planned) << planned.error().message;
    Journal log =
        Journal::open(path(), true, {.plan = "/state/plan", .spool = {"/a", "/b"}}).value();
    ASSERT_TRUE(planned->set(log));
  }
  const std::string changed = state_now();
  ASSERT_NE(changed, "gpus 2\n");
  const pid_t command = ::fork();
  if (command == 0) {
    ::pause();
    ::_exit(0);
  }
  const sys::ProcessIdentity identity = sys::identity_of(command).value();
  UndoOptions options = undo_options();
  EXPECT_TRUE(undo_all(options).lines.empty()) << "it cannot ask whether a run of the plan lives";
  EXPECT_EQ(state_now(), changed);
  options.commands_of = [&](const JournalOwner& owner) {
    EXPECT_EQ(owner.plan, "/state/plan");
    EXPECT_EQ(owner.spool, (std::vector<fs::path>{"/a", "/b"}));
    return sys::is_alive(identity) ? std::vector{identity} : std::vector<sys::ProcessIdentity>();
  };
  const UndoReport waits = undo_all(options);
  EXPECT_FALSE(waits.complete());
  EXPECT_EQ(waits.lines.at(0).reason,
            "process " + std::to_string(command) + " of a run is still running");
  EXPECT_EQ(state_now(), changed);
  options.end_runs = true;
  options.scheduler_of = [](const JournalOwner& owner) {
    return "process 7 of " + owner.plan.string();
  };
  EXPECT_EQ(undo_all(options).lines.at(0).reason,
            "its plan is being run by process 7 of /state/plan: stop that first");
  EXPECT_TRUE(sys::is_alive(identity)) << "it may be a run that this scheduler has begun";
  EXPECT_EQ(state_now(), changed);
  options.scheduler_of = [](const JournalOwner&) { return std::string(); };
  EXPECT_TRUE(undo_all(options).complete());
  EXPECT_EQ(state_now(), "gpus 2\n");
  int status = 0;
  EXPECT_EQ(::waitpid(command, &status, 0), command);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST_F(UndoTest, ADryRunSaysAndChangesNothing) {
  state(kBefore);
  ASSERT_FALSE(killed_at("none"));
  const std::string changed = state_now();
  UndoOptions dry = undo_options();
  dry.dry_run = true;
  const UndoReport report = undo_all(dry);
  EXPECT_GE(report.lines.size(), 9U);
  EXPECT_EQ(state_now(), changed);
  EXPECT_TRUE(undo_all(undo_options()).complete());
  EXPECT_EQ(state_now(), kBefore);
}

TEST_F(UndoTest, EveryKindThatIsWrittenHasAHandler) {
  for (const std::string_view kind : {"persistence", "mig-mode", "compute-mode", "power", "clocks",
                                      "mig-instance", "compute-instance", "mps"}) {
    EXPECT_NE(find_handler(kind), nullptr) << kind;
  }
}

}  // namespace
}  // namespace corral::collocate::nvidia
