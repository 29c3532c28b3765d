#include "analyze/explain/run_data.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "query/series/test_store.h"

namespace corral::analyze {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

class RunDataOfAStore : public ::testing::Test {
 protected:
  using Points = std::vector<std::pair<std::int64_t, double>>;

  static Window window(std::int64_t from_s, std::int64_t to_s) {
    return {.from = store::testing::utc(from_s * kSecond),
            .to = store::testing::utc(to_s * kSecond)};
  }
  static codec::SeriesDef series(std::uint32_t id, const std::string& name, metric::Kind kind,
                                 const std::string& source = "") {
    codec::SeriesDef def = store::testing::series_def(id, name);
    def.kind = kind;
    def.source = source;
    return def;
  }
  RunData read(Window window) {
    constexpr std::array<std::string_view, 3> kWanted = {"run.cpu.used", "run.thread.id",
                                                         "cgroup.cpu.used"};
    const auto run = (*store_).run(run_);
    return RunData::read(*store_, **run, window, kWanted).value();
  }

  query::testing::TestStore store_;
  RunId run_ = RunId::random();
};

TEST_F(RunDataOfAStore, MeansAreOverTheWindowAndRatesOfCounters) {
  auto writer = store_.begin(run_, {series(1, "run.cpu.used", metric::Kind::kCounter),
                                    series(2, "run.thread.id", metric::Kind::kGauge, "2"),
                                    series(3, "run.thread.id", metric::Kind::kGauge, "1"),
                                    series(4, "loss", metric::Kind::kGauge)});
  Points used, id, other;
  for (std::int64_t s = 0; s <= 100; ++s) {
    used.emplace_back(s * kSecond, s <= 50 ? 0.25 * static_cast<double>(s)
                                           : 12.5 + 2.0 * static_cast<double>(s - 50));
    id.emplace_back(s * kSecond, 4711);
    other.emplace_back(s * kSecond, s < 50 ? 1 : 3);
  }
  store_.append({writer.frame(store::testing::samples(1, used))});
  store_.append({writer.frame(store::testing::samples(2, other))});
  store_.append({writer.frame(store::testing::samples(3, id))});
  store_.append({writer.frame(store::testing::samples(4, id))});

  const RunData data = read(window(60, 100));
  ASSERT_NE(data.greatest("run.cpu.used"), nullptr);
  EXPECT_NEAR(data.greatest("run.cpu.used")->mean, 2, 1e-9);
  EXPECT_EQ(data.greatest("run.cpu.used")->unit, "cores");
  EXPECT_EQ(data.greatest("run.cpu.used")->points, 40U);
  EXPECT_NEAR(read(window(10, 40)).greatest("run.cpu.used")->mean, 0.25, 1e-9);
  ASSERT_EQ(data.all_of("run.thread.id").size(), 2U);
  EXPECT_EQ(data.all_of("run.thread.id")[0].source, "1");
  EXPECT_EQ(data.greatest("run.thread.id")->source, "1");
  EXPECT_EQ(data.of_source("run.thread.id", "2")->most, 3);
  EXPECT_EQ(read(window(0, 100)).of_source("run.thread.id", "2")->least, 1);
  EXPECT_EQ(data.greatest("loss"), nullptr) << "was not asked for";
  EXPECT_EQ(data.greatest("cgroup.cpu.used"), nullptr);
  EXPECT_EQ(data.why_not("cgroup.cpu.used"), "the run has no points of it in this time");
  const RunData two = read(window(60, 62));
  EXPECT_EQ(two.greatest("run.cpu.used"), nullptr);
  EXPECT_EQ(two.why_not("run.cpu.used"), "2 points in this time, fewer than 3");
}

TEST(LinkSpeeds, AreFactsOfTheDevices) {
  store::Run run;
  run.info = {{"device.eth0.link_bytes_per_second", "\"125000000\""},
              {"device.gpu0.pcie_bytes_per_second", "\"31504000000\""},
              {"device.eth1.link_bytes_per_second", "\"-1\""},
              {"device.eth2.link_bytes_per_second", "\"inf\""},
              {"device.eth3.link_bytes_per_second", "no JSON"},
              {"device.gpu0.name", "\"7\""},
              {"link_bytes_per_second", "\"7\""}};
  const std::map<std::string, double, std::less<>> known = {{"eth0", 1.25e8}, {"gpu0", 3.1504e10}};
  EXPECT_EQ(link_speeds(run), known);
}

TEST(RunDataReasons, AreThoseOfTheMetricOrItsGroup) {
  const RunData data({}, {{"run.thread", "no permission"},
                          {"host.gpu.busy of gpu0", "no driver"},
                          {"host.energy.*", "no counters"},
                          {"host.net.* of eth0", "no driver"},
                          {"run.* of short-lived processes", "no exit records"}});
  EXPECT_EQ(data.why_not("run.thread.cpu"), "no permission");
  EXPECT_EQ(data.why_not("host.gpu.busy"), "no driver");
  EXPECT_EQ(data.why_not("host.energy.dram"), "no counters");
  EXPECT_EQ(data.why_not("host.net.rx"), "no driver");
  EXPECT_EQ(data.why_not("run.memory.rss"), "the run has no points of it in this time");
  EXPECT_EQ(data.why_not("run.threads"), "the run has no points of it in this time");
}

}  // namespace
}  // namespace corral::analyze
