#include "collect/sampler/sampler.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <vector>

#include "collect/test_roots.h"
#include "core/mutex.h"
#include "sys/clock.h"
#include "sys/thread_guard.h"

namespace corral::collect {
namespace {

// Plays the given wake-ups, then says that it is done and waits for stop().
class ScriptedTicker final : public Ticker {
 public:
  struct Done {
    Mutex mutex;
    std::condition_variable changed;
    // Guarded by mutex.
    bool reached GUARDED_BY(mutex) = false;
    bool stopped GUARDED_BY(mutex) = false;
  };
  ScriptedTicker(std::vector<std::uint64_t> script, Done& done)
      : script_(std::move(script)), done_(done) {}

  std::uint64_t wait() override {
    if (next_ < script_.size()) {
      due_ = sys::boot_now();
      return script_[next_++];
    }
    Lock lock(done_.mutex);
    done_.reached = true;
    done_.changed.notify_all();
    done_.changed.wait(lock.native(), [this]() REQUIRES(done_.mutex) { return done_.stopped; });
    return 0;
  }
  [[nodiscard]] BootTime due() const override { return due_; }
  void stop() override {
    const Lock lock(done_.mutex);
    done_.stopped = true;
    done_.changed.notify_all();
  }

 private:
  std::vector<std::uint64_t> script_;
  std::size_t next_ = 0;
  BootTime due_;
  Done& done_;
};

// Counts its reads; one of them takes as long as the scheduler might take a thread's CPU away.
std::atomic<int> reads{0};
std::atomic<int> interrupted_read{0};

class InterruptedListener final : public Listener {
 public:
  explicit InterruptedListener(Column column) : column_(column) {}
  void sample_fast(Row& row) override {
    const int read = ++reads;
    if (read == interrupted_read)
      sys::system_clock().sleep_until(sys::boot_now() + std::chrono::milliseconds(400));
    row.set(column_, static_cast<double>(read));
  }

 private:
  Column column_;
};
constexpr ListenerEntry kInterrupted{
    "interrupted", "One read is interrupted.", metric::Owner::kHost,
    [](const ListenerContext&, SeriesTable& table) -> std::unique_ptr<Listener> {
      return std::make_unique<InterruptedListener>(table.add("host.load.1m"));
    }};

class ThrowingListener final : public Listener {
 public:
  void sample_fast(Row& /*row*/) override { throw std::runtime_error("broken driver"); }
};
constexpr ListenerEntry kThrowing{
    "throwing", "Each read throws.", metric::Owner::kHost,
    [](const ListenerContext&, SeriesTable&) -> std::unique_ptr<Listener> {
      return std::make_unique<ThrowingListener>();
    }};

// A sampler over fixtures that has played its script when the constructor returns.
struct Played {
  Played(std::vector<std::string> listeners, std::vector<std::uint64_t> script,
         std::size_t ring_rows = 512) {
    SamplerOptions options{.listeners = std::move(listeners), .root = fixture_root("root_vm")};
    options.ring_rows = ring_rows;
    options.ticker = std::make_unique<ScriptedTicker>(std::move(script), done);
    sampler = Sampler::open(std::move(options)).value();
  }
  void play() {
    ASSERT_TRUE(sampler->start());
    Lock lock(done.mutex);
    done.changed.wait(lock.native(), [this]() REQUIRES(done.mutex) { return done.reached; });
  }
  // The groups of the rows so far, as "0" and "1".
  std::string groups() {
    std::string text;
    sampler->drain([&](const RowView& row) { text += static_cast<char>('0' + row.group); });
    return text;
  }

  ScriptedTicker::Done done;
  std::unique_ptr<Sampler> sampler;
};

std::size_t column_of(const Sampler& sampler, int group, std::string_view name) {
  const auto series = sampler.series(group);
  const auto at =
      std::ranges::find(series, name, [](const SeriesInfo& s) { return s.metric->name; });
  return static_cast<std::size_t>(at - series.begin());
}

TEST(Sampler, RefusesAnUnknownListenerAndNamesTheNearest) {
  const auto sampler = Sampler::open({.listeners = {"tere"}});
  ASSERT_FALSE(sampler);
  EXPECT_EQ(sampler.error().code, Code::kInvalidArgument);
  EXPECT_EQ(sampler.error().message.find(
                "unknown listener 'tere', did you mean 'tree'? There are: proc, tree"),
            0u)
      << sampler.error().message;
}

TEST(Sampler, RefusesAnIntervalOutOfReach) {
  EXPECT_FALSE(Sampler::open({.interval = Nanos(999'999)}));
  EXPECT_FALSE(Sampler::open({.interval = std::chrono::hours(1) + Nanos(1)}));
  EXPECT_TRUE(Sampler::open({.interval = std::chrono::hours(1)}));
}

TEST(Sampler, OpensAListenerOnceHoweverOftenItIsNamed) {
  const auto once = Sampler::open({.listeners = {"proc"}, .root = fixture_root("root_vm")}).value();
  const auto twice =
      Sampler::open({.listeners = {"proc", "proc"}, .root = fixture_root("root_vm")}).value();
  EXPECT_EQ(twice->series(0).size(), once->series(0).size());
}

TEST(Sampler, SamplesAtOnceThenAtEveryTickAndSlowlyOnceASecond) {
  Played p({"proc"}, std::vector<std::uint64_t>(20, 1));
  p.play();
  EXPECT_EQ(p.groups(),
            "01"
            "000000000"
            "01"
            "000000000"
            "01");
  EXPECT_EQ(p.sampler->ticks(), 21u);
  EXPECT_EQ(p.sampler->missed_ticks(), 0u);
}

TEST(Sampler, CountsMissedTicksAndStaysOnItsGrid) {
  Played p({"proc"}, {1, 8, 1, 1, 25, 1});
  p.play();
  EXPECT_EQ(p.sampler->missed_ticks(), 7u + 24);
  EXPECT_EQ(p.groups(),
            "01"
            "00"
            "01"
            "0"
            "01"
            "0")
      << "slow ones at the first tick of each second, never to catch up";
}

TEST(Sampler, TakesALastSampleOfEverythingWhenItStops) {
  Played p({"proc"}, {1, 1});
  p.play();
  p.groups();
  p.sampler->stop();
  EXPECT_EQ(p.groups(), "01");
  p.sampler->stop();
  EXPECT_EQ(p.groups(), "");
}

TEST(Sampler, DropsAndCountsNewRowsWhenNobodyTakesThem) {
  Played p({"proc"}, std::vector<std::uint64_t>(7, 1), 4);
  p.play();
  EXPECT_EQ(p.sampler->dropped_rows(), 5u) << "9 rows into a ring of 4";
  EXPECT_EQ(p.groups(), "0100");
}

TEST(Sampler, LeavesWorkloadSeriesOutWhileAnotherSupervisorSamplesThem) {
  Played p({"proc"}, {1});
  p.sampler->set_host_sampling(false);
  p.play();
  const std::size_t column = column_of(*p.sampler, 0, "host.memory.total");
  p.sampler->drain([&](const RowView& row) {
    if (row.group == kFastGroup) {
      EXPECT_EQ(row.present[column], 0);
    }
  });
  p.sampler->set_host_sampling(true);
  p.sampler->stop();
  bool seen = false;
  p.sampler->drain(
      [&](const RowView& row) { seen |= row.group == kFastGroup && row.present[column] == 1; });
  EXPECT_TRUE(seen);
}

TEST(Sampler, SaysWhatItCosts) {
  Played p({"proc"}, {1});
  p.sampler->set_bytes_written(4711);
  p.play();
  std::vector<double> slow;
  p.sampler->drain([&](const RowView& row) {
    if (row.group == kSlowGroup) slow.assign(row.values.begin(), row.values.end());
  });
  EXPECT_EQ(slow.at(column_of(*p.sampler, 1, "corral.collector.bytes")), 4711);
  EXPECT_GT(slow.at(column_of(*p.sampler, 1, "corral.collector.cpu")), 0);
  EXPECT_GT(slow.at(column_of(*p.sampler, 1, "corral.supervisor.rss")), 1e6);
  EXPECT_LT(column_of(*p.sampler, 0, "corral.collector.latency"), p.sampler->series(0).size());
}

TEST(Sampler, StopsAtOnceInTheMiddleOfALongSleep) {
  const auto sampler =
      Sampler::open({.listeners = {"proc"}, .interval = std::chrono::hours(1)}).value();
  ASSERT_TRUE(sampler->start());
  const BootTime before = sys::boot_now();
  sampler->stop();
  EXPECT_LT(sys::boot_now() - before, std::chrono::seconds(5));
}

TEST(Sampler, StampsRowsWithTheTimeOfTheirReads) {
  const auto sampler =
      Sampler::open({.listeners = {"proc"}, .interval = std::chrono::milliseconds(2)}).value();
  BootTime last = sys::boot_now();
  ASSERT_TRUE(sampler->start());
  std::size_t rows = 0;
  const auto check = [&](const RowView& row) {
    EXPECT_GE(row.time, last);
    last = row.time;
    ++rows;
  };
  while (rows < 20) sampler->drain(check);
  sampler->stop();
  sampler->drain(check);
  EXPECT_LE(last, sys::boot_now());
}

// The values of the rows of a listener whose reads count themselves.
std::vector<double> counted_reads(std::vector<std::uint64_t> script, Nanos interval,
                                  int interrupted = 0) {
  reads = 0;
  interrupted_read = interrupted;
  ScriptedTicker::Done done;
  SamplerOptions options{.entries = {&kInterrupted}, .interval = interval};
  options.ticker = std::make_unique<ScriptedTicker>(std::move(script), done);
  const auto sampler = Sampler::open(std::move(options)).value();
  EXPECT_TRUE(sampler->start());
  {
    Lock lock(done.mutex);
    done.changed.wait(lock.native(), [&]() REQUIRES(done.mutex) { return done.reached; });
  }
  sampler->stop();
  const std::size_t column = column_of(*sampler, kFastGroup, "host.load.1m");
  std::vector<double> values;
  sampler->drain([&](const RowView& row) {
    if (row.group == kFastGroup)
      values.push_back(row.present[column] != 0 ? row.values[column] : -1);
  });
  return values;
}

TEST(Sampler, ReadsAgainWhatWasInterrupted) {
  const std::vector<double> values = counted_reads({1, 1, 1}, std::chrono::seconds(2), 3);
  ASSERT_EQ(values.size(), 5u);
  EXPECT_EQ(values[2], 4) << "the third read was interrupted: its row has the values of the fourth";
  EXPECT_EQ(values[3], 5);
}

TEST(Sampler, HasNoRateOfTheHostOverTheMomentBeforeTheEnd) {
  EXPECT_EQ(counted_reads({1, 1}, std::chrono::hours(1)), (std::vector<double>{1, 2, 3, -1}));
  EXPECT_EQ(counted_reads({}, std::chrono::hours(1)), (std::vector<double>{1, 2}))
      << "a short run has two";
}

TEST(Sampler, AListenerThatThrowsLosesItsOwnValuesAndNothingElse) {
  const std::uint64_t failures = sys::thread_failures();
  reads = 0;
  interrupted_read = 0;
  ScriptedTicker::Done done;
  SamplerOptions options{.root = fixture_root("root_vm")};
  options.entries = {&kThrowing, &kInterrupted};
  options.ticker = std::make_unique<ScriptedTicker>(std::vector<std::uint64_t>(3, 1), done);
  const auto sampler = Sampler::open(std::move(options)).value();
  ASSERT_TRUE(sampler->start());
  {
    Lock lock(done.mutex);
    done.changed.wait(lock.native(), [&]() REQUIRES(done.mutex) { return done.reached; });
  }
  sampler->stop();
  EXPECT_GE(reads, 4);
  EXPECT_GE(sys::thread_failures(), failures + 4);
}

TEST(TimerTicker, CountsTheTicksThatWereSleptThrough) {
  const auto ticker = make_timer_ticker(std::chrono::milliseconds(1)).value();
  sys::system_clock().sleep_until(sys::boot_now() + std::chrono::milliseconds(20));
  EXPECT_GE(ticker->wait(), 20u);
  const BootTime first = ticker->due();
  EXPECT_LE(first, sys::boot_now() - std::chrono::milliseconds(19)) << "the first it slept through";
  const std::uint64_t passed = ticker->wait();
  EXPECT_GE(ticker->due() - first, std::chrono::milliseconds(20));
  EXPECT_LE(ticker->due() + (passed - 1) * std::chrono::milliseconds(1), sys::boot_now());
  ticker->stop();
  EXPECT_EQ(ticker->wait(), 0u);
}

}  // namespace
}  // namespace corral::collect
