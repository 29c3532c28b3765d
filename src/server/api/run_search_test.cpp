// POST /runs/search: its answers and its refusals.
#include <fmt/core.h>

#include <random>

#include "server/api/requests.h"
#include "server/core/test_handlers.h"
#include "store/test_frames.h"

namespace corral::server::api {
namespace {

namespace frames = store::testing;

class RunSearch : public HandlerTest {
 protected:
  RunId add(const std::string& name, const std::string& lr, double loss) {
    const RunId id = RunId::random();
    frames::SessionWriter writer;
    auto body = frames::session_body(id, "supervisor");
    body.run_name = name;
    codec::FactsBody facts;
    facts.facts = {{codec::FactKind::kParam, "lr", lr},
                   {codec::FactKind::kInfo, "command", R"(["python3","train.py"])"}};
    const auto done = store_->append(std::vector<codec::Frame>{
        writer.frame(body), writer.frame(facts),
        writer.frame(codec::SchemaBody{.series = {frames::series_def(1, "loss")}}),
        writer.frame(frames::samples(1, {{2000, 2 * loss}, {3000, loss}}, {1, 2}))});
    EXPECT_TRUE(done && done->refusals.empty());
    return id;
  }
  Json search(const std::string& body) {
    return ok(Method::kPost, "/api/corral/v1/runs/search", body);
  }
};

Json at(const Json& json, std::string_view key) {
  const Json* found = json.find(key);
  return found == nullptr ? Json("absent") : *found;
}

std::vector<Json> runs_of(const Json& answer) {
  const Json runs = at(answer, "runs");
  return runs.as_array() == nullptr ? std::vector<Json>() : *runs.as_array();
}

TEST_F(RunSearch, ARunIsToldAsInListsWithItsColumns) {
  const RunId id = add("calm-otter", "0.1", 0.25);
  const Json answer =
      search(R"({"columns":["metrics.loss","metrics.loss.max","params.lr","tags.none"]})");
  ASSERT_EQ(runs_of(answer).size(), 1U);
  const Json run = runs_of(answer).front();
  EXPECT_EQ(run.get_string("id"), id.hex());
  EXPECT_EQ(at(run, "command").dump(), R"(["python3","train.py"])");
  EXPECT_EQ(at(run, "loss").dump(), R"({"metric":"loss","value":0.25,"step":2})");
  EXPECT_EQ(at(run, "values").dump(),
            R"({"metrics.loss":0.25,"metrics.loss.max":0.5,"params.lr":"0.1","tags.none":null})");
  const Json listed = runs_of(ok(Method::kGet, "/api/corral/v1/runs")).at(0);
  for (const auto& [name, value] : *listed.as_object())
    EXPECT_EQ(at(run, name).dump(), value.dump()) << name;
  EXPECT_EQ(answer.get_int("total"), 1);
  EXPECT_EQ(answer.get_int("offset"), 0);
}

TEST_F(RunSearch, DetailsAreToldWhereTheyAreAskedFor) {
  add("calm-otter", "0.1", 0.25);
  const Json run = runs_of(search(R"({"details":true})")).at(0);
  EXPECT_EQ(at(run, "params").dump(), R"({"lr":"0.1"})");
  EXPECT_EQ(at(run, "tags").dump(), "{}");
  EXPECT_EQ(at(run, "metrics").dump(), R"({"loss":0.25})");
  const Json bare = runs_of(search("{}")).at(0);
  for (const char* name : {"params", "tags", "metrics"}) EXPECT_EQ(bare.find(name), nullptr);
}

TEST_F(RunSearch, GroupsComeWithTheFirstPage) {
  add("a", "0.1", 0.5);
  add("b", "0.1", 0.25);
  add("c", "0.2", 1);
  const Json answer =
      search(R"({"group":"params.lr","columns":["metrics.loss","host"],"limit":1})");
  ASSERT_EQ(runs_of(answer).size(), 1U);
  const Json groups = at(answer, "groups");
  ASSERT_EQ(groups.as_array()->size(), 2U);
  const Json first = groups.as_array()->front();
  EXPECT_EQ(first.get_string("value"), "0.1");
  EXPECT_EQ(first.get_int("count"), 2);
  EXPECT_EQ(at(first, "values").dump(),
            R"({"metrics.loss":{"count":2,"min":0.25,"max":0.5,"mean":0.375}})");
  EXPECT_EQ(at(first, "loss").dump(), R"({"count":2,"min":0.25,"max":0.5,"mean":0.375})");
  EXPECT_EQ(first.get_string("loss_metric"), "loss");
  EXPECT_EQ(search(R"({"group":"params.lr","offset":1})").find("groups"), nullptr);
  EXPECT_EQ(search("{}").find("groups"), nullptr);
  for (const std::string_view wrong : {"\"name\"", "\"metrics.loss\"", "\"nonsense\"", "7"}) {
    const Response refused =
        send(Method::kPost, "/api/corral/v1/runs/search", fmt::format(R"({{"group":{}}})", wrong));
    EXPECT_EQ(refused.status, 400) << wrong;
  }
}

TEST_F(RunSearch, FilterWordsChoicesOrderAndPagesMeet) {
  add("a", "0.1", 0.3);
  add("b", "0.1", 0.2);
  add("c", "0.1", 0.9);
  add("d", "0.2", 0.1);
  const Json answer = search(
      R"({"filter":"metrics.loss < 0.5","text":"TRAIN.py lr=","where":{"params.lr":["0.1"]},)"
      R"("order":[{"by":"metrics.loss","descending":true}],"limit":1,"offset":1,)"
      R"("facets":["host","params"]})");
  ASSERT_EQ(runs_of(answer).size(), 1U);
  EXPECT_EQ(runs_of(answer).front().get_string("name"), "b");
  EXPECT_EQ(answer.get_int("total"), 2);
  EXPECT_EQ(at(answer, "facets").dump(),
            R"({"host":[{"value":"node7","count":2}],"params":[{"key":"lr","values":[)"
            R"({"value":"0.1","count":2},{"value":"0.2","count":1}],"distinct":2}]})");
  EXPECT_EQ(at(answer, "truncated_facets").dump(), "false");
}

TEST_F(RunSearch, EmptyListsAndNullsAskForNothing) {
  add("a", "0.1", 0.3);
  const Json answer = search(
      R"({"experiments":[],"workloads":null,"runs":[],"filter":"","text":" ","where":{"host":[]},)"
      R"("order":[],"columns":[],"facets":[],"limit":null})");
  EXPECT_EQ(answer.get_int("total"), 1);
  EXPECT_EQ(at(answer, "facets").dump(), "{}");
  const Json none = search(R"({"limit":0})");
  EXPECT_EQ(at(none, "runs").dump(), "[]");
  EXPECT_EQ(none.get_int("total"), 1);
}

TEST_F(RunSearch, WhatIsWrongIsNamed) {
  const auto field = [&](const std::string& body) {
    const Response response = send(Method::kPost, "/api/corral/v1/runs/search", body);
    EXPECT_EQ(response.status, 400) << body << ' ' << response.body;
    return at(json_of(response), "error").get_string("field");
  };
  EXPECT_EQ(field(R"({"filter":"metrics.loss <"})"), "filter");
  EXPECT_EQ(field(R"({"filter":5})"), "filter");
  EXPECT_EQ(field(R"({"filter":"params.a = 'b\u0000'"})"), "filter");
  EXPECT_EQ(field(R"({"where":{"params.a\u0000":["x"]}})").substr(0, 14), "where.params.a");
  EXPECT_EQ(field(R"({"columns":["tags.a\u0000"]})"), "columns");
  EXPECT_EQ(field(R"({"experiments":["x"]})"), "experiments");
  EXPECT_EQ(field(R"({"runs":["12"]})"), "runs");
  EXPECT_EQ(field(R"({"where":{"hosts":["a"]}})"), "where.hosts");
  EXPECT_EQ(field(R"({"where":{"metrics.loss":["1"]}})"), "where.metrics.loss");
  EXPECT_EQ(field(R"({"where":{"host":"a"}})"), "where.host");
  EXPECT_EQ(field(R"({"where":[]})"), "where");
  EXPECT_EQ(field(R"({"order":[{"by":"start"},{"by":"nothing"}]})"), "order[1].by");
  EXPECT_EQ(field(R"({"order":[{"by":"start","up":true}]})"), "order[0].up");
  EXPECT_EQ(field(R"({"columns":["metrics."]})"), "columns");
  EXPECT_EQ(field(R"({"facets":["metrics.loss"]})"), "facets");
  EXPECT_EQ(field(R"({"limit":1001})"), "limit");
  EXPECT_EQ(field(R"({"offset":-1})"), "offset");
  EXPECT_EQ(field(R"({"sort":"start"})"), "sort");
  EXPECT_EQ(field("[]"), "");
}

TEST_F(RunSearch, HostileTextsAreLookedForAsTheyStand) {
  add("<script>\"'; DROP TABLE runs; --", "%_\\", 0.1);
  add("\xF0\x9F\xA6\xA6\xE2\x80\xAE", "0.1", 0.1);
  const auto total = [&](Json::Object body) {
    return search(Json(std::move(body)).dump()).get_int("total");
  };
  EXPECT_EQ(total({{"text", "drop table"}}), 1);
  EXPECT_EQ(total({{"text", "%"}}), 1);
  EXPECT_EQ(total({{"text", "\xF0\x9F\xA6\xA6"}}), 1);
  EXPECT_EQ(total({{"where", Json::Object{{"params.lr", Json::Array{"%_\\"}}}}}), 1);
  EXPECT_EQ(total({{"where", Json::Object{{"params.'; DROP TABLE runs", Json::Array{"x"}}}}}), 0);
  EXPECT_EQ(total({}), 2);
}

// Any bytes are either a question within its bounds or an error that says where.
TEST(RunSearchRequest, AnyBytesAreAQuestionOrAnError) {
  const std::string seed =
      R"({"experiments":["1"],"workloads":["00112233445566778899aabbccddeeff"],"runs":[],)"
      R"("filter":"metrics.loss < 0.5 and params.lr = '0.1'","text":"plain words","where":)"
      R"({"status":["running"],"tags.a":["v"]},"order":[{"by":"metrics.a.min","descending":true}],)"
      R"("columns":["params.lr"],"facets":["tags","host"],"limit":200,"offset":0})";
  ASSERT_TRUE(parse_run_search(seed));
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return random() % n; };
  int questions = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = seed;
    for (std::size_t k = 1 + below(4); k > 0; --k) {
      const std::size_t place = below(text.size());
      switch (below(4)) {
        case 0:
          text[place] = static_cast<char>(random());
          break;
        case 1:
          text.erase(place, 1 + below(12));
          break;
        case 2:
          text.insert(place, text.substr(below(text.size()), below(40)));
          break;
        default:
          text.insert(place, 1, "[]{}\",:0-9.e\\"[below(13)]);
      }
      if (text.empty()) text = "{";
    }
    const auto request = parse_run_search(text);
    if (!request) {
      EXPECT_FALSE(request.error().error.message.empty());
      EXPECT_LE(request.error().position.value_or(0), text.size());
      continue;
    }
    ++questions;
    const auto& question = request->question;
    EXPECT_EQ(question.columns.size(), request->columns.size());
    EXPECT_EQ(question.facets.size(), request->facets.size());
    EXPECT_TRUE(question.paging.limit >= 0 && question.paging.limit <= 1000);
    EXPECT_GE(question.paging.offset, 0);
    EXPECT_LE(question.choices.size(), store::tracking::kMostChoices);
    for (const auto& choice : question.choices) EXPECT_TRUE(choice.field.is_text());
  }
  EXPECT_GT(questions, 100);
}

TEST(RunSearchRequest, MoreThanItsBoundsIsRefused) {
  const auto field = [](const std::string& body) {
    const auto request = parse_run_search(body);
    return request ? std::string("taken") : request.error().field;
  };
  const auto many = [](std::size_t count, const std::string& item) {
    std::string list = "[";
    for (std::size_t i = 0; i < count; ++i) list += (i == 0 ? "" : ",") + item;
    return list + "]";
  };
  const std::string id = '"' + std::string(32, 'a') + '"';
  EXPECT_EQ(field(R"({"runs":)" + many(10'000, id) + "}"), "taken");
  EXPECT_EQ(field(R"({"runs":)" + many(10'001, id) + "}"), "runs");
  EXPECT_EQ(field(R"({"columns":)" + many(101, "\"host\"") + "}"), "columns");
  EXPECT_EQ(field(R"({"order":)" + many(11, R"({"by":"host"})") + "}"), "order");
  EXPECT_EQ(field(R"({"facets":)" + many(21, "\"host\"") + "}"), "facets");
  EXPECT_EQ(field(R"({"text":")" + std::string(1001, 'x') + "\"}"), "text");
  EXPECT_EQ(field(R"({"filter":")" + std::string(70'000, 'x') + "\"}"), "filter");
  std::string where = R"({"where":{"params.0":["x"])";
  for (int i = 1; i < 61; ++i) where += fmt::format(R"(,"params.{}":["x"])", i);
  EXPECT_EQ(field(where + "}}"), "where");
}

}  // namespace
}  // namespace corral::server::api
