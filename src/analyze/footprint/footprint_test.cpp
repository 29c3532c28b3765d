#include "analyze/footprint/footprint.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "query/series/test_store.h"

namespace corral::analyze {
namespace {

namespace frames = store::testing;

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

// Values of one series that are the same in all columns of a window of 1000 s.
ColumnSeries steady(std::string metric, std::string source, double value) {
  ColumnSeries series{.metric = std::move(metric), .source = std::move(source), .cells = {}};
  series.cells.assign(kEnergyColumns, {.integral = value, .covered = 1, .least = 0, .most = 0});
  return series;
}

FootprintData thousand_seconds() {
  FootprintData data;
  data.window = {.from = utc_time(0), .to = utc_time(1000 * kNanosPerSecond)};
  data.series = {
      steady("host.gpu.energy", "gpu0", 300),          steady("host.gpu.energy", "gpu1", 50),
      steady("host.energy.package", "package-0", 100), steady("host.energy.dram", "package-0", 10),
      steady("host.energy.platform", "psys", 700),     steady("run.gpu.processes", "gpu0", 1)};
  data.host_cpus = 8;
  data.units = {{.name = "step", .count = 100, .from = "phases"},
                {.name = "sample", .count = std::nullopt, .from = "the reason"}};
  return data;
}

std::string joined_warnings(const Footprint& found) {
  std::string all;
  for (const std::string& one : found.warnings) all += one + "\n";
  return all;
}

TEST(Footprint, AddsItsDevicesPackagesAndMemory) {
  const Footprint found = make_footprint(thousand_seconds());
  ASSERT_EQ(found.parts.size(), 4U) << "gpu1 has no process of the run";
  EXPECT_DOUBLE_EQ(*found.joules, 410'000) << "the platform includes the packages";
  EXPECT_FALSE(found.modelled);
  EXPECT_DOUBLE_EQ(found.coverage, 1);
  EXPECT_DOUBLE_EQ(*found.units[0].joules, 4100);
  EXPECT_FALSE(found.units[1].joules);
  EXPECT_EQ(found.units[1].unit.from, "the reason");
  EXPECT_EQ(found.summary,
            "410 kJ: 300 kJ GPU, 100 kJ CPU, 10 kJ DRAM, measured in 100 % of the time.");
  EXPECT_EQ(joined_warnings(found),
            "The energy of CPU and DRAM is the whole host's, other programs included.\n");
  EXPECT_EQ(found.parts[1].unsplit, "the host's idle power is unknown");
  EXPECT_FALSE(found.grams) << "no intensity was given";
  EXPECT_FALSE(found.cost);
}

TEST(Footprint, PueIntensityAndPricesScaleExactly) {
  FootprintData data = thousand_seconds();
  data.prices.intensity_g_per_kwh = 400;
  const double plain = *make_footprint(data).grams;
  EXPECT_DOUBLE_EQ(plain, 410'000 / 3.6e6 * 400);
  data.prices.pue = 1.5;
  EXPECT_DOUBLE_EQ(*make_footprint(data).grams, plain * 1.5);
  data.prices.intensity_g_per_kwh = 800;
  data.prices.price_per_kwh = 0.5;
  data.prices.price_per_hour = 3.6;
  const Footprint found = make_footprint(data);
  EXPECT_DOUBLE_EQ(*found.grams, plain * 3);
  EXPECT_DOUBLE_EQ(*found.kwh, 410'000 / 3.6e6 * 1.5);
  EXPECT_DOUBLE_EQ(*found.cost->energy, 410'000 / 3.6e6 * 1.5 * 0.5);
  EXPECT_NEAR(*found.cost->time, 1, 1e-12);
}

TEST(Footprint, MoreThanFivePercentWithoutReadingsIsSaid) {
  FootprintData data = thousand_seconds();
  for (std::size_t i = 100; i < 149; ++i) data.series[0].cells[i] = {};
  EXPECT_EQ(joined_warnings(make_footprint(data)).find("no readings"), std::string::npos);
  for (std::size_t i = 149; i < 180; ++i) data.series[0].cells[i] = {};
  const Footprint found = make_footprint(data);
  EXPECT_NE(joined_warnings(found).find(
                "8 % of the time has no readings of GPU gpu0: its energy is not included."),
            std::string::npos)
      << joined_warnings(found);
  EXPECT_DOUBLE_EQ(found.coverage, 0.92);
  EXPECT_DOUBLE_EQ(*found.joules, 410'000 - 80 * 300);
}

TEST(Footprint, DoubtfulPowerIsSaid) {
  FootprintData data = thousand_seconds();
  data.series.push_back(steady("host.gpu.power", "gpu0", 345));
  EXPECT_NE(joined_warnings(make_footprint(data))
                .find("Integrated power of GPU gpu0 is 15 % above its counter."),
            std::string::npos);
  data.module_gpus = {"gpu0"};
  data.series.erase(data.series.begin());
  EXPECT_NE(joined_warnings(make_footprint(data))
                .find("The power of GPU gpu0 is its module's, CPU and GPU together."),
            std::string::npos);
}

TEST(Footprint, ADeviceIsDividedWhileRunsShareIt) {
  FootprintData data = thousand_seconds();
  data.series.push_back(steady("run.gpu.busy", "gpu0", 0.6));
  EnergyNeighbour other{.time = data.window, .devices = {}, .series = {}};
  other.series = {steady("run.gpu.processes", "gpu0", 1), steady("run.gpu.busy", "gpu0", 0.2)};
  for (std::size_t i = 500; i < kEnergyColumns; ++i)
    for (ColumnSeries& series : other.series) series.cells[i] = {};
  data.neighbours = {other};
  const Footprint found = make_footprint(data);
  ASSERT_TRUE(found.parts[0].split);
  EXPECT_NEAR(found.parts[0].split->joules, 300 * (500 * 0.75 + 500), 1e-6);
  EXPECT_TRUE(found.modelled);
  EXPECT_NEAR(*found.joules, 300 * (500 * 0.75 + 500) + 110'000, 1e-6);
  EXPECT_NE(found.summary.find("GPU (modelled)"), std::string::npos);
}

TEST(Footprint, AnInstanceGetsItsActivityTimesItsSlices) {
  FootprintData data = thousand_seconds();
  data.series.pop_back();
  data.series.push_back(steady("host.gpu.mig.sm.active", "gpu0.mig0", 0.5));
  data.series.push_back(steady("host.gpu.mig.sm.active", "gpu0.mig1", 0.25));
  data.devices = {{.source = "gpu0", .profile = ""}, {.source = "gpu0.mig0", .profile = "3g.20gb"}};
  Footprint found = make_footprint(data);
  EXPECT_FALSE(found.parts[0].split);
  EXPECT_EQ(found.parts[0].unsplit, "the slices of gpu0.mig1 were not recorded");
  data.neighbours.emplace_back();
  data.neighbours[0].devices = {{.source = "gpu0.mig1", .profile = "2g.10gb"}};
  found = make_footprint(data);
  ASSERT_TRUE(found.parts[0].split);
  EXPECT_DOUBLE_EQ(found.parts[0].split->joules, 300'000 * 1.5 / 2);
  ASSERT_EQ(found.efficiency.devices.size(), 1U) << "the rest of the device is not the run's";
  EXPECT_EQ(found.efficiency.devices[0].source, "gpu0.mig0");
  EXPECT_DOUBLE_EQ(*found.efficiency.devices[0].activity, 0.5);
}

TEST(Footprint, APackageIsDividedOnceTheIdlePowerIsKnown) {
  FootprintData data = thousand_seconds();
  data.series.push_back(steady("run.cpu.used", "", 1));
  data.series.push_back(steady("host.cpu.busy", "", 4));
  data.cpus = 4;
  data.idle = IdlePower{.run = "idle", .watts = {{"package-0", 40}}};
  Footprint found = make_footprint(data);
  ASSERT_TRUE(found.parts[1].split);
  EXPECT_DOUBLE_EQ(found.parts[1].split->joules, 1000 * (60 * 0.25 + 40 * 0.5));
  EnergyNeighbour other{.time = data.window, .cpus = 8, .devices = {}, .series = {}};
  data.neighbours = {other};
  found = make_footprint(data);
  EXPECT_NEAR(found.parts[1].split->joules, 1000 * (60 * 0.25 + 40 * 4.0 / 12), 1e-6);
  for (std::size_t i = 0; i < 100; ++i) data.series.back().cells[i] = {};
  EXPECT_EQ(make_footprint(data).parts[1].unsplit, "host.cpu.busy is missing");
}

TEST(Footprint, EfficiencyIsWhatWasGivenAgainstWhatWasUsed) {
  FootprintData data = thousand_seconds();
  data.series.push_back(steady("host.gpu.busy", "gpu0", 0.9));
  Efficiency found = make_footprint(data).efficiency;
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_EQ(found.devices[0].metric, "host.gpu.busy");
  ColumnSeries active = steady("host.gpu.sm.active", "gpu0", 0.8);
  for (std::size_t i = 0; i < 250; ++i) active.cells[i].integral = 0.01;
  data.series.push_back(active);
  data.series.push_back(steady("run.cpu.used", "", 1.5));
  const auto mean_of = [](std::string metric, double value) {
    MetricMean mean;
    mean.metric = std::move(metric);
    mean.mean = mean.least = mean.most = value;
    return mean;
  };
  data.means = RunData({mean_of("cgroup.memory.limit", 8e9), mean_of("cgroup.memory.used", 6e9),
                        mean_of("cgroup.cpu.limit", 2)});
  found = make_footprint(data).efficiency;
  EXPECT_EQ(found.devices[0].metric, "host.gpu.sm.active");
  EXPECT_NEAR(found.devices[0].hours, 1000 / 3600.0, 1e-12);
  EXPECT_NEAR(*found.devices[0].idle_hours, 250 / 3600.0, 1e-9);
  EXPECT_NEAR(*found.devices[0].activity, 0.6025, 1e-9);
  EXPECT_DOUBLE_EQ(*found.cpus_allowed, 2);
  EXPECT_DOUBLE_EQ(*found.cpus_used, 1.5);
  EXPECT_DOUBLE_EQ(*found.memory_peak, 6e9);
  EXPECT_DOUBLE_EQ(*found.memory_limit, 8e9);
}

// "sm_active of gpu0: 0.8 share by host.gpu.sm.active", or the reason.
std::string profile_text(const Efficiency& found, std::string_view name) {
  for (const ProfileValue& one : found.profile)
    if (one.name == name)
      return one.value
                 ? fmt::format("{}: {:g} {} by {}", one.source, *one.value, one.unit, one.metric)
                 : fmt::format("{}: {}", one.source, one.reason);
  return "";
}

TEST(Footprint, TheProfileCardNamesItsMetricsAndWhatItLacks) {
  FootprintData data = thousand_seconds();
  data.series.push_back(steady("run.cpu.used", "", 1.5));
  const auto mean_of = [](std::string metric, double mean, double most) {
    return MetricMean{.metric = std::move(metric),
                      .source = "gpu0",
                      .unit = "",
                      .mean = mean,
                      .least = 0,
                      .most = most,
                      .points = 9};
  };
  data.means =
      RunData({mean_of("run.gpu.memory.used", 3e9, 4e9), mean_of("host.gpu.memory.used", 5e9, 9e9),
               mean_of("host.gpu.sm.active", 0.8, 1), mean_of("host.gpu.pcie.tx_rate", 2e9, 3e9)},
              {{"host.gpu.sm.occupancy", "DCGM is not installed"}});
  Efficiency found = make_footprint(data).efficiency;
  EXPECT_EQ(found.profile.size(), 8U);
  EXPECT_EQ(profile_text(found, "gpu_memory_peak"), "gpu0: 4e+09 B by run.gpu.memory.used");
  EXPECT_EQ(profile_text(found, "sm_active"), "gpu0: 0.8 share by host.gpu.sm.active");
  EXPECT_EQ(profile_text(found, "sm_occupancy"), "gpu0: DCGM is not installed");
  EXPECT_EQ(profile_text(found, "pcie_sent"), "gpu0: 2e+09 B/s by host.gpu.pcie.tx_rate");
  EXPECT_EQ(profile_text(found, "cpus_used"), ": 1.5 cores by run.cpu.used");
  EXPECT_EQ(profile_text(found, "memory_peak"), ": the run has no points of it in this time");
  std::erase_if(data.series, [](const ColumnSeries& one) { return one.source.starts_with("gpu"); });
  found = make_footprint(data).efficiency;
  EXPECT_EQ(profile_text(found, "dram_active"), ": no GPU is known to be the run's");
}

TEST(Footprint, HasNoEnergyUnderASecondOrWithoutSensors) {
  FootprintData data = thousand_seconds();
  data.window.to = utc_time(kNanosPerSecond / 2);
  Footprint found = make_footprint(data);
  EXPECT_TRUE(found.parts.empty());
  EXPECT_FALSE(found.joules);
  EXPECT_EQ(found.missing.at(0).second, "the time is shorter than 1 s");
  data.window = {};
  EXPECT_FALSE(make_footprint(data).joules);
  data = thousand_seconds();
  data.series.clear();
  data.means = RunData({}, {{"host.energy", "no RAPL counters here"}});
  found = make_footprint(data);
  EXPECT_EQ(found.missing.at(0).second, "no GPU is known to be the run's");
  EXPECT_EQ(found.missing.at(1).second, "no RAPL counters here");
  EXPECT_EQ(found.summary, "The energy of the run was not measured.");
}

// ---- from a store
class FootprintOfAStore : public ::testing::Test {
 protected:
  using Points = std::vector<std::pair<std::int64_t, double>>;

  static codec::SeriesDef series(std::uint32_t id, std::string name, metric::Kind kind,
                                 metric::Owner owner, std::string source = "") {
    codec::SeriesDef def = frames::series_def(id, std::move(name));
    def.kind = kind;
    def.owner = owner;
    def.source = std::move(source);
    return def;
  }
  // A counter that is read once a second from `from_s` to `to_s`; `value` is of the second.
  template <class Value>
  static Points each_second(std::int64_t from_s, std::int64_t to_s, Value value) {
    Points points;
    for (std::int64_t s = from_s; s <= to_s; ++s)
      points.emplace_back(s * kNanosPerSecond, value(static_cast<double>(s)));
    return points;
  }
  void record(frames::SessionWriter& writer, std::uint32_t id, const Points& points) {
    constexpr std::size_t kAtOnce = 4000;
    for (std::size_t i = 0; i < points.size(); i += kAtOnce) {
      const auto end = std::min(points.size(), i + kAtOnce);
      store_.append(
          {writer.frame(frames::samples(id, {points.begin() + static_cast<std::ptrdiff_t>(i),
                                             points.begin() + static_cast<std::ptrdiff_t>(end)}))});
    }
  }
  Footprint find(RunId id, std::int64_t from_s, std::int64_t to_s) {
    const auto run = (*store_).run(id);
    auto found = find_footprint(
        *store_, **run,
        {.from = frames::utc(from_s * kNanosPerSecond), .to = frames::utc(to_s * kNanosPerSecond)});
    EXPECT_TRUE(found) << found.error().message;
    return found ? *std::move(found) : Footprint();
  }
  // A run with a host's package counter, by default the only run of the store.
  frames::SessionWriter begin(RunId id, const std::string& name, std::int64_t start_s) {
    frames::SessionWriter writer;
    auto body = frames::session_body(id, "supervisor");
    body.machine = "m7";
    body.run_name = name;
    body.started = boot_time(start_s * kNanosPerSecond);
    const auto counter = metric::Kind::kCounter;
    const auto gauge = metric::Kind::kGauge;
    const auto host = metric::Owner::kHost, run = metric::Owner::kRun;
    store_.append({writer.frame(body),
                   writer.frame(codec::SchemaBody{
                       .series = {series(1, "host.energy.package", counter, host, "package-0"),
                                  series(2, "host.cpu.busy", counter, host),
                                  series(3, "run.cpu.used", counter, run),
                                  series(4, "host.gpu.power", gauge, host, "gpu0"),
                                  series(5, "run.gpu.processes", gauge, run, "gpu0"),
                                  series(6, "samples", gauge, run)}})});
    return writer;
  }

  query::testing::TestStore store_;
  RunId run_ = RunId::random();
};

TEST_F(FootprintOfAStore, ItEndsEarlyWhenNobodyWaits) {
  auto writer = begin(run_, "train", 1);
  record(writer, 1, each_second(0, 10, [](double s) { return 100 * s; }));
  const auto run = (*store_).run(run_);
  const auto found =
      find_footprint(*store_, **run, {.from = {}, .to = {}, .left = [] { return true; }});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kUnavailable);
}

TEST_F(FootprintOfAStore, WrapsResetsAndGapsCostLessThanAThousandth) {
  auto writer = begin(run_, "train", 1);
  // 100 W; the counter wraps at 262,144 J, is reset once, and is not read for 100 s.
  Points points = each_second(0, 9000, [](double s) {
    const double joules = s > 5000 ? 100 * (s - 5000) : 1000 + 100 * s;
    return std::fmod(joules, 262'144);
  });
  std::erase_if(points, [](const auto& point) {
    return point.first > 4000 * kNanosPerSecond && point.first < 4100 * kNanosPerSecond;
  });
  record(writer, 1, points);
  const Footprint found = find(run_, 10, 8990);
  ASSERT_EQ(found.parts.size(), 1U);
  EXPECT_NEAR(found.parts[0].joules, 100.0 * 8980, 100.0 * 8980 * 1e-3);
  EXPECT_LE(found.parts[0].joules, 100.0 * 8980 * (1 + 1e-9));
  EXPECT_GT(found.parts[0].coverage, 0.999);
}

TEST_F(FootprintOfAStore, PowerIsIntegratedWithoutItsGaps) {
  auto writer = begin(run_, "train", 1);
  Points power = each_second(0, 1000, [](double s) { return s > 500 ? 300.0 : 200.0; });
  std::erase_if(power, [](const auto& point) {
    return point.first > 600 * kNanosPerSecond && point.first < 700 * kNanosPerSecond;
  });
  power[50].second = std::nan("");  // N/A: the stretches beside it have no energy
  record(writer, 4, power);
  record(writer, 5, each_second(0, 1000, [](double) { return 1; }));
  const Footprint found = find(run_, 0 + 1, 1000);
  ASSERT_EQ(found.parts.size(), 1U);
  EXPECT_EQ(found.parts[0].method, EnergyMethod::kPower);
  EXPECT_NEAR(found.parts[0].joules, 200.0 * 497 + 300.0 * 400, 1);
  EXPECT_NEAR(found.parts[0].coverage, 897.0 / 999, 1e-9);
  ASSERT_EQ(found.parts[0].gaps.size(), 2U);
  EXPECT_NEAR(found.parts[0].gaps[0].missing_s, 100, 1e-6);
  EXPECT_NEAR(found.parts[0].gaps[1].missing_s, 2, 1e-6);
  EXPECT_NE(joined_warnings(found).find("no readings of GPU gpu0"), std::string::npos);
}

TEST_F(FootprintOfAStore, TheIdlePowerIsThatOfATaggedRunThatWasAlone) {
  const RunId idle = RunId::random();
  auto first = begin(idle, "nothing", 1);
  store_.append({first.frame(codec::FactsBody{
      {{.kind = codec::FactKind::kTag, .key = std::string(kIdleTag), .value = "1"}}})});
  const auto joules = [](double s) { return s < 200 ? 40 * s : 8000 + 100 * (s - 200); };
  record(first, 1, each_second(0, 101, joules));
  store_.append({first.frame(codec::RunEndBody{
      .time = boot_time(100 * kNanosPerSecond), .exit_code = 0, .exit_signal = {}})});

  auto writer = begin(run_, "train", 200);
  store_.append({writer.frame(codec::FactsBody{
      {{.kind = codec::FactKind::kInfo, .key = "cpus", .value = "8"},
       {.kind = codec::FactKind::kInfo, .key = "set_up.cpus_allowed", .value = R"("0-1")"}}})});
  record(writer, 1, each_second(199, 601, joules));
  record(writer, 2, each_second(199, 601, [](double s) { return 4 * s; }));
  record(writer, 3, each_second(199, 601, [](double s) { return s; }));
  record(writer, 6, each_second(300, 600, [](double s) { return 10 * s; }));
  const Footprint found = find(run_, 200, 600);
  ASSERT_EQ(found.parts.size(), 1U);
  EXPECT_NEAR(found.parts[0].joules, 40'000, 1e-3);
  ASSERT_TRUE(found.parts[0].split) << found.parts[0].unsplit;
  EXPECT_NEAR(*found.parts[0].split->idle_w, 40, 1e-6);
  EXPECT_NEAR(found.parts[0].split->joules, 400 * (60 * 0.25 + 40 * 2.0 / 8), 1);
  EXPECT_EQ(find(idle, 1, 100).parts.at(0).split.has_value(), false) << "its CPU time is missing";
  ASSERT_EQ(found.units.size(), 3U);
  EXPECT_EQ(found.units[2].unit.from, "samples");
  EXPECT_DOUBLE_EQ(*found.units[2].unit.count, 10 * 299) << "it may have begun anywhere";
  EXPECT_EQ(found.units[0].unit.from, "no epochs were recorded in this time");
}

}  // namespace
}  // namespace corral::analyze
