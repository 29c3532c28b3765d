// Tests of the way into the journal: rows of the samplers, points of foreign sources, and the
// overhead of collecting.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

#include "collect/sampler/lanes.h"
#include "collect/sampler/listeners.h"
#include "core/test_paths.h"
#include "run/record/facts.h"
#include "run/record/feeds.h"
#include "spool/test_spool.h"
#include "sys/clock.h"

namespace corral::run {
namespace {

namespace fs = spool::fs;
using spool::TestDirectory;
using std::chrono::seconds;

constexpr BootTime at(int s) { return BootTime(seconds(s)); }

// ---- metrics feed
// A ticker whose ticks the test triggers.
class ManualTicker final : public collect::Ticker {
 public:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t wanted = 0;
    std::uint64_t waiting = 0;  // number of calls of wait()
    bool stopped = false;
  };
  explicit ManualTicker(State& state) : state_(state) {}
  std::uint64_t wait() override {
    std::unique_lock lock(state_.mutex);
    ++state_.waiting;
    state_.changed.notify_all();
    state_.changed.wait(lock, [this] { return state_.stopped || state_.wanted > 0; });
    if (state_.stopped) return 0;
    --state_.wanted;
    return 1;
  }
  [[nodiscard]] BootTime due() const override { return sys::boot_now(); }
  void stop() override {
    const std::scoped_lock lock(state_.mutex);
    state_.stopped = true;
    state_.changed.notify_all();
  }

 private:
  State& state_;
};

struct Fed {
  explicit Fed(std::vector<const collect::ListenerEntry*> entries = {
                   collect::find_listener("proc")}) {
    collect::SamplerOptions options{.entries = std::move(entries),
                                    .root = fs::path(source_dir()) / "tests/fixtures/root_vm"};
    options.ticker = std::make_unique<ManualTicker>(ticks);
    samplers.push_back(collect::Sampler::open(std::move(options)).value());
    sampler = samplers[0].get();
    feed.emplace(samplers, ids);
  }
  // The first sample is taken without a tick.
  void wait_until_sampled() {
    std::unique_lock lock(ticks.mutex);
    ticks.changed.wait(lock, [&] { return ticks.waiting > 0; });
  }
  // After each tick the sampler waits for the next: its rows are in the ring then.
  void tick() {
    std::unique_lock lock(ticks.mutex);
    const std::uint64_t before = ticks.waiting;
    ++ticks.wanted;
    ticks.changed.notify_all();
    ticks.changed.wait(lock, [&] { return ticks.waiting > before; });
  }
  // Returns the decoded frames of the journal.
  std::vector<codec::Frame> frames() {
    std::vector<codec::Frame> all;
    const auto written = spool::FrameLogReader(directory.files()).read(0, 1u << 30).value();
    for (const codec::Bytes& bytes : written) {
      std::vector<codec::Frame> parts = codec::sections(codec::decode_frame(bytes).value()).value();
      std::ranges::move(parts, std::back_inserter(all));
    }
    return all;
  }
  ManualTicker::State ticks;
  std::vector<std::unique_ptr<collect::Sampler>> samplers;
  collect::Sampler* sampler = nullptr;
  SeriesIds ids;
  std::optional<MetricsFeed> feed;
  TestDirectory root;
  spool::RunDirectory directory =
      spool::RunDirectory::create(root.path(), spool::test_manifest()).value();
  spool::Journal journal = spool::Journal::open(directory, 1ll << 30).value();
};

std::map<std::uint32_t, codec::SeriesDef> declared(const std::vector<codec::Frame>& frames) {
  std::map<std::uint32_t, codec::SeriesDef> all;
  for (const codec::Frame& frame : frames) {
    if (frame.header.kind != codec::FrameKind::kSchema) continue;
    const auto body = codec::decode_schema(frame).value();
    for (const codec::SeriesDef& def : body.series)
      EXPECT_TRUE(all.emplace(def.id, def).second) << def.name << " is declared twice";
  }
  return all;
}

TEST(MetricsFeed, DeclaresWhatHasValuesBeforeTheFirstAndOnce) {
  Fed fed;
  ASSERT_TRUE(fed.sampler->start());
  fed.feed->flush(fed.journal);
  fed.tick();
  fed.tick();
  fed.feed->flush(fed.journal);
  fed.tick();
  fed.sampler->stop();
  fed.feed->flush(fed.journal);
  const std::size_t before = fed.frames().size();
  fed.feed->flush(fed.journal);
  EXPECT_EQ(fed.frames().size(), before);  // without new rows there is no frame

  const auto frames = fed.frames();
  const auto series = declared(frames);
  std::set<std::uint32_t> known;
  std::size_t rows = 0;
  std::map<std::string, std::size_t> points;
  for (const codec::Frame& frame : frames) {
    if (frame.header.kind == codec::FrameKind::kSchema) {
      const auto body = codec::decode_schema(frame).value();
      for (const auto& def : body.series) known.insert(def.id);
    } else {
      const auto body = codec::decode_samples(frame).value();
      for (const auto& group : body.groups) {
        rows += group.times.size();
        EXPECT_TRUE(std::ranges::is_sorted(group.times));
        for (const auto& column : group.columns) {
          EXPECT_TRUE(known.contains(column.series));
          EXPECT_FALSE(column.values.empty());
          points[series.at(column.series).name] += column.values.size();
        }
      }
    }
  }
  EXPECT_GE(series.size(), 30u);
  EXPECT_GE(rows, 4u);
  EXPECT_GE(points.at("host.memory.available"), 4u);
  const auto cpu = std::ranges::find_if(
      series, [](const auto& s) { return s.second.name == "host.memory.available"; });
  EXPECT_EQ(cpu->second.owner, metric::Owner::kHost);
  EXPECT_EQ(cpu->second.unit, "B");
}

TEST(MetricsFeed, ASupervisorWithoutTheWorkloadsLockNeverClaimsTheHostsSeries) {
  Fed fed;
  fed.sampler->set_host_sampling(false);
  ASSERT_TRUE(fed.sampler->start());
  fed.tick();
  fed.feed->flush(fed.journal);
  for (const auto& [id, def] : declared(fed.frames()))
    EXPECT_EQ(def.owner, metric::Owner::kRun) << def.name;
  fed.sampler->set_host_sampling(true);
  fed.tick();
  fed.tick();
  fed.sampler->stop();
  fed.feed->flush(fed.journal);
  const auto all = declared(fed.frames());
  EXPECT_TRUE(std::ranges::any_of(
      all, [](const auto& s) { return s.second.owner == metric::Owner::kHost; }));
}

// Opened on its own thread, after the feed was made.
std::unique_ptr<collect::Listener> open_late(const collect::ListenerContext&,
                                             collect::SeriesTable& table) {
  class Late final : public collect::Listener {
   public:
    explicit Late(collect::Column column) : column_(column) {}
    void sample_fast(collect::Row& row) override { row.set(column_, 0.5); }

   private:
    collect::Column column_;
  };
  return std::make_unique<Late>(table.add("host.load.1m", "late"));
}

TEST(MetricsFeed, ALaneThatIsOpenedLateDeclaresItsSeriesThenWithIdsOfItsOwn) {
  constexpr collect::ListenerEntry kLate{"late", "A device.", metric::Owner::kHost, open_late,
                                         collect::Lane::kDevice};
  Fed fed;
  const auto lanes = collect::Lanes::open({.entries = {&kLate}}).value();
  MetricsFeed feed(lanes->all(), fed.ids);
  feed.flush(fed.journal);
  EXPECT_TRUE(fed.frames().empty());
  ASSERT_TRUE(fed.sampler->start());
  ASSERT_TRUE(lanes->start());
  while (lanes->all()[1]->ticks() == 0) std::this_thread::yield();
  fed.tick();
  feed.flush(fed.journal);
  fed.feed->flush(fed.journal);
  lanes->stop(sys::boot_now() + seconds(60));
  fed.sampler->stop();
  std::set<std::string> sources;
  for (const auto& [id, def] : declared(fed.frames())) {
    if (def.name == "host.load.1m") sources.insert(def.source);
  }
  EXPECT_EQ(sources, (std::set<std::string>{"", "late"}));
}

struct Points {
  // "name/source@step" -> values in order; of all groups of all frames.
  static std::map<std::string, std::vector<double>> of(const std::vector<codec::Frame>& frames) {
    const auto series = declared(frames);
    std::map<std::string, std::vector<double>> all;
    for (const codec::Frame& frame : frames) {
      if (frame.header.kind != codec::FrameKind::kSamples) continue;
      const auto body = codec::decode_samples(frame).value();
      for (const auto& group : body.groups) {
        for (const auto& column : group.columns) {
          const auto& def = series.at(column.series);
          auto& values = all[def.name + "/" + def.source + (group.steps.empty() ? "" : "@")];
          values.insert(values.end(), column.values.begin(), column.values.end());
        }
      }
    }
    return all;
  }
};

// A driver that samples by itself: three points in each slow tick.
std::unique_ptr<collect::Listener> open_ring(const collect::ListenerContext&,
                                             collect::SeriesTable& table) {
  class Ring final : public collect::Listener {
   public:
    explicit Ring(collect::Column column) : column_(column) {}
    void sample_fast(collect::Row&) override {}
    void sample_slow(collect::Row& row) override {
      for (int i = 0; i < 3; ++i, ++next_) row.add(column_, at(next_), next_ * 100);
    }

   private:
    collect::Column column_;
    int next_ = 1;
  };
  return std::make_unique<Ring>(
      table.add_to(collect::kTimedGroup, "host.gpu.power.samples", "gpu0"));
}

TEST(MetricsFeed, PointsWithTimesOfTheirOwnKeepThem) {
  constexpr collect::ListenerEntry kRing{"ring", "A driver.", metric::Owner::kHost, open_ring};
  Fed fed({&kRing});
  ASSERT_TRUE(fed.sampler->start());
  fed.wait_until_sampled();
  fed.feed->flush(fed.journal);
  fed.sampler->stop();  // one more sample
  fed.feed->flush(fed.journal);
  const auto frames = fed.frames();
  EXPECT_EQ(Points::of(frames).at("host.gpu.power.samples/gpu0"),
            (std::vector<double>{100, 200, 300, 400, 500, 600}));
  const auto series = declared(frames);
  std::vector<BootTime> times;
  for (const codec::Frame& frame : frames) {
    if (frame.header.kind != codec::FrameKind::kSamples) continue;
    const auto body = codec::decode_samples(frame).value();
    for (const auto& group : body.groups) {
      if (series.at(group.columns.front().series).name == "host.gpu.power.samples")
        times.insert(times.end(), group.times.begin(), group.times.end());
    }
  }
  EXPECT_EQ(times, (std::vector<BootTime>{at(1), at(2), at(3), at(4), at(5), at(6)}));
}

// ---- values that cannot be

std::atomic<double> shown_by_a{21};

// Sensor a has the values that the test sets, b has impossible ones, and the GPU's share is valid.
std::unique_ptr<collect::Listener> open_liar(const collect::ListenerContext&,
                                             collect::SeriesTable& table) {
  class Liar final : public collect::Listener {
   public:
    explicit Liar(collect::SeriesTable& table)
        : a_(table.add_to(collect::kFastGroup, "host.temperature", "a")),
          b_(table.add_to(collect::kFastGroup, "host.temperature", "b")),
          share_(table.add("host.gpu.sm.active", "gpu0")) {}
    void sample_fast(collect::Row& row) override {
      row.set(a_, shown_by_a.load());
      row.set(b_, -274.0);
      row.set(share_, 1.0);
    }

   private:
    collect::Column a_, b_, share_;
  };
  return std::make_unique<Liar>(table);
}

TEST(MetricsFeed, AValueThatCannotBeIsStoredAsReadAndToldOnce) {
  constexpr collect::ListenerEntry kLiar{"liar", "A bad sensor.", metric::Owner::kRun, open_liar};
  Fed fed({&kLiar});
  const auto told = [&] {
    std::vector<std::string> all;
    fed.feed->flush(fed.journal);
    for (const auto& [text, new_metric] : fed.feed->strays().drain_new())
      all.push_back((new_metric ? "! " : "") + text);
    return all;
  };
  ASSERT_TRUE(fed.sampler->start());
  fed.wait_until_sampled();
  shown_by_a = 1000;
  fed.tick();
  using Texts = std::vector<std::string>;
  EXPECT_EQ(told(), (Texts{"! host.temperature of b is -274, outside -40 to 150 °C: such values "
                           "are stored as read",
                           "host.temperature of a is 1000, outside -40 to 150 °C: such values are "
                           "stored as read"}));
  shown_by_a = 2000;
  fed.tick();
  fed.sampler->stop();  // one more sample
  EXPECT_EQ(told(), Texts{});
  std::map<std::string, std::string> facts;
  for (const codec::Fact& fact : fed.feed->strays().facts()) facts[fact.key] = fact.value;
  EXPECT_EQ(facts.size(), 2u);
  EXPECT_EQ(facts.at("outside.host.temperature of a"),
            R"("3 values outside -40 to 150 °C, stored as read: 1000 to 2000")");
  EXPECT_EQ(Points::of(fed.frames()).at("host.temperature/a"),
            (std::vector<double>{21, 1000, 2000, 2000}));
}

TEST(Strays, ASeriesWithoutNumbersCountsAndTheListEnds) {
  const metric::Metric& heat = *metric::find_metric("host.temperature");
  std::vector<collect::SeriesInfo> all(Strays::kMost + 1, {.metric = &heat, .source = "s"});
  Strays strays;
  for (const auto& series : all) strays.add(series, std::nan(""));
  strays.add(all[0], 500);
  EXPECT_EQ(strays.drain_new().size(), Strays::kMost);
  const auto facts = strays.facts();
  ASSERT_EQ(facts.size(), Strays::kMost + 1);
  EXPECT_TRUE(facts[0].value.ends_with("500 to 500\"")) << facts[0].value;
  EXPECT_EQ(facts.back().key, "outside.others");
}

// ---- points of foreign sources
TEST(PointFeed, WritesEveryPointWithItsSeriesTimeAndStep) {
  using collect::foreign::PointQueue;
  Fed fed;
  PointQueue queue;
  PointFeed feed(queue, fed.ids);
  feed.flush(fed.journal);
  EXPECT_TRUE(fed.frames().empty());
  const auto loss = queue.declare({.name = "loss", .source = "", .unit = ""}, "a").number;
  const auto power =
      queue
          .declare({.name = "power", .source = "gpu=0", .unit = "W", .kind = metric::Kind::kGauge},
                   "a")
          .number;
  for (int i = 0; i < 100; ++i) {
    queue.push({.series = loss, .time = at(i), .step = i, .value = 1.0 / (i + 1)});
    queue.push({.series = power, .time = at(i), .step = {}, .value = 100.0 + i});
  }
  feed.flush(fed.journal);
  const auto late =
      queue
          .declare({.name = "bytes", .source = "", .unit = "B", .kind = metric::Kind::kCounter},
                   "a")
          .number;
  queue.push({.series = power, .time = at(100), .step = {}, .value = 200});
  queue.push({.series = late, .time = at(100), .step = {}, .value = 5});
  queue.push({.series = late, .time = at(100), .step = {}, .value = 6});
  feed.flush(fed.journal);
  feed.flush(fed.journal);
  const auto frames = fed.frames();
  const auto points = Points::of(frames);
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points.at("loss/@").size(), 100u);
  EXPECT_EQ(points.at("loss/@").back(), 0.01);
  EXPECT_EQ(points.at("power/gpu=0").size(), 101u);
  EXPECT_EQ(points.at("power/gpu=0").back(), 200);
  EXPECT_EQ(points.at("bytes/"), (std::vector<double>{5, 6})) << "two of one time are two points";
  for (const auto& [id, def] : declared(frames)) {
    EXPECT_EQ(def.owner, metric::Owner::kRun);
    if (def.name == "bytes") {
      EXPECT_EQ(def.kind, metric::Kind::kCounter);
      EXPECT_EQ(def.unit, "B");
    }
  }
}

TEST(PointFeed, ASeriesKeepsItsOrderWhateverComesBesideIt) {
  collect::foreign::PointQueue queue;
  Fed fed;
  PointFeed feed(queue, fed.ids);
  const auto always = queue.declare({.name = "always", .source = "", .unit = ""}, "a").number;
  const auto now_and_then =
      queue.declare({.name = "now and then", .source = "", .unit = ""}, "a").number;
  for (int i = 0; i < 20; ++i) {
    queue.push({.series = always, .time = at(i), .step = {}, .value = 1.0 * i});
    if (i % 3 == 0)
      queue.push({.series = now_and_then, .time = at(i), .step = {}, .value = 1.0 * i});
  }
  feed.flush(fed.journal);
  const auto points = Points::of(fed.frames());
  EXPECT_EQ(points.at("always/").size(), 20u);
  EXPECT_TRUE(std::ranges::is_sorted(points.at("always/")));
  EXPECT_EQ(points.at("now and then/").size(), 7u);
}

TEST(PointFeed, CorralsOwnNamesStayItsOwn) {
  collect::foreign::PointQueue queue;
  Fed fed;
  PointFeed feed(queue, fed.ids);
  queue.push(
      {.series = queue.declare({.name = "run.cpu.used", .source = "", .unit = ""}, "a").number,
       .time = at(1),
       .step = {},
       .value = 1});
  queue.push(
      {.series = queue.declare({.name = "run.cpu.temp", .source = "", .unit = ""}, "a").number,
       .time = at(1),
       .step = {},
       .value = 1});
  feed.flush(fed.journal);
  const auto points = Points::of(fed.frames());
  ASSERT_NE(metric::find_metric("run.cpu.used"), nullptr);
  EXPECT_TRUE(points.contains("run.cpu.used/reported"));
  EXPECT_TRUE(points.contains("run.cpu.temp/"));
}

TEST(PointFeed, CorralsOwnSeriesKeepTheSourceOfTheirProcess) {
  collect::foreign::PointQueue queue;
  Fed fed;
  fed.ids.label = "rank3";
  PointFeed feed(queue, fed.ids);
  const auto series =
      queue.declare({.name = "corral.clock.offset", .source = "", .unit = "s", .own = true}, "us");
  queue.push({.series = series.number, .time = at(1), .step = {}, .value = 1});
  feed.flush(fed.journal);
  EXPECT_TRUE(Points::of(fed.frames()).contains("corral.clock.offset/rank3"));
}

TEST(PointFeed, TheWorkloadsSeriesAreRecordedByTheRunThatHasItsLock) {
  collect::foreign::PointQueue queue;
  Fed fed;
  PointFeed feed(queue, fed.ids);
  const auto device =
      queue
          .declare(
              {.name = "gpu.power", .source = "", .unit = "W", .owner = metric::Owner::kWorkload},
              "a")
          .number;
  const auto own = queue.declare({.name = "loss", .source = "", .unit = ""}, "a").number;
  const auto push = [&](int second) {
    for (const auto series : {device, own})
      queue.push({.series = series, .time = at(second), .step = {}, .value = 1.0 * second});
  };
  push(1);
  feed.flush(fed.journal, false);
  auto points = Points::of(fed.frames());
  EXPECT_FALSE(points.contains("gpu.power/"));
  EXPECT_TRUE(points.contains("loss/"));
  push(2);
  feed.flush(fed.journal, true);
  points = Points::of(fed.frames());
  EXPECT_EQ(points.at("gpu.power/").size(), 1u);
  EXPECT_EQ(points.at("loss/").size(), 2u);
}

TEST(PointFeed, AFloodIsCutIntoFrames) {
  collect::foreign::PointQueue queue(200'000);
  Fed fed;
  PointFeed feed(queue, fed.ids);
  const auto series = queue.declare({.name = "flood", .source = "", .unit = ""}, "a").number;
  for (int i = 0; i < 150'000; ++i)
    queue.push({.series = series, .time = BootTime(Nanos(i)), .step = {}, .value = 1.0 * i});
  feed.flush(fed.journal);
  EXPECT_EQ(Points::of(fed.frames()).at("flood/").size(), 150'000u);
}

// ---- the overhead of collecting
TEST(CollectingCost, IsInFactsAndIsSaidWhereItMatters) {
  CollectingCost cost{.cpu = std::chrono::milliseconds(7560),
                      .wall = seconds(3600),
                      .peak_memory = 9 << 20,
                      .written = 3 << 19,
                      .ticks = {.due = 36'000, .late = 3, .dropped_rows = 0},
                      .lateness_p50 = std::chrono::microseconds(80),
                      .lateness_p99 = std::chrono::milliseconds(2),
                      .lateness_greatest = std::chrono::milliseconds(7)};
  EXPECT_EQ(cost_summary(cost), "") << "as any run";
  cost.ticks.late = 4'000;
  EXPECT_EQ(cost_summary(cost), "11 % of 36,000 samples were late: short peaks may be missing");
  cost.ticks = {.due = 99, .late = 99, .dropped_rows = 0};
  EXPECT_EQ(cost_summary(cost), "") << "too few samples";
  cost.cpu = seconds(300);
  EXPECT_EQ(cost_summary(cost), "recording took 8 % of a core");
  cost.wall = std::chrono::milliseconds(9'900);
  EXPECT_EQ(cost_summary(cost), "") << "as much is the start";
  cost.ticks.due = 36'000;
  std::map<std::string, std::string> facts;
  for (const auto& fact : cost_facts(cost)) facts[fact.key] = fact.value;
  EXPECT_EQ(facts.at("collecting_ticks"), "36000");
  EXPECT_EQ(facts.at("collecting_lateness_p99_seconds"), "0.002");
  cost.peak_memory = 0;
  EXPECT_EQ(cost_facts(cost).size() + 1, facts.size()) << "what is not known is not said";
}

}  // namespace
}  // namespace corral::run
