// POST /compare over a real store.

#include <gtest/gtest.h>

#include <array>
#include <deque>

#include "server/core/test_handlers.h"
#include "store/test_frames.h"

namespace corral::server {
namespace {

namespace frames = store::testing;

constexpr std::int64_t kNanos = 1'000'000'000;
const std::string kPath = "/api/corral/v1/compare";

class CompareRoute : public HandlerTest {
 protected:
  // Runs "base" of 100 s and "slow" of 130 s, five of each and one that failed, with a param.
  CompareRoute() {
    for (int i = 0; i < 5; ++i) {
      add("base", "32", 100'000 + i * 100);
      add("slow", "64", 130'000 + i * 100);
    }
    add("slow", "64", 20'000, 1);
  }
  RunId add(const std::string& name, const std::string& batch, std::int64_t ms, int status = 0) {
    const RunId run = RunId::random();
    auto body = frames::session_body(run, "supervisor");
    body.run_name = name;
    body.started = boot_time(at_);
    const auto done = store_->append(
        std::vector{writers_.emplace_back().frame(body),
                    writers_.back().frame(codec::FactsBody{
                        {{.kind = codec::FactKind::kParam, .key = "batch", .value = batch},
                         {.kind = codec::FactKind::kInfo,
                          .key = "given.tags",
                          .value = margin_given_ ? R"("corral.margin\n")" : R"("")"},
                         {.kind = codec::FactKind::kTag, .key = "corral.margin", .value = "2%"}}}),
                    writers_.back().frame(codec::RunEndBody{.time = boot_time(at_ + ms * 1'000'000),
                                                            .reason = codec::EndReason::kExit,
                                                            .exit_code = status,
                                                            .exit_signal = {}})});
    EXPECT_TRUE(done && done->refusals.empty());
    at_ += 1000 * kNanos;
    return run;
  }
  Json compare(const std::string& body) { return ok(Method::kPost, kPath, body); }

  bool margin_given_ = true;  // runs that are added have it from the start
  std::int64_t at_ = kNanos;
  std::deque<frames::SessionWriter> writers_;
};

void expect_slower(const Json& found) {
  const Json& groups = *found.find("groups");
  ASSERT_EQ(groups.as_array()->size(), 2U);
  EXPECT_EQ(groups.as_array()->at(0).get_int("n"), 5);
  EXPECT_EQ(groups.as_array()->at(1).get_int("n"), 5);
  EXPECT_EQ(groups.as_array()->at(1).find("warnings")->dump(),
            R"(["1 of 6 do not count: it ended as failed."])");
  const Json& difference = found.find("differences")->as_array()->at(0);
  EXPECT_EQ(difference.get_string("verdict"), "greater");
  EXPECT_NEAR(difference.find("ratio")->as_double(0), 1.3, 0.001);
  EXPECT_EQ(difference.find("set_up")->dump(),
            R"([{"part":"param","key":"batch","a":"32","b":"64"}])");
}

TEST_F(CompareRoute, ATextIsANameBeforeItIsAFilter) {
  const std::string by_filter = R"({"groups": [{"named": "params.batch = '32'"},
                                               {"named": "params.batch = '64'"}], "value": "duration"})";
  expect_slower(compare(by_filter));
  add("params.batch = '64'", "1", 90'000);
  EXPECT_EQ(compare(by_filter).find("groups")->as_array()->at(1).get_int("n"), 1);
}

TEST_F(CompareRoute, HistoriesSayWhereAValueChanged) {
  const std::string history = "/api/corral/v1/history";
  for (int i = 0; i < 5; ++i) add("base", "32", 150'000 + i * 100);
  const Json found =
      ok(Method::kPost, history,
         R"({"groups": [{"named": "base"}, {"named": "slow"}], "value": "duration"})");
  EXPECT_EQ(found.get_string("value"), "duration");
  const Json::Array& all = *found.find("histories")->as_array();
  ASSERT_EQ(all.size(), 2U);
  const Json& change = all[0].find("changes")->as_array()->at(0);
  EXPECT_NEAR(change.find("ratio")->as_double(0), 1.5, 0.01);
  EXPECT_FALSE(change.get_bool("confirmed"));
  EXPECT_TRUE(change.get_bool("worse"));
  EXPECT_EQ(all[0].find("segments")->as_array()->at(1).get_int("first"), 5);
  EXPECT_EQ(all[1].find("changes")->dump(), "[]");
  EXPECT_EQ(all[1].find("units")->as_array()->back().get_string("reason"), "it ended as failed");
  const auto refused_body = [&](const char* body) {
    return send(Method::kPost, history, body).status;
  };
  EXPECT_EQ(refused_body(R"({"groups": []})"), 400);
  EXPECT_EQ(refused_body(R"({"groups": [{"named": "base"}], "better": "less"})"), 400);
}

TEST_F(CompareRoute, DifferencesAreRatiosToABaselinesMean) {
  const RunId run = add("other", "1", 130'200);
  const auto differences = [&](const std::string& baseline) {
    return ok(Method::kPost, "/api/corral/v1/differences",
              R"({"baseline": )" + baseline + R"(, "runs": [")" + run.hex() +
                  R"("], "values": [{"value": "duration"}, {"value": "val_acc", "of": "last"}]})");
  };
  const Json found = differences(R"({"named": "base"})");
  EXPECT_EQ(found.get_string("baseline"), "base");
  const Json& duration = found.find("values")->as_array()->at(0);
  EXPECT_EQ(duration.get_int("n"), 5);
  EXPECT_NEAR(duration.find("mean")->as_double(0), 100.2, 0.01);
  EXPECT_LT(duration.find("low")->as_double(0), 99.9);
  EXPECT_EQ(found.find("values")->as_array()->at(1).get_string("reason"),
            "it has no value of val_acc of its own");
  const Json& row = found.find("runs")->as_array()->at(0);
  EXPECT_EQ(row.get_string("run"), run.hex());
  const Json& value = row.find("values")->as_array()->at(0);
  EXPECT_NEAR(value.find("ratio")->as_double(0), 1.3, 0.001);
  EXPECT_TRUE(value.get_bool("outside"));
  const Json with_itself = differences(R"({"runs": [")" + run.hex() + R"("]})");
  const Json& same = with_itself.find("runs")->as_array()->at(0).find("values")->as_array()->at(0);
  EXPECT_EQ(same.find("ratio")->as_double(0), 1);
  EXPECT_FALSE(same.get_bool("outside")) << "one run has no range";
  for (
      const char* body :
      {R"({"runs": ["@1"], "values": [{"value": "duration"}]})",
       R"({"baseline": {"named": "base"}, "values": [{"value": "duration"}]})",
       R"({"baseline": {"named": "base"}, "runs": ["@1"]})",
       R"({"baseline": {"named": "base"}, "runs": ["@1"], "values": [{"value": "duration", "by": "name"}]})"})
    EXPECT_EQ(send(Method::kPost, "/api/corral/v1/differences", body).status, 400) << body;
}

// 30 % slower than eight runs ago, although the last change was for the better.
TEST_F(CompareRoute, AHalfRepairedHistoryIsStillWorse) {
  for (const int ms : {100'000, 140'000, 130'000})
    for (int i = 0; i < (ms == 100'000 ? 6 : 4); ++i) add("nightly", "32", ms + i * 100);
  const Json found = ok(Method::kPost, "/api/corral/v1/history",
                        R"({"groups": [{"named": "nightly"}], "value": "duration"})");
  const Json& history = found.find("histories")->as_array()->at(0);
  const Json::Array& changes = *history.find("changes")->as_array();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_FALSE(changes[1].get_bool("worse"));
  EXPECT_TRUE(changes[0].get_bool("confirmed")) << "eight runs followed";
  const Json& newest = *history.find("newest");
  EXPECT_TRUE(newest.get_bool("worse"));
  EXPECT_NEAR(newest.find("ratio")->as_double(0), 1.3, 0.01);
  EXPECT_EQ(history.find("units")->as_array()->back().get_int("segment"), 2);
}

// Runs between two levels may belong to either side, and are named so.
TEST_F(CompareRoute, AHistorySaysWhichRunsMayBelongToEitherSide) {
  const std::array<int, 9> noise = {0, 3, -2, 1, -3, 2, -1, 3, 0};
  for (const int part : {0, 1}) {
    if (part == 1) add("vague", "32", 106'000);
    for (const int percent : noise) add("vague", "32", 100'000 + part * 12'000 + percent * 1000);
  }
  const Json found = ok(Method::kPost, "/api/corral/v1/history",
                        R"({"groups": [{"named": "vague"}], "value": "duration"})");
  const Json& change =
      found.find("histories")->as_array()->at(0).find("changes")->as_array()->at(0);
  EXPECT_EQ(change.get_int("last_before"), 8);
  EXPECT_EQ(change.get_int("first_after"), 10);
  EXPECT_NE(change.get_string("text").find("1 run between them may belong to either"),
            std::string::npos)
      << change.get_string("text");
}

TEST_F(CompareRoute, GroupsByNameByFilterAndByAParam) {
  const Json by_name =
      compare(R"({"groups": [{"named": "base"}, {"named": "slow"}], "value": "duration"})");
  expect_slower(by_name);
  EXPECT_TRUE(by_name.get_bool("margin_planned"));
  EXPECT_TRUE(by_name.find("differences")
                  ->as_array()
                  ->at(0)
                  .get_string("text")
                  .starts_with("slow is 1.3 × slower than base ("));
  expect_slower(compare(R"({"groups": [{"filter": "params.batch = '32'"},
                                       {"filter": "params.batch = '64'"}], "value": "duration"})"));
  const Json by = compare(
      R"({"groups": [{"named": "base"}, {"named": "slow"}], "by": "params.batch", "value": "duration"})");
  expect_slower(by);
  EXPECT_EQ(by.find("groups")->as_array()->at(0).get_string("name"), "32");
  EXPECT_FALSE(compare(R"({"groups": [{"named": "base"}, {"named": "slow"}], "margin": 0.05})")
                   .get_bool("margin_planned"));
}

TEST_F(CompareRoute, AMarginIsPlannedOnlyIfItWasGivenAtTheStart) {
  for (int i = 0; i < 2; ++i) add("early", "1", 100'000 + i * 100);
  margin_given_ = false;
  for (int i = 0; i < 2; ++i) add("late", "1", 100'000 + i * 100);
  const auto planned = [&](const std::string& name) {
    return compare(R"({"groups": [{"named": "base"}, {"named": ")" + name + R"("}]})")
        .get_bool("margin_planned");
  };
  EXPECT_TRUE(planned("early"));
  EXPECT_FALSE(planned("late")) << "its tag was set afterwards";
}

TEST_F(CompareRoute, ARunThatIsNamedTwiceCountsOnce) {
  const std::string a = add("a", "1", 100'000).hex(), b = add("b", "1", 200'000).hex();
  const Json found = compare(R"({"groups": [{"runs": [")" + a + R"(", ")" + a +
                             R"("]}, {"runs": [")" + b + R"("]}], "value": "duration"})");
  EXPECT_EQ(found.find("groups")->as_array()->at(0).get_int("n"), 1);
  EXPECT_NEAR(found.find("differences")->as_array()->at(0).find("ratio")->as_double(0), 2, 1e-9);
}

// A name counts before the beginning of an id.
TEST_F(CompareRoute, ANameThatBeginsTheIdOfARunIsAName) {
  const RunId other = add("other", "1", 1000);
  const std::string prefix = other.hex().substr(0, 6);
  for (int i = 0; i < 2; ++i) add(prefix, "1", 50'000);
  const Json found = compare(R"({"groups": [{"named": "base"}, {"named": ")" + prefix +
                             R"("}], "value": "duration"})");
  EXPECT_EQ(found.find("groups")->as_array()->at(1).get_int("n"), 2);
  const std::string longer = other.hex().substr(0, 20);
  const Json one = compare(R"({"groups": [{"named": "base"}, {"named": ")" + longer +
                           R"("}], "value": "duration"})");
  EXPECT_EQ(one.find("groups")->as_array()->at(1).get_int("n"), 1);
}

TEST_F(CompareRoute, RefusesWhatCannotBeCompared) {
  const auto expect_refusal = [&](const std::string& body, int status, const std::string& words) {
    const Response response = send(Method::kPost, kPath, body);
    EXPECT_EQ(response.status, status) << body;
    EXPECT_NE(response.body.find(words), std::string::npos) << response.body;
  };
  expect_refusal(R"({"groups": [{"named": "base"}]})", 400, "two groups or more");
  expect_refusal(R"({"groups": [{"named": "base"}, {"named": "base"}]})", 400, "is in two groups");
  expect_refusal(R"({"groups": [{"named": "base"}, {"named": "nobody"}]})", 404,
                 "no run, name or workload is called 'nobody'");
  const std::string digits = add("other", "9", 1000).hex().substr(0, 3);
  expect_refusal(R"({"groups": [{"named": "base"}, {"named": ")" + digits + R"("}]})", 404,
                 "no run, name or workload is called '" + digits + "'");
  expect_refusal(R"({"groups": [{"named": "base"}, {"filter": "params.batch = '1'"}]})", 400,
                 "has no runs");
  expect_refusal(R"({"groups": [{"named": "base"}, {"filter": "params.batch ="}]})", 400, "filter");
  expect_refusal(R"({"groups": [{"named": "base"}, {"named": "params.batch ="}]})", 400,
                 "no run, name or workload is called 'params.batch =', and as a filter: ");
  expect_refusal(R"({"groups": [{"named": "a", "runs": ["b"]}]})", 400, "groups[0].runs");
  expect_refusal(R"({"groups": [{"named": "a"}], "by": "colour"})", 400, "params.KEY");
  expect_refusal(R"({"groups": [{"named": "a"}], "of": "max"})", 400, "absent where no metric");
  expect_refusal(R"({"groups": [{"named": "a"}], "margin": 2})", 400, "margin");
}

}  // namespace
}  // namespace corral::server
