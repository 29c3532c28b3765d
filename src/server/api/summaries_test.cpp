// POST /sparklines, POST /summaries and the overview of an experiment.
#include <fmt/core.h>

#include "server/api/requests.h"
#include "server/core/test_handlers.h"
#include "store/test_frames.h"

namespace corral::server::api {
namespace {

namespace frames = store::testing;
using metric::Aggregation;
using metric::Kind;
using metric::Owner;

constexpr std::int64_t kSecond = 1'000'000'000;

struct Logged {
  codec::SeriesDef def;
  std::vector<std::pair<std::int64_t, double>> points;  // seconds, values
};

Logged logged(std::string name, std::vector<std::pair<std::int64_t, double>> points) {
  Logged one{.def = frames::series_def(0, std::move(name)), .points = std::move(points)};
  for (auto& [time, value] : one.points) time *= kSecond;
  return one;
}

class Summaries : public HandlerTest {
 protected:
  RunId add(const std::string& name, const std::string& workload, std::vector<Logged> all,
            const std::string& model = "") {
    const RunId id = RunId::random();
    frames::SessionWriter writer;
    auto body = frames::session_body(id, "supervisor");
    body.run_name = name;
    body.workload_name = workload;
    if (!workload.empty()) body.workload = workload_id_of(body.experiment, workload);
    body.started = boot_time(++runs_ * kSecond);
    std::vector<codec::Frame> sent = {writer.frame(body)};
    codec::FactsBody facts;
    if (!model.empty()) facts.facts = {{codec::FactKind::kParam, "model", model}};
    if (!model.empty()) sent.push_back(writer.frame(facts));
    std::uint32_t series = 0;
    for (Logged& one : all) {
      one.def.id = ++series;
      sent.push_back(writer.frame(codec::SchemaBody{.series = {one.def}}));
      sent.push_back(writer.frame(frames::samples(series, one.points)));
    }
    const auto done = store_->append(sent);
    EXPECT_TRUE(done && done->refusals.empty());
    return id;
  }
  static Logged of_device(const std::string& source, double watts) {
    Logged one = logged("device.watts", {{1, watts}, {2, watts + 2}});
    one.def.owner = Owner::kWorkload;
    one.def.aggregation = Aggregation::kSum;
    one.def.source = source;
    one.def.unit = "W";
    return one;
  }
  static Logged counter(std::vector<std::pair<std::int64_t, double>> points) {
    Logged one = logged("bytes.read", std::move(points));
    one.def.kind = Kind::kCounter;
    one.def.unit = "B";
    return one;
  }
  // The one that is there.
  std::string experiment_id() {
    const Json answer = ok(Method::kGet, "/api/corral/v1/experiments");
    return answer.find("experiments")->as_array()->at(0).get_string("id");
  }
  // The values of each run, by its name in the answer's order.
  std::string values(const std::string& body) {
    const Json answer = ok(Method::kPost, "/api/corral/v1/summaries", body);
    std::string text;
    for (const Json& run : *answer.find("summaries")->as_array())
      text += run.find("values")->dump() + "\n";
    return text;
  }
  static std::string of(RunId run, const std::string& rest) {
    return fmt::format(R"({{"runs":["{}"],{}}})", run.hex(), rest);
  }
  Json sparkline(RunId run, const std::string& rest = "") {
    const Json answer = ok(Method::kPost, "/api/corral/v1/sparklines",
                           fmt::format(R"({{"runs":["{}"]{}}})", run.hex(), rest));
    const Json* line = answer.find("sparklines")->find(run.hex());
    return line == nullptr ? Json("absent") : *line;
  }

 private:
  std::int64_t runs_ = 0;
};

TEST_F(Summaries, ARunsOwnMetricIsToldFromItsStatistics) {
  const RunId run = add("a", "", {logged("loss", {{1, 4}, {2, 1}, {3, 2}, {4, 1}})});
  const std::string all = R"("of":["last","mean","min","max","count"])";
  EXPECT_EQ(values(of(run, R"("metrics":["loss","none"],)" + all)),
            R"({"loss":{"last":1,"mean":2,"min":1,"max":4,"count":4,"unit":"","rate":false,)"
            R"("sources":1,"shared":false},"none":null})"
            "\n");
}

TEST_F(Summaries, WhatTheWorkloadOwnsCountsForEachOfItsRuns) {
  const RunId first = add("a", "w", {of_device("gpu0", 100), of_device("gpu1", 10)});
  const RunId second = add("b", "w", {});
  const RunId other = add("c", "v", {});
  const std::string rest = R"("metrics":["device.watts"],"of":["mean","max","count"])";
  const std::string shared =
      R"({"device.watts":{"mean":112,"max":114,"count":4,"unit":"W","rate":false,"sources":2,)"
      R"("shared":true}})"
      "\n";
  EXPECT_EQ(values(of(first, rest)), shared);
  EXPECT_EQ(values(of(second, rest)), shared);
  EXPECT_EQ(values(of(other, rest)), "{\"device.watts\":null}\n");
  EXPECT_EQ(values(of(first, R"("source":"gpu1",)" + rest)),
            R"({"device.watts":{"mean":11,"max":12,"count":2,"unit":"W","rate":false,"sources":1,)"
            R"("shared":true}})"
            "\n");
}

TEST_F(Summaries, SourcesThatCannotBeAddedAreAveraged) {
  Logged cold = logged("temperature", {{1, 40}, {2, 50}});
  Logged hot = logged("temperature", {{1, 80}, {2, 90}});
  cold.def.source = "gpu0";
  hot.def.source = "gpu1";
  const RunId run = add("a", "", {cold, hot});
  EXPECT_EQ(values(of(run, R"("metrics":["temperature"],"of":["last","mean","min","max"])")),
            R"({"temperature":{"last":70,"mean":65,"min":40,"max":90,"unit":"","rate":false,)"
            R"("sources":2,"shared":false}})"
            "\n");
}

TEST_F(Summaries, ACounterIsToldAsItsMeanRate) {
  const RunId grown = add("a", "", {counter({{1, 100}, {2, 500}, {5, 900}})});
  const RunId reset = add("b", "", {counter({{1, 100}, {2, 500}, {5, 200}})});
  const std::string rest = R"("metrics":["bytes.read"],"of":["mean","last"])";
  const std::string tail = R"("last":null,"unit":"B/s","rate":true,"sources":1,"shared":false}})"
                           "\n";
  EXPECT_EQ(values(of(grown, rest)), R"({"bytes.read":{"mean":200,)" + tail);
  EXPECT_EQ(values(of(reset, rest)), R"({"bytes.read":{"mean":null,)" + tail);
}

TEST_F(Summaries, AnExperimentsRunsComeNewestFirst) {
  for (int i = 0; i < 70; ++i) add("r", "", {logged("loss", {{1, i}})});
  const std::string experiment = experiment_id();
  const Json answer =
      ok(Method::kPost, "/api/corral/v1/summaries",
         R"({"experiments":[")" + experiment + R"("],"metrics":["loss"],"of":["last"]})");
  const Json::Array& all = *answer.find("summaries")->as_array();
  ASSERT_EQ(all.size(), 70U);
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(all[i].find("values")->find("loss")->get_int("last"),
              static_cast<std::int64_t>(69 - i));
}

TEST_F(Summaries, ASparklineIsTheMeansOfEqualPartsOfTheSeries) {
  const RunId run = add("a", "", {logged("loss", {{0, 8}, {1, 4}, {3, 2}, {8, 1}})});
  EXPECT_EQ(sparkline(run, R"(,"points":4)").dump(),
            R"({"metric":"loss","rate":false,"y":[6,2,null,1],"first":8,"last":1,"min":1,)"
            R"("max":8})");
  const RunId none = add("b", "", {});
  EXPECT_TRUE(sparkline(none).is_null());
  EXPECT_TRUE(sparkline(RunId::random()).is_null());
}

TEST_F(Summaries, ASparklineShowsTheMetricAskedForAndCountersAsRates) {
  const RunId run =
      add("a", "", {logged("loss", {{1, 8}}), counter({{0, 0}, {1, 10}, {2, 20}, {3, 50}})});
  EXPECT_EQ(sparkline(run).get_string("metric"), "loss");
  EXPECT_EQ(sparkline(run, R"(,"metric":"bytes.read","points":3)").dump(),
            R"({"metric":"bytes.read","rate":true,"y":[10,10,30],"first":10,"last":30,"min":10,)"
            R"("max":30})");
  // The whole name, not its end.
  EXPECT_TRUE(sparkline(run, R"(,"metric":"read")").is_null());
}

TEST_F(Summaries, TheOverviewIsWorkloadsWithTheirRunsAndAValue) {
  const RunId alone = add("a", "", {logged("loss", {{1, 4}, {2, 2}})}, "net");
  const RunId left = add("b", "w", {logged("loss", {{1, 3}})});
  const RunId right = add("c", "w", {});
  const std::string experiment = experiment_id();
  const std::string path = "/api/corral/v1/experiments/" + experiment + "/overview";
  const Json answer = ok(Method::kGet, path + "?metric=loss&of=mean");
  EXPECT_EQ(answer.find("experiment")->get_string("name"), "digits");
  EXPECT_EQ(answer.find("collocations")->dump(), R"(["alone","together"])");
  const Json::Array& workloads = *answer.find("workloads")->as_array();
  ASSERT_EQ(workloads.size(), 2U);
  EXPECT_EQ(workloads[0].get_string("name"), "w");
  EXPECT_EQ(workloads[0].get_string("collocation"), "together");
  const Json::Array& pair = *workloads[0].find("runs")->as_array();
  ASSERT_EQ(pair.size(), 2U);
  EXPECT_EQ(pair[0].get_string("id"), left.hex());
  EXPECT_EQ(pair[0].find("value")->dump(), "3");
  EXPECT_EQ(pair[1].get_string("id"), right.hex());
  EXPECT_TRUE(pair[1].find("value")->is_null());
  EXPECT_TRUE(workloads[1].find("name")->is_null());
  const Json& single = workloads[1].find("runs")->as_array()->at(0);
  EXPECT_EQ(single.get_string("id"), alone.hex());
  EXPECT_EQ(single.get_string("model"), "net");
  EXPECT_EQ(single.find("value")->dump(), "3");
  EXPECT_EQ(single.get_string("status"), "running");
  EXPECT_EQ(send(Method::kGet, path + "?of=sum").status, 400);
  EXPECT_EQ(send(Method::kGet, "/api/corral/v1/experiments/999/overview").status, 404);
  EXPECT_EQ(send(Method::kGet, "/api/corral/v1/experiments/x/overview").status, 404);
}

TEST(SummaryRequests, WhatIsWrongIsNamed) {
  const std::string id = '"' + std::string(32, 'a') + '"';
  const auto field = [&](std::string body) {
    if (const std::size_t at = body.find('@'); at != std::string::npos) body.replace(at, 1, id);
    const auto request = parse_summaries(body);
    return request ? std::string("taken") : request.error().field;
  };
  EXPECT_EQ(field(R"({"runs":[@],"metrics":["loss"],"of":["last"]})"), "taken");
  EXPECT_EQ(field(R"({"metrics":["loss"],"of":["last"]})"), "runs");
  EXPECT_EQ(field(R"({"runs":[@],"experiments":["1"],"metrics":["loss"],"of":["last"]})"),
            "experiments");
  EXPECT_EQ(field(R"({"runs":[@],"of":["last"]})"), "metrics");
  EXPECT_EQ(field(R"({"runs":[@],"metrics":["a","a"],"of":["last"]})"), "metrics");
  EXPECT_EQ(field(R"({"runs":[@],"metrics":["a"],"of":["median"]})"), "of");
  EXPECT_EQ(field(R"({"runs":[@],"metrics":["a"]})"), "of");
  EXPECT_EQ(field(R"({"runs":[@],"metrics":["a"],"of":["last"],"source":5})"), "source");
  EXPECT_TRUE(parse_sparklines("{}"));
  EXPECT_FALSE(parse_sparklines(R"({"runs":["x"]})"));
  EXPECT_EQ(field(R"({"runs":[@],"metrics":["a\u0000"],"of":["last"]})"), "metrics");
  EXPECT_FALSE(parse_sparklines(R"({"metric":"a\u0000"})"));
  EXPECT_FALSE(parse_sparklines(R"({"points":1})"));
  EXPECT_FALSE(parse_sparklines(R"({"points":257})"));
  EXPECT_FALSE(parse_sparklines(R"({"metric":["loss"]})"));
}

}  // namespace
}  // namespace corral::server::api
