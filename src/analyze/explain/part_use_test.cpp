#include "analyze/explain/part_use.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "query/series/test_store.h"

namespace corral::analyze {
namespace {

using codec::PhaseKind;

constexpr std::int64_t kMs = 1'000'000;

Window ms(std::int64_t from, std::int64_t to) {
  return {.from = utc_time(from * kMs), .to = utc_time(to * kMs)};
}
UseSample sample(std::int64_t from, std::int64_t to, double value) {
  return {.begin = utc_time(from * kMs), .end = utc_time(to * kMs), .value = value};
}
void add_phase(Timeline& timeline, std::string_view lane, std::string_view type, Window window,
               PhaseKind kind = PhaseKind::kCompute) {
  timeline.add(Timeline::Fields{.begin = window.from,
                                .end = window.to,
                                .name = type.substr(type.rfind('/') + 1),
                                .type = type,
                                .lane = lane,
                                .kind = kind});
}

TEST(PartStretches, AreWhereAllLanesAreInThePart) {
  Timeline timeline;
  for (const std::string_view lane : {"node7/rank0/1/MainThread", "node7/rank1/2/MainThread"}) {
    add_phase(timeline, lane, "step", ms(0, 100));
    add_phase(timeline, lane, "step", ms(100, 200));
  }
  const auto wait = PhaseKind::kWait;
  add_phase(timeline, "node7/rank0/1/MainThread", "step/data wait", ms(10, 40), wait);
  add_phase(timeline, "node7/rank0/1/MainThread", "step/next wait", ms(40, 50), wait);
  add_phase(timeline, "node7/rank0/1/MainThread", "step/data wait", ms(110, 150), wait);
  add_phase(timeline, "node7/rank1/2/MainThread", "step/data wait", ms(30, 60), wait);
  timeline.arrange(utc_time(200 * kMs));
  const std::vector<std::size_t> first = {0}, both = {0, 1};
  auto found = find_stretches(timeline, first, ms(0, 120), BoundPart::kWait);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].length(), Nanos(40 * kMs)) << "two waits in a row are one";
  EXPECT_EQ(found[1].length(), Nanos(10 * kMs)) << "cut at the window's end";
  found = find_stretches(timeline, both, ms(0, 200), BoundPart::kWait);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].from, utc_time(30 * kMs));
  EXPECT_EQ(found[0].to, utc_time(50 * kMs));
  EXPECT_TRUE(find_stretches(timeline, {}, ms(0, 200), BoundPart::kWait).empty());
}

TEST(PartUses, AreOfSamplesThatLieWhollyInIt) {
  const std::vector<Window> stretches = {ms(0, 100), ms(200, 300)};
  std::vector<UseSample> samples;
  for (std::int64_t at = 0; at < 300; at += 25)
    samples.push_back(sample(at, at + 25, at < 100 ? 0.01 : at < 200 ? 0.9 : 0.5));
  samples.push_back(sample(90, 115, 1));
  samples.push_back(sample(0, 25, std::numeric_limits<double>::quiet_NaN()));
  const PartUse use = measure_use(stretches, samples);
  ASSERT_TRUE(use.is_known()) << use.reason;
  EXPECT_EQ(use.samples, 8U);
  EXPECT_NEAR(use.mean, (4 * 0.01 + 4 * 0.5) / 8, 1e-12);
  EXPECT_NEAR(use.idle, 0.5, 1e-12);
}

TEST(PartUses, AreNotKnownOfSamplesThatAreTooCoarse) {
  const std::vector<Window> stretches = {ms(0, 60), ms(100, 160), ms(200, 260), ms(300, 360)};
  std::vector<UseSample> samples;
  for (std::int64_t at = 0; at < 360; at += 40) samples.push_back(sample(at, at + 40, 0));
  EXPECT_EQ(measure_use(stretches, samples).reason,
            "it was sampled every 40 ms, too seldom for phases of 60 ms");
  EXPECT_EQ(measure_use(stretches, {}).reason, "it has no samples");
  EXPECT_EQ(measure_use({}, samples).reason, "the ranks are never in it together");
}

TEST(PartUses, StandTheLimitsOfTime) {
  const std::vector<Window> all = {{.from = UtcTime::min(), .to = UtcTime::max()}};
  const std::vector<UseSample> samples = {
      {.begin = UtcTime::min(), .end = UtcTime::max(), .value = 1}};
  EXPECT_FALSE(measure_use(all, samples).is_known());
}

TEST(PartUses, OfATraceAreTheDevicesIdleTime) {
  DeviceRecord record;
  const auto add = [&](std::string_view name, std::string_view lane, Window window) {
    record.add(
        {.begin = window.from, .end = window.to, .name = name, .lane = lane, .attributes = {}});
  };
  add("profiled", "node7/rank0/profiler/trace", ms(0, 400));
  for (const std::int64_t begin : {0, 100, 200, 300}) {
    add("kernel", "node7/rank0/GPU 0/stream 7", ms(begin + 40, begin + 100));
    add("kernel", "node7/rank0/GPU 0/stream 8", ms(begin + 30, begin + 60));
  }
  const std::vector<Window> waits = {ms(0, 40), ms(100, 140), ms(200, 240), ms(380, 420)};
  const auto uses = trace_use(record, waits);
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0].source, "node7/rank0/GPU 0");
  EXPECT_EQ(uses[0].samples, 3U) << "the last one goes beyond the trace";
  EXPECT_NEAR(uses[0].idle, 0.75, 1e-12);
  EXPECT_TRUE(trace_use(record, std::span(waits).first(2)).empty());
}

// 10 Hz; the GPU works in every second half of a second.
TEST(PartUsesOfAStore, AreReadBySourceOfTheRunsHost) {
  query::testing::TestStore store;
  const RunId id = RunId::random();
  codec::SeriesDef def = store::testing::series_def(1, "host.gpu.sm.active");
  def.source = "gpu0";
  auto writer = store.begin(id, {def, store::testing::series_def(2, "loss")});
  std::vector<std::pair<std::int64_t, double>> points;
  for (std::int64_t i = 0; i <= 100; ++i)
    points.emplace_back(i * 100 * kMs, (i - 1) / 5 % 2 == 0 ? 0.0 : 0.8);
  store.append({writer.frame(store::testing::samples(1, points))});
  store.append({writer.frame(store::testing::samples(2, points))});
  std::vector<Window> waits;
  for (std::int64_t at = 0; at < 10'000; at += 1000)
    waits.push_back(
        {.from = store::testing::utc(at * kMs), .to = store::testing::utc((at + 500) * kMs)});
  const std::vector<std::string_view> metrics = {"host.gpu.sm.active", "host.net.rx"};
  const auto run = (*store).run(id);
  const auto uses = read_part_use(*store, **run, waits, {.metrics = metrics, .left = {}}).value();
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0].source, "gpu0");
  ASSERT_TRUE(uses[0].is_known()) << uses[0].reason;
  EXPECT_GE(uses[0].samples, 40U);
  EXPECT_EQ(uses[0].idle, 1);
}

}  // namespace
}  // namespace corral::analyze
