// kill -9 of a process that removes a run, at named places: the run is complete, or gone for every
// reader, and the next process that opens the store completes the removal.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "core/failpoint.h"
#include "store/engine/database.h"
#include "store/faults/engine.h"
#include "store/faults/raw_sqlite.h"
#include "store/faults/script.h"
#include "store/faults/test_verify.h"
#include "store/open/sqlite_store.h"

namespace corral::store::faults {
namespace {

namespace fs = std::filesystem;

constexpr ScriptShape kShape = {.series = 2, .rows = 3000, .large = 80};
constexpr int kAppends = 12;
struct Place {
  const char* name;
  int passes;  // number of passes through the failpoint that are tried
  int step;
};
constexpr std::array<Place, 4> kPlaces = {{{"remove.marked", 1, 1},
                                           {"remove.after_mark", 1, 1},
                                           {"remove.step", 24, 3},
                                           {"remove.cleaned", 2, 1}}};

// Rows that belong to no run any more.
constexpr const char* kOrphans =
    "SELECT (SELECT count(*) FROM removals)"
    " + (SELECT count(*) FROM batches WHERE session IN (SELECT key FROM sessions WHERE removed))"
    " + (SELECT count(*) FROM row_groups WHERE session IN (SELECT key FROM sessions WHERE removed))"
    " + (SELECT count(*) FROM slices WHERE session IN (SELECT key FROM sessions WHERE removed))"
    " + (SELECT count(*) FROM block_times WHERE session IN (SELECT key FROM sessions WHERE "
    "removed))"
    " + (SELECT count(*) FROM session_series WHERE session IN (SELECT key FROM sessions WHERE "
    "removed))"
    " + (SELECT count(*) FROM series WHERE owner_kind = 0 AND owner NOT IN (SELECT key FROM runs))"
    " + (SELECT count(*) FROM series WHERE owner_kind = 1 AND owner NOT IN (SELECT key FROM "
    "workloads))"
    " + (SELECT count(*) FROM blocks WHERE series NOT IN (SELECT id FROM series))"
    " + (SELECT count(*) FROM pyramid WHERE series NOT IN (SELECT id FROM series))"
    " + (SELECT count(*) FROM phases WHERE run NOT IN (SELECT key FROM runs))"
    " + (SELECT count(*) FROM events WHERE run NOT IN (SELECT key FROM runs))"
    " + (SELECT count(*) FROM logs WHERE run NOT IN (SELECT key FROM runs))"
    " + (SELECT count(*) FROM log_streams WHERE run NOT IN (SELECT key FROM runs))"
    " + (SELECT count(*) FROM facts WHERE run NOT IN (SELECT key FROM runs))";

class RemoveKill : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = open_sqlite_store({.directory = filled_});
    ASSERT_TRUE(store) << store.error().message;
    for (int i = 0; i < kAppends; ++i) {
      for (Script* script : {&kept_, &gone_}) {
        ASSERT_TRUE((*store)->append(script->next()));
      }
      if (i == kAppends / 2) {
        ASSERT_TRUE((*store)->seal(true));
      }
    }
  }

  // 31 days after the run has ended and gone to the trash.
  static Result<> empty_trash(Store& store, RunId run) {
    const auto end = [&](Writing& db) {
      return db->exec("UPDATE runs SET status = 1, lifecycle = 1, trashed = 0 WHERE id = ?1", run);
    };
    TRY(store.change(end));
    TRY(store.empty_trash(utc_time(0) + kTrashKept + Nanos(1)));
    return {};
  }

  // Its exit status.
  int remove_and_die(const std::string& failpoint, bool by_trash) {
    const pid_t child = ::fork();
    if (child == 0) {
      failpoint::arm(failpoint);
      auto store = open_sqlite_store({.directory = directory_});
      if (!store) ::_exit(1);
      const bool done =
          by_trash ? empty_trash(**store, gone_.run()).has_value()
                   : (*store)->remove_runs(std::array{gone_.run()}, {.force = true}).has_value();
      if (!done) ::_exit(2);
      ::_exit((*store)->seal(false) ? 0 : 3);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  void check(bool marked) {
    {
      auto store = open_sqlite_store({.directory = directory_});
      ASSERT_TRUE(store) << store.error().message;
      ASSERT_EQ(problem_of(**store, kept_, kept_.sent()), "");
      const auto run = reader_of(**store).run(gone_.run());
      ASSERT_TRUE(run) << run.error().message;
      EXPECT_EQ(run->has_value(), !marked);
      if (!marked) {
        ASSERT_EQ(problem_of(**store, gone_, gone_.sent()), "");
        ASSERT_TRUE((*store)->remove_runs(std::array{gone_.run()}, {.force = true}));
      }
      const auto again = (*store)->append(gone_.above({}));
      ASSERT_TRUE(again && again->refusals.empty());
      ASSERT_TRUE((*store)->seal(false));
      EXPECT_FALSE(*reader_of(**store).run(gone_.run()));
      ASSERT_EQ(problem_of(**store, kept_, kept_.sent()), "");
    }
    EXPECT_EQ(number_of(directory_ / "corral.db", kOrphans), 0);
    EXPECT_EQ(integrity_problem(directory_ / "corral.db"), "");
  }

  Workspace workspace_;
  const fs::path filled_ = workspace_.path() / "filled";
  const fs::path directory_ = workspace_.path() / "store";
  Script kept_{3, kShape}, gone_{4, kShape};
};

// As a person removes it, and as the trash is emptied.
TEST_F(RemoveKill, AtANamedPlaceLeavesTheRunWholeOrGone) {
  for (const Place& place : kPlaces) {
    for (int passes = 0; passes < place.passes && !HasFatalFailure(); passes += place.step) {
      for (const bool by_trash : {false, true}) {
        const std::string failpoint = std::string(place.name) + ":" + std::to_string(passes);
        SCOPED_TRACE(failpoint + (by_trash ? " of the trash" : ""));
        fs::remove_all(directory_);
        fs::copy(filled_, directory_, fs::copy_options::recursive);
        ASSERT_EQ(remove_and_die(failpoint, by_trash), failpoint::kExitStatus)
            << "the place was not reached";
        check(std::string(place.name) != "remove.marked");
      }
    }
  }
}

}  // namespace
}  // namespace corral::store::faults
