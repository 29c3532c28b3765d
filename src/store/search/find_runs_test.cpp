#include "store/search/find_runs.h"

#include <algorithm>
#include <limits>
#include <map>

#include "store/search/test_search.h"
#include "store/test_frames.h"

namespace corral::store::tracking {
namespace {

using testing::samples;
using testing::series_def;
using testing::session_body;
using testing::SessionWriter;
using Kind = RunField::Kind;
using Names = std::vector<std::string>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Spec {
  std::string name;
  std::string experiment = "digits";
  std::string workload = {};
  std::string host = "node7";
  std::map<std::string, std::string> params = {}, tags = {};
  std::string command = R"(["python3","train.py"])";
  std::vector<double> loss = {};
  std::string loss_name = "loss";
};

class FindRuns : public SearchTest {
 protected:
  // Each run starts a second after the one before.
  RunId add(const Spec& spec) {
    const RunId id = RunId::random();
    auto body = session_body(id, "supervisor");
    body.run_name = spec.name;
    body.experiment = spec.experiment;
    body.host = spec.host;
    body.workload_name = spec.workload;
    if (!spec.workload.empty()) body.workload = workload_id_of(spec.experiment, spec.workload);
    body.started = boot_time(++runs_ * 1'000'000'000);
    SessionWriter writer;
    std::vector<codec::Frame> frames = {writer.frame(body)};
    codec::FactsBody facts;
    facts.facts.push_back({codec::FactKind::kInfo, "command", spec.command});
    for (const auto& [key, value] : spec.params)
      facts.facts.push_back({codec::FactKind::kParam, key, value});
    for (const auto& [key, value] : spec.tags)
      facts.facts.push_back({codec::FactKind::kTag, key, value});
    frames.push_back(writer.frame(facts));
    if (!spec.loss.empty()) {
      std::vector<std::pair<std::int64_t, double>> points;
      for (const double value : spec.loss)
        points.emplace_back(runs_ * 1'000'000'000 + static_cast<std::int64_t>(points.size()),
                            value);
      frames.push_back(writer.frame(codec::SchemaBody{.series = {series_def(1, spec.loss_name)}}));
      frames.push_back(writer.frame(samples(1, points)));
    }
    const auto done = store_->append(frames);
    EXPECT_TRUE(done && done->refusals.empty());
    return id;
  }
  FoundRuns find(const RunQuestion& question) {
    return read([&](Reading& reading) { return find_runs(reading, question); });
  }
  Names names(const RunQuestion& question) {
    const FoundRuns found = find(question);
    Names names;
    for (const auto& run : found.runs) names.push_back(run.name);
    if (question.paging.offset == 0 && question.paging.limit >= found.total) {
      EXPECT_EQ(found.total, static_cast<std::int64_t>(names.size()));
    }
    return names;
  }
  static RunField field(std::string_view text) {
    const auto parsed = parse_run_field(text);
    EXPECT_TRUE(parsed) << text;
    return parsed.value_or(RunField());
  }
  static RunQuestion with_words(Names words) {
    RunQuestion question;
    question.words = std::move(words);
    return question;
  }
  static RunQuestion where(std::vector<RunChoice> choices) {
    RunQuestion question;
    question.choices = std::move(choices);
    return question;
  }
  Names ordered(std::string_view by, bool descending = false) {
    RunQuestion question;
    question.orders = {{field(by), descending}};
    return names(question);
  }

 private:
  std::int64_t runs_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Engines, FindRuns, both_engines(), engine_name);

TEST(RunFields, NamesOfFieldsSayKindKeyAndValue) {
  const auto is = [](std::string_view text, const RunField& wanted) {
    const auto parsed = parse_run_field(text);
    return parsed && *parsed == wanted;
  };
  EXPECT_TRUE(is("host", {.kind = Kind::kHost, .key = ""}));
  EXPECT_TRUE(is("params.a.min", {.kind = Kind::kParam, .key = "a.min"}));
  EXPECT_TRUE(is("metrics.a.b", {.kind = Kind::kMetric, .key = "a.b"}));
  EXPECT_TRUE(
      is("metrics.a.min", {.kind = Kind::kMetric, .key = "a", .value = RunField::Value::kMin}));
  EXPECT_TRUE(is("metrics.a.min.last",
                 {.kind = Kind::kMetric, .key = "a.min", .value = RunField::Value::kLast}));
  for (const char* bad : {"", "Host", "metrics.", "params.", "tags", "hosts", "metric.a"})
    EXPECT_FALSE(parse_run_field(bad)) << bad;
}

// For many runs one metric is read, for few all of them.
TEST_P(FindRuns, ManyRunsAreOrderedByOneMetricAsFewAre) {
  constexpr int kRuns = 150;
  const auto value = [](int i) { return static_cast<double>(i * 37 % kRuns); };
  std::vector<RunId> ids;
  for (int i = 0; i < kRuns; ++i) {
    Spec spec{.name = std::to_string(i)};
    if (i % 10 != 9) spec.loss = {1000.0 + i, value(i)};
    if (i % 10 == 8) spec.loss_name = "other";
    ids.push_back(add(spec));
  }
  const auto ends_with = [&](std::string_view by, bool descending) {
    Names all = ordered(by, descending);
    EXPECT_EQ(all.size(), kRuns);
    return all;
  };
  for (int round = 0; round < 2; ++round) {  // the second is remembered
    const Names up = ends_with("metrics.loss", false);
    std::vector<double> values;
    for (const std::string& name : up) {
      const int i = std::stoi(name);
      if (i % 10 < 8) values.push_back(value(i));
    }
    EXPECT_EQ(values.size(), kRuns * 8 / 10);
    EXPECT_TRUE(std::ranges::is_sorted(values));
    for (std::size_t at = values.size(); at < up.size(); ++at)
      EXPECT_GE(std::stoi(up[at]) % 10, 8) << "runs without the metric come last";
    EXPECT_EQ(ends_with("metrics.loss.max", true).front(), "147");
  }
  // Later points count.
  SessionWriter writer;
  auto body = session_body(ids[20], "supervisor");
  const auto done = store_->append(std::vector<codec::Frame>{
      writer.frame(body), writer.frame(codec::SchemaBody{.series = {series_def(1, "loss")}}),
      writer.frame(samples(1, {{9'000'000'000'000, -5.0}}))});
  ASSERT_TRUE(done && done->refusals.empty());
  EXPECT_EQ(ends_with("metrics.loss", false).front(), "20");
}

TEST_P(FindRuns, WithoutAnythingAskedAllRunsComeNewestFirstAPageAtATime) {
  for (const char* name : {"a", "b", "c"}) add({.name = name});
  EXPECT_EQ(names({}), (Names{"c", "b", "a"}));
  RunQuestion page;
  page.paging = {.offset = 1, .limit = 1};
  const FoundRuns found = find(page);
  ASSERT_EQ(found.runs.size(), 1U);
  EXPECT_EQ(found.runs[0].name, "b");
  EXPECT_EQ(found.total, 3);
  EXPECT_EQ(found.runs[0].host, "node7");
  ASSERT_EQ(found.runs[0].info.size(), 1U);
  EXPECT_EQ(found.runs[0].info[0].second, R"(["python3","train.py"])");
}

TEST_P(FindRuns, TheScopesListsRestrictTogether) {
  const RunId a = add({.name = "a", .experiment = "one", .workload = "w"});
  add({.name = "b", .experiment = "one"});
  add({.name = "c", .experiment = "two", .workload = "w"});
  const auto experiments = reader_of(*store_).experiments();
  const auto one = std::ranges::find(*experiments, "one", &Experiment::name)->id;
  RunQuestion question;
  question.scope.experiments = {one};
  EXPECT_EQ(names(question), (Names{"b", "a"}));
  question.scope.workloads = {workload_id_of("one", "w"), workload_id_of("two", "w")};
  EXPECT_EQ(names(question), (Names{"a"}));
  question.scope.runs = {RunId::random()};
  EXPECT_EQ(names(question), Names{});
  question.scope = {};
  question.scope.runs = {a, a};
  EXPECT_EQ(names(question), (Names{"a"}));
  question.scope = {};
  question.scope.workloads = {WorkloadId::random()};
  EXPECT_EQ(names(question), Names{});
}

TEST_P(FindRuns, TheFilterIsMlflowsAndMeetsTheOtherConditions) {
  add({.name = "a", .params = {{"lr", "0.1"}}, .loss = {0.9, 0.4}});
  add({.name = "b", .params = {{"lr", "0.1"}}, .loss = {0.2, 0.6}});
  add({.name = "c", .params = {{"lr", "0.2"}}, .loss = {0.1}});
  RunQuestion question;
  question.filter =
      filter_of(mlflow::SearchKind::kRuns, "metrics.loss < 0.5 and params.lr = '0.1'");
  EXPECT_EQ(names(question), (Names{"a"}));
  question.filter = filter_of(mlflow::SearchKind::kRuns, "metrics.loss < 0.5");
  EXPECT_EQ(names(question), (Names{"c", "a"}));
  question.words = {"lr=0.2"};
  EXPECT_EQ(names(question), (Names{"c"}));
}

TEST_P(FindRuns, EveryWordOccursSomewhereInTheRun) {
  const RunId id = add({.name = "Calm-Otter",
                        .experiment = "Digits",
                        .workload = "pair",
                        .host = "node1",
                        .params = {{"lr", "0.1"}},
                        .tags = {{"Team", "red"}},
                        .command = R"(["python3","evaluate.py"])"});
  add({.name = "brave-fox", .host = "node2"});
  for (const char* word :
       {"otter", "OTTER", "digits", "pair", "node1", "lr=0.1", "team=RED", "evaluate.py"}) {
    EXPECT_EQ(names(with_words({word, word == std::string("digits") ? "node1" : "calm"})),
              (Names{"Calm-Otter"}))
        << word;
  }
  EXPECT_EQ(names(with_words({id.hex().substr(0, 10)})), (Names{"Calm-Otter"}));
  EXPECT_EQ(names(with_words({"x" + id.hex().substr(1, 10)})), Names{});
  EXPECT_EQ(names(with_words({"otter", "node2"})), Names{});
  // Not across two of them.
  EXPECT_EQ(names(with_words({"otternode1"})), Names{});
}

TEST_P(FindRuns, ChoicesAreOrInsideAndBetween) {
  add({.name = "a", .host = "n1", .params = {{"lr", "1"}}});
  add({.name = "b", .host = "n2", .params = {{"lr", "1"}}});
  add({.name = "c", .host = "n2"});
  EXPECT_EQ(names(where({{field("host"), {"n1", "n2"}}})), (Names{"c", "b", "a"}));
  EXPECT_EQ(names(where({{field("host"), {"n2"}}, {field("params.lr"), {"1"}}})), (Names{"b"}));
  EXPECT_EQ(names(where({{field("params.lr"), {""}}})), (Names{"c"}));
  EXPECT_EQ(names(where({{field("status"), {"finished"}}})), Names{});
  EXPECT_EQ(names(where({{field("status"), {"finished", "running"}}})).size(), 3U);
}

TEST_P(FindRuns, CollocationIsWhatTheRunSaysElseWhetherItsWorkloadHasOthers) {
  add({.name = "a", .workload = "w"});
  add({.name = "b", .workload = "w"});
  add({.name = "c", .workload = "only"});
  add({.name = "d"});
  add({.name = "e", .workload = "w", .tags = {{"collocation", "mps"}}});
  add({.name = "f", .params = {{"corral.collocation", "mig"}}});
  EXPECT_EQ(names(where({{field("collocation"), {"together"}}})), (Names{"b", "a"}));
  EXPECT_EQ(names(where({{field("collocation"), {"alone"}}})), (Names{"d", "c"}));
  EXPECT_EQ(names(where({{field("collocation"), {"mps", "mig"}}})), (Names{"f", "e"}));
}

TEST_P(FindRuns, ModelAndDeviceComeFromTagsBeforeParams) {
  add({.name = "a", .params = {{"model", "x"}, {"devices", "0"}}, .tags = {{"corral.model", "y"}}});
  add({.name = "b"});
  EXPECT_EQ(names(where({{field("model"), {"y"}}})), (Names{"a"}));
  EXPECT_EQ(names(where({{field("device"), {"0"}}})), (Names{"a"}));
  EXPECT_EQ(names(where({{field("model"), {""}}})), (Names{"b"}));
}

TEST_P(FindRuns, OrdersPutNanAndThenNothingLastWhicheverWay) {
  add({.name = "none"});
  add({.name = "nan", .loss = {kNan}});
  add({.name = "low", .loss = {0.9, 0.1}});
  add({.name = "high", .loss = {0.5, 0.8}});
  EXPECT_EQ(ordered("metrics.loss"), (Names{"low", "high", "nan", "none"}));
  EXPECT_EQ(ordered("metrics.loss", true), (Names{"high", "low", "nan", "none"}));
  EXPECT_EQ(ordered("metrics.loss.max", true), (Names{"low", "high", "nan", "none"}));
  EXPECT_EQ(ordered("metrics.loss.min"), (Names{"low", "high", "nan", "none"}));
  EXPECT_EQ(ordered("name"), (Names{"high", "low", "nan", "none"}));
  EXPECT_EQ(ordered("start"), (Names{"none", "nan", "low", "high"}));
}

TEST_P(FindRuns, ParamsThatAreAllNumbersAreOrderedAsNumbers) {
  add({.name = "ten", .params = {{"n", "10"}, {"mixed", "10"}}});
  add({.name = "nine", .params = {{"n", "9"}, {"mixed", "x"}}});
  add({.name = "none"});
  EXPECT_EQ(ordered("params.n"), (Names{"nine", "ten", "none"}));
  EXPECT_EQ(ordered("params.n", true), (Names{"ten", "nine", "none"}));
  EXPECT_EQ(ordered("params.mixed"), (Names{"ten", "nine", "none"}));
}

TEST_P(FindRuns, ColumnsTellTheValuesOfThePage) {
  add({.name = "a",
       .params = {{"lr", "0.1"}},
       .tags = {{"x", "red"}},
       .loss = {0.5, 0.25, 0.75, 0.5}});
  add({.name = "b"});
  RunQuestion question;
  for (const char* text : {"metrics.loss", "metrics.loss.min", "metrics.loss.max",
                           "metrics.loss.mean", "params.lr", "tags.x", "collocation"})
    question.columns.push_back(field(text));
  const FoundRuns found = find(question);
  ASSERT_EQ(found.values.size(), 2U);
  using Values = std::vector<ColumnValue>;
  const std::monostate none;
  EXPECT_EQ(found.values[0], (Values{none, none, none, none, none, none, "alone"}));
  EXPECT_EQ(found.values[1], (Values{0.5, 0.25, 0.75, 0.5, "0.1", "red", "alone"}));
}

TEST_P(FindRuns, FacetsLeaveOutTheChoicesOfTheirOwnField) {
  add({.name = "a", .host = "n1", .params = {{"lr", "1"}}});
  add({.name = "b", .host = "n2", .params = {{"lr", "1"}}});
  add({.name = "c", .host = "n2", .params = {{"lr", "2"}}});
  add({.name = "d", .host = "n3"});
  RunQuestion question = where({{field("host"), {"n2"}}});
  question.words = {"digits"};
  question.facets = {field("host"), field("status")};
  question.param_facets = true;
  const FoundRuns found = find(question);
  EXPECT_EQ(found.total, 2);
  using Values = std::vector<Facet::Value>;
  ASSERT_EQ(found.facets.size(), 2U);
  EXPECT_EQ(found.facets[0].values, (Values{{"n2", 2}, {"n1", 1}, {"n3", 1}}));
  EXPECT_EQ(found.facets[1].values, (Values{{"running", 2}}));
  ASSERT_EQ(found.params.size(), 1U);
  EXPECT_EQ(found.params[0].field.key, "lr");
  EXPECT_EQ(found.params[0].values, (Values{{"1", 1}, {"2", 1}}));
  EXPECT_FALSE(found.facets_cut);
  // A param's counts leave out its own choice alone; runs without it count as "".
  question.choices = {{field("params.lr"), {"2"}}};
  const FoundRuns own = find(question);
  EXPECT_EQ(own.total, 1);
  EXPECT_EQ(own.params[0].values, (Values{{"1", 2}, {"", 1}, {"2", 1}}));
  EXPECT_EQ(own.facets[0].values, (Values{{"n2", 1}}));
  EXPECT_TRUE(own.tags.empty());
}

TEST_P(FindRuns, GroupsStandTogetherInTheOrderOfTheirValues) {
  add({.name = "a", .params = {{"lr", "0.1"}}, .loss = {4, 1}});
  add({.name = "b", .params = {{"lr", "1e-2"}}, .loss = {3}});
  add({.name = "c", .params = {{"lr", "0.10"}}, .loss = {2}});
  add({.name = "d"});
  add({.name = "e", .params = {{"lr", "0.1"}}, .loss = {kNan}});
  add({.name = "f", .params = {{"lr", "0.1"}}, .loss = {3}});
  RunQuestion question;
  question.group = field("params.lr");
  question.columns = {field("name"), field("metrics.loss.min")};
  const FoundRuns found = find(question);
  // 0.1 and 0.10 are the same number and two values: their runs do not mix.
  EXPECT_EQ(names(question), (Names{"b", "f", "e", "a", "c", "d"}));
  ASSERT_EQ(found.groups.size(), 4U);
  const auto values = [](const FoundRuns& of) {
    std::vector<std::pair<std::string, std::int64_t>> all;
    for (const RunGroup& group : of.groups) all.emplace_back(group.value, group.count);
    return all;
  };
  using Values = std::vector<std::pair<std::string, std::int64_t>>;
  EXPECT_EQ(values(found), (Values{{"1e-2", 1}, {"0.1", 3}, {"0.10", 1}, {"", 1}}));
  const RunGroup& most = found.groups[1];
  EXPECT_EQ(most.loss_metric, "loss");
  EXPECT_EQ(most.loss.count, 2) << "of finite values";
  EXPECT_EQ(most.loss.mean, 2);
  EXPECT_EQ(most.values[0].count, 0) << "a name is no number";
  EXPECT_EQ(most.values[1].min, 1);
  EXPECT_EQ(most.values[1].max, 3);
  EXPECT_EQ(found.groups[3].loss.count, 0);
  // Other orders count within the groups; an order by their field turns them.
  question.orders = {{field("params.lr"), true}, {field("name"), false}};
  const FoundRuns turned = find(question);
  EXPECT_EQ(names(question), (Names{"c", "a", "e", "f", "b", "d"}));
  EXPECT_EQ(turned.groups.front().value, "0.10");
  // Runs that do not match are in no group. Later pages repeat no groups.
  question.words = {"lr=1e-2"};
  EXPECT_EQ(values(find(question)), (Values{{"1e-2", 1}}));
  question.words = {};
  question.paging.offset = 4;
  EXPECT_EQ(names(question), (Names{"b", "d"}));
  EXPECT_TRUE(find(question).groups.empty());
}

TEST_P(FindRuns, LossesOfSeveralMetricsAreNotAveraged) {
  add({.name = "a", .loss = {1}});
  add({.name = "b", .loss = {3}});
  RunQuestion question;
  question.group = field("host");
  EXPECT_EQ(find(question).groups[0].loss.mean, 2);
  add({.name = "c", .loss = {5}, .loss_name = "val/loss"});
  const FoundRuns found = find(question);
  EXPECT_EQ(found.groups[0].count, 3);
  EXPECT_EQ(found.groups[0].loss.count, 0);
  EXPECT_EQ(found.groups[0].loss_metric, "");
}

TEST_P(FindRuns, FacetsOfManyValuesAreCutAndSaySo) {
  for (int i = 0; i < 25; ++i)
    add({.name = "r", .params = {{"seed", std::to_string(i)}, {"same", "1"}}});
  RunQuestion question;
  question.param_facets = true;
  const FoundRuns found = find(question);
  ASSERT_EQ(found.params.size(), 2U);
  EXPECT_EQ(found.params[1].field.key, "seed");
  EXPECT_EQ(found.params[1].values.size(), kMostFacetValuesOfKey);
  EXPECT_EQ(found.params[1].distinct, 25);
  EXPECT_TRUE(found.facets_cut);
}

// More rows than are looked up one by one.
TEST_P(FindRuns, ManyRunsAreReadByTheSameRules) {
  for (int i = 0; i < 300; ++i)
    add({.name = std::to_string(i), .params = {{"third", std::to_string(i % 3)}}});
  RunQuestion question = where({{field("params.third"), {"1"}}});
  question.columns = {field("params.third")};
  question.words = {"train.py", "third="};
  question.paging.limit = 70;
  const FoundRuns found = find(question);
  EXPECT_EQ(found.total, 100);
  ASSERT_EQ(found.runs.size(), 70U);
  EXPECT_EQ(found.runs.front().name, "298");
  EXPECT_EQ(found.runs.back().name, "91");
  for (const auto& values : found.values) EXPECT_EQ(values, std::vector<ColumnValue>{"1"});
}

}  // namespace
}  // namespace corral::store::tracking
