// Bits of stored blobs turn over: a read says so or leaves a gap, and never gives wrong values.
#include <gtest/gtest.h>

#include <algorithm>

#include "store/faults/engine.h"
#include "store/faults/raw_sqlite.h"
#include "store/faults/script.h"
#include "store/faults/test_verify.h"
#include "store/open/sqlite_store.h"

namespace corral::store::faults {
namespace {

namespace fs = std::filesystem;

// A column of blobs, and whether the points themselves are in it.
struct FlipCase {
  const char* name;
  BlobColumn column;
  bool points;
};

class BitFlip : public ::testing::TestWithParam<FlipCase> {
 protected:
  // A store with rows of every level.
  void SetUp() override {
    auto store = open();
    ASSERT_TRUE(store);
    for (int i = 0; i < 24; ++i) {
      ASSERT_TRUE(store->append(script_.next()));
      if (i == 16 || i == 20) {
        ASSERT_TRUE(store->seal(false));
      }
    }
    sent_ = script_.points(script_.sent());
    for (auto& [name, points] : sent_) std::ranges::sort(points);
    store.reset();
    fs::copy_file(file_, good_);
    blobs_ = blobs(file_, GetParam().column);
    ASSERT_FALSE(blobs_.empty()) << "the history makes rows of " << GetParam().column.table;
  }

  std::unique_ptr<Store> open() {
    auto store = open_sqlite_store({.directory = workspace_.path() / "store"});
    EXPECT_TRUE(store) << store.error().message;
    return store ? *std::move(store) : nullptr;
  }

  // One bit of one random blob, the rest as it was written.
  void flip() {
    fs::copy_file(good_, file_, fs::copy_options::overwrite_existing);
    const auto& good = blobs_[random_() % blobs_.size()];
    auto damaged = good;
    const std::size_t bit = random_() % (damaged.size() * 8);
    damaged[bit / 8] = static_cast<std::uint8_t>(damaged[bit / 8] ^ (1U << (bit % 8)));
    replace_blob(file_, GetParam().column, good, damaged);
  }

  // Points found that were never sent.
  std::size_t invented(const ScriptPoints& found) {
    std::size_t count = 0;
    for (const auto& [name, points] : found) {
      std::vector<ScriptPoint> extra;
      std::ranges::set_difference(points, sent_[name], std::back_inserter(extra));
      count += extra.size();
    }
    return count;
  }
  static std::size_t size(const ScriptPoints& points) {
    std::size_t count = 0;
    for (const auto& [name, list] : points) count += list.size();
    return count;
  }

  void never_wrong() {
    std::size_t least = size(sent_);
    for (int round = 0; round < rounds_ && !HasFailure(); ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      flip();
      auto store = open();
      ASSERT_TRUE(store);
      const auto found = read_points(*store, script_);
      ASSERT_TRUE(found) << code_name(found.error().code) << ": " << found.error().message;
      EXPECT_GT(found->damaged, 0U) << "it was not noticed";
      EXPECT_EQ(invented(found->points), 0U);
      const std::size_t here = size(found->points);
      EXPECT_GT(here, size(sent_) / 2) << "the rest stays readable";
      least = std::min(least, here);
    }
    EXPECT_EQ(least < size(sent_), GetParam().points);
  }

  // Sealing continues around the damage and loses no other point.
  void seal_around() {
    for (int round = 0; round < rounds_ / 2 && !HasFailure(); ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      flip();
      auto store = open();
      ASSERT_TRUE(store);
      const auto before = read_points(*store, script_);
      const auto sealed = store->seal(true);
      ASSERT_TRUE(sealed) << code_name(sealed.error().code) << ": " << sealed.error().message;
      const auto after = read_points(*store, script_);
      ASSERT_TRUE(before && after);
      EXPECT_EQ(before->points, after->points);
      if (GetParam().points) {
        EXPECT_GT(after->damaged, 0U) << "the damage is forgotten";
      } else {
        EXPECT_EQ(problem_of(*store, script_, script_.sent()), "") << "all of it can be made anew";
      }
    }
  }

  const int rounds_ = static_cast<int>(25 * number_from_environment("CORRAL_SOAK", 1));
  Random random_{number_from_environment("CORRAL_FAULT_SEED", 1)};
  Script script_{11, {.series = 1, .sessions = 2, .rows = 2500, .large = 60}};
  ScriptPoints sent_;
  std::vector<std::vector<std::uint8_t>> blobs_;
  Workspace workspace_;
  const fs::path file_ = workspace_.path() / "store" / "corral.db";
  const fs::path good_ = workspace_.path() / "good.db";
};

TEST_P(BitFlip, IsAMarkedGapAndNeverAWrongValue) { never_wrong(); }
TEST_P(BitFlip, IsSealedAround) { seal_around(); }

// Rows of the pyramid and statistics follow from the points, so sealing remakes them.
class PyramidFlip : public BitFlip {};
TEST_P(PyramidFlip, IsNoticed) { never_wrong(); }
TEST_P(PyramidFlip, IsMadeAnewBySealing) { seal_around(); }
class StatisticsFlip : public BitFlip {};
TEST_P(StatisticsFlip, IsMadeAnewBySealing) { seal_around(); }

std::string name_of(const ::testing::TestParamInfo<FlipCase>& given) { return given.param.name; }
const FlipCase kStatistics = {"Slices", {"slices", "statistics"}, false};
const FlipCase kPyramid = {"Pyramid", {"pyramid", "data"}, false};
INSTANTIATE_TEST_SUITE_P(Sqlite, BitFlip,
                         ::testing::Values(FlipCase{"Batches", {"batches", "frame"}, true},
                                           FlipCase{"RowGroups", {"row_groups", "data"}, true},
                                           FlipCase{"BlockTimes", {"block_times", "data"}, true},
                                           FlipCase{"Blocks", {"blocks", "data"}, true}),
                         &name_of);
INSTANTIATE_TEST_SUITE_P(Sqlite, StatisticsFlip, ::testing::Values(kStatistics), &name_of);
INSTANTIATE_TEST_SUITE_P(Sqlite, PyramidFlip, ::testing::Values(kPyramid), &name_of);

}  // namespace
}  // namespace corral::store::faults
