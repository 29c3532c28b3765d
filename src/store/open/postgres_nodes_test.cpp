// Several stores ("nodes") on one database, and a database that goes away.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "store/open/test_postgres_nodes.h"

namespace corral::store {
namespace {

using testing::samples;
using testing::series_def;
using testing::session_body;
using testing::SessionWriter;

TEST_F(PostgresNodes, EachAnswersForWhatTheOtherTook) {
  const RunId run = RunId::random();
  constexpr std::size_t kFrames = 60;
  std::vector<std::thread> threads;
  for (int n = 0; n < 2; ++n) {
    threads.emplace_back([this, n, run] {
      SessionWriter writer;
      must(*nodes_[n], {writer.frame(session_body(run)),
                        writer.frame(codec::SchemaBody{.series = {series_def(1, "x")}})});
      for (std::size_t i = 0; i < kFrames; ++i) {
        const auto value = static_cast<double>(2 * i) + n;
        must(*nodes_[n],
             {writer.frame(samples(1, {{2000 + static_cast<std::int64_t>(i), value}}))});
        const auto seen = values_of(*nodes_[1 - n], run, "x");
        EXPECT_TRUE(std::ranges::binary_search(seen, value)) << "acknowledged, so it is read";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (Node& node : nodes_) EXPECT_EQ(values_of(*node, run, "x"), numbers(2 * kFrames));
}

TEST_F(PostgresNodes, ASessionMayGoToEitherAndBack) {
  const RunId run = RunId::random();
  SessionWriter writer;
  std::vector<codec::Frame> sent = {writer.frame(session_body(run))};
  must(*nodes_[0], sent);
  for (std::size_t i = 0; i < 30; ++i) {
    const auto id = static_cast<std::uint32_t>(i / 10 + 1);
    // A series is declared through one node and used through the other.
    if (i % 10 == 0)
      sent.push_back(writer.frame(codec::SchemaBody{.series = {series_def(id, "x")}}));
    sent.push_back(
        writer.frame(samples(id, {{2000 + static_cast<std::int64_t>(i), static_cast<double>(i)}})));
    must(*nodes_[i % 2], sent);  // everything again, and one frame more
  }
  must(*nodes_[0], sent);
  must(*nodes_[1], sent);
  for (Node& node : nodes_) {
    EXPECT_EQ(values_of(*node, run, "x"), numbers(30));
    EXPECT_EQ((*node->session(writer.id()))->durable_seq, sent.size());
  }
}

TEST_F(PostgresNodes, BothMayMakeTheSameThingsAtOnce) {
  constexpr int kRounds = 12;
  for (int round = 0; round < kRounds; ++round) {
    const RunId run = RunId::random();
    std::atomic<int> ready = 0;
    std::vector<std::thread> threads;
    for (int n = 0; n < 4; ++n) {
      threads.emplace_back([&, n] {
        SessionWriter writer;
        auto body = session_body(run);
        body.experiment = "experiment " + std::to_string(round);
        body.workload = workload_id_of(body.experiment, "shared");
        body.workload_name = "shared";
        const std::vector frames = {
            writer.frame(body),
            writer.frame(codec::SchemaBody{.series = {series_def(1, "x"), series_def(2, "y")}}),
            writer.frame(samples(1, {{2000 + n, static_cast<double>(n)}}))};
        ++ready;
        while (ready < 4) std::this_thread::yield();
        must(*nodes_[n % 2], frames);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(values_of(*nodes_[0], run, "x"), numbers(4));
    EXPECT_EQ(reader_of(*nodes_[1]).series_of(run)->size(), 2U);
  }
  EXPECT_EQ(reader_of(*nodes_[0]).experiments()->size(), static_cast<std::size_t>(kRounds));
  EXPECT_EQ(reader_of(*nodes_[0]).workloads(std::nullopt)->size(),
            static_cast<std::size_t>(kRounds));
}

// A session that appends on a thread of its own until finish(); each frame again until it is taken.
class Appender {
 public:
  using Take = void (*)(Store&, const codec::Frame&);
  Appender(Store& store, RunId run, Take take)
      : thread_([this, &store, run, take] { append(store, run, take); }) {}
  // The number of acknowledged points, with the values 0, 1, 2...
  std::size_t finish() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return sent_;
  }
  ~Appender() { finish(); }
  Appender(const Appender&) = delete;
  Appender& operator=(const Appender&) = delete;
  void wait_for(std::size_t more) const {
    const std::size_t wanted = sent_ + more;
    const BootTime until = sys::boot_now() + std::chrono::seconds(120);
    while (sent_ < wanted && sys::boot_now() < until) std::this_thread::yield();
    EXPECT_GE(sent_, wanted) << "appending goes on";
  }

 private:
  void append(Store& store, RunId run, Take take) {
    SessionWriter writer;
    take(store, writer.frame(session_body(run)));
    take(store, writer.frame(codec::SchemaBody{.series = {series_def(1, "x")}}));
    while (!stop_ && !::testing::Test::HasFatalFailure()) {
      const auto i = static_cast<std::int64_t>(sent_.load());
      take(store, writer.frame(samples(1, {{2000 + i, static_cast<double>(i)}})));
      ++sent_;
    }
  }

  std::atomic<bool> stop_ = false;
  std::atomic<std::size_t> sent_ = 0;
  std::thread thread_;  // last: it uses the members above
};

TEST_F(PostgresNodes, AServerThatCrashesLosesAndDoublesNothing) {
  const RunId runs[] = {RunId::random(), RunId::random()};
  std::size_t sent[2] = {};
  {
    Appender one(*nodes_[0], runs[0], &until_taken);
    Appender two(*nodes_[1], runs[1], &until_taken);
    for (int round = 0; round < 6; ++round) {
      one.wait_for(20);
      two.wait_for(20);
      server_->stop_at_once();
      const auto started = server_->start();
      ASSERT_TRUE(started) << started.error().message;
    }
    one.wait_for(20);
    two.wait_for(20);
    sent[0] = one.finish();
    sent[1] = two.finish();
  }
  for (int n = 0; n < 2; ++n) EXPECT_EQ(values_of(*nodes_[1 - n], runs[n], "x"), numbers(sent[n]));
}

// Another store stands for a replica that has nothing yet.
TEST_F(PostgresNodes, AFreshViewHasWhatTheReplicaLacks) {
  const auto behind = server_->new_schema();
  ASSERT_TRUE(behind);
  ASSERT_TRUE(open_postgres_store({.url = *behind}));
  const auto store = open_postgres_store({.url = url_, .read_url = *behind});
  ASSERT_TRUE(store) << store.error().message;
  const RunId run = RunId::random();
  SessionWriter writer;
  must(**store, {writer.frame(session_body(run)),
                 writer.frame(codec::SchemaBody{.series = {series_def(1, "x")}}),
                 writer.frame(samples(1, {{2000, 1.0}}))});
  const std::array id{reader_of(**store).series_of(run)->at(0).id};
  std::size_t chunks = 0;
  const auto count = [&](PointView& view) -> Result<> {
    chunks = view.recent(id[0]).size();
    return {};
  };
  ASSERT_TRUE(reader_of(**store).view(id, count));
  EXPECT_EQ(chunks, 0U);
  ASSERT_TRUE(reader_of(**store).fresh_view(id, count));
  EXPECT_EQ(chunks, 1U);
}

TEST_F(PostgresNodes, ACutConnectionIsMadeAgain) {
  const RunId run = RunId::random();
  Appender appender(*nodes_[0], run, &until_taken);
  const auto outside = admin();
  for (int round = 0; round < 20; ++round) {
    appender.wait_for(5);
    ASSERT_TRUE(
        outside->exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
                      "pg_backend_pid() AND backend_type = 'client backend'"));
  }
  appender.wait_for(5);
  const std::size_t sent = appender.finish();
  EXPECT_EQ(values_of(*nodes_[0], run, "x"), numbers(sent));
  EXPECT_EQ(values_of(*nodes_[1], run, "x"), numbers(sent));
}

TEST_F(PostgresNodes, WhileItIsAwayAppendSaysUnavailable) {
  SessionWriter writer;
  must(*nodes_[0], {writer.frame(session_body(RunId::random()))});
  server_->stop_at_once();
  const auto facts = writer.frame(codec::FactsBody{.facts = {{codec::FactKind::kTag, "a", "b"}}});
  const auto away = nodes_[0]->append(std::vector{facts});
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().code, Code::kUnavailable) << away.error().message;
  EXPECT_FALSE(reader_of(*nodes_[0]).experiments());
  ASSERT_TRUE(server_->start());
  until_taken(*nodes_[0], facts);
  EXPECT_TRUE(reader_of(*nodes_[0]).experiments());
}

TEST_F(PostgresNodes, NodesThatStartAtOnceMakeTheTablesOnce) {
  const auto url = server_->new_schema();
  ASSERT_TRUE(url);
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n) {
    threads.emplace_back([&] {
      PostgresOptions options;
      options.url = *url;
      const auto store = open_postgres_store(options);
      EXPECT_TRUE(store) << store.error().message;
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace corral::store
