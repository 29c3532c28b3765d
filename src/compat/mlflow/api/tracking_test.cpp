// MLflow's tracking interface over the real SQLite store, without a socket.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "compat/mlflow/api/metric_writer.h"
#include "server/core/test_handlers.h"
#include "store/search/runs.h"

namespace corral::server::mlflow {
namespace {

class Tracking : public HandlerTest {
 protected:
  struct Reply {
    int status = 0;
    Json json;
    [[nodiscard]] std::string code() const { return json.get_string("error_code"); }
    [[nodiscard]] std::string message() const { return json.get_string("message"); }
  };
  Reply call(Method method, std::string_view path, std::string body = {}) {
    const Response response = send(method, "/api/2.0/mlflow/" + std::string(path), std::move(body));
    return {response.status, json_of(response)};
  }
  Reply post(std::string_view path, std::string body) {
    return call(Method::kPost, path, std::move(body));
  }
  Reply get(std::string_view path) { return call(Method::kGet, path); }

  std::string new_run(std::string_view experiment = "0") {
    const Reply reply = post(
        "runs/create", fmt::format(R"({{"experiment_id":"{}","start_time":1000}})", experiment));
    EXPECT_EQ(reply.status, 200) << reply.message();
    return reply.json.find("run")->find("info")->get_string("run_id");
  }
  Json run(const std::string& id) { return *get("runs/get?run_id=" + id).json.find("run"); }
  Json::Array history(const std::string& id, const std::string& key, const std::string& more = "") {
    const Reply reply = get("metrics/get-history?run_id=" + id + "&metric_key=" + key + more);
    EXPECT_EQ(reply.status, 200);
    const Json* metrics = reply.json.find("metrics");
    return metrics == nullptr ? Json::Array() : *metrics->as_array();
  }
};

TEST_F(Tracking, TheFirstExperimentIsThereFromTheStart) {
  const Reply reply = get("experiments/get?experiment_id=0");
  ASSERT_EQ(reply.status, 200);
  const Json& experiment = *reply.json.find("experiment");
  EXPECT_EQ(experiment.get_string("name"), "Default");
  EXPECT_EQ(experiment.get_string("artifact_location"), "mlflow-artifacts:/0");
  EXPECT_GT(experiment.get_int("creation_time"), 1'600'000'000'000);
  EXPECT_EQ(post("experiments/create", R"({"name":"one"})").json.get_string("experiment_id"), "1");
  // Corral's own lists do not show it as long as nobody uses it.
  EXPECT_EQ(reader_of(*store_).experiments()->size(), 1U);
}

TEST_F(Tracking, AnExperimentLivesIsDeletedAndComesBackWithItsRuns) {
  const std::string id =
      post("experiments/create", R"({"name":"a"})").json.get_string("experiment_id");
  const std::string run = new_run(id);
  EXPECT_EQ(post("experiments/create", R"({"name":"a"})").code(), "RESOURCE_ALREADY_EXISTS");
  const std::string body = fmt::format(R"({{"experiment_id":"{}"}})", id);
  EXPECT_EQ(post("experiments/delete", body).status, 200);
  EXPECT_EQ(post("experiments/delete", body).status, 404);
  EXPECT_EQ(this->run(run).find("info")->get_string("lifecycle_stage"), "deleted");
  EXPECT_EQ(post("runs/create", body).status, 400);
  EXPECT_EQ(
      post("experiments/update", fmt::format(R"({{"experiment_id":"{}","new_name":"b"}})", id))
          .code(),
      "INVALID_STATE");
  EXPECT_EQ(reader_of(*store_).experiments()->size(), 0U);
  EXPECT_EQ(post("experiments/restore", body).status, 200);
  EXPECT_EQ(this->run(run).find("info")->get_string("lifecycle_stage"), "active");
  EXPECT_EQ(post("experiments/update",
                 fmt::format(R"({{"experiment_id":"{}","new_name":"Default"}})", id))
                .code(),
            "BAD_REQUEST");
  EXPECT_EQ(get("experiments/get-by-name?experiment_name=a")
                .json.find("experiment")
                ->get_string("experiment_id"),
            id);
  EXPECT_EQ(get("experiments/get-by-name?experiment_name=none").status, 404);
  EXPECT_EQ(get("experiments/get?experiment_id=abc").status, 400);
  EXPECT_EQ(get("experiments/get?experiment_id=77").status, 404);
}

TEST_F(Tracking, CorralsChangesAndTrashAreMlflows) {
  const std::string id = new_run();
  const auto change = [&](std::string_view members) {
    ok(Method::kPost, "/api/corral/v1/runs/changes",
       fmt::format(R"({{"changes":[{{"runs":["{}"],{}}}],"force":true}})", id, members));
    return *run(id).find("info");
  };
  const std::string native = "/api/corral/v1/runs/" + id;
  const auto tags = [&] { return run(id).find("data")->find("tags")->dump(); };
  EXPECT_EQ(change(R"("name":"best","tags":{"team":"vision"})").get_string("run_name"), "best");
  EXPECT_EQ(tags(), R"([{"key":"mlflow.runName","value":"best"},{"key":"team","value":"vision"}])");
  EXPECT_EQ(change(R"("state":"archived")").get_string("lifecycle_stage"), "active");
  EXPECT_EQ(
      post("runs/search", R"({"experiment_ids":["0"]})").json.find("runs")->as_array()->size(), 1U);
  EXPECT_EQ(change(R"("state":"trashed")").get_string("lifecycle_stage"), "deleted");
  const std::string body = fmt::format(R"({{"run_id":"{}"}})", id);
  EXPECT_EQ(post("runs/restore", body).status, 200);
  EXPECT_EQ(ok(Method::kGet, native).get_string("state"), "active");
  EXPECT_EQ(post("runs/delete", body).status, 200);
  EXPECT_EQ(ok(Method::kGet, native).get_string("state"), "trashed");
  EXPECT_GT(ok(Method::kGet, native).get_int("removal_ns"), 0);
}

TEST_F(Tracking, ARunHasItsNameTwice) {
  const Reply made =
      post("runs/create", R"({"experiment_id":"0","run_name":"first","start_time":"1700000000123",)"
                          R"("tags":[{"key":"mlflow.user","value":"ann"}]})");
  const Json& info = *made.json.find("run")->find("info");
  const std::string id = info.get_string("run_id");
  EXPECT_EQ(info.get_string("run_uuid"), id);
  EXPECT_EQ(info.get_string("status"), "RUNNING");
  EXPECT_EQ(info.get_int("start_time"), 1'700'000'000'123);
  EXPECT_EQ(info.get_string("artifact_uri"), "mlflow-artifacts:/0/" + id + "/artifacts");
  post("runs/set-tag",
       fmt::format(R"({{"run_uuid":"{}","key":"mlflow.runName","value":"b"}})", id));
  EXPECT_EQ(run(id).find("info")->get_string("run_name"), "b");
  const Reply updated = post(
      "runs/update",
      fmt::format(
          R"({{"run_id":"{}","run_name":"c","status":"FINISHED","end_time":1700000005000}})", id));
  EXPECT_EQ(updated.json.find("run_info")->get_string("status"), "FINISHED");
  EXPECT_EQ(updated.json.find("run_info")->get_int("end_time"), 1'700'000'005'000);
  bool tagged = false;
  const Json renamed = run(id);
  for (const Json& tag : *renamed.find("data")->find("tags")->as_array())
    tagged |= tag.get_string("key") == "mlflow.runName" && tag.get_string("value") == "c";
  EXPECT_TRUE(tagged);
  EXPECT_EQ(reader_of(*store_).run(*RunId::parse(id))->value().status, store::RunStatus::kFinished);
  EXPECT_EQ(post("runs/create", R"({"run_name":"a","tags":[{"key":"mlflow.runName","value":"b"}]})")
                .status,
            400);
}

TEST_F(Tracking, ParamsNeverChange) {
  const std::string id = new_run();
  const auto log = [&](std::string_view value) {
    return post("runs/log-parameter",
                fmt::format(R"({{"run_id":"{}","key":"p","value":"{}"}})", id, value));
  };
  EXPECT_EQ(log("1").status, 200);
  EXPECT_EQ(log("1").status, 200);
  const Reply other = log("2");
  EXPECT_EQ(other.code(), "INVALID_PARAMETER_VALUE");
  EXPECT_TRUE(
      other.message().starts_with("Changing param values is not allowed. Param with key='p'"));
  // A batch with such a param stores nothing.
  const Reply batch =
      post("runs/log-batch",
           fmt::format(R"({{"run_id":"{}","metrics":[{{"key":"m","value":1,"timestamp":1}}],)"
                       R"("params":[{{"key":"q","value":"1"}},{{"key":"p","value":"3"}}],)"
                       R"("tags":[{{"key":"t","value":"1"}}]}})",
                       id));
  EXPECT_EQ(batch.status, 400);
  const Json data = *run(id).find("data");
  EXPECT_EQ(data.find("params")->as_array()->size(), 1U);
  EXPECT_EQ(data.find("metrics"), nullptr);
  EXPECT_TRUE(history(id, "m").empty());
}

TEST_F(Tracking, LatestIsTheGreatestStepTimeAndValue) {
  const std::string id = new_run();
  const auto log = [&](int step, int time, std::string_view value) {
    EXPECT_EQ(post("runs/log-metric",
                   fmt::format(R"({{"run_id":"{}","key":"m","value":{},"timestamp":{},"step":{}}})",
                               id, value, time, step))
                  .status,
              200);
  };
  const auto latest = [&] { return run(id).find("data")->find("metrics")->as_array()->front(); };
  log(5, 100, "3");
  log(1, 900, "7");
  EXPECT_EQ(latest().find("value")->as_double(0), 3);
  log(5, 100, R"("NaN")");  // counts as 0
  EXPECT_EQ(latest().find("value")->as_double(0), 3);
  log(6, 1, R"("NaN")");
  EXPECT_EQ(latest().get_string("value"), "NaN");
  ASSERT_TRUE(store_->seal(true));
  EXPECT_EQ(latest().get_string("value"), "NaN");
  EXPECT_EQ(latest().get_int("step"), 6);
  log(7, 1, R"("-Infinity")");
  EXPECT_EQ(latest().get_string("value"), "-Infinity");
}

TEST_F(Tracking, ABatchSentAgainIsThereOnce) {
  const std::string id = new_run();
  const std::string body =
      fmt::format(R"({{"run_id":"{}","metrics":[{{"key":"m","value":1.5,"timestamp":10,"step":1}},)"
                  R"({{"key":"m","value":2.5,"timestamp":20,"step":2}},)"
                  R"({{"key":"n","value":"NaN","timestamp":10,"step":1}}]}})",
                  id);
  EXPECT_EQ(post("runs/log-batch", body).status, 200);
  EXPECT_EQ(post("runs/log-batch", body).status, 200);
  const Json::Array points = history(id, "m");
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].get_int("timestamp"), 10);
  EXPECT_EQ(points[1].find("value")->as_double(0), 2.5);
  EXPECT_EQ(history(id, "n").size(), 1U);
  EXPECT_TRUE(history(id, "none").empty());
  EXPECT_TRUE(history(RunId::random().hex(), "m").empty());
}

TEST_F(Tracking, PointsThatALoggedModelRepeatsAreTheRunsOnce) {
  const std::string id = new_run();
  const std::string model = post("logged-models", R"({"experiment_id":"0","name":"net"})")
                                .json.find("model")
                                ->find("info")
                                ->get_string("model_id");
  const auto log = [&](std::string_view metrics) {
    const Reply reply =
        post("runs/log-batch", fmt::format(R"({{"run_id":"{}","metrics":[{}]}})", id, metrics));
    EXPECT_EQ(reply.status, 200) << reply.message();
  };
  const auto of_model = [&](int step, int value) {
    return fmt::format(R"({{"key":"m","value":{},"timestamp":{},"step":{},"model_id":"{}"}})",
                       value, 1000 + step, step, model);
  };
  log(R"({"key":"m","value":5,"timestamp":1000,"step":0},{"key":"m","value":6,"timestamp":1001,"step":1})");
  // Step 0 again; step 1 with another value, a new step, and one of another metric are new.
  log(of_model(0, 5) + "," + of_model(1, 7) + "," + of_model(2, 8) +
      R"(,{"key":"n","value":1,"timestamp":1000})");
  log(of_model(0, 5));
  const auto points = [&](std::string_view key) {
    const auto all = reader_of(*store_).series_of(*RunId::parse(id)).value();
    const auto found = std::ranges::find(all, key, &store::Series::name);
    return found == all.end() ? -1 : found->points;
  };
  EXPECT_EQ(points("m"), 4);
  EXPECT_EQ(points("n"), 1);
  // A batch that is sent again, also by a client that comes back to another server's lane.
  const std::string batch =
      R"({"key":"k","value":1,"timestamp":5,"step":1},{"key":"k","value":1,"timestamp":5,"step":1},)"
      R"({"key":"k","value":2,"timestamp":6,"step":2})";
  log(batch);
  log(batch);
  mlflow::MetricWriter restarted(*store_, reader_of(*store_));
  context_->door = &restarted;
  log(batch);
  EXPECT_EQ(points("k"), 2);
  EXPECT_EQ(history(id, "m").size(), 4U);
  const Reply told = get("logged-models/" + model);
  EXPECT_EQ(told.json.find("model")->find("data")->find("metrics")->as_array()->size(), 3U);
}

TEST_F(Tracking, HistoryComesInPages) {
  const std::string id = new_run();
  std::string body = fmt::format(R"({{"run_id":"{}","metrics":[)", id);
  for (int i = 0; i < 10; ++i)
    body += fmt::format(R"({}{{"key":"m","value":{},"timestamp":{},"step":{}}})", i ? "," : "", i,
                        1000 - i, i);
  ASSERT_EQ(post("runs/log-batch", body + "]}").status, 200);
  std::string token;
  std::vector<std::int64_t> times;
  for (int pages = 0; pages < 10; ++pages) {
    const Reply page = get("metrics/get-history?run_id=" + id + "&metric_key=m&max_results=4" +
                           (token.empty() ? "" : "&page_token=" + token));
    for (const Json& point : *page.json.find("metrics")->as_array())
      times.push_back(point.get_int("timestamp"));
    token = page.json.get_string("next_page_token");
    if (token.empty()) break;
  }
  EXPECT_EQ(times.size(), 10U);
  EXPECT_TRUE(std::ranges::is_sorted(times));
  EXPECT_EQ(get("metrics/get-history?run_id=" + id + "&metric_key=m&max_results=0").status, 400);
  EXPECT_EQ(get("metrics/get-history?run_id=" + id + "&metric_key=m&page_token=x").status, 400);
  const Reply interval = get("metrics/get-history-bulk-interval?run_ids=" + id +
                             "&metric_key=m&start_step=2&end_step=4");
  EXPECT_EQ(interval.json.find("metrics")->as_array()->size(), 3U);
  EXPECT_EQ(
      get("metrics/get-history-bulk-interval?run_ids=" + id + "&metric_key=m&start_step=2").status,
      400);
}

// Longer than one page of a read, without a limit by the client.
TEST_F(Tracking, LongHistoryComesWhole) {
  const std::string id = new_run();
  constexpr int kPoints = 60'000;
  for (int first = 0; first < kPoints; first += 1000) {
    std::string body = fmt::format(R"({{"run_id":"{}","metrics":[)", id);
    for (int i = first; i < first + 1000; ++i)
      body += fmt::format(R"({}{{"key":"m","value":{},"timestamp":{},"step":{}}})",
                          i == first ? "" : ",", i, 1000 + i / 7, i);
    ASSERT_EQ(post("runs/log-batch", body + "]}").status, 200);
  }
  for (const auto& [more, count] :
       {std::pair("", kPoints), std::pair("&max_results=55000", 55'000)}) {
    const Json::Array points = history(id, "m", more);
    ASSERT_EQ(points.size(), static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i)
      ASSERT_EQ(points[static_cast<std::size_t>(i)].get_int("step"), i);
  }
  const Reply part = get("metrics/get-history?run_id=" + id + "&metric_key=m&max_results=55000");
  const Reply rest = get("metrics/get-history?run_id=" + id +
                         "&metric_key=m&page_token=" + part.json.get_string("next_page_token"));
  EXPECT_EQ(rest.json.find("metrics")->as_array()->front().get_int("step"), 55'000);
}

// More runs than are read at once.
TEST_F(Tracking, SearchThatFindsManyRunsTellsThemAll) {
  std::vector<std::string> ids;
  for (int i = 0; i < 1010; ++i) ids.push_back(new_run());
  const auto search = [&](const std::string& more) {
    return post("runs/search",
                R"({"experiment_ids":["0"],"order_by":["start_time"],)" + more + "}");
  };
  std::ranges::sort(ids);
  const auto ids_of = [](const Json& json) {
    std::vector<std::string> found;
    for (const Json& run : *json.find("runs")->as_array())
      found.push_back(run.find("info")->get_string("run_id"));
    std::ranges::sort(found);
    return found;
  };
  const Reply all = search(R"("max_results":5000)");
  EXPECT_EQ(ids_of(all.json), ids);
  EXPECT_EQ(all.json.find("next_page_token"), nullptr);
  const Reply part = search(R"("max_results":1005)");
  EXPECT_EQ(ids_of(part.json).size(), 1005U);
  const Reply rest = search(R"("max_results":1005,"page_token":")" +
                            part.json.get_string("next_page_token") + "\"");
  EXPECT_EQ(ids_of(rest.json).size(), 5U);
}

// PostgreSQL cannot keep one; an escaped backslash before "u0000" is no NUL.
TEST_F(Tracking, NulCharactersAreRefusedEverywhere) {
  const std::string id = new_run();
  const auto with_run = [&](std::string_view rest) {
    return fmt::format(R"({{"run_id":"{}",{}}})", id, rest);
  };
  EXPECT_EQ(post("experiments/create", R"({"name":"a\u0000b"})").status, 400);
  EXPECT_EQ(post("runs/create", R"({"experiment_id":"0","user_id":"a\u0000"})").status, 400);
  EXPECT_EQ(post("runs/set-tag", with_run(R"("key":"k","value":"\u0000")")).status, 400);
  EXPECT_EQ(post("runs/set-tag", with_run(R"("key":"k","value":"\\\u0000")")).status, 400);
  EXPECT_EQ(post("runs/log-parameter",
                 R"("{\"run_id\":\")" + id + R"(\",\"key\":\"k\",\"value\":\"\\u0000\"}")")
                .status,
            400)
      << "encoded twice";
  EXPECT_EQ(post("runs/log-batch", with_run(R"("params":[{"key":"p","value":"a\u0000"}],)"
                                            R"("metrics":[{"key":"m","value":1,"timestamp":1}])"))
                .status,
            400);
  EXPECT_TRUE(history(id, "m").empty());
  EXPECT_EQ(post("runs/set-tag", with_run(R"("key":"k","value":"\\u0000")")).status, 200);
  EXPECT_EQ(
      post("runs/log-batch", with_run(R"("params":[{"key":"p","value":"\\\\u0000"}])")).status,
      200);
}

TEST_F(Tracking, RefusedBatchesCostNoSession) {
  const std::string id = new_run();
  const auto log = [&](std::string_view value, std::string_view metric, int step) {
    return post("runs/log-batch",
                fmt::format(R"({{"run_id":"{}","params":[{{"key":"p","value":"{}"}}],)"
                            R"("metrics":[{{"key":"{}","value":1,"timestamp":1,"step":{}}}]}})",
                            id, value, metric, step))
        .status;
  };
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(log("kept", "m", i), 200);
    EXPECT_EQ(log("changed", "fresh", i), 400) << "a param never changes";
  }
  EXPECT_EQ(log("kept", "fresh", 9), 200);
  EXPECT_EQ(history(id, "m").size(), 5U);
  ASSERT_EQ(history(id, "fresh").size(), 1U);
  EXPECT_EQ(history(id, "fresh")[0].get_int("step"), 9);
  EXPECT_TRUE(reader_of(*store_).inspect([](store::sql::Reading& reading) -> Result<> {
    EXPECT_EQ(TRY(reading.db.number("SELECT count(*) FROM sessions")), 1);
    return {};
  }));
}

TEST_F(Tracking, ManyTagsAreReadInTimeThatGrowsWithThem) {
  std::string tags;
  for (int i = 0; i < 200'000; ++i)
    tags += fmt::format(R"({}{{"key":"a{}"}})", i == 0 ? "" : ",", i);
  const auto begun = std::chrono::steady_clock::now();
  // The last is a duplicate: all are compared, and nothing is stored.
  EXPECT_EQ(
      post("runs/create", R"({"experiment_id":"0","tags":[)" + tags + R"(,{"key":"a0"}]})").status,
      400);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20))
      << "a minute when each is compared with each";
}

TEST_F(Tracking, AMetricThatNoFrameCanNameIsRefusedByItsName) {
  const std::string id = new_run();
  std::string key;
  for (int i = 0; i < 126; ++i) key += "\xc3\xa4";
  const Reply refused =
      post("runs/log-batch", fmt::format(R"({{"run_id":"{}","params":[{{"key":"p","value":"v"}}],)"
                                         R"("metrics":[{{"key":"{}","value":1,"timestamp":1}}]}})",
                                         id, key));
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.message(), "'Metric name' exceeds the maximum length of 250 bytes");
  EXPECT_EQ(run(id).find("data")->find("params"), nullptr) << "all or nothing";
}

TEST_F(Tracking, DeletedRunsTakeNothing) {
  const std::string id = new_run();
  const std::string body = fmt::format(R"({{"run_id":"{}"}})", id);
  EXPECT_EQ(post("runs/delete", body).status, 200);
  EXPECT_EQ(post("runs/delete", body).status, 200);
  const Reply refused = post(
      "runs/log-metric", fmt::format(R"({{"run_id":"{}","key":"m","value":1,"timestamp":1}})", id));
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.message(),
            fmt::format("The run {} must be in the 'active' state. Current state is deleted.", id));
  EXPECT_EQ(post("runs/restore", body).status, 200);
  EXPECT_EQ(post("runs/log-batch", body).status, 200);
  EXPECT_EQ(
      post("runs/log-batch", fmt::format(R"({{"run_id":"{}"}})", RunId::random().hex())).status,
      404);
}

TEST_F(Tracking, BulkHistoryTellsEachRunOnce) {
  const std::string id = new_run();
  post("runs/log-metric",
       fmt::format(R"({{"run_id":"{}","key":"m","value":1,"timestamp":1}})", id));
  const std::string query = "metrics/get-history-bulk?run_id=" + id + "&run_id=" + id;
  EXPECT_EQ(get(query + "&metric_key=m").json.find("metrics")->as_array()->size(), 1U);
  EXPECT_EQ(get(query).message(), "GetMetricHistoryBulk request must specify a metric_key.");
}

TEST_F(Tracking, AMetricOfWhatIsNoRunIsNotFound) {
  const Reply reply =
      post("runs/log-metric", R"({"run_id":"nope","key":"m","value":1,"timestamp":1})");
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.code(), "RESOURCE_DOES_NOT_EXIST");
  EXPECT_EQ(reply.message(), "Run with id=nope not found");
}

TEST_F(Tracking, ARunWithoutAStartHasNoDuration) {
  const std::string id = new_run();
  const auto duration = [&] {
    return json_of(send(Method::kGet, "/api/corral/v1/runs/" + id)).find("duration_s")->dump();
  };
  EXPECT_EQ(duration(), "0");
  post("runs/update", fmt::format(R"({{"run_id":"{}","status":"FINISHED","end_time":3000}})", id));
  EXPECT_EQ(duration(), "2");
  post("runs/update",
       fmt::format(R"({{"run_id":"{}","status":"FINISHED","end_time":1795442400000}})", id));
  EXPECT_EQ(duration(), "null");
}

TEST_F(Tracking, WhatIsNotThereIsAnErrorOfTheInterfacesForm) {
  EXPECT_EQ(get("nothing").code(), "ENDPOINT_NOT_FOUND");
  EXPECT_EQ(get("nothing").status, 404);
  const Reply verb = get("runs/create");
  EXPECT_EQ(verb.status, 405);
  EXPECT_FALSE(verb.code().empty());
}

TEST_F(Tracking, ManyClientsLogToOneRun) {
  const std::string id = new_run();
  constexpr int kClients = 6;
  constexpr int kBatches = 30;
  {
    std::vector<std::jthread> clients;
    for (int c = 0; c < kClients; ++c) {
      clients.emplace_back([&, c] {
        for (int b = 0; b < kBatches; ++b) {
          const int step = c * kBatches + b;
          EXPECT_EQ(post("runs/log-batch",
                         fmt::format(R"({{"run_id":"{}","metrics":[{{"key":"m","value":{},)"
                                     R"("timestamp":{},"step":{}}}]}})",
                                     id, step, step, step))
                        .status,
                    200);
        }
      });
    }
  }
  const Json::Array points = history(id, "m");
  ASSERT_EQ(points.size(), static_cast<std::size_t>(kClients * kBatches));
  for (std::size_t i = 0; i < points.size(); ++i)
    EXPECT_EQ(points[i].get_int("step"), static_cast<std::int64_t>(i));
}

// A sweep's clients may come by turns: each run keeps its session, and its points stay in order.
TEST_F(Tracking, ThousandsOfRunsInTurnKeepTheirSessions) {
  constexpr std::size_t kRuns = 3000, kTurns = 3, kClients = 50;
  std::vector<std::string> ids(kRuns);
  const store::Change make = [&](store::sql::Connection& db) -> Result<> {
    for (std::string& id : ids) {
      store::tracking::NewRun run;
      run.id = RunId::random();
      run.start = utc_time(1'000'000);
      TRY(store::tracking::create_run(db, run));
      id = run.id.hex();
    }
    return {};
  };
  ASSERT_TRUE(store_->change(make));
  for (std::size_t turn = 0; turn < kTurns; ++turn) {
    std::vector<std::jthread> clients;
    for (std::size_t c = 0; c < kClients; ++c) {
      clients.emplace_back([&, c] {
        for (std::size_t run = c; run < kRuns; run += kClients) {
          EXPECT_EQ(post("runs/log-metric",
                         fmt::format(R"({{"run_id":"{}","key":"m","value":{},"timestamp":{},)"
                                     R"("step":{}}})",
                                     ids[run], turn, turn, turn))
                        .status,
                    200);
        }
      });
    }
  }
  const store::Inspect count = [&](store::sql::Reading& reading) -> Result<> {
    EXPECT_EQ(TRY(reading.db.number("SELECT count(*) FROM sessions")), kRuns);
    EXPECT_EQ(TRY(reading.db.number("SELECT count(*) FROM series")), kRuns);
    EXPECT_EQ(TRY(reading.db.number("SELECT count(*) FROM session_series")), kRuns);
    return {};
  };
  ASSERT_TRUE(reader_of(*store_).inspect(count));
  for (const std::size_t run : {std::size_t{0}, kRuns / 2, kRuns - 1})
    EXPECT_EQ(history(ids[run], "m").size(), kTurns);
}

TEST_F(Tracking, DatasetsAndModelsOfARun) {
  const std::string id = new_run();
  const std::string body = fmt::format(
      R"({{"run_id":"{}","datasets":[{{"tags":[{{"key":"mlflow.data.context","value":"train"}}],)"
      R"("dataset":{{"name":"digits","digest":"abc","source_type":"local","source":"{{}}"}}}}]}})",
      id);
  EXPECT_EQ(post("runs/log-inputs", body).status, 200);
  EXPECT_EQ(post("runs/log-inputs", body).status, 200);
  const Json made = run(id);
  const auto& inputs = *made.find("inputs")->find("dataset_inputs")->as_array();
  ASSERT_EQ(inputs.size(), 1U);
  EXPECT_EQ(inputs[0].find("dataset")->get_string("name"), "digits");
  const Reply summaries = post("experiments/search-datasets", R"({"experiment_ids":["0"]})");
  EXPECT_EQ(summaries.json.find("dataset_summaries")->as_array()->front().get_string("context"),
            "train");
}

}  // namespace
}  // namespace corral::server::mlflow
