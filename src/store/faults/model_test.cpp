// Random schedules against a plain list of the sent points. A failing one names its seed:
// CORRAL_MODEL_SEED=N runs that schedule alone.
#include <gtest/gtest.h>

#include "store/faults/engine.h"
#include "store/faults/script.h"
#include "store/faults/test_verify.h"
#include "store/faults/zoom.h"

namespace corral::store::faults {
namespace {

constexpr int kSteps = 80;

// Mostly short flushes; some seeds fill many blocks, one a second tier of the pyramid.
ScriptShape shape_of(std::uint64_t seed) {
  if (seed % 20 == 7) return {.series = 2, .sessions = 2, .rows = 6000, .large = 50};
  if (seed % 4 == 0) return {.series = 3, .rows = 2000};
  return {.rows = 300};
}

class Schedule {
 public:
  Schedule(Engine& engine, std::uint64_t seed)
      : engine_(engine), random_(seed), script_(seed * 2 + 1, shape_of(seed)) {}

  void run() {
    reopen();
    for (int i = 0; i < kSteps && !::testing::Test::HasFailure(); ++i) step();
    read_all();
    store_.reset();
    EXPECT_EQ(engine_.damage(), "");
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }

  void step() {
    const std::size_t die = pick(100);
    if (die < 50) {
      append(script_.next());
    } else if (die < 60) {
      append(script_.again());
    } else if (die < 65) {
      Frames frames = script_.again();
      for (codec::Frame& frame : script_.next()) frames.push_back(std::move(frame));
      append(frames);
    } else if (die < 72) {
      read_all();
    } else if (die < 84) {
      read_chart();
    } else if (die < 92) {
      const auto sealed = store_->seal(pick(2) == 0);
      EXPECT_TRUE(sealed) << sealed.error().message;
    } else if (die < 95) {
      reopen();
    } else {
      crash();
    }
  }

  void append(const Frames& frames) {
    const auto result = store_->append(frames);
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_TRUE(result->refusals.empty()) << result->refusals[0].error.message;
    acknowledged_ = script_.sent();
    for (const Ack& ack : result->acks) EXPECT_EQ(ack.durable_seq, acknowledged_.at(ack.session));
  }

  void reopen() {
    store_.reset();
    auto store = engine_.open();
    ASSERT_TRUE(store) << store.error().message;
    store_ = *std::move(store);
  }

  // The process dies somewhere in an append or in a seal; the client sends unacknowledged frames
  // again.
  void crash() {
    engine_.stop_after(pick(150));
    for (int i = 0; i < 20; ++i) {
      const bool seal = pick(3) == 0;
      if (seal) {
        if (!store_->seal(pick(2) == 0)) break;
        continue;
      }
      if (!store_->append(script_.next())) break;
      acknowledged_ = script_.sent();
    }
    store_.reset();
    engine_.restart();
    ASSERT_EQ(engine_.damage(), "");
    reopen();
    ASSERT_TRUE(store_);
    ASSERT_EQ(problem_of(*store_, script_, acknowledged_), "") << "after a crash";
    append(script_.above(acknowledged_));
    read_all();
  }

  void read_all() {
    ASSERT_TRUE(store_);
    ASSERT_EQ(problem_of(*store_, script_, acknowledged_), "");
  }

  void read_chart() {
    const auto all = reader_of(*store_).series_of(script_.run());
    ASSERT_TRUE(all) << all.error().message;
    if (all->empty()) return;
    const Series& series = all->at(pick(all->size()));
    if (series.points == 0) return;
    EXPECT_EQ(zoom_problem(*store_, series, script_.points(acknowledged_)[series.name], random_),
              "");
  }

  Engine& engine_;
  Random random_;
  Script script_;
  std::unique_ptr<Store> store_;
  Durable acknowledged_;
};

class StoreModel : public ::testing::TestWithParam<EngineFactory> {};

TEST_P(StoreModel, AnyScheduleGivesBackWhatWasLogged) {
  const std::uint64_t chosen = number_from_environment("CORRAL_MODEL_SEED", 0);
  const std::uint64_t first = chosen == 0 ? 1 : chosen;
  const std::uint64_t count = chosen == 0 ? 30 * number_from_environment("CORRAL_SOAK", 1) : 1;
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE("replay with CORRAL_MODEL_SEED=" + std::to_string(seed));
    const auto engine = GetParam()();
    Schedule(*engine, seed).run();
  }
}

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreModel, ::testing::Values(&sqlite_engine));

}  // namespace
}  // namespace corral::store::faults
