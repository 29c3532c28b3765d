#include "analyze/explain/stored_timeline.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "analyze/explain/leaves.h"
#include "query/series/test_store.h"

namespace corral::analyze {
namespace {

namespace frames = store::testing;

// Two ranks, each with a session of its own: an epoch with steps of two seconds, of which the last
// is open; their backward passes; a thread beside them. The phases come in reverse.
class StoredTimeline : public ::testing::Test {
 protected:
  static constexpr std::int64_t kSecond = 1'000'000'000;
  static constexpr int kSteps = 4;

  void SetUp() override {
    store_.begin(run_, {});
    for (int rank = 0; rank < 2; ++rank) add_rank(rank);
  }
  void add_rank(int rank) {
    frames::SessionWriter writer;
    store_.append({writer.frame(frames::session_body(run_, "process"))});
    std::vector<codec::PhaseRecord> phases;
    const std::string front = "node7/rank" + std::to_string(rank) + "/1/";
    const auto add = [&](const std::string& type, std::int64_t begin_s, std::int64_t end_s,
                         const std::string& thread) {
      codec::PhaseRecord& phase = phases.emplace_back();
      phase.id = static_cast<std::uint64_t>(100 - phases.size());
      phase.begin = boot_time(begin_s * kSecond);
      if (end_s > 0) phase.end = boot_time(end_s * kSecond);
      phase.name = type.substr(type.rfind('/') + 1);
      phase.type = type;
      phase.lane = front + thread;
    };
    add("save", 3, 4, "writer");
    for (int step = kSteps; step-- > 0;) {
      const std::int64_t begin = 1 + 2 * step;
      add("epoch 1/step/backward", begin + 1, begin + 2, "main");
      add("epoch 1/step", begin, step + 1 < kSteps ? begin + 2 : 0, "main");
    }
    add("epoch 1", 1, 20, "main");
    store_.append({writer.frame(codec::PhasesBody{.phases = phases})});
  }
  Result<Timeline> read(const TimelineReading& options) {
    const auto run = (*store_).run(run_);
    return read_timeline(*store_, **run, options);
  }
  static std::vector<std::string> names(const Timeline& timeline, std::size_t lane) {
    std::vector<std::string> names;
    for (const TimelinePhase& phase : timeline.phases(lane)) {
      names.push_back(timeline.text(phase.name));
      if (phase.open) names.back() += " (open)";
    }
    return names;
  }

  query::testing::TestStore store_;
  RunId run_ = RunId::random();
};

TEST_F(StoredTimeline, EachLaneHasItsPhasesInOrder) {
  const Timeline all = read({}).value();
  ASSERT_EQ(all.lanes(), 4U);
  EXPECT_EQ(all.unit(), Unit::kStep);
  std::size_t mains = 0;
  for (std::size_t lane = 0; lane < all.lanes(); ++lane) {
    if (all.lane(lane).ends_with("writer")) {
      EXPECT_EQ(names(all, lane), std::vector<std::string>{"save"});
      continue;
    }
    ++mains;
    EXPECT_EQ(names(all, lane),
              (std::vector<std::string>{"epoch 1", "step", "backward", "step", "backward", "step",
                                        "backward", "step (open)", "backward"}));
    EXPECT_EQ(all.text(all.phases(lane)[2].type), "epoch/step/backward");
    EXPECT_TRUE(all.is_unit(all.phases(lane)[1]));
    EXPECT_FALSE(all.is_unit(all.phases(lane)[0]));
    EXPECT_TRUE(all.is_epoch(all.phases(lane)[0]));
  }
  EXPECT_EQ(mains, 2U);
}

TEST_F(StoredTimeline, StepsAndEpochsAloneTellTheSameOfSteps) {
  std::size_t given = 0;
  const Timeline all = read({}).value();
  const Timeline units = read({.units_only = true, .also = [&](const auto&) { ++given; }}).value();
  EXPECT_EQ(given, 2U * (kSteps + 1));
  const Window window{.from = frames::utc(0), .to = frames::utc(20 * kSecond)};
  const auto summary = [&](const Timeline& timeline) {
    std::vector<std::pair<std::string, std::int64_t>> trained;
    for (const LaneLeaves& lane : find_leaves(timeline, window))
      if (lane.trains) trained.emplace_back(lane.lane, lane.in_steps.count() + lane.steps);
    return trained;
  };
  EXPECT_EQ(summary(units), summary(all));
  EXPECT_EQ(summary(units).size(), 2U);
  EXPECT_EQ(units.unit(), Unit::kStep);
}

TEST_F(StoredTimeline, ItEndsEarlyWhenNobodyWaits) {
  frames::SessionWriter writer;
  store_.append({writer.frame(frames::session_body(run_, "process"))});
  std::uint64_t id = 0;
  for (int frame = 0; frame < 34; ++frame) {
    std::vector<codec::PhaseRecord> phases(1000);
    for (codec::PhaseRecord& phase : phases) {
      phase.id = ++id;
      phase.begin = boot_time(static_cast<std::int64_t>(id));
      phase.end = phase.begin;
      phase.name = phase.type = "load";
      phase.lane = "node7/1/loader";
    }
    store_.append({writer.frame(codec::PhasesBody{.phases = std::move(phases)})});
  }
  std::size_t looks = 0;
  const auto wait = [&] { return ++looks == 0; };
  ASSERT_TRUE(read({.left = wait}));
  ASSERT_GE(looks, 3U);
  for (std::size_t last = 1; last <= looks; ++last) {
    std::size_t asked = 0, given = 0;
    const auto left = [&] { return ++asked == last; };
    const auto found = read({.left = left, .also = [&](const auto&) { ++given; }});
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Code::kUnavailable);
    EXPECT_EQ(given, (last - 1) * kPhasesBetweenLooks);
  }
}

}  // namespace
}  // namespace corral::analyze
