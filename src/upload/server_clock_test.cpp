#include "upload/server_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace corral::upload {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

class TestClock final : public sys::Clock {
 public:
  BootTime now() override { return now_; }
  bool sleep_until(BootTime deadline) override {
    now_ = deadline;
    return true;
  }
  void advance(Nanos time) { now_ += time; }

 private:
  BootTime now_ = boot_time(1'000'000'000);
};

constexpr ClockAnchor kSession{.utc_minus_boot = std::chrono::hours(24 * 365 * 50)};

// A server whose clock is ahead by 250 ms and gains 50 µs a second, behind a network that takes 1 ±
// 0.2 ms each way.
struct Server {
  TestClock& clock;
  std::mt19937 random{7};
  int asked = 0;
  Nanos slow{0};  // more of it before the server answers

  [[nodiscard]] Nanos offset(BootTime at) const {
    const Nanos age = at - boot_time(1'000'000'000);
    return milliseconds(250) + Nanos(age.count() / 20'000);
  }
  Result<ServerTime> ask() {
    asked += 1;
    std::uniform_int_distribution<std::int64_t> trip(800'000, 1'200'000);
    clock.advance(Nanos(trip(random)) + slow);
    const UtcTime now = kSession.to_utc(clock.now()) + offset(clock.now());
    clock.advance(Nanos(trip(random)));
    return ServerTime{.now = now, .boot = "server"};
  }
};

TEST(ServerClock, IsWithinItsErrorAndHalfAMillisecond) {
  TestClock clock;
  Server server{clock};
  ServerClock measured(kSession, "here", clock);
  int readings = 0;
  for (int second = 0; second < 600; ++second) {
    // Every third measurement meets a busy server.
    server.slow = second / 16 % 3 == 1 ? milliseconds(40) : Nanos(0);
    if (const auto reading = measured.step([&](Nanos) { return server.ask(); })) {
      readings += 1;
      const Nanos wrong = std::chrono::abs(reading->offset - server.offset(reading->at));
      EXPECT_LE(wrong, reading->error);
      if (server.slow == Nanos(0)) {
        EXPECT_LE(wrong, microseconds(500));
      }
    }
    clock.advance(seconds(1));
  }
  EXPECT_GE(readings, 600 / 17);
  EXPECT_LE(readings, 600 / 16 + 1);
}

TEST(ServerClock, TakesTheQuickestAnswerAndThenAsksOnceWhileItIsAsGood) {
  TestClock clock;
  const std::vector<int> trips_ms = {9, 4, 2, 7, 8, 3, 6, 5, /*next*/ 2, /*next*/ 8, 1};
  std::size_t i = 0;
  const ServerClock::Ask ask = [&](Nanos) {
    clock.advance(milliseconds(trips_ms.at(i++)));
    return ServerTime{.now = kSession.to_utc(clock.now()), .boot = "server"};
  };
  ServerClock measured(kSession, "here", clock);
  const auto first = measured.step(ask);
  ASSERT_TRUE(first);
  EXPECT_EQ(i, 8u);
  EXPECT_EQ(first->error, milliseconds(1) + Nanos(1));
  EXPECT_EQ(first->offset, milliseconds(1)) << "the way back took no time";
  EXPECT_FALSE(measured.step(ask)) << "not yet";
  clock.advance(ServerClock::kPause);
  EXPECT_TRUE(measured.step(ask));
  EXPECT_EQ(i, 9u);
  clock.advance(ServerClock::kPause);
  EXPECT_EQ(measured.step(ask).value().error, microseconds(500) + Nanos(1));
  EXPECT_EQ(i, 11u);
}

TEST(ServerClock, ASlowServerIsNotAskedForLong) {
  TestClock clock;
  int asked = 0;
  ServerClock measured(kSession, "here", clock);
  const auto reading = measured.step([&](Nanos patience) -> Result<ServerTime> {
    asked += 1;
    clock.advance(std::min<Nanos>(patience, milliseconds(300)));
    if (patience < milliseconds(300)) return fail(Code::kUnavailable, "no answer in time");
    return ServerTime{.now = kSession.to_utc(clock.now()), .boot = "server"};
  });
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(clock.now() - boot_time(1'000'000'000), ServerClock::kBudget);
  EXPECT_EQ(reading.value().error, milliseconds(150) + Nanos(1));
}

class ServerClockOf : public ::testing::Test {
 protected:
  std::optional<ClockReading> step(ServerClock& measured, const Result<ServerTime>& answer) {
    return measured.step([&](Nanos) {
      asked_ += 1;
      return answer;
    });
  }
  [[nodiscard]] ServerTime here() const {
    return {.now = kSession.to_utc(boot_time(1'000'000'000)), .boot = "here"};
  }

  TestClock clock_;
  int asked_ = 0;
};

TEST_F(ServerClockOf, TheSameBootIsNotMeasuredButWhereItIsOneOfSeveral) {
  ServerClock measured(kSession, "here", clock_);
  EXPECT_FALSE(step(measured, here()));
  clock_.advance(ServerClock::kPause);
  EXPECT_FALSE(step(measured, here()));
  EXPECT_EQ(asked_, 1);
  ServerClock member(kSession, "", clock_);
  EXPECT_TRUE(step(member, here()));
}

TEST_F(ServerClockOf, AServerThatTellsNoTimeIsAskedAgainMuchLater) {
  ServerClock measured(kSession, "here", clock_);
  EXPECT_FALSE(step(measured, fail(Code::kNotFound, "no such route")));
  clock_.advance(ServerClock::kPause);
  EXPECT_FALSE(step(measured, ServerTime{.now = here().now, .boot = ""}));
  EXPECT_EQ(asked_, 1);
  clock_.advance(ServerClock::kLongPause);
  EXPECT_FALSE(step(measured, fail(Code::kUnavailable, "away")));
  clock_.advance(ServerClock::kPause);
  EXPECT_TRUE(step(measured, ServerTime{.now = here().now, .boot = ""})) << "it is back";
}

}  // namespace
}  // namespace corral::upload
