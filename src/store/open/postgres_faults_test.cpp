// A database that goes away and comes back while points are stored, sealed and removed: no
// acknowledged point is lost, none is stored twice, and every node that lost its connection
// continues by itself.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "store/open/test_postgres_nodes.h"

namespace corral::store {
namespace {

using testing::samples;
using testing::series_def;
using testing::session_body;
using testing::SessionWriter;

constexpr std::int64_t kRows = 700;  // per frame: a dozen frames fill a block

// The database is away, or the other node was faster.
bool passing(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kConflict;
}

class PostgresFaults : public PostgresNodes {
 protected:
  // Appends to a run of its own on a thread, each frame again until it is taken; the values are 0,
  // 1, 2...
  class Feeder {
   public:
    explicit Feeder(Store& store) : thread_([this, &store] { feed(store); }) {}
    ~Feeder() { finish(); }
    Feeder(const Feeder&) = delete;
    Feeder& operator=(const Feeder&) = delete;
    [[nodiscard]] RunId run() const { return run_; }
    // The number of acknowledged points.
    std::size_t finish() {
      stop_ = true;
      if (thread_.joinable()) thread_.join();
      return static_cast<std::size_t>(frames_ * kRows);
    }
    void wait_for(std::int64_t frames) const {
      const std::int64_t wanted = frames_ + frames;
      const BootTime until = sys::boot_now() + std::chrono::seconds(120);
      while (frames_ < wanted && sys::boot_now() < until) std::this_thread::yield();
      EXPECT_GE(frames_, wanted) << "appending goes on";
    }

   private:
    void feed(Store& store) {
      SessionWriter writer;
      until_taken(store, writer.frame(session_body(run_)));
      until_taken(store, writer.frame(codec::SchemaBody{.series = {series_def(1, "x")}}));
      while (!stop_ && !HasFatalFailure()) {
        std::vector<std::pair<std::int64_t, double>> points;
        for (std::int64_t i = 0; i < kRows; ++i) {
          const std::int64_t n = frames_ * kRows + i;
          points.emplace_back(2000 + n, static_cast<double>(n));
        }
        until_taken(store, writer.frame(samples(1, points)));
        ++frames_;
      }
    }

    const RunId run_ = RunId::random();
    std::atomic<bool> stop_ = false;
    std::atomic<std::int64_t> frames_ = 0;
    std::thread thread_;  // last: it uses the members above
  };

  // Calls `work` on a thread again and again for as long as it lives.
  class Repeat {
   public:
    explicit Repeat(std::function<void()> work)
        : thread_([this, work = std::move(work)] {
            while (!stop_) work();
          }) {}
    ~Repeat() {
      stop_ = true;
      thread_.join();
    }
    Repeat(const Repeat&) = delete;
    Repeat& operator=(const Repeat&) = delete;

   private:
    std::atomic<bool> stop_ = false;
    std::thread thread_;
  };

  void seal(int node, bool settle) {
    const auto sealed = nodes_[node]->seal(settle);
    if (!sealed) {
      EXPECT_TRUE(passing(sealed.error())) << sealed.error().message;
    } else {
      ++seals_;
    }
  }
  void expect_all(RunId run, std::size_t points) {
    for (Node& node : nodes_) {
      EXPECT_EQ(values_of(*node, run, "x"), numbers(points));
      const auto series = reader_of(*node).series_of(run);
      ASSERT_TRUE(series && series->size() == 1);
      EXPECT_EQ(series->at(0).points, static_cast<std::int64_t>(points)) << "statistics agree";
    }
  }
  std::int64_t count(const std::string& query) {
    const auto found = admin()->number(query);
    EXPECT_TRUE(found) << found.error().message;
    return found ? found->value_or(0) : -1;
  }
  // The schema of this test's store.
  [[nodiscard]] std::string table(const std::string& name) const {
    return url_.substr(url_.rfind("%3D") + 3) + "." + name;
  }

  // Appends from as many threads at once as there are writers, one frame each; true: stored.
  std::vector<bool> append_at_once(std::vector<SessionWriter>& writers, std::int64_t time) {
    std::vector<codec::Frame> frames;
    for (SessionWriter& writer : writers) frames.push_back(writer.frame(samples(1, {{time, 1.0}})));
    std::vector<char> stored(frames.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < frames.size(); ++i) {
      threads.emplace_back([&, i] {
        const auto result = nodes_[0]->append(std::span(&frames[i], 1));
        stored[i] = static_cast<char>(result.has_value());
        if (!result) {
          EXPECT_EQ(result.error().code, Code::kUnavailable) << result.error().message;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (stored[i] == 0) writers[i].seek(writers[i].next() - 1);
    }
    return {stored.begin(), stored.end()};
  }

  std::atomic<int> seals_ = 0;
};

// Another node's transaction that stands still; it holds one row.
class HeldRow : public PostgresFaults {
 protected:
  static constexpr std::size_t kWriters = 12;

  void SetUp() override {
    PostgresFaults::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    writers_.resize(kWriters);
    for (SessionWriter& writer : writers_) {
      runs_.push_back(RunId::random());
      must(*nodes_[0], {writer.frame(session_body(runs_.back())),
                        writer.frame(codec::SchemaBody{.series = {series_def(1, "x")}})});
    }
  }
  // Only calls that need the row are refused, soon, and are accepted once the row is free.
  void expect_only_the_first_waits(const std::string& row) {
    const auto holder = admin();
    ASSERT_TRUE(holder->script("BEGIN"));
    ASSERT_TRUE(holder->exec("SELECT 1 FROM " + row + " FOR NO KEY UPDATE"));
    const BootTime begun = sys::boot_now();
    std::vector<bool> expected(kWriters, true);
    expected[0] = false;
    for (std::int64_t round = 0; round < 3; ++round)
      EXPECT_EQ(append_at_once(writers_, 5000 + round), expected);
    // A slow disk has its share; one after the other they would wait half a minute.
    EXPECT_LT(sys::boot_now() - begun, std::chrono::seconds(20)) << "one second each at most";
    ASSERT_TRUE(holder->script("ROLLBACK"));
    EXPECT_EQ(append_at_once(writers_, 6000), std::vector<bool>(kWriters, true));
    EXPECT_EQ(values_of(*nodes_[1], runs_[0], "x").size(), 1U);
    EXPECT_EQ(values_of(*nodes_[1], runs_[1], "x").size(), 4U);
  }

  std::vector<SessionWriter> writers_;
  std::vector<RunId> runs_;
};

TEST_F(HeldRow, OfASessionRefusesItsCallAlone) {
  expect_only_the_first_waits(table("sessions") + " WHERE id = '\\x" + writers_[0].id().hex() +
                              "'");
}

TEST_F(HeldRow, OfARunRefusesItsCallsAlone) {
  expect_only_the_first_waits(table("runs") + " WHERE id = '\\x" + runs_[0].hex() + "'");
  for (std::size_t i = 0; i < kWriters; ++i)
    EXPECT_EQ((*reader_of(*nodes_[1]).run(runs_[i]))->newest, testing::utc(6000));
}

// A group of one node's holds a row that the other's waits for, and the other way round. A call
// that is refused because of that (a slow machine holds rows for longer than is waited for) has
// left nothing behind: sent again, as clients do, it counts once.
TEST_F(PostgresFaults, CallsThatLockTheSameRunsInAnyOrderCountOnce) {
  constexpr std::size_t kThreads = 6;  // per node
  std::array<RunId, 3> runs{};
  for (RunId& run : runs) {
    run = RunId::random();
    must(*nodes_[0], {SessionWriter().frame(session_body(run))});
  }
  std::atomic<int> lost = 0;
  std::vector<std::thread> threads;
  for (std::size_t n = 0; n < 2 * kThreads; ++n) {
    threads.emplace_back([&, n] {
      for (std::size_t i = 0; i < 20; ++i) {
        const RunId run = runs[(n * 7 + i * (n % 2 + 1)) % runs.size()];
        const auto call = [&] {
          return nodes_[n % 2]->change([&](sql::Connection& db) -> Result<> {
            TRY(db.exec("SELECT key FROM runs WHERE id = ?1 FOR NO KEY UPDATE", run));
            TRY(db.exec("SELECT pg_sleep(0.003)"));
            return db.exec("UPDATE runs SET user_id = user_id || 'x' WHERE id = ?1", run);
          });
        };
        auto done = call();
        for (int again = 0; again < 50 && !done && done.error().code == Code::kUnavailable; ++again)
          done = call();
        if (!done) lost += 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(admin()->number("SELECT sum(length(user_id)) FROM " + table("runs")).value(),
            static_cast<std::int64_t>(2 * kThreads * 20));
}

TEST_F(PostgresFaults, TwoNodesMayDeclareTheSameSeriesAtOnce) {
  constexpr std::uint32_t kSeries = 400;
  const RunId run = RunId::random();
  codec::SchemaBody up;
  codec::SchemaBody down;
  for (std::uint32_t i = 1; i <= kSeries; ++i) {
    up.series.push_back(series_def(i, "m" + std::to_string(i)));
    down.series.push_back(series_def(i, "m" + std::to_string(kSeries + 1 - i)));
  }
  SessionWriter writers[2];
  for (int n = 0; n < 2; ++n) must(*nodes_[n], {writers[n].frame(session_body(run))});
  std::vector<std::thread> threads;
  for (int n = 0; n < 2; ++n) {
    threads.emplace_back([&, n] {
      until_taken(*nodes_[n], writers[n].frame(n == 0 ? up : down));
      until_taken(*nodes_[n], writers[n].frame(samples(1, {{2000, 1.0 * n}})));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(reader_of(*nodes_[0]).series_of(run)->size(), kSeries);
  EXPECT_EQ(values_of(*nodes_[0], run, "m1"), std::vector<double>{0});
  EXPECT_EQ(values_of(*nodes_[0], run, "m" + std::to_string(kSeries)), std::vector<double>{1});
}

TEST_F(PostgresFaults, ACrashWhileSealingLosesAndDoublesNothing) {
  Feeder one(*nodes_[0]);
  Feeder two(*nodes_[1]);
  {
    const Repeat sealing([&] { seal(0, seals_ % 5 == 0); });
    for (int round = 0; round < 8; ++round) {
      one.wait_for(4);
      two.wait_for(4);
      server_->stop_at_once();
      const auto started = server_->start();
      ASSERT_TRUE(started) << started.error().message;
    }
    one.wait_for(4);
    two.wait_for(4);
  }
  const std::size_t first = one.finish();
  const std::size_t second = two.finish();
  expect_all(one.run(), first);
  expect_all(two.run(), second);
  ASSERT_TRUE(nodes_[0]->seal(true));
  EXPECT_GT(count("SELECT count(*) FROM " + table("blocks")), 0) << "there was something to seal";
  EXPECT_EQ(count("SELECT count(*) FROM " + table("batches")), 0);
  expect_all(one.run(), first);
  expect_all(two.run(), second);
}

TEST_F(PostgresFaults, AConnectionCutInATransactionLosesAndDoublesNothing) {
  Feeder feeder(*nodes_[0]);
  std::int64_t cut = 0;
  {
    const Repeat one([&] { seal(0, false); });
    const Repeat two([&] { seal(1, seals_ % 5 == 0); });
    const auto outside = admin();
    // A slow machine has time for ten.
    const BootTime until = sys::boot_now() + std::chrono::seconds(20);
    const auto patience = [&] { return cut < 10 ? until + std::chrono::seconds(100) : until; };
    for (int round = 0; cut < 60 && sys::boot_now() < patience(); ++round) {
      if (round % 8 == 0) feeder.wait_for(1);
      const auto ended = outside->number(
          "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid "
          "<> pg_backend_pid() AND backend_type = 'client backend' AND "
          "backend_xid IS NOT NULL");
      ASSERT_TRUE(ended) << ended.error().message;
      cut += ended->value_or(0);
    }
    feeder.wait_for(4);
  }
  EXPECT_GE(cut, 10) << "transactions that had written something";
  const std::size_t points = feeder.finish();
  expect_all(feeder.run(), points);
  ASSERT_TRUE(nodes_[1]->seal(true));
  expect_all(feeder.run(), points);
}

TEST_F(PostgresFaults, TwoNodesMaySealTheSameSessionsAtOnce) {
  Feeder one(*nodes_[0]);
  Feeder two(*nodes_[1]);
  {
    const Repeat first([&] { seal(0, false); });
    const Repeat second([&] { seal(1, false); });
    one.wait_for(40);
    two.wait_for(40);
  }
  const std::size_t points[] = {one.finish(), two.finish()};
  EXPECT_GT(seals_, 2);
  std::thread other([&] { seal(1, true); });
  seal(0, true);
  other.join();
  expect_all(one.run(), points[0]);
  expect_all(two.run(), points[1]);
}

TEST_F(PostgresFaults, ARunMayGoWhileTheOtherNodeStoresAndSealsIt) {
  Feeder kept(*nodes_[0]);
  {
    const Repeat first([&] { seal(0, false); });
    const Repeat second([&] { seal(1, seals_ % 3 == 0); });
    for (int round = 0; round < 2; ++round) {
      Feeder gone(*nodes_[0]);
      gone.wait_for(8);
      const auto remove = [&] {
        return nodes_[1]->remove_runs(std::array{gone.run()}, {.force = true});
      };
      auto removal = remove();
      // A slow disk holds rows for longer than is waited for.
      for (int again = 0; again < 50 && !removal && removal.error().code == Code::kUnavailable;
           ++again)
        removal = remove();
      ASSERT_TRUE(removal) << removal.error().message;
      gone.wait_for(3);  // acknowledged, and ignored
      gone.finish();
      for (Node& node : nodes_) EXPECT_FALSE(*reader_of(*node).run(gone.run()));
    }
    kept.wait_for(2);
  }
  const std::size_t points = kept.finish();
  ASSERT_TRUE(nodes_[0]->seal(true));
  expect_all(kept.run(), points);
  EXPECT_EQ(count("SELECT count(*) FROM " + table("removals")), 0);
  EXPECT_EQ(count("SELECT count(*) FROM " + table("series")), 1);
  for (const char* of_sessions :
       {"batches", "row_groups", "slices", "block_times", "session_series"}) {
    EXPECT_EQ(count("SELECT count(*) FROM " + table(of_sessions) +
                    " WHERE session IN (SELECT key "
                    "FROM " +
                    table("sessions") + " WHERE removed = 1)"),
              0)
        << of_sessions;
  }
  EXPECT_EQ(count("SELECT count(*) FROM " + table("sessions") + " WHERE removed = 1"), 2);
}

TEST_F(PostgresFaults, ARemovalThatACrashCutOffIsBroughtToItsEnd) {
  Feeder feeder(*nodes_[0]);
  feeder.wait_for(30);
  feeder.finish();
  ASSERT_TRUE(nodes_[0]->seal(true));
  ASSERT_TRUE(nodes_[0]->remove_runs(std::array{feeder.run()}, {.force = true}));
  server_->stop_at_once();
  const auto started = server_->start();
  ASSERT_TRUE(started) << started.error().message;
  for (Node& node : nodes_) node = nullptr;
  for (Node& node : nodes_) node = open();
  EXPECT_FALSE(*reader_of(*nodes_[1]).run(feeder.run()));
  ASSERT_TRUE(nodes_[1]->seal(false));
  EXPECT_EQ(count("SELECT count(*) FROM " + table("removals")), 0);
  EXPECT_EQ(count("SELECT count(*) FROM " + table("blocks")), 0);
  EXPECT_EQ(count("SELECT count(*) FROM " + table("series")), 0);
}

}  // namespace
}  // namespace corral::store
