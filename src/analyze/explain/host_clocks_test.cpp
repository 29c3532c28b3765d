#include "analyze/explain/host_clocks.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

#include "query/series/test_store.h"

namespace corral::analyze {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

UtcTime at(double second) { return utc_time(static_cast<std::int64_t>(second * 1e9)); }

HostClock fixed(Nanos offset) {
  return HostClock({{.at = at(0), .offset = offset, .error = microseconds(100)}});
}

TEST(HostClock, ChangesEvenlyAndIsLessSureAwayFromMeasurements) {
  const HostClock clock(
      {{.at = at(116), .offset = microseconds(250'800), .error = microseconds(300)},
       {.at = at(100), .offset = microseconds(250'000), .error = microseconds(200)}});
  EXPECT_EQ(clock.at(at(100)).offset, milliseconds(250));
  EXPECT_EQ(clock.at(at(100)).error, microseconds(300)) << "the worse one's";
  EXPECT_EQ(clock.at(at(104)).offset, microseconds(250'200));
  EXPECT_EQ(clock.at(at(104)).error, microseconds(300 + 4 * (100 + 50)));
  EXPECT_EQ(clock.at(at(126)).offset, microseconds(250'800));
  EXPECT_EQ(clock.at(at(126)).error, microseconds(300 + 10 * 100));
  EXPECT_EQ(clock.at(at(98)).offset, milliseconds(250));
  EXPECT_EQ(clock.at(at(98)).error, microseconds(200 + 2 * 100));
  EXPECT_EQ(clock.error(at(101), at(102)), microseconds(300 + 2 * 150));
  EXPECT_EQ(clock.error(at(101), at(115)), microseconds(300 + 8 * 150)) << "in the middle";
  EXPECT_EQ(clock.error(at(90), at(101)), microseconds(200 + 10 * 100));
}

TEST(HostClock, OneThatWasSetMayBeWrongByTheWholeChangeMeanwhile) {
  const HostClock clock({{.at = at(100), .offset = milliseconds(0), .error = microseconds(200)},
                         {.at = at(116), .offset = milliseconds(300), .error = microseconds(200)},
                         {.at = at(132), .offset = milliseconds(300), .error = microseconds(200)}});
  EXPECT_GE(clock.at(at(108)).error, milliseconds(300));
  EXPECT_LT(clock.at(at(124)).error, milliseconds(2));
}

TEST(HostClock, AChangeThatNoDriftExplainsWasMadeBySomebody) {
  const auto in_the_middle = [](Nanos change) {
    const HostClock clock({{.at = at(100), .offset = Nanos(0), .error = microseconds(200)},
                           {.at = at(116), .offset = change, .error = microseconds(200)}});
    return clock.at(at(108)).error;
  };
  // In 16 s drift makes 1.6 ms, and each measurement may be wrong by 0.2 ms.
  EXPECT_EQ(in_the_middle(microseconds(2000)), microseconds(200 + 800 + 1000));
  EXPECT_EQ(in_the_middle(microseconds(2002)), microseconds(200 + 800 + 1001 + 2002));
}

TEST(HostClock, ASlowMeasurementBetweenGoodOnesSaysNothing) {
  std::vector<ClockPoint> points(10);
  for (int i = 0; i < 10; ++i)
    points[i] = {.at = at(16 * i), .offset = milliseconds(5), .error = microseconds(200)};
  points[5].error = milliseconds(30);
  points[5].offset = milliseconds(-20);
  const HostClock clock(points);
  EXPECT_EQ(clock.points().size(), 9U);
  EXPECT_LT(clock.error(at(0), at(140)), milliseconds(3));
  EXPECT_EQ(clock.at(at(80)).offset, milliseconds(5));
}

TEST(HostClocks, MoveTimesToTheClockOfTheFirstHost) {
  const HostClocks clocks(
      "node1", {{"node1", fixed(milliseconds(10))}, {"node2", fixed(milliseconds(-240))}});
  EXPECT_EQ(clocks.shift("node2", at(5)), at(5) - milliseconds(250));
  EXPECT_EQ(clocks.shift("node1", at(5)), at(5));
  EXPECT_EQ(clocks.shift("node3", at(5)), at(5));
  EXPECT_EQ(clocks.error("node2", at(0), at(1)), microseconds(200));
  EXPECT_FALSE(clocks.error("node3", at(0), at(1)));
  const HostClocks others(
      "node0", {{"node1", fixed(milliseconds(10))}, {"node2", fixed(milliseconds(-240))}});
  EXPECT_EQ(others.shift("node2", at(5)), at(5) - milliseconds(250)) << "node0's is not known";
}

TEST(HostClocks, NoTimeOverflows) {
  const auto far = [](int sign) { return fixed(sign * std::chrono::seconds(4'000'000'000)); };
  const HostClocks clocks("a", {{"a", far(-1)}, {"b", far(1)}, {"c", fixed(Nanos(0))}});
  const UtcTime latest = utc_time(std::numeric_limits<std::int64_t>::max() / 2);
  EXPECT_EQ(clocks.shift("b", latest), latest);
  EXPECT_EQ(clocks.shift("b", utc_time(0)), latest);
  EXPECT_EQ(clocks.shift("c", latest), latest);
}

class HostClocksOfAStore : public ::testing::Test {
 protected:
  using Points = std::vector<std::pair<std::int64_t, double>>;
  struct Process {
    std::string host;
    std::optional<std::int64_t> rank = {};
    std::uint32_t attempt = 0;
    std::int64_t start_s = 0;
  };

  // A supervisor of the run, with the offsets and errors that it measured, by seconds.
  void record(const Process& process, Points offsets, Points errors) {
    store::testing::SessionWriter writer;
    auto body = store::testing::session_body(run_, "supervisor");
    body.host = process.host;
    body.machine = std::string(31, '0') + process.host.back();
    body.rank = process.rank;
    body.attempt = process.attempt;
    body.started = boot_time(process.start_s * kSecond);
    codec::SchemaBody schema{.series = {store::testing::series_def(1, "corral.clock.offset"),
                                        store::testing::series_def(2, "corral.clock.error")}};
    for (auto& def : schema.series)
      def.source = process.rank ? "rank" + std::to_string(*process.rank) : process.host;
    for (Points* points : {&offsets, &errors})
      for (auto& [time, value] : *points) time *= kSecond;
    store_.append({writer.frame(body), writer.frame(schema),
                   writer.frame(store::testing::samples(1, offsets)),
                   writer.frame(store::testing::samples(2, errors))});
  }
  HostClocks read() {
    const auto run = (*store_).run(run_);
    return HostClocks::read(*store_, **run, {}).value();
  }
  static UtcTime utc(std::int64_t second) { return store::testing::utc(second * kSecond); }

  static constexpr std::int64_t kSecond = 1'000'000'000;
  query::testing::TestStore store_;
  RunId run_ = RunId::random();
};

TEST_F(HostClocksOfAStore, AreOnePerHost) {
  record({.host = "node1", .rank = 3}, {{10, 0.25}, {26, 0.35}}, {{10, 0.001}, {26, 0.002}});
  record({.host = "node1", .rank = 5}, {{10, 9}}, {{10, 0.001}});
  record({.host = "node2"}, {{10, -7}}, {{10, 0.003}});
  record({.host = "node3", .rank = 4}, {{10, 1}}, {});
  const HostClocks::ByHost clocks = read().by_host();
  ASSERT_EQ(clocks.size(), 2U) << "an offset without an error counts for nothing";
  EXPECT_EQ(clocks.at("node1").at(utc(18)).offset, milliseconds(300));
  EXPECT_EQ(clocks.at("node1").at(utc(26)).error, milliseconds(2));
  EXPECT_EQ(clocks.at("node2").at(utc(10)).offset, -std::chrono::seconds(7));
}

// Each attempt has what it measured: the node's clock was set while it started again.
TEST_F(HostClocksOfAStore, AHostHasTheMeasurementsOfAllItsAttempts) {
  record({.host = "node1", .rank = 3}, {{10, 5}}, {{10, 0.001}});
  record({.host = "node1", .rank = 4}, {{10, 7}}, {{10, 0.001}});
  record({.host = "node1", .rank = 3, .attempt = 1, .start_s = 50}, {{60, 0}}, {{60, 0.001}});
  const HostClocks::ByHost clocks = read().by_host();
  ASSERT_EQ(clocks.size(), 1U);
  EXPECT_EQ(clocks.at("node1").at(utc(10)).offset, std::chrono::seconds(5));
  EXPECT_EQ(clocks.at("node1").at(utc(60)).offset, Nanos(0));
  EXPECT_GE(clocks.at("node1").at(utc(30)).error, std::chrono::seconds(5));
}

TEST_F(HostClocksOfAStore, TheFirstHostIsThatOfTheLowestRank) {
  record({.host = "node1", .rank = 3}, {{10, 0}}, {{10, 0.001}});
  record({.host = "node2", .rank = 1}, {{10, 0}}, {{10, 0.001}});
  EXPECT_EQ(read().first(), "node2");
}

// By its clock, the second host begins before the first one does.
TEST_F(HostClocksOfAStore, ARankThatStartsAgainElsewhereHasTwo) {
  record({.host = "node1", .rank = 3, .start_s = 50}, {{60, 0.25}}, {{60, 0.001}});
  record({.host = "node2", .rank = 3, .attempt = 1}, {{10, 0.5}}, {{10, 0.001}});
  const HostClocks::ByHost clocks = read().by_host();
  ASSERT_EQ(clocks.size(), 2U);
  EXPECT_EQ(clocks.at("node1").at(utc(10)).offset, milliseconds(250));
  EXPECT_EQ(clocks.at("node2").at(utc(10)).offset, milliseconds(500));
  for (const auto& [host, clock] : clocks) EXPECT_EQ(clock.points().size(), 1U) << host;
}

TEST_F(HostClocksOfAStore, LeaveOutWhatNoClockCanSay) {
  const double inf = std::numeric_limits<double>::infinity();
  record({.host = "node1", .rank = 0}, {{1, inf}, {2, 5e9}, {3, 0.5}, {4, 0.5}, {5, 0.75}},
         {{1, 0.1}, {2, 0.1}, {3, -1}, {5, 0.1}});
  const HostClocks::ByHost clocks = read().by_host();
  ASSERT_EQ(clocks.size(), 1U);
  ASSERT_EQ(clocks.at("node1").points().size(), 1U);
  EXPECT_EQ(clocks.at("node1").points()[0].offset, milliseconds(750));
}

}  // namespace
}  // namespace corral::analyze
