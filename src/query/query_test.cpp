#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/json.h"
#include "query/export/export.h"
#include "query/loss.h"
#include "query/select.h"
#include "query/series/test_store.h"

namespace corral::query {
namespace {

using store::testing::samples;
using store::testing::series_def;
using store::testing::SessionWriter;
using testing::TestStore;

// ---- loss
TEST(Loss, TakesTheFirstKnownName) {
  TestStore store;
  const RunId run = RunId::random();
  SessionWriter writer = store.begin(run, {series_def(1, "aux_loss"), series_def(2, "train_loss"),
                                           series_def(3, "train/loss"), series_def(4, "loss")});
  const RunId runs[] = {run, RunId::random()};
  const auto loss = [&]() -> std::optional<Loss> {
    const auto all = read_losses(*store, runs);
    EXPECT_TRUE(all);
    const auto found = all->find(run);
    return found == all->end() ? std::nullopt : std::optional(found->second);
  };
  EXPECT_FALSE(loss()) << "declared, but nothing logged";
  store.append({writer.frame(samples(1, {{2000, 0.1}}, {7}))});
  EXPECT_EQ(loss()->metric, "aux_loss");
  store.append({writer.frame(samples(2, {{2000, 0.2}}))});
  EXPECT_EQ(loss()->metric, "train_loss");
  EXPECT_FALSE(loss()->step);
  store.append({writer.frame(samples(3, {{2000, 0.4}, {3000, 0.3}}, {1, 2}))});
  EXPECT_EQ(loss()->metric, "train/loss");
  EXPECT_EQ(loss()->value, 0.3);
  EXPECT_EQ(loss()->step, 2);
  store.append({writer.frame(samples(4, {{2000, std::numeric_limits<double>::quiet_NaN()}}))});
  EXPECT_EQ(loss()->metric, "loss");
  EXPECT_TRUE(std::isnan(loss()->value)) << "a run that diverged at once shows it";
  store.append({writer.frame(samples(4, {{3000, 0.7}}, {4}))});
  EXPECT_EQ(loss()->value, 0.7);
  store.append({writer.frame(samples(4, {{4000, std::numeric_limits<double>::infinity()}}, {5}))});
  EXPECT_TRUE(std::isnan(loss()->value)) << "and one that diverged later";
  EXPECT_FALSE(loss()->step);
}

// ---- RUN
class Select : public ::testing::Test {
 protected:
  void make(const char* hex, std::string name) {
    store_.begin(*RunId::parse(hex), {}, std::move(name), ++start_);
  }
  std::string id(std::string_view text) {
    const auto run = select_run(*store_, text);
    return run ? run->hex() : std::string(code_name(run.error().code)) + ": " + run.error().message;
  }
  TestStore store_;
  std::int64_t start_ = 1000;
};

TEST_F(Select, TakesIdsPrefixesNamesAndPositions) {
  make("abcd1000000000000000000000000000", "otter");
  make("abcd2000000000000000000000000000", "otter");
  make("beef0000000000000000000000000000", "abcd");
  EXPECT_EQ(id("abcd1000000000000000000000000000"), "abcd1000000000000000000000000000");
  EXPECT_EQ(id("ABCD1"), "abcd1000000000000000000000000000");
  EXPECT_EQ(id("beef"), "beef0000000000000000000000000000");
  EXPECT_EQ(id("otter"), "abcd2000000000000000000000000000") << "the newest of that name";
  EXPECT_EQ(id("abcd"), "beef0000000000000000000000000000") << "an ambiguous prefix, but a name";
  EXPECT_EQ(id("@1"), "beef0000000000000000000000000000");
  EXPECT_EQ(id("@3"), "abcd1000000000000000000000000000");
}

TEST_F(Select, ANameMayBeginTheIdOfItsOwnRun) {
  make("b0000000000000000000000000000000", "b");
  EXPECT_EQ(id("b"), "b0000000000000000000000000000000");
}

TEST_F(Select, SaysWhatWouldDo) {
  make("abcd1000000000000000000000000000", "otter");
  make("abcd2000000000000000000000000000", "otter");
  EXPECT_EQ(id("abcd"),
            "invalid_argument: abcd is the beginning of several runs' ids, "
            "abcd2000000000000000000000000000 and "
            "abcd1000000000000000000000000000 among them: give more digits");
  EXPECT_EQ(id("abc"),
            "not_found: no run has the id or name abc (ids are found by 4 digits or more); "
            "`corral ls runs` lists what is there");
  EXPECT_EQ(id("badger"),
            "not_found: no run has the id or name badger; `corral ls runs` lists what is there");
  EXPECT_EQ(id("@3"), "not_found: @3: there are only 2 runs; `corral ls runs` lists what is there");
  for (const char* wrong : {"@0", "@x", "@-1", ""})
    EXPECT_EQ(id(wrong).substr(0, 16), "invalid_argument") << wrong;
}

// ---- export
class Export : public ::testing::Test {
 protected:
  Result<> write(std::string metric, ExportFormat format) {
    text_.clear();
    parts_ = 0;
    largest_ = 0;
    const PartStream file =
        TRY(export_points(*store_, {.run = run_, .metric = std::move(metric), .format = format}));
    for (bool more = true; more; ++parts_) {
      std::string part;
      more = TRY(file(part));
      text_ += part;
      largest_ = std::max(largest_, part.size());
    }
    return {};
  }
  TestStore store_;
  RunId run_ = RunId::random();
  std::string text_;
  int parts_ = 0;
  std::size_t largest_ = 0;
};

TEST_F(Export, CsvQuotesWhatMustBeQuoted) {
  auto odd = series_def(1, "a,\"b\"");
  odd.source = "rank1";
  SessionWriter writer = store_.begin(run_, {odd, series_def(2, "x"), series_def(3, "other")});
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  store_.append({writer.frame(samples(1, {{2000, 0.1}}, {-3})),
                 writer.frame(samples(3, {{2500, 1}})),
                 writer.frame(samples(
                     2, {{3000, 1e300}, {3001, -kInfinity}, {3002, std::nan("")}, {3003, 3}}))});
  ASSERT_TRUE(write("[ax]*", ExportFormat::kCsv));
  EXPECT_EQ(text_,
            "metric,source,time_ns,step,value\n"
            "\"a,\"\"b\"\"\",rank1,1700000000000002000,-3,0.1\n"
            "x,,1700000000000003000,,1e+300\n"
            "x,,1700000000000003001,,-Infinity\n"
            "x,,1700000000000003002,,NaN\n"
            "x,,1700000000000003003,,3\n");
}

TEST_F(Export, JsonIsJson) {
  SessionWriter writer = store_.begin(run_, {series_def(1, "a\"b")});
  store_.append(
      {writer.frame(samples(1, {{2000, 0.25}, {2001, std::nan("")}}, {9007199254740993, 2}))});
  ASSERT_TRUE(write("*", ExportFormat::kJson));
  const auto json = Json::parse(text_);
  ASSERT_TRUE(json) << text_;
  EXPECT_EQ(json->get_string("run"), run_.hex());
  const auto& points = *json->find("points")->as_array();
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].get_string("metric"), "a\"b");
  EXPECT_EQ(points[0].get_string("time_ns"), "1700000000000002000");
  EXPECT_EQ(points[0].get_string("step"), "9007199254740993");
  EXPECT_EQ(points[0].find("value")->as_double(0), 0.25);
  EXPECT_EQ(points[1].get_string("value"), "NaN");
}

TEST_F(Export, ComesInPartsOfASeriesAtMost) {
  SessionWriter writer = store_.begin(run_, {series_def(1, "x"), series_def(2, "y")});
  std::vector<std::pair<std::int64_t, double>> points;
  for (std::int64_t i = 0; i < 20'000; ++i)
    points.emplace_back(2000 + i, static_cast<double>(i) / 7);
  store_.append({writer.frame(samples(1, points)), writer.frame(samples(2, points))});
  ASSERT_TRUE(write("*", ExportFormat::kCsv));
  EXPECT_GE(parts_, 2);
  EXPECT_EQ(std::ranges::count(text_, '\n'), 40'001);
  EXPECT_LT(largest_, text_.size() * 2 / 3);
}

TEST_F(Export, OfARunThatIsRemovedMeanwhileIsAnError) {
  using enum ExportFormat;
  for (const ExportFormat format : {kCsv, kJson, kJsonLines}) {
    const RunId run = RunId::random();
    SessionWriter writer = store_.begin(run, {series_def(1, "x"), series_def(2, "y")});
    std::vector<std::pair<std::int64_t, double>> points;
    for (std::int64_t i = 0; i < 20'000; ++i) points.emplace_back(2000 + i, 0.5);
    store_.append({writer.frame(samples(1, points)), writer.frame(samples(2, points))});
    const PartStream file =
        export_points(*store_, {.run = run, .metric = "*", .format = format}).value();
    std::string part;
    ASSERT_TRUE(file(part).value());
    ASSERT_TRUE(store_->remove_runs(std::span(&run, 1), {.force = true}));
    Result<bool> more = true;
    while (more && *more) more = file(part);
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().code, Code::kNotFound);
    EXPECT_NE(more.error().message.find("was removed"), std::string::npos);
  }
}

TEST_F(Export, NamesAPatternThatMatchesNothing) {
  store_.begin(run_, {series_def(1, "x")});
  const auto done = write("y*", ExportFormat::kCsv);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kNotFound);
  EXPECT_EQ(parts_, 0);
}

}  // namespace
}  // namespace corral::query
