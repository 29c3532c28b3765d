// Lanes with listeners of the test's own: one that blocks or hangs stands for a vendor's library.
#include "collect/sampler/lanes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <set>

#include "core/mutex.h"
#include "sys/clock.h"

namespace corral::collect {
namespace {

using std::chrono::milliseconds;

// A door that the fake library waits at, in its open or in its reads.
class Door {
 public:
  void shut() { set(false); }
  void open() { set(true); }
  void pass() {
    Lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock.native(), [this]() REQUIRES(mutex_) { return open_; });
    --waiting_;
    changed_.notify_all();
  }
  void wait_for_visitor() {
    Lock lock(mutex_);
    changed_.wait(lock.native(), [this]() REQUIRES(mutex_) { return waiting_ > 0; });
  }
  void wait_until_empty() {
    Lock lock(mutex_);
    changed_.wait(lock.native(), [this]() REQUIRES(mutex_) { return waiting_ == 0; });
  }

 private:
  void set(bool open) {
    const Lock lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }

  Mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  bool open_ GUARDED_BY(mutex_) = true;
  int waiting_ GUARDED_BY(mutex_) = 0;
};

struct Library {
  Door at_open;
  Door at_read;
  std::atomic<int> reads{0};
  std::atomic<int> alive{0};
  std::atomic<std::int64_t> slowness{0};  // ns per read
};
Library library;

class LibraryListener final : public Listener {
 public:
  explicit LibraryListener(Column column) : column_(column) { ++library.alive; }
  ~LibraryListener() override { --library.alive; }
  void sample_fast(Row& row) override {
    library.at_read.pass();
    if (const Nanos slow(library.slowness.load()); slow > Nanos(0))
      sys::system_clock().sleep_until(sys::boot_now() + slow);
    row.set(column_, static_cast<double>(++library.reads));
  }

 private:
  Column column_;
};

std::unique_ptr<Listener> open_library(const ListenerContext& context, SeriesTable& table) {
  library.at_open.pass();
  if (context.news) tell(context.news, "fake0", "it is lost");
  table.unavailable("fake.power", "this device has no sensor");
  return std::make_unique<LibraryListener>(table.add("host.load.1m", "fake"));
}
std::unique_ptr<Listener> open_nothing(const ListenerContext&, SeriesTable& table) {
  table.unavailable("absent", "there is no such device");
  return nullptr;
}

constexpr ListenerEntry kFake{"fake", "A library.", metric::Owner::kRun, open_library,
                              Lane::kDevice};
constexpr ListenerEntry kHostFake{"hostfake", "The same on the host's lane.", metric::Owner::kRun,
                                  open_library, Lane::kHost};
constexpr ListenerEntry kAbsent{"absent", "Nothing.", metric::Owner::kRun, open_nothing,
                                Lane::kDevice};

class LanesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    library.at_open.open();
    library.at_read.open();
    library.reads = 0;
    library.slowness = 0;
  }
  static std::unique_ptr<Lanes> lanes(std::vector<const ListenerEntry*> entries,
                                      Nanos interval = milliseconds(1)) {
    return Lanes::open({.listeners = {"proc"},
                        .entries = std::move(entries),
                        .interval = interval,
                        .slow_interval = 10 * interval})
        .value();
  }
  static std::size_t rows_of(Sampler& sampler) {
    std::size_t rows = 0;
    sampler.drain([&](const RowView&) { ++rows; });
    return rows;
  }
  // Rows come until so many were seen, whatever the machine is doing.
  static void expect_rows(Sampler& sampler, std::size_t wanted) {
    for (std::size_t rows = 0; rows < wanted; rows += rows_of(sampler)) std::this_thread::yield();
  }
};

BootTime in(Nanos time) { return sys::boot_now() + time; }

TEST_F(LanesTest, GivesEachDeviceListenerALaneAndTheHostOne) {
  const auto three = lanes({&kFake, &kHostFake, &kAbsent, &kFake});
  ASSERT_EQ(three->all().size(), 3u);
  EXPECT_TRUE(three->host().opened());
  EXPECT_FALSE(three->all()[1]->opened()) << "its library is opened after the start";
  EXPECT_EQ(lanes({})->all().size(), 1u);
  EXPECT_FALSE(Lanes::open({.listeners = {"prok"}}));
}

TEST_F(LanesTest, OpensALibraryOffTheLaunchAndKeepsTheHostOnTime) {
  library.at_open.shut();
  const auto two = lanes({&kFake});
  Sampler& device = *two->all()[1];
  ASSERT_TRUE(two->start());
  library.at_open.wait_for_visitor();
  EXPECT_EQ(device.busy_listener(), "fake");
  expect_rows(two->host(), 50);
  EXPECT_FALSE(device.opened());
  EXPECT_TRUE(device.series(0).empty());
  EXPECT_TRUE(device.unavailable().empty());
  EXPECT_EQ(rows_of(device), 0u);
  library.at_open.open();
  expect_rows(device, 20);
  ASSERT_TRUE(device.opened());
  EXPECT_EQ(device.series(0).front().source, "fake");
  EXPECT_EQ(device.unavailable().front().reason, "this device has no sensor");
  // A machine that is busy may have something to say of the host, too.
  const auto of_device = [&] {
    auto news = two->take_problems();
    std::erase_if(news, [](const auto& one) { return one.source != "fake0"; });
    return news;
  };
  const auto news = of_device();
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].text, "it is lost");
  EXPECT_TRUE(news[0].missing);
  EXPECT_TRUE(of_device().empty());
  EXPECT_TRUE(two->stop(in(std::chrono::minutes(1))).empty());
  EXPECT_EQ(library.alive, 1) << "open until the lanes go";
}

TEST_F(LanesTest, AReadThatHangsHoldsUpNobodyAndIsLeftBehind) {
  auto two = lanes({&kFake});
  Sampler& device = *two->all()[1];
  ASSERT_TRUE(two->start());
  expect_rows(device, 5);
  library.at_read.shut();
  library.at_read.wait_for_visitor();
  expect_rows(two->host(), 50);
  EXPECT_EQ(two->stop(in(milliseconds(20))), std::vector<std::string>{"fake"});
  EXPECT_TRUE(two->left_behind());
  EXPECT_TRUE(two->stop(in(milliseconds(20))).empty()) << "said once";
  two.reset();
  EXPECT_EQ(library.alive, 1) << "the thread that hangs still has its listener";
  library.at_read.open();
  library.at_read.wait_until_empty();
  while (library.alive > 0) std::this_thread::yield();
}

TEST_F(LanesTest, AReadThatComesBackAfterLongIsTold) {
  const auto two =
      lanes({&kFake}, std::chrono::minutes(1));  // no read is slow but the one that hangs
  library.at_read.shut();
  ASSERT_TRUE(two->start());
  const auto next_state = [&] {
    for (;;) {
      for (const Problem& problem : two->take_problems()) {
        if (problem.source == "fake") return problem.state;
      }
      std::this_thread::sleep_for(milliseconds(10));
    }
  };
  EXPECT_EQ(next_state(), metric::HealthState::kPartial);
  library.at_read.open();
  EXPECT_EQ(next_state(), metric::HealthState::kActive);
}

TEST_F(LanesTest, ALibraryThatHangsWhileItIsOpenedIsLeftBehindToo) {
  library.at_open.shut();
  auto two = lanes({&kFake});
  ASSERT_TRUE(two->start());
  library.at_open.wait_for_visitor();
  EXPECT_EQ(two->stop(in(milliseconds(20))), std::vector<std::string>{"fake"});
  two.reset();
  library.at_open.open();
  library.at_open.wait_until_empty();
  while (library.alive > 0 || library.reads == 0) std::this_thread::yield();
}

TEST_F(LanesTest, AListenerWithNothingToMeasureEndsItsThreadAndSaysWhy) {
  const auto two = lanes({&kAbsent});
  ASSERT_TRUE(two->start());
  EXPECT_TRUE(two->stop(in(std::chrono::minutes(1))).empty());
  Sampler& device = *two->all()[1];
  EXPECT_TRUE(device.opened());
  EXPECT_EQ(rows_of(device), 0u);
  EXPECT_EQ(device.unavailable().front().source, "absent");
}

TEST_F(LanesTest, TakesALastSampleOfEveryLane) {
  const auto two = lanes({&kFake}, std::chrono::hours(1));
  Sampler& device = *two->all()[1];
  ASSERT_TRUE(two->start());
  EXPECT_TRUE(two->stop(in(std::chrono::minutes(1))).empty());
  double last = 0;
  device.drain([&](const RowView& row) {
    if (row.group == kFastGroup) last = row.values[0];
  });
  EXPECT_GE(last, 1) << "the wait for the first tick was ended";
}

TEST_F(LanesTest, AListenerThatKeepsBeingSlowIsReadOnceASecondAndSaysSoOnce) {
  library.slowness = Nanos(milliseconds(6)).count();
  const auto one = lanes({&kHostFake}, milliseconds(5));
  ASSERT_TRUE(one->start());
  std::vector<Problem> said;
  std::size_t fast = 0;
  std::size_t slow = 0;
  std::size_t with_value = 0;
  std::size_t column = 0;
  const auto series = one->host().series(kFastGroup);
  while (series[column].source != "fake") ++column;
  // A machine that is busy may have something to say of the others, too.
  const auto take_said = [&] {
    for (Problem& problem : one->take_problems()) {
      if (problem.source == "hostfake") said.push_back(std::move(problem));
    }
  };
  while (said.empty()) {
    take_said();
    rows_of(one->host());
  }
  const auto count = [&](const RowView& row) {
    ++(row.group == kFastGroup ? fast : slow);
    if (row.group == kFastGroup) with_value += row.present[column];
  };
  while (fast < 60) {
    one->host().drain(count);
    take_said();
  }
  ASSERT_EQ(said.size(), 1u);
  EXPECT_FALSE(said[0].missing);
  EXPECT_EQ(said[0].text.find("reading its fast values takes 0."), 0u) << said[0].text;
  EXPECT_NE(said[0].text.find("every 0.05 s only"), std::string::npos) << said[0].text;
  // The rows at both ends may lack theirs.
  EXPECT_LE(with_value, slow + 2) << "as often as there are slow rows, however late they come";
  EXPECT_GE(with_value, 1u);
}

TEST_F(LanesTest, SaysWhatEachThreadCosts) {
  const auto two = lanes({&kFake});
  ASSERT_TRUE(two->start());
  expect_rows(*two->all()[1], 30);
  two->stop(in(std::chrono::minutes(1)));
  const auto sources = [&](int lane, std::string_view metric) {
    std::set<std::string> found;
    for (const int group : {0, 1}) {
      for (const SeriesInfo& info : two->all()[static_cast<std::size_t>(lane)]->series(group))
        if (info.metric->name == metric) found.insert(info.source);
    }
    return found;
  };
  for (const char* metric : {"corral.collector.cpu", "corral.collector.wakeups",
                             "corral.collector.lateness", "corral.collector.missed_ticks"}) {
    EXPECT_EQ(sources(0, metric), std::set<std::string>{""}) << metric;
    EXPECT_EQ(sources(1, metric), std::set<std::string>{"fake"}) << metric;
  }
  EXPECT_EQ(sources(0, "corral.supervisor.cpu").size(), 1u);
  EXPECT_TRUE(sources(1, "corral.supervisor.cpu").empty()) << "the process is counted once";
  const Lanes::Ticks ticks = two->ticks();
  EXPECT_GE(ticks.due, 30u);
  EXPECT_LE(ticks.late, ticks.due);
  Lateness lateness;
  two->merge_lateness(lateness);
  EXPECT_GT(lateness.count(), 0u);
}

}  // namespace
}  // namespace corral::collect
