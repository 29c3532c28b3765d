// Tests alerts as rows, and their messages, on both engines.
#include "store/tables/alerts.h"

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <vector>

#include "store/search/test_search.h"
#include "store/tables/accounts.h"
#include "store/test_frames.h"

namespace corral::store::alerts {
namespace {

constexpr UtcTime kNow = utc_time(1'700'000'000'000'000'000);
constexpr Nanos kHour = std::chrono::hours(1);

class AlertRows : public tracking::SearchTest {
 protected:
  void SetUp() override {
    tracking::SearchTest::SetUp();
    if (!store_) return;
    for (const char* name : {"ada", "bob"}) {
      write([&](Writing& writing) {
        return accounts::add_user(writing, {.name = name, .display = "", .created = utc_time(1)});
      });
    }
  }
  std::int64_t make(const Alert& alert) {
    return write([&](Writing& writing) { return add(writing, alert); });
  }
  std::int64_t make(std::string user = "") {
    return make({.user = std::move(user), .kinds = {Kind::kFailed}, .target = "https://h"});
  }
  void tell_of(std::int64_t alert, std::int64_t run = 7, UtcTime now = kNow) {
    write([&](Writing& writing) {
      return tell(writing, {.alert = alert, .run = run, .kind = Kind::kFailed}, "{}", now);
    });
  }
  std::optional<Message> next(UtcTime now) {
    return write([&](Writing& writing) { return claim(writing, now); });
  }
  std::vector<Alert> all() { return read(list); }
  void sent(const Message& message, UtcTime now = kNow) {
    write([&](Writing& writing) { return note_sent(writing, message, now); });
  }
  void failed(const Message& message, UtcTime again) {
    write([&](Writing& writing) { return note_failed(writing, message, "away", again); });
  }
  std::size_t told_count() { return read(told).size(); }
};

INSTANTIATE_TEST_SUITE_P(Engines, AlertRows, tracking::both_engines(), tracking::engine_name);

TEST_P(AlertRows, AreKeptAsTheyWereMade) {
  Alert alert{.user = "ada",
              .kinds = {Kind::kEnded, Kind::kLimit, Kind::kSilent},
              .experiment = "vision/net",
              .metric = "loss",
              .above = 0.1,
              .form = Form::kMail,
              .target = "ada@lab.org",
              .secret = "s",
              .created = kNow};
  alert.id = make(alert);
  EXPECT_EQ(all(), std::vector{alert});
  Alert other{.kinds = {Kind::kNan}, .below = -1.5, .target = "https://h", .created = kNow};
  other.id = make(other);
  EXPECT_EQ(all(), (std::vector{alert, other}));
  EXPECT_EQ(store_
                ->change([&](Writing& writing) -> Result<> {
                  TRY(add(writing, {.user = "eve", .target = "https://h"}));
                  return {};
                })
                .error()
                .code,
            Code::kNotFound);
}

TEST_P(AlertRows, AreLimitedForEachUser) {
  for (std::int64_t i = 0; i < kMostOfUser; ++i) {
    make("ada");
    make();
  }
  for (const char* user : {"ada", ""}) {
    const auto more = store_->change([&](Writing& writing) -> Result<> {
      TRY(add(writing, {.user = user, .target = "https://h"}));
      return {};
    });
    EXPECT_EQ(more.error().code, Code::kTooLarge) << user;
  }
  make("bob");
}

TEST_P(AlertRows, GoWithTheirUserAndTheirMessages) {
  const std::int64_t of_ada = make("ada"), of_bob = make("bob");
  tell_of(of_ada);
  tell_of(of_bob);
  const auto disable = [&](const char* name, bool disabled) {
    write([&](Writing& writing) {
      return accounts::change_user(writing, {.name = name, .disabled = disabled});
    });
  };
  disable("bob", true);
  EXPECT_EQ(read(active).size(), 1U);
  EXPECT_EQ(all().size(), 2U);
  disable("ada", true);
  EXPECT_FALSE(next(kNow)) << "nothing is sent to who is disabled";
  disable("bob", false);
  write([](Writing& writing) { return accounts::delete_user(writing, "ada"); });
  EXPECT_EQ(all().size(), 1U);
  EXPECT_EQ(told_count(), 1U);
  const auto message = next(kNow);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->alert.id, of_bob);
  EXPECT_FALSE(next(kNow));
  const auto remove_as = [&](std::int64_t id, const std::optional<std::string>& user) {
    return write([&](Writing& writing) { return remove(writing, id, user); });
  };
  EXPECT_FALSE(remove_as(of_bob, "ada"));
  EXPECT_FALSE(remove_as(of_bob, ""));
  EXPECT_TRUE(remove_as(of_bob, "bob"));
  EXPECT_FALSE(remove_as(of_bob, std::nullopt));
  EXPECT_EQ(told_count(), 0U);
  tell_of(of_bob);
  EXPECT_EQ(told_count(), 0U) << "it is gone";
  EXPECT_FALSE(next(kNow + kHour));
}

TEST_P(AlertRows, TellAKindOfARunOnce) {
  const std::int64_t alert = make();
  tell_of(alert);
  tell_of(alert);
  tell_of(alert, 8);
  EXPECT_EQ(all().front().waiting, 2);
}

TEST_P(AlertRows, OnlySoManyMessagesWait) {
  const std::int64_t alert = make();
  for (std::int64_t run = 1; run <= kMostWaiting + 2; ++run) tell_of(alert, run);
  EXPECT_EQ(all().front().waiting, kMostWaiting);
  EXPECT_EQ(all().front().left_out, 2);
  EXPECT_EQ(told_count(), static_cast<std::size_t>(kMostWaiting + 2));
}

TEST_P(AlertRows, AnAlertIsItsClaimersForAWhile) {
  const std::int64_t alert = make();
  tell_of(alert);
  EXPECT_TRUE(read([](Reading& reading) { return is_due(reading, kNow); }));
  const auto first = next(kNow);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->body, "{}");
  EXPECT_FALSE(read([](Reading& reading) { return is_due(reading, kNow); }));
  EXPECT_FALSE(next(kNow + kClaimed - Nanos(1)));
  const auto again = next(kNow + kClaimed);
  ASSERT_TRUE(again) << "its server died";
  EXPECT_EQ(again->id, first->id);
  failed(*first, kNow + kHour);
  EXPECT_EQ(all().front().problem, "") << "it was overtaken";
  sent(*again);
  EXPECT_FALSE(next(kNow + 2 * kHour));
  EXPECT_EQ(all().front().delivered, kNow);
  EXPECT_EQ(all().front().waiting, 0);
}

// The other server's commit may take longer than a write waits for a row.
void change_in_time(Store& store, const Change& change) {
  Result<> done;
  do done = store.change(change);
  while (!done && done.error().code == Code::kUnavailable);
  EXPECT_TRUE(done) << done.error().message;
}

TEST_P(AlertRows, OfTwoServersOneClaimsAMessage) {
  const auto other = place_->open();
  ASSERT_TRUE(other) << other.error().message;
  constexpr int kMessages = 200;
  constexpr int kMost = 100;
  for (int i = 0; i < kMessages; ++i) tell_of(make(i < kMost ? "ada" : "bob"));
  std::array<std::vector<std::int64_t>, 2> claimed;
  const auto work = [&](Store& store, std::vector<std::int64_t>& ids) {
    for (int i = 0; i < kMessages; ++i) {
      std::optional<Message> message;
      const auto take = [&](Writing& writing) -> Result<> {
        message = TRY(claim(writing, kNow));
        return {};
      };
      change_in_time(store, take);
      if (!message) continue;
      ids.push_back(message->id);
      change_in_time(store, [&](Writing& w) { return note_sent(w, *message, kNow); });
    }
  };
  std::thread one([&] { work(*store_, claimed[0]); });
  work(**other, claimed[1]);
  one.join();
  std::vector<std::int64_t> ids = claimed[0];
  ids.insert(ids.end(), claimed[1].begin(), claimed[1].end());
  while (const auto rest = next(kNow)) {
    ids.push_back(rest->id);
    sent(*rest);
  }
  std::ranges::sort(ids);
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(kMessages)) << "each once";
  EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end());
}

TEST_P(AlertRows, OneAlertOfAUserIsSentAtATime) {
  for (const char* user : {"ada", "ada", "bob", "", ""}) tell_of(make(user));
  std::vector<std::string> users;
  while (const auto message = next(kNow)) users.push_back(message->alert.user);
  EXPECT_EQ(users, (std::vector<std::string>{"ada", "bob", ""}));
}

TEST_P(AlertRows, AFailureDelaysItsAlertAndGoesBehindItsOtherMessages) {
  const std::int64_t alert = make("ada");
  const std::int64_t other = make("bob");
  tell_of(alert, 1);
  tell_of(alert, 2);
  tell_of(other, 1);
  const auto first = next(kNow);
  ASSERT_TRUE(first);
  failed(*first, kNow + kHour);
  EXPECT_EQ(all().front().problem, "away");
  const auto others = next(kNow);
  ASSERT_TRUE(others);
  EXPECT_EQ(others->alert.id, other);
  sent(*others);
  EXPECT_FALSE(next(kNow + kHour - Nanos(1)));
  const auto second = next(kNow + kHour);
  ASSERT_TRUE(second);
  EXPECT_NE(second->id, first->id);
  EXPECT_EQ(second->failures, 1);
  sent(*second, kNow + kHour);
  EXPECT_EQ(all().front().problem, "");
  const auto last = next(kNow + kHour);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->id, first->id);
  EXPECT_EQ(last->failures, 0);
}

TEST_P(AlertRows, AMessageIsGivenUpAfterADay) {
  const std::int64_t alert = make();
  tell_of(alert);
  const auto message = next(kNow);
  ASSERT_TRUE(message);
  failed(*message, kNow);
  EXPECT_TRUE(next(kNow + kCounts)) << "not yet";
  EXPECT_FALSE(next(kNow + kCounts + kClaimed + Nanos(1)));
  EXPECT_EQ(all().front().waiting, 0);
  EXPECT_EQ(all().front().problem, "away");
}

TEST_P(AlertRows, ARunThatGoesOnAfterItsEndIsACandidate) {
  testing::SessionWriter writer;
  const auto body = testing::session_body(RunId::random(), "process");
  ASSERT_TRUE(store_->append(std::vector{writer.frame(body)}));
  write([](Writing& writing) { return writing->exec("UPDATE runs SET ended = 1"); });
  const auto runs = read([](Reading& reading) { return candidates(reading, kNow); });
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].ended, std::nullopt);
}

TEST_P(AlertRows, ARunThatEndedAtAnUnknownTimeIsACandidate) {
  testing::SessionWriter writer;
  const RunId run = RunId::random();
  const auto body = testing::session_body(run, "process");
  ASSERT_TRUE(store_->append(std::vector{writer.frame(body)}));
  write([](Writing& writing) { return writing->exec("UPDATE runs SET status = 2"); });
  const auto runs = read([](Reading& reading) { return candidates(reading, kNow); });
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].ended, runs[0].newest);
  EXPECT_EQ(runs[0].frames, 1);
  const auto later = [](Reading& reading) { return candidates(reading, kNow + 2 * kCounts); };
  EXPECT_TRUE(read(later).empty());
}

TEST_P(AlertRows, WhatWasToldIsForgottenWithTheRunThatIsGone) {
  testing::SessionWriter writer;
  const RunId run = RunId::random();
  const auto body = testing::session_body(run, "supervisor");
  ASSERT_TRUE(store_->append(std::vector{writer.frame(body)}));
  const auto runs = read([](Reading& reading) { return candidates(reading, kNow); });
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].id, run);
  EXPECT_TRUE(runs[0].supervised);
  const std::int64_t alert = make();
  tell_of(alert, runs[0].key);
  tell_of(alert, runs[0].key + 1);
  write([](Writing& writing) { return forget(writing, kNow + kCounts); });
  EXPECT_EQ(told_count(), 2U) << "not yet";
  write([](Writing& writing) { return forget(writing, kNow + kCounts + Nanos(1)); });
  EXPECT_EQ(told_count(), 1U) << "the run that is running stays told";
}

}  // namespace
}  // namespace corral::store::alerts
