// kill -9 of a process that writes: at named places of the code, and at random instants.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "core/failpoint.h"
#include "store/faults/engine.h"
#include "store/faults/raw_sqlite.h"
#include "store/faults/script.h"
#include "store/faults/test_verify.h"
#include "store/open/sqlite_store.h"
#include "sys/fd.h"

namespace corral::store::faults {
namespace {

namespace fs = std::filesystem;

constexpr ScriptShape kShape = {.series = 2, .rows = 1500};
constexpr int kAppends = 40;  // per victim
struct Place {
  const char* name;
  int passes;  // at most, before the victim dies there
};
constexpr std::array<Place, 9> kPlaces = {{{"writer.begin", 30},
                                           {"ingest.frame", 60},
                                           {"ingest.finish", 30},
                                           {"writer.before_commit", 30},
                                           {"writer.after_commit", 30},
                                           {"seal.deleted", 6},
                                           {"seal.slices", 6},
                                           {"seal.before_commit", 6},
                                           {"seal.after_commit", 6}}};

// Sends the frames that the previous victim left unsent, then its own script. Reports the number of
// its own acknowledged appends.
[[noreturn]] void victim(const fs::path& directory, std::uint64_t round, const Frames& left_over,
                         int pipe) {
  {
    auto store = open_sqlite_store({.directory = directory});
    if (!store) ::_exit(1);
    if (!left_over.empty() && !(*store)->append(left_over)) ::_exit(2);
    Script script(round, kShape);
    for (int done = 0; done <= kAppends; ++done) {
      if (::write(pipe, &done, sizeof done) != sizeof done) ::_exit(3);
      const auto result = (*store)->append(script.next());
      if (!result || !result->refusals.empty()) ::_exit(4);
      if (done % 8 == 7 && !(*store)->seal(done % 16 == 15)) ::_exit(5);
    }
  }
  ::_exit(0);
}

struct Death {
  int acknowledged = -1;  // appends of its own script; -1: it did not get to the first
  int status = 0;
};

class Kill : public ::testing::Test {
 protected:
  // `failpoint` empty: killed from outside after that time.
  Death kill_one(const std::string& failpoint, unsigned wait_us) {
    const Frames left_over = before_ ? before_->above(stored_) : Frames();
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      failpoint::arm(failpoint);
      victim(directory_, round_, left_over, ends[1]);
    }
    const sys::Fd read_end(ends[0]);
    ::close(ends[1]);
    Death death;
    if (failpoint.empty()) {
      ::usleep(wait_us);
      ::kill(child, SIGKILL);
    }
    int done = 0;
    while (::read(read_end.get(), &done, sizeof done) == static_cast<ssize_t>(sizeof done))
      death.acknowledged = done;
    ::waitpid(child, &death.status, 0);
    return death;
  }

  // Opens the victim's store and compares it with its script and with the previous one.
  void check(const Death& death) {
    Script script(round_, kShape);
    for (int i = 0; i < death.acknowledged; ++i) script.next();
    const Durable acknowledged = death.acknowledged > 0 ? script.sent() : Durable();
    if (death.acknowledged >= 0) script.next();  // the append that it died in, maybe
    auto store = open_sqlite_store({.directory = directory_});
    ASSERT_TRUE(store) << store.error().message;
    if (before_) {
      ASSERT_EQ(problem_of(**store, *before_, death.acknowledged >= 0 ? before_->sent() : stored_),
                "");
    }
    if (death.acknowledged < 0) return;
    ASSERT_EQ(problem_of(**store, script, acknowledged), "");
    stored_ = *durable_of(**store, script);
    EXPECT_TRUE(stored_ == acknowledged || stored_ == script.sent()) << "an append is stored whole";
    before_.emplace(std::move(script));
    ++round_;
  }

  std::string damage() const { return integrity_problem(directory_ / "corral.db"); }

  const std::uint64_t soak_ = number_from_environment("CORRAL_SOAK", 1);
  Workspace workspace_;
  const fs::path directory_ = workspace_.path() / "store";
  std::uint64_t round_ = 1;
  std::optional<Script> before_;  // script of the previous victim; stored_: its stored part
  Durable stored_;
};

TEST_F(Kill, AtANamedPlaceLosesNothingAndStoresNothingTwice) {
  for (std::uint64_t i = 0; i < 81 * soak_ && !HasFatalFailure(); ++i) {
    const Place& place = kPlaces.at(i % kPlaces.size());
    const auto passes = i / kPlaces.size() * 7 % static_cast<std::uint64_t>(place.passes);
    const std::string failpoint = std::string(place.name) + ":" + std::to_string(passes);
    SCOPED_TRACE("failpoint " + failpoint);
    const Death death = kill_one(failpoint, 0);
    ASSERT_TRUE(WIFEXITED(death.status));
    ASSERT_EQ(WEXITSTATUS(death.status), failpoint::kExitStatus) << "the place was not reached";
    check(death);
  }
  EXPECT_EQ(damage(), "");
}

TEST_F(Kill, AtARandomInstantLosesNothingAndStoresNothingTwice) {
  Random random(number_from_environment("CORRAL_FAULT_SEED", 1));
  for (std::uint64_t i = 0; i < 120 * soak_ && !HasFatalFailure(); ++i) {
    const auto wait_us = static_cast<unsigned>(random() % 25'000);
    SCOPED_TRACE("round " + std::to_string(i) + ", killed after " + std::to_string(wait_us) +
                 " us");
    const Death death = kill_one("", wait_us);
    ASSERT_TRUE(WIFSIGNALED(death.status) || WEXITSTATUS(death.status) == 0) << death.status;
    check(death);
  }
  EXPECT_EQ(damage(), "");
}

}  // namespace
}  // namespace corral::store::faults
