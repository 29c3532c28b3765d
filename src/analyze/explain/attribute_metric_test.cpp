#include "analyze/explain/attribute_metric.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "query/series/test_store.h"

namespace corral::analyze {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

// Steps of 400 ms for 80 s: 100 ms of load, which uses 0.2 of two CPUs, and 300 ms of compute,
// which uses 1.5. A sample every 50 ms.
class AttributedMetric : public ::testing::Test {
 protected:
  static constexpr int kSamples = 1600;

  void SetUp() override {
    auto used = series(1, "run.cpu.used");
    used.kind = metric::Kind::kCounter;
    auto writer =
        store_.begin(run_, {used, series(2, "loss"), series(3, "run.gpu.busy", "gpu0"),
                            series(4, "run.thread.cpu", "1"), series(5, "run.thread.cpu", "2")});
    std::vector<std::pair<std::int64_t, double>> cpu, gpu;
    double sum = 7;
    for (int i = 0; i <= kSamples; ++i) {
      cpu.emplace_back(i * 50 * kMillisecond, sum);
      gpu.emplace_back(i * 50 * kMillisecond, 0.4);
      sum += 0.05 * (i % 8 < 2 ? 0.2 : 1.5);
    }
    std::vector<codec::PhaseRecord> phases;
    std::uint64_t id = 0;
    const auto add = [&](std::string type, std::int64_t begin, std::int64_t end) {
      codec::PhaseRecord& phase = phases.emplace_back();
      phase.id = ++id;
      phase.begin = boot_time(begin * kMillisecond);
      phase.end = boot_time(end * kMillisecond);
      phase.name = type.substr(type.rfind('/') + 1);
      phase.type = std::move(type);
      phase.lane = "node7/4711/MainThread";
    };
    for (int step = 0; step < kSamples / 8; ++step) {
      add("step", step * 400, step * 400 + 400);
      add("step/load", step * 400, step * 400 + 100);
    }
    store_.append({writer.frame(store::testing::samples(1, cpu)),
                   writer.frame(store::testing::samples(3, gpu)),
                   writer.frame(store::testing::samples(4, gpu)),
                   writer.frame(codec::PhasesBody{.phases = phases})});
  }
  static codec::SeriesDef series(std::uint32_t id, const std::string& name,
                                 const std::string& source = "") {
    codec::SeriesDef def = store::testing::series_def(id, name);
    def.source = source;
    return def;
  }
  Result<MetricAttribution> find(const MetricOptions& options) {
    const auto run = (*store_).run(run_);
    return attribute_metric(*store_, **run, options);
  }
  std::string error(const MetricOptions& options) {
    const auto found = find(options);
    return found ? "none" : found.error().message;
  }
  static UtcTime at(std::int64_t second) {
    return store::testing::utc(second * 1000 * kMillisecond);
  }

  query::testing::TestStore store_;
  RunId run_ = RunId::random();
};

TEST_F(AttributedMetric, GivesEachTypeItsPartOfTheRateOfACounter) {
  const MetricAttribution found = find({.metric = "run.cpu.used"}).value();
  EXPECT_EQ(found.unit, "cores");
  EXPECT_TRUE(found.notes.empty());
  ASSERT_EQ(found.found.parts.size(), 2U);
  const AttributedPart &rest = found.found.parts[0], &load = found.found.parts[1];
  EXPECT_EQ(rest.type.name, "forward and rest");
  EXPECT_EQ(rest.reason, "");
  EXPECT_NEAR(rest.mean, 1.5, 1e-6);
  EXPECT_NEAR(rest.use, 1.5 * 0.75, 1e-3);
  EXPECT_EQ(load.type.type, "step/load");
  EXPECT_NEAR(load.mean, 0.2, 1e-6);
  EXPECT_NEAR(found.found.total, rest.use + load.use, 1e-9);
  EXPECT_NEAR(found.found.window_s, 0.05, 1e-9);
}

TEST_F(AttributedMetric, DoesNotDivideAGpuWithinSteps) {
  const MetricAttribution found = find({.metric = "run.gpu.busy", .source = "gpu0"}).value();
  ASSERT_EQ(found.found.parts.size(), 1U);
  EXPECT_EQ(found.found.parts[0].type.name, "step");
  EXPECT_NEAR(found.found.parts[0].mean, 0.4, 1e-9);
  EXPECT_EQ(found.notes.size(), 2U) << "and it is a gauge";
}

TEST_F(AttributedMetric, TakesAWindowOrALane) {
  const MetricAttribution found =
      find(
          {.metric = "run.cpu.used", .from = at(10), .to = at(30), .lane = "node7/4711/MainThread"})
          .value();
  EXPECT_EQ(found.window.from, at(10));
  EXPECT_NEAR(static_cast<double>(found.found.samples), 400, 1);
}

TEST_F(AttributedMetric, LeavesOutSamplesAfterAGap) {
  const RunId run = RunId::random();
  auto gaps = store_.begin(run, {series(1, "loss")});
  std::vector<std::pair<std::int64_t, double>> points;
  for (int i = 0; i < 60; ++i)
    points.emplace_back((i < 30 ? i : i + 100) * 1000 * kMillisecond, i == 30 ? 500 : 1);
  store_.append({gaps.frame(store::testing::samples(1, points))});
  const auto record = (*store_).run(run);
  const auto found = attribute_metric(*store_, **record, {.metric = "loss"}).value();
  EXPECT_EQ(found.found.samples, 57U);
  EXPECT_EQ(found.found.total, 1);
  EXPECT_EQ(found.found.background, 1) << "there are no phases";
}

TEST_F(AttributedMetric, SaysWhyAMetricWasNotAvailable) {
  const RunId run = RunId::random();
  auto writer = store_.begin(run, {series(1, "loss")});
  codec::FactsBody facts;
  for (const auto& [what, reason] : {std::pair("run.* of processes that left", "no right"),
                                     std::pair("run.pmu.*", "a virtual machine hides it"),
                                     std::pair("run.pmu.* of the kernel's part", "no right"),
                                     std::pair("run.pmu.stalled_cycles", "no such counter")})
    facts.facts.push_back({.kind = codec::FactKind::kUnavailable, .key = what, .value = reason});
  store_.append({writer.frame(facts)});
  const auto record = (*store_).run(run);
  const auto said = [&](const std::string& metric) {
    return attribute_metric(*store_, **record, {.metric = metric}).error().message;
  };
  EXPECT_EQ(said("run.pmu.cycles"),
            "the metric 'run.pmu.cycles' was not available: a virtual machine hides it");
  EXPECT_EQ(said("run.pmu.stalled_cycles"),
            "the metric 'run.pmu.stalled_cycles' was not available: no such counter");
  EXPECT_EQ(said("run.pmu.cycels"), "the run has no metric 'run.pmu.cycels'");
  EXPECT_EQ(said("run.cpu.used"), "the run has no metric 'run.cpu.used'");
}

TEST_F(AttributedMetric, SaysWhatIsWrongWithARequest) {
  EXPECT_EQ(error({.metric = "run.cpu.usde"}),
            "the run has no metric 'run.cpu.usde'; did you mean 'run.cpu.used'?");
  EXPECT_EQ(error({.metric = "run.thread.cpu"}),
            "the metric 'run.thread.cpu' has several sources, such as 1, 2");
  EXPECT_EQ(error({.metric = "run.thread.cpu", .source = "3"}),
            "the metric 'run.thread.cpu' has no source '3', but 1, 2");
  EXPECT_EQ(error({.metric = "loss", .lane = "x"}), "the run has no lane 'x'");
  EXPECT_EQ(error({.metric = "run.cpu.used", .left = [] { return true; }}),
            "nobody waits for the answer any more");
  EXPECT_EQ(error({.metric = "loss", .from = at(30), .to = at(30)}),
            "the time to attribute is empty: it ends before it begins");
  EXPECT_EQ(find({.metric = "loss"}).value().found.background_reason, "there are no samples");
}

}  // namespace
}  // namespace corral::analyze
