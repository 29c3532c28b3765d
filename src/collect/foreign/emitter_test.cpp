#include "collect/foreign/emitter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "collect/foreign/test_sources.h"
#include "core/limits.h"

namespace corral::collect::foreign {
namespace {

constexpr BootTime kNow = boot_time(1'000'000'000'000);

struct EmitterTest : ::testing::Test {
  Emitter make(std::uint32_t series = 100, std::uint32_t rate = 1000, std::string prefix = "") {
    return {"exec.x", std::move(prefix), {.series = series, .points_per_s = rate}, queue, problems};
  }
  std::vector<std::string> messages() {
    std::vector<std::string> all;
    for (const Problem& problem : problems.take()) all.push_back(problem.message);
    return all;
  }
  PointQueue queue;
  ProblemBox problems;
  Collected got{queue};
};

TEST_F(EmitterTest, APointKeepsWhatItWasGiven) {
  Emitter emitter = make(100, 1000, "power/");
  EXPECT_TRUE(emitter.emit({.name = "draw",
                            .source = "gpu=1",
                            .unit = "W",
                            .kind = metric::Kind::kCounter,
                            .step = 7,
                            .value = 1.5},
                           kNow));
  const ForeignSeries expected{
      .name = "power/draw", .source = "gpu=1", .unit = "W", .kind = metric::Kind::kCounter};
  ASSERT_NE(got.series("power/draw/gpu=1"), nullptr);
  EXPECT_EQ(*got.series("power/draw/gpu=1"), expected);
  const auto& point = got.points("power/draw/gpu=1").at(0);
  EXPECT_EQ(point.time, kNow);
  EXPECT_EQ(point.step, 7);
  EXPECT_EQ(point.value, 1.5);
}

TEST_F(EmitterTest, NotANumberIsAValue) {
  Emitter emitter = make();
  EXPECT_TRUE(emitter.emit({.name = "loss", .value = std::nan("")}, kNow));
  EXPECT_TRUE(std::isnan(got.values("loss").at(0)));
  EXPECT_TRUE(messages().empty());
}

TEST_F(EmitterTest, TwoSourcesNeverShareASeries) {
  Emitter a = make();
  Emitter b("statsd", "", {.series = 100, .points_per_s = 1000}, queue, problems);
  a.emit({.name = "x", .value = 1}, kNow);
  b.emit({.name = "x", .value = 2}, kNow);
  a.emit({.name = "x", .source = "gpu=0", .value = 3}, kNow);
  b.emit({.name = "x", .source = "gpu=0", .value = 4}, kNow);
  EXPECT_EQ(got.names(),
            (std::vector<std::string>{"x", "x/from=statsd", "x/gpu=0", "x/gpu=0,from=statsd"}));
  EXPECT_EQ(got.values("x"), std::vector<double>{1});
  EXPECT_EQ(got.values("x/gpu=0,from=statsd"), std::vector<double>{4});
  EXPECT_EQ(messages().size(), 1u) << "told once";
}

TEST_F(EmitterTest, MoreThanItsRateIsDroppedCountedAndToldOnce) {
  Emitter emitter = make(100, 10);
  int taken = 0;
  for (int i = 0; i < 100; ++i) taken += emitter.emit({.name = "x", .value = 1.0 * i}, kNow);
  EXPECT_EQ(taken, 10);
  EXPECT_EQ(queue.dropped(), 90u);
  EXPECT_EQ(messages(),
            (std::vector<std::string>{"gives more than 10 points a second: the rest is dropped and "
                                      "counted"}));
  EXPECT_TRUE(emitter.emit({.name = "x"}, kNow + std::chrono::milliseconds(100)));
  EXPECT_FALSE(emitter.emit({.name = "x"}, kNow + std::chrono::milliseconds(100)));
  EXPECT_TRUE(messages().empty());
}

TEST_F(EmitterTest, MoreSeriesThanAllowedAreNotRecordedButTheFirstGoOn) {
  Emitter emitter = make(2);
  for (const char* name : {"a", "b", "c", "d", "a"}) emitter.emit({.name = name}, kNow);
  EXPECT_EQ(got.names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(got.values("a").size(), 2u);
  EXPECT_EQ(queue.dropped(), 2u);
  ASSERT_EQ(messages().size(), 1u);
}

TEST_F(EmitterTest, NamesAreMadeFitOrLeftOut) {
  Emitter emitter = make(100, 1000, "p/");
  EXPECT_FALSE(emitter.emit({.name = ""}, kNow));
  EXPECT_FALSE(emitter.emit({.name = std::string(limits::kNameBytes, 'n')}, kNow));
  EXPECT_TRUE(emitter.emit({.name = std::string(limits::kNameBytes - 2, 'n')}, kNow));
  EXPECT_TRUE(emitter.emit({.name = "a\x1b\xff z"}, kNow));
  EXPECT_TRUE(got.series("p/a_\xEF\xBF\xBD z") != nullptr);
  EXPECT_EQ(messages().size(), 1u);
}

TEST_F(EmitterTest, AValueThatCannotBeIsRecordedAndFlagged) {
  Emitter emitter = make();
  EXPECT_TRUE(emitter.emit({.name = "host.memory.used", .value = -5}, kNow));
  EXPECT_EQ(got.values("host.memory.used"), std::vector<double>{-5});
  EXPECT_EQ(got.series("host.memory.used")->unit, "B");
  EXPECT_EQ(messages(),
            std::vector<std::string>{"host.memory.used = -5 B is impossible; recorded as read"});
  emitter.emit({.name = "unknown", .value = -5}, kNow);
  EXPECT_TRUE(messages().empty());
}

TEST(PointQueue, AFullOneRefusesAndCounts) {
  PointQueue queue(2, 1);
  const SeriesNumber series = queue.declare({.name = "x", .source = "", .unit = ""}, "a").number;
  EXPECT_EQ(queue.declare({.name = "x", .source = "", .unit = "other"}, "a").number, series);
  EXPECT_EQ(queue.declare({.name = "y", .source = "", .unit = ""}, "a").number, kNoSeries);
  EXPECT_TRUE(queue.push({.series = series}));
  EXPECT_TRUE(queue.push({.series = series}));
  EXPECT_FALSE(queue.push({.series = series}));
  EXPECT_FALSE(queue.push({.series = kNoSeries}));
  EXPECT_EQ(queue.dropped(), 2u);
  EXPECT_EQ(queue.drain().points.size(), 2u);
  EXPECT_TRUE(queue.push({.series = series}));
  const auto drained = queue.drain();
  EXPECT_EQ(drained.first_series, 1u);
  EXPECT_TRUE(drained.series.empty());
}

TEST(ProblemBox, TroubleIsToldAgainOnlyAfterItWasOver) {
  ProblemBox box;
  box.recovered("a", Trouble::kGone, "never was");
  box.report("a", Trouble::kGone, "first");
  box.report("a", Trouble::kGone, "second");
  box.report("b", Trouble::kGone, "other");
  box.recovered("a", Trouble::kGone, "well");
  box.report("a", Trouble::kGone, "third");
  std::vector<std::string> told;
  for (const Problem& problem : box.take())
    told.push_back(problem.source + " " + problem.message + (problem.recovered ? "!" : ""));
  EXPECT_EQ(told, (std::vector<std::string>{"a first", "b other", "a well!", "a third"}));
}

}  // namespace
}  // namespace corral::collect::foreign
