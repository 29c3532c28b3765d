#include "collocate/journal/journal.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "collect/test_roots.h"
#include "core/failpoint.h"
#include "sys/process.h"

namespace corral::collocate {
namespace {

Change change(const std::string& target) {
  return {.kind = "cgroup",
          .target = target,
          .before = "a \"quoted\"\nline",
          .after = "{}",
          .words = "make " + target,
          .outlives_reboot = true};
}

class JournalTest : public ::testing::Test {
 protected:
  Journal open() { return Journal::open(state_.path()).value(); }
  [[nodiscard]] std::vector<fs::path> files() const {
    return Journal::files(state_.path()).value_or(std::vector<fs::path>());
  }
  [[nodiscard]] JournalContent read() const {
    return parse_journal(sys::read_file(files().at(0)).value());
  }
  collect::FakeRoot state_;
};

TEST_F(JournalTest, AnEntryStandsUntilItIsUndone) {
  Journal journal = open();
  const auto first = journal.note(change("/a"));
  const auto second = journal.note(change("/b"));
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  ASSERT_TRUE(journal.complete(*second, "id 7"));
  const JournalContent both = read();
  ASSERT_EQ(both.standing.size(), 2U);
  EXPECT_EQ(both.pid, ::getpid());
  EXPECT_EQ(both.boot_id, sys::boot_id());
  EXPECT_EQ(both.standing[0].change.before, "a \"quoted\"\nline");
  EXPECT_TRUE(both.standing[0].change.outlives_reboot);
  EXPECT_FALSE(both.standing[0].complete);
  EXPECT_TRUE(both.standing[1].complete);
  EXPECT_EQ(both.standing[1].particulars, "id 7");
  ASSERT_TRUE(journal.undone(*first));
  EXPECT_EQ(read().standing.size(), 1U);
  EXPECT_EQ(journal.standing().size(), 1U);
}

TEST_F(JournalTest, CloseDeletesTheFileOnlyWhenNothingStands) {
  Journal journal = open();
  const auto entry = journal.note(change("/a"));
  const auto closed = journal.close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, Code::kConflict);
  ASSERT_TRUE(journal.undone(*entry));
  ASSERT_TRUE(journal.close());
  EXPECT_TRUE(files().empty());
}

TEST_F(JournalTest, AnOwnerThatChangedNothingLeavesNoFile) {
  {
    Journal journal = open();
    const Journal moved = std::move(journal);
    EXPECT_EQ(files().size(), 1U);
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(JournalTest, OnlyADeadOwnersFileIsTakenOver) {
  {
    Journal owner = open();
    ASSERT_TRUE(owner.note(change("/a")));
    const auto early = Journal::adopt(files().at(0));
    ASSERT_FALSE(early);
    EXPECT_EQ(early.error().code, Code::kUnavailable);
  }
  auto heir = Journal::adopt(files().at(0));
  ASSERT_TRUE(heir) << heir.error().message;
  EXPECT_EQ(heir->standing().size(), 1U);
  EXPECT_EQ(heir->note(change("/b")).value(), 2U);
}

TEST_F(JournalTest, ATornLastLineIsNoDamageAndSwallowsNothing) {
  {
    Journal owner = open();
    ASSERT_TRUE(owner.note(change("/a")));
  }
  std::ofstream(files().at(0), std::ios::app) << R"({"entry":2,"kind":"cgr)";
  EXPECT_EQ(read().standing.size(), 1U);
  EXPECT_EQ(read().unreadable, 0);
  auto heir = Journal::adopt(files().at(0));
  ASSERT_TRUE(heir);
  ASSERT_TRUE(heir->note(change("/b")));
  const JournalContent content = read();
  EXPECT_EQ(content.unreadable, 0);
  ASSERT_EQ(content.standing.size(), 2U);
  EXPECT_EQ(content.standing[1].change.target, "/b");
}

TEST(Journal, ALineInTheMiddleThatIsNoneIsCounted) {
  const JournalContent content = parse_journal(
      "{\"corral_undo\":1,\"pid\":5}\n\xff\xfe\n{\"entry\":3,\"kind\":\"x\"}\n{\"undone\":9}\n[1]"
      "\n");
  EXPECT_EQ(content.unreadable, 2);
  ASSERT_EQ(content.standing.size(), 1U);
  EXPECT_EQ(content.standing[0].entry, 3U);
  EXPECT_EQ(content.next, 4U);
}

TEST(Journal, WithoutAPlaceNothingMayBeChanged) {
  const auto journal = Journal::open("/proc/nothing/here");
  EXPECT_FALSE(journal);
}

// A killed owner's file has every entry whose note() returned.
TEST_F(JournalTest, AKillAtAnyWriteLosesNothingThatWasPromised) {
  for (const std::string point : {"journal.written", "journal.durable"}) {
    for (int passes = 0; passes < 4; ++passes) {
      const collect::FakeRoot state;
      const pid_t child = ::fork();
      if (child == 0) {
        failpoint::arm(point + ":" + std::to_string(passes));
        auto journal = Journal::open(state.path());
        const auto entry = journal->note(change("/a"));
        static_cast<void>(journal->complete(*entry, "made"));
        static_cast<void>(journal->undone(*entry));
        std::_Exit(0);
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      ASSERT_EQ(WEXITSTATUS(status), failpoint::kExitStatus);
      const auto left = Journal::files(state.path()).value_or(std::vector<fs::path>());
      ASSERT_EQ(left.size(), 1U);
      auto heir = Journal::adopt(left[0]);
      ASSERT_TRUE(heir);
      EXPECT_EQ(heir->content().unreadable, 0);
      EXPECT_EQ(heir->standing().size(), passes == 1 || passes == 2 ? 1U : 0U) << point << passes;
      EXPECT_TRUE(passes != 2 || heir->standing().at(0).complete);
    }
  }
}

}  // namespace
}  // namespace corral::collocate
