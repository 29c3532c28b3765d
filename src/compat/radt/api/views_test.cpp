#include "compat/radt/api/views.h"
#include "server/core/test_handlers.h"

#include <filesystem>

#include "compat/radt/api/view_query.h"

namespace corral::server::radt {
namespace {

constexpr std::array<std::string_view, 3> kColumns = {"a", "b", "c"};

Result<ViewQuery> parse(const Pairs& query) { return parse_view_query(query, kColumns); }

TEST(ViewQuery, FiltersAsPostgrestDoes) {
  const Row row = {Json(7), Json("x,y"), Json()};
  const auto takes = [&](const char* column, const char* text) {
    const auto query = parse({{column, text}});
    EXPECT_TRUE(query) << text;
    return query && query->takes(row);
  };
  for (const char* yes : {"eq.7", "neq.8", "gt.6", "gte.7", "lt.7.5", "lte.7", "in.(1,7)",
                          "not.in.(8)", "not.gt.7", "not.is.null"})
    EXPECT_TRUE(takes("a", yes)) << yes;
  for (const char* no : {"eq.8", "neq.7", "gt.7", "lt.7", "in.()", "in.(8,9)", "is.null", "eq.x"})
    EXPECT_FALSE(takes("a", no)) << no;
  EXPECT_TRUE(takes("b", R"(in.("x,y"))"));
  EXPECT_TRUE(takes("b", "eq.x,y"));
  EXPECT_FALSE(takes("b", "in.(x,y)"));
  EXPECT_TRUE(takes("c", "is.null"));
  EXPECT_FALSE(takes("c", "neq.1"));
  EXPECT_FALSE(takes("c", "not.eq.1"));
}

TEST(ViewQuery, QuotesInListsMayBeEscaped) {
  const auto query = parse({{"b", R"(in.("a\"b\\c",d))"}});
  ASSERT_TRUE(query);
  EXPECT_EQ(query->filters.at(0).values, (std::vector<std::string>{R"(a"b\c)", "d"}));
}

TEST(ViewQuery, RefusesWhatItDoesNotKnow) {
  for (const Pairs& query :
       {Pairs{{"d", "eq.1"}}, Pairs{{"a", "1"}}, Pairs{{"a", "near.1"}}, Pairs{{"a", "in.1"}},
        Pairs{{"a", "in.(\"1)"}}, Pairs{{"a", "is.true"}}, Pairs{{"select", "a,d"}},
        Pairs{{"order", "a.up"}}, Pairs{{"limit", "-1"}}, Pairs{{"offset", "x"}}}) {
    EXPECT_FALSE(parse(query)) << query[0].first << "=" << query[0].second;
  }
}

TEST(ViewQuery, SortsByColumnsNullLast) {
  std::vector<Row> rows = {
      {Json(1), Json("b"), Json()}, {Json(2), Json("a"), Json()}, {Json(), Json("a"), Json()}};
  parse({{"order", "b,a.desc"}})->sort(rows);
  EXPECT_TRUE(rows[0][0].is_null());
  EXPECT_EQ(*rows[1][0].as_int(), 2);
  EXPECT_EQ(*rows[2][0].as_int(), 1);
}

// A server without a socket that radT's client has logged to.
class Views : public HandlerTest {
 protected:
  Views() {
    for (const char* letter : {"0_A", "0_B"}) {
      const Json run =
          *Json::parse(post("runs/create", R"({"experiment_id":"0","start_time":1000})"));
      runs_.push_back(run.find("run")->find("info")->get_string("run_id"));
      post("runs/log-batch",
           R"({"run_id":")" + runs_.back() +
               R"(","params":[{"key":"workload","value":"7"},{"key":"letter","value":")" + letter +
               R"("},{"key":"listeners","value":"smi"},{"key":"params","value":"--a 'b'"}],)"
               R"("metrics":[{"key":"loss","value":"NaN","timestamp":5,"step":1},)"
               R"({"key":"loss","value":0.5,"timestamp":6,"step":2},)"
               R"({"key":"system/SMI - GPU Util","value":-1,"timestamp":6}]})");
    }
  }
  std::string post(const std::string& path, std::string body) {
    const Response response = send(Method::kPost, "/api/2.0/mlflow/" + path, std::move(body));
    EXPECT_EQ(response.status, 200) << response.body;
    return response.body;
  }
  std::string get(std::string_view target) {
    const Response response = send(Method::kGet, target);
    EXPECT_EQ(response.status, 200) << response.body;
    return response.body;
  }

  std::vector<std::string> runs_;
};

TEST_F(Views, ExperimentsAndRuns) {
  EXPECT_EQ(get("/fe_experiments"), R"([{"experiment_id":0,"name":"Default"}])");
  EXPECT_EQ(get("/fe_runs?run_uuid=eq." + runs_[1] +
                "&select=experiment_id,workload,letter,params,status,start_time,model"),
            R"([{"experiment_id":0,"workload":"7","letter":"0_B","params":"--a b",)"
            R"("status":"RUNNING","start_time":1000,"model":null}])");
  EXPECT_EQ(get("/fe_runs?select=letter&order=letter.desc&limit=1"), R"([{"letter":"0_B"}])");
}

TEST_F(Views, WhatTheOldPageAsksOfMetrics) {
  EXPECT_EQ(get("/fe_metrics_available?select=key&run_uuid=eq." + runs_[0]),
            R"([{"key":"loss"},{"key":"system/SMI - GPU Util"}])");
  EXPECT_EQ(get("/fe_metrics?run_uuid=in.(\"" + runs_[0] + "\")&key=eq.loss"),
            R"([{"run_uuid":")" + runs_[0] +
                R"(","key":"loss","value":null,"timestamp":5,"step":1},{"run_uuid":")" + runs_[0] +
                R"(","key":"loss","value":0.5,"timestamp":6,"step":2}])");
  EXPECT_EQ(get("/fe_metrics?run_uuid=in.(\"" + runs_[0] + "\",\"" + runs_[1] +
                "\")&key=eq.system%2FSMI%20-%20GPU%20Util&select=value,step&order=step"),
            R"([{"value":-1,"step":0},{"value":-1,"step":0}])");
  EXPECT_EQ(get("/fe_metrics?run_uuid=eq.unknown"), "[]");
}

TEST_F(Views, RefusesTheWholeStoreAndWrites) {
  EXPECT_EQ(send(Method::kGet, "/fe_metrics").status, 400);
  EXPECT_EQ(send(Method::kGet, "/fe_runs?nothing=eq.1").status, 400);
  EXPECT_EQ(send(Method::kPost, "/fe_runs", "{}").status, 405);
}

// The params alone, logged live, say which runs were launched together.
TEST_F(Views, RunsOfAPlanAreOneWorkload) {
  const auto workloads = reader_of(*store_).workloads(std::nullopt);
  ASSERT_TRUE(workloads);
  ASSERT_EQ(workloads->size(), 1U);
  EXPECT_EQ(workloads->at(0).name, "7");
  EXPECT_EQ(workloads->at(0).runs.size(), 2U);
  const Json metrics = *Json::parse(get("/api/corral/v1/runs/" + runs_[0] + "/metrics"));
  for (const Json& metric : *metrics.find("metrics")->as_array()) {
    if (metric.get_string("name") == "loss") continue;
    EXPECT_EQ(metric.get_string("unit"), "share");
  }
}

}  // namespace
}  // namespace corral::server::radt
