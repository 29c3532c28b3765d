#include "imports/run_writer.h"

#include <gtest/gtest.h>

#include "core/limits.h"
#include "upload/fake_server.h"

namespace corral::imports {
namespace {

class RunWriterTest : public ::testing::Test {
 protected:
  // Imports the first `points` of a source of two parts; returns the values that the store has.
  Result<std::size_t> import(int points, const RunEnding& ending = {}) {
    Store store{.transport = server, .has_run = [this](RunId) { return Result<bool>(there); }};
    auto writer = TRY(RunWriter::open(store, {.identity = "one", .name = "run", .experiment = {}}));
    for (const char* part : {"a", "b"}) {
      TRY(writer->part(part));
      for (int i = 0; i < points; ++i) {
        TRY(writer->point({.metric = i % 2 == 0 ? "loss" : "acc",
                           .source = part,
                           .step = i,
                           .time = utc_time(i),
                           .value = static_cast<double>(i)}));
      }
      TRY(writer->event({.time = {}, .name = "end", .attributes = {{"part", part}}}));
    }
    writer->param("lr", "0.1");
    TRY(writer->finish(ending));
    counts = store.counts;
    return server.values().size();
  }

  upload::FakeServer server;
  ImportCounts counts;
  bool there = true;
};

TEST_F(RunWriterTest, SendsEveryPointOnce) {
  EXPECT_EQ(import(10).value(), 20U);
  EXPECT_EQ(counts.new_runs, 1U);
  EXPECT_EQ(counts.new_points, 20U);
  EXPECT_EQ(server.events.size(), 3U);  // two, and the begin of the run
  ASSERT_EQ(server.facts.size(), 1U);
  EXPECT_EQ(server.facts[0], (codec::Fact{codec::FactKind::kParam, "lr", "0.1"}));
}

TEST_F(RunWriterTest, AgainAddsNothing) {
  ASSERT_TRUE(import(10));
  const auto sessions = server.sessions.size();
  EXPECT_EQ(import(10).value(), 20U);
  EXPECT_EQ(counts.new_runs, 0U);
  EXPECT_EQ(counts.new_points, 0U);
  EXPECT_EQ(counts.points, 20U);
  EXPECT_EQ(server.sessions.size(), sessions);
  EXPECT_EQ(server.ends.size(), 1U);
}

TEST_F(RunWriterTest, ARunOfNothingIsNotMade) {
  Store store{.transport = server, .has_run = [](RunId) { return Result<bool>(false); }};
  auto writer = RunWriter::open(store, {.identity = "one", .name = "run", .experiment = {}});
  ASSERT_TRUE(writer);
  ASSERT_TRUE((*writer)->part("a"));
  ASSERT_TRUE((*writer)->part("b"));
  (*writer)->remember("state");
  ASSERT_TRUE((*writer)->finish({}));
  EXPECT_EQ(store.counts.runs, 0U);
  EXPECT_EQ(store.counts.empty_runs, 1U);
  EXPECT_TRUE(server.sessions.empty());
  EXPECT_TRUE(server.facts.empty());
  EXPECT_TRUE(server.ends.empty());
}

TEST_F(RunWriterTest, ARemovedRunComesBackAsAnother) {
  ASSERT_TRUE(import(10));
  there = false;
  Store store{.transport = server, .has_run = [](RunId) { return Result<bool>(false); }};
  const auto writer = RunWriter::open(store, {.identity = "one", .name = "run", .experiment = {}});
  ASSERT_TRUE(writer);
  (*writer)->param("lr", "0.1");
  ASSERT_TRUE((*writer)->finish({}));
  EXPECT_EQ(store.counts.new_runs, 1U);
}

TEST_F(RunWriterTest, AnotherEndIsSent) {
  ASSERT_TRUE(import(1, {.start = {}, .end = utc_time(5), .exit_code = {}, .running = true}));
  EXPECT_TRUE(server.ends.empty());
  ASSERT_TRUE(import(1, {.start = {}, .end = utc_time(9), .exit_code = 3, .running = false}));
  ASSERT_EQ(server.ends.size(), 1U);
  EXPECT_EQ(server.ends[0].exit_code, 3);
  EXPECT_EQ(server.ends[0].reason, codec::EndReason::kExit);
}

// 40,000 points are several frames and requests; each of these may break in every way.
TEST_F(RunWriterTest, GoesOnAfterABreakWithoutLossOrRepetition) {
  using upload::Fault;
  for (const Fault fault : {Fault::kLostRequest, Fault::kLostAnswer, Fault::kHalfStored}) {
    for (std::size_t at = 0; at < 14; ++at) {
      server = {};
      server.faults.assign(at, Fault::kNone);
      server.faults.push_back(fault);
      if (!import(20'000)) {
        server.faults.clear();
        ASSERT_TRUE(import(20'000)) << at;
      }
      std::vector<double> values = server.values();
      ASSERT_EQ(values.size(), 40'000U) << at;
      std::ranges::sort(values);
      for (int i = 0; i < 40'000; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], i / 2);
    }
  }
}

TEST_F(RunWriterTest, LongNamesStayApart) {
  Store store{.transport = server, .has_run = [](RunId) { return Result<bool>(true); }};
  auto writer =
      RunWriter::open(store, {.identity = "one", .name = "run", .experiment = {}}).value();
  ASSERT_TRUE(writer->part("a"));
  const std::string name(1000, 'x');
  for (const std::string& metric : {name + "1", name + "2"}) {
    ASSERT_TRUE(writer->point({.metric = metric, .time = {}, .value = 1}));
    writer->param(metric, std::string(2 * limits::kFactBytes, 'v'));
  }
  ASSERT_TRUE(writer->finish({}));
  ASSERT_EQ(server.facts.size(), 2U);
  EXPECT_NE(server.facts[0].key, server.facts[1].key);
  EXPECT_EQ(server.facts[0].key.size(), limits::kNameBytes);
  EXPECT_EQ(server.facts[0].value.size(), limits::kFactBytes);
  EXPECT_EQ(store.counts.cut_texts, 6U);
}

TEST_F(RunWriterTest, TimesThatNoFrameCarriesAreCounted) {
  Store store{.transport = server, .has_run = [](RunId) { return Result<bool>(true); }};
  auto writer =
      RunWriter::open(store, {.identity = "one", .name = "run", .experiment = {}}).value();
  ASSERT_TRUE(writer->part("a"));
  ASSERT_TRUE(
      writer->point({.metric = "m", .time = utc_time(-9'000'000'000'000'000'000), .value = 1}));
  ASSERT_TRUE(writer->point({.metric = "m", .time = utc_time(0), .value = 1}));
  EXPECT_EQ(store.counts.moved_times, 1U);
}

}  // namespace
}  // namespace corral::imports
