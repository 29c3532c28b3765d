// Runs that several supervisors record, each a rank or a host of a job.
#include <map>
#include <string>

#include "store/conformance/conformance_members.h"

namespace corral::store {

using testing::session_body;
using testing::SessionWriter;
using testing::utc;

namespace {

TEST_P(StoreMembers, ARunEndsWithItsLastMember) {
  SessionWriter ranks[2];
  join(ranks[0], 0);
  join(ranks[1], 1);
  leave(ranks[0], {.at = 10 * kSecond});
  EXPECT_EQ(stored().status, RunStatus::kRunning);
  EXPECT_FALSE(stored().end);
  EXPECT_EQ(tag("corral.outcome"), "");
  leave(ranks[1], {.at = 12 * kSecond});
  EXPECT_EQ(stored().status, RunStatus::kFinished);
  EXPECT_EQ(stored().end, utc(12 * kSecond));
  EXPECT_EQ(tag("corral.outcome"), "finished");
  const auto all = members();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].host, "node1");
  EXPECT_EQ(all[1].rank, 1);
  EXPECT_EQ(all[0].end, utc(10 * kSecond));
  EXPECT_EQ(all[0].status, RunStatus::kFinished);
}

TEST_P(StoreMembers, TheWorstOutcomeCountsAndOfEqualOnesTheFirst) {
  SessionWriter ranks[4];
  for (int rank = 0; rank < 4; ++rank) join(ranks[rank], rank);
  leave(ranks[0], {.at = 10 * kSecond});
  leave(ranks[1], {.at = 14 * kSecond, .code = 1, .outcome = "failed"});
  // The launcher ended it after the third.
  leave(ranks[3], {.at = 11 * kSecond,
                   .code = 143,
                   .outcome = "interrupted",
                   .reason = codec::EndReason::kInterrupt});
  leave(ranks[2], {.at = 13 * kSecond, .code = 137, .outcome = "out-of-memory"});
  EXPECT_EQ(stored().status, RunStatus::kFailed);
  EXPECT_EQ(stored().exit_code, 137);
  EXPECT_EQ(stored().end, utc(14 * kSecond));
  EXPECT_EQ(tag("corral.outcome"), "out-of-memory");
  EXPECT_EQ(tag("corral.outcome.reason"), "out-of-memory!");
  EXPECT_EQ(members()[3].outcome, "interrupted");
}

TEST_P(StoreMembers, AMemberThatComesAfterTheEndOfTheOthersOpensTheRunAgain) {
  SessionWriter ranks[2];
  join(ranks[0], 0);
  leave(ranks[0], {.at = 2 * kSecond, .code = 1, .outcome = "failed"});
  EXPECT_EQ(stored().status, RunStatus::kFailed);
  join(ranks[1], 1);
  EXPECT_EQ(stored().status, RunStatus::kRunning);
  EXPECT_FALSE(stored().exit_code);
  leave(ranks[1], {.at = 3 * kSecond});
  EXPECT_EQ(stored().status, RunStatus::kFailed);
  EXPECT_EQ(stored().exit_code, 1);
}

TEST_P(StoreMembers, OfSeveralAttemptsTheNewestCounts) {
  SessionWriter first[2];
  SessionWriter second[2];
  for (int rank = 0; rank < 2; ++rank) join(first[rank], rank);
  leave(first[0], {.at = 10 * kSecond, .code = 143, .outcome = "interrupted"});
  for (int rank = 0; rank < 2; ++rank) join(second[rank], rank, 1, 60 * kSecond);
  EXPECT_EQ(stored().status, RunStatus::kRunning);
  EXPECT_EQ(stored().start, utc(1000));
  leave(second[0], {.at = 90 * kSecond});
  // The first attempt could not send this before its host went down.
  leave(first[1], {.at = 11 * kSecond, .code = 143, .outcome = "interrupted"});
  EXPECT_EQ(stored().status, RunStatus::kRunning);
  leave(second[1], {.at = 91 * kSecond});
  EXPECT_EQ(stored().status, RunStatus::kFinished);
  EXPECT_EQ(tag("corral.outcome"), "finished");
  EXPECT_EQ(tag("corral.outcome.reason"), "");
  const auto all = members();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].attempt, 1);
  EXPECT_EQ(all[3].attempt, 0);
}

TEST_P(StoreMembers, TheHostsOfRanksAreThoseOfAllTheirSessions) {
  SessionWriter supervisors[2], processes[2];
  join(supervisors[0], 0);
  join(supervisors[1], 0, 1, 60 * kSecond);
  for (SessionWriter& process : processes) {
    codec::SessionBody body = session_body(run_);
    body.host = "node1";
    body.rank = 9;
    append({process.frame(body)});
  }
  const auto places = read([&](Reading& reading) { return page::rank_places(reading, run_); });
  std::vector<std::pair<std::int64_t, std::string>> found;
  found.reserve(places.size());
  for (const auto& [rank, host] : places) found.emplace_back(rank, host);
  EXPECT_EQ(found, (decltype(found){{0, "node0"}, {9, "node1"}}));
  EXPECT_NE(members()[0].session, members()[1].session);
}

// A process that is alone makes no member at its first attempt.
TEST_P(StoreMembers, AFirstAttemptAloneBecomesAMemberWithTheSecond) {
  SessionWriter first;
  SessionWriter second;
  start(first, {.host = "node0", .machine = "m0", .run = run_});
  print(first, 0, "one");
  EXPECT_TRUE(members().empty());
  leave(first, {.at = 10 * kSecond, .code = 143, .outcome = "preempted"});
  EXPECT_EQ(tag("corral.outcome"), "preempted");
  join(second, 0, 1, 60 * kSecond);
  EXPECT_EQ(stored().status, RunStatus::kRunning);
  EXPECT_EQ(tag("corral.outcome"), "") << "the run goes on";
  print(second, 0, "two");
  leave(second, {.at = 90 * kSecond});
  EXPECT_EQ(stored().status, RunStatus::kFinished);
  const auto all = members();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].attempt, 0);
  EXPECT_EQ(all[1].outcome, "preempted");
  EXPECT_EQ(all[1].exit_code, 143);
  EXPECT_EQ(output(all[1].no), "one");
  EXPECT_EQ(output(all[0].no), "two");
}

TEST_P(StoreMembers, TheLateEndOfAFirstAttemptAloneDoesNotEndTheRun) {
  SessionWriter first;
  SessionWriter second;
  start(first, {.host = "node0", .machine = "m0", .run = run_});
  join(second, 0, 1, 60 * kSecond);
  leave(first, {.at = 10 * kSecond, .code = 143, .outcome = "cancelled"});
  EXPECT_EQ(stored().status, RunStatus::kRunning);
  EXPECT_EQ(tag("corral.outcome"), "");
  EXPECT_EQ(members()[1].outcome, "cancelled");
  leave(second, {.at = 90 * kSecond});
  EXPECT_EQ(stored().status, RunStatus::kFinished);
}

// Its job was killed and started again: who sends its data first is chance.
TEST_P(StoreMembers, AFirstAttemptWhoseEndNobodySawBecomesAMember) {
  SessionWriter first;
  SessionWriter second;
  start(first, {.host = "node0", .machine = "m0", .run = run_});
  leave(first, {.at = 10 * kSecond, .outcome = "preempted", .reason = codec::EndReason::kUnknown});
  join(second, 0, 1, 60 * kSecond);
  EXPECT_EQ(stored().status, RunStatus::kRunning);
  EXPECT_EQ(tag("corral.outcome"), "");
  EXPECT_EQ(members()[1].end, utc(10 * kSecond));
  EXPECT_EQ(members()[1].outcome, "preempted");
}

TEST_P(StoreMembers, AFirstAttemptThatComesAfterTheSecondChangesNothingOfTheRun) {
  SessionWriter first;
  SessionWriter second;
  join(second, 0, 1, 60 * kSecond);
  print(second, 0, "two");
  start(first, {.host = "node0", .machine = "m0", .run = run_});
  print(first, 0, "one and more");
  leave(first, {.at = 10 * kSecond, .code = 1, .outcome = "failed"});
  EXPECT_EQ(stored().status, RunStatus::kRunning);
  EXPECT_EQ(tag("corral.outcome"), "");
  leave(second, {.at = 90 * kSecond});
  EXPECT_EQ(stored().status, RunStatus::kFinished);
  const auto all = members();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].attempt, 1);
  EXPECT_EQ(all[1].outcome, "failed");
  EXPECT_EQ(output(all[0].no), "two");
  EXPECT_EQ(output(all[1].no), "one and more");
}

TEST_P(StoreMembers, AnEndThatNobodySawIsNoFinishedRun) {
  SessionWriter ranks[2];
  join(ranks[0], 0);
  join(ranks[1], 1);
  leave(ranks[0], {.at = 10 * kSecond});
  leave(ranks[1], {.at = 12 * kSecond, .outcome = "unknown", .reason = codec::EndReason::kUnknown});
  EXPECT_EQ(stored().status, RunStatus::kUnknown);
}

TEST_P(StoreMembers, ALateMemberOfAnEarlierAttemptDoesNotOpenTheRun) {
  SessionWriter ranks[2];
  join(ranks[0], 0, 1);
  leave(ranks[0], {.at = 10 * kSecond});
  join(ranks[1], 0, 0);
  EXPECT_EQ(stored().status, RunStatus::kFinished);
}

TEST_P(StoreMembers, TheRunBeginsWithTheFirstCommandThatExecutes) {
  SessionWriter ranks[2];
  join(ranks[0], 0, 0, 1 * kSecond);
  join(ranks[1], 1, 0, 1 * kSecond);
  const auto begin = [&](SessionWriter& writer, std::int64_t at) {
    append({writer.frame(codec::EventsBody{{{.time = boot_time(at),
                                             .name = std::string(codec::kRunBegan),
                                             .origin = "corral",
                                             .attributes = {}}}})});
  };
  begin(ranks[1], 4 * kSecond);
  begin(ranks[0], 3 * kSecond);
  EXPECT_EQ(stored().start, utc(3 * kSecond));
  EXPECT_EQ(members()[1].start, utc(4 * kSecond));
}

TEST_P(StoreMembers, OutputsNeverMix) {
  SessionWriter ranks[2];
  join(ranks[0], 0);
  join(ranks[1], 1);
  print(ranks[0], 0, "zero ");
  print(ranks[1], 0, "one ");
  print(ranks[0], 5, "zero again");
  print(ranks[1], 4, "one again");
  EXPECT_EQ(output(0), "zero zero again");
  EXPECT_EQ(output(1), "one one again");
  reopen();
  print(ranks[1], 13, "!");
  EXPECT_EQ(output(1), "one one again!") << "a member is known again";
  const auto place = read(
      [&](Reading& reading) { return page::log_place(reading, run_, 1, std::int64_t{1} << 40); });
  EXPECT_EQ(place.ends[codec::LogStream::kStdout], 14);
}

TEST_P(StoreMembers, TheRunShowsAllItsHostsEachWhileAMemberWasThere) {
  SessionWriter ranks[2];
  join(ranks[0], 0);
  join(ranks[1], 1, 0, 20 * kSecond);
  for (int rank = 0; rank < 2; ++rank) {
    declare(ranks[rank]);
    measure(ranks[rank], {{10 * kSecond, rank}, {30 * kSecond, rank + 10.0}});
  }
  leave(ranks[0], {.at = 25 * kSecond});
  leave(ranks[1], {.at = 40 * kSecond});
  std::map<std::string, Points> shown;
  const std::vector<Series> all = *reader_of(*store_).series_of(run_);
  for (const Series& series : all) {
    if (series.owner == metric::Owner::kHost) shown[series.host] = points(series.id);
  }
  EXPECT_EQ(shown["node0"], (Points{{ns_of(utc(10 * kSecond)), 0.0}}));
  EXPECT_EQ(shown["node1"], (Points{{ns_of(utc(30 * kSecond)), 11.0}}));
}

TEST_P(StoreMembers, ARemovedRunLeavesNoMember) {
  SessionWriter ranks[2];
  join(ranks[0], 0);
  join(ranks[1], 1);
  print(ranks[1], 0, "one");
  leave(ranks[0], {.at = 2 * kSecond});
  leave(ranks[1], {.at = 2 * kSecond});
  remove({run_});
  clean();
  EXPECT_EQ(count("SELECT count(*) FROM members"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM logs"), 0);
  // A member that comes now is a session of a removed run.
  SessionWriter late;
  join(late, 2);
  EXPECT_EQ(count("SELECT count(*) FROM members"), 0);
}

}  // namespace
}  // namespace corral::store
