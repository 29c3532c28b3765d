// Traces through the routes, over a real SQLite store, without a socket.
#include <fmt/core.h>

#include <filesystem>

#include "server/core/artifacts.h"
#include "server/core/test_handlers.h"
#include "store/artifacts/open/open_artifacts.h"

namespace corral::server {
namespace {

constexpr const char* kHex = "0102030405060708090a0b0c0d0e0f10";
constexpr const char* kTrace = "tr-0102030405060708090a0b0c0d0e0f10";
const std::string kV3 = "/api/3.0/mlflow/traces";
const std::string kV2 = "/api/2.0/mlflow/traces";

class Traces : public HandlerTest {
 protected:
  Json post(const std::string& path, const std::string& body) {
    return ok(Method::kPost, path, body);
  }
  Json get(const std::string& path) { return ok(Method::kGet, path); }
  // One span as an exporter sends it.
  static std::string span(int id, int parent, const std::string& more = {}) {
    const std::string up = parent == 0 ? "" : fmt::format(R"("parentSpanId":"{:016x}",)", parent);
    return fmt::format(
        R"({{"traceId":"{}","spanId":"{:016x}",{}"name":"s{}","startTimeUnixNano":"{}",)"
        R"("endTimeUnixNano":"3000000000"{}}})",
        kHex, id, up, id, 1'000'000'000 + id * 1'000'000, more);
  }
  Response otlp(const std::string& spans, const std::string& experiment = "0",
                const std::string& run = {}) {
    Pairs headers{{"content-type", "application/json"}, {"x-mlflow-experiment-id", experiment}};
    if (!run.empty()) headers.emplace_back("x-mlflow-run-id", run);
    return send(Method::kPost, "/v1/traces",
                R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name",)"
                R"("value":{"stringValue":"svc"}}]},"scopeSpans":[{"spans":[)" +
                    spans + "]}]}]}",
                headers);
  }
  // A record as the client sends it at the end of a trace.
  static std::string record(const std::string& more = {}, const std::string& metadata = {}) {
    return fmt::format(
        R"({{"trace":{{"trace_info":{{"trace_id":"{}","trace_location":{{"type":"MLFLOW_EXPERIMENT",)"
        R"("mlflow_experiment":{{"experiment_id":"0"}}}},"request_time":"1970-01-01T00:00:01.5Z",)"
        R"("execution_duration":"0.106s","state":"OK","trace_metadata":{{{}}},)"
        R"("tags":{{"mlflow.traceName":"outer"}},"request_preview":"q"{}}}}}}})",
        kTrace, metadata, more);
  }
  std::string make_run() {
    const Json run = post("/api/2.0/mlflow/runs/create",
                          R"({"experiment_id":"0","run_name":"r","start_time":1})");
    return run.find("run")->find("info")->get_string("run_id");
  }
  Json phases(const std::string& run) {
    return *get("/api/corral/v1/runs/" + run + "/phases").find("phases");
  }
};

TEST_F(Traces, ARecordComesBackAsItWasSent) {
  const std::string expected =
      R"({"trace":{"trace_info":{"trace_id":"tr-0102030405060708090a0b0c0d0e0f10",)"
      R"("trace_location":{"type":"MLFLOW_EXPERIMENT","mlflow_experiment":{"experiment_id":"0"}},)"
      R"("request_time":"1970-01-01T00:00:01.500Z","execution_duration":"0.106s","state":"OK",)"
      R"("trace_metadata":{"mlflow.trace.infoFinalized":"true","user":"ann"},)"
      R"("tags":{"mlflow.artifactLocation":)"
      R"("mlflow-artifacts:/0/traces/tr-0102030405060708090a0b0c0d0e0f10/artifacts",)"
      R"("mlflow.traceName":"outer"},"request_preview":"q","response_preview":"a"}}})";
  const std::string body = record(R"(,"response_preview":"a")", R"("user":"ann")");
  EXPECT_EQ(send(Method::kPost, kV3, body).body, expected);
  EXPECT_EQ(send(Method::kPost, kV3, body).body, expected);  // once more is the same
  EXPECT_EQ(send(Method::kGet, kV3 + "/" + kTrace).body, expected);
}

TEST_F(Traces, WhatIsWrongIsSaid) {
  EXPECT_TRUE(
      refused(Method::kPost, kV3, "{}")
          .starts_with(
              "400 INVALID_PARAMETER_VALUE: Missing value for required parameter 'trace'."));
  EXPECT_EQ(refused(Method::kGet, kV3 + "/tr-0"),
            "404 RESOURCE_DOES_NOT_EXIST: Trace with ID 'tr-0' not found.");
  for (const char* time : {"", "yesterday", "1970-13-01T00:00:00Z", "1970-01-01T00:00:00",
                           "9999-01-01T00:00:00Z", "1970-01-01T24:00:00Z"}) {
    std::string body = record();
    body.replace(body.find("1970-01-01T00:00:01.5Z"), 22, time);
    EXPECT_TRUE(refused(Method::kPost, kV3, body).starts_with("400 INVALID_PARAMETER")) << time;
  }
  std::string body = record();
  body.replace(body.find(kTrace), std::string_view(kTrace).size(), "../up");
  EXPECT_TRUE(refused(Method::kPost, kV3, body).starts_with("400 INVALID_PARAMETER_VALUE"));
  body = record();
  body.replace(body.find(R"("experiment_id":"0")"), 19, R"("experiment_id":"99")");
  EXPECT_EQ(refused(Method::kPost, kV3, body),
            "404 RESOURCE_DOES_NOT_EXIST: No Experiment with id=99 exists");
}

TEST_F(Traces, SpansAloneMakeATrace) {
  const Response stored =
      otlp(span(1, 0,
                R"(,"status":{"code":2},"attributes":[{"key":"mlflow.spanInputs","value":)"
                R"({"stringValue":"in"}},{"key":"mlflow.traceTag.k","value":{"stringValue":"v"}},)"
                R"({"key":"session.id","value":{"stringValue":"s9"}}])") +
           "," + span(2, 1));
  ASSERT_EQ(stored.status, 200) << stored.body;
  const Response got = send(Method::kGet, kV3 + "/get?trace_id=" + kTrace);
  ASSERT_EQ(got.status, 200) << got.body;
  const auto json = Json::parse(got.body);
  const Json& info = *json->find("trace")->find("trace_info");
  EXPECT_EQ(info.get_string("state"), "ERROR");
  EXPECT_EQ(info.get_string("request_time"), "1970-01-01T00:00:01.001Z");
  EXPECT_EQ(info.get_string("execution_duration"), "1.999s");
  EXPECT_EQ(info.get_string("request_preview"), "\"in\"");
  EXPECT_EQ(info.find("tags")->get_string("service.name"), "svc");
  EXPECT_EQ(info.find("tags")->get_string("k"), "v");
  EXPECT_EQ(info.find("tags")->get_string("mlflow.trace.spansLocation"), "TRACKING_STORE");
  EXPECT_EQ(info.find("trace_metadata")->get_string("mlflow.trace.session"), "s9");
  const auto& spans = *json->find("trace")->find("spans")->as_array();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].get_string("name"), "s1");
  EXPECT_EQ(spans[1].get_string("parent_span_id"), "AAAAAAAAAAE=");
}

TEST_F(Traces, ARecordCountsMoreThanItsSpansWhicheverComesFirst) {
  for (const bool spans_first : {true, false}) {
    if (!spans_first) post(kV3, record());
    ASSERT_EQ(otlp(span(1, 0, R"(,"status":{"code":2})")).status, 200);
    if (spans_first) post(kV3, record());
    const Json got = get(kV3 + "/" + kTrace);
    const Json& info = *got.find("trace")->find("trace_info");
    EXPECT_EQ(info.get_string("state"), "OK");
    EXPECT_EQ(info.get_string("request_time"), "1970-01-01T00:00:01.500Z");
    EXPECT_EQ(info.get_string("execution_duration"), "0.106s");
    EXPECT_EQ(info.find("tags")->get_string("mlflow.traceName"), "outer");
    EXPECT_EQ(info.find("tags")->get_string("mlflow.trace.spansLocation"), "TRACKING_STORE");
    const Json gone = post(kV3 + "/delete-traces",
                           fmt::format(R"({{"experiment_id":"0","request_ids":["{}"]}})", kTrace));
    EXPECT_EQ(gone.get_int("traces_deleted"), 1);
  }
}

TEST_F(Traces, OnlyWholeTracesAreReadTogether) {
  post(kV3, record("", R"("mlflow.trace.sizeStats":"{\"num_spans\": 2}")"));
  const std::string batch = kV3 + "/batchGet?trace_ids=" + kTrace + "&trace_ids=tr-ff";
  EXPECT_EQ(send(Method::kGet, batch).body, "{}");
  ASSERT_EQ(otlp(span(1, 0)).status, 200);
  EXPECT_EQ(send(Method::kGet, batch).body, "{}");
  EXPECT_EQ(send(Method::kGet, kV3 + "/get?trace_id=" + kTrace).status, 404);
  EXPECT_EQ(send(Method::kGet, kV3 + "/get?allow_partial=true&trace_id=" + kTrace).status, 200);
  ASSERT_EQ(otlp(span(2, 1)).status, 200);
  EXPECT_EQ(get(batch).find("traces")->as_array()->size(), 1U);
  EXPECT_EQ(post(kV3 + "/batchGetInfos", fmt::format(R"({{"trace_ids":["{}"]}})", kTrace))
                .find("trace_infos")
                ->as_array()
                ->size(),
            1U);
}

TEST_F(Traces, OtlpRefusesWhatItCannotTake) {
  const auto detail = [](const Response& response) {
    const auto json = Json::parse(response.body);
    return std::to_string(response.status) + ' ' + json->get_string("detail");
  };
  EXPECT_EQ(send(Method::kPost, "/v1/traces", "{}").status, 422);
  const Pairs proto{{"content-type", "application/x-protobuf"}, {"x-mlflow-experiment-id", "0"}};
  EXPECT_EQ(detail(send(Method::kPost, "/v1/traces", "\xff\xff", proto)),
            "400 Invalid OpenTelemetry format");
  EXPECT_EQ(detail(send(Method::kPost, "/v1/traces", "", proto)),
            "400 Invalid OpenTelemetry format - no spans found");
  const Pairs text{{"content-type", "text/plain"}, {"x-mlflow-experiment-id", "0"}};
  EXPECT_EQ(detail(send(Method::kPost, "/v1/traces", "x", text)),
            "400 Invalid Content-Type: text/plain. Expected: application/x-protobuf or "
            "application/json");
  EXPECT_EQ(otlp(R"({"name":"no ids"})").status, 422);
  EXPECT_EQ(otlp(span(1, 0), "99").status, 404);
  EXPECT_EQ(otlp(span(1, 0), "abc").status, 400);
  EXPECT_EQ(send(Method::kGet, kV3 + "/" + kTrace).status, 404);
}

TEST_F(Traces, SpansOfARunAreItsPhasesOnce) {
  const std::string run = make_run();
  const std::string metadata = fmt::format(R"("mlflow.sourceRun":"{}")", run);
  ASSERT_EQ(otlp(span(1, 0) + "," + span(2, 1)).status, 200);
  EXPECT_EQ(phases(run).as_array()->size(), 0U);
  post(kV3, record("", metadata));
  EXPECT_EQ(phases(run).as_array()->size(), 2U);
  ASSERT_EQ(otlp(span(2, 1) + "," + span(3, 1)).status, 200);
  post(kV3, record("", metadata));
  const Json shown = phases(run);
  ASSERT_EQ(shown.as_array()->size(), 3U);
  const Json& first = shown.as_array()->front();
  EXPECT_EQ(first.get_string("name"), "s1");
  EXPECT_EQ(first.get_string("lane"), "svc");
  EXPECT_EQ(first.get_string("type"), "trace");
  EXPECT_EQ(first.get_int("start_ns"), 1'001'000'000);
  EXPECT_EQ(first.get_int("end_ns"), 3'000'000'000);
  EXPECT_EQ((*shown.as_array())[1].get_string("parent"), first.get_string("id"));
}

TEST_F(Traces, LinkedTracesAreFoundByTheirRun) {
  const std::string run = make_run();
  const std::string search =
      R"({"locations":[{"type":"MLFLOW_EXPERIMENT","mlflow_experiment":{"experiment_id":"0"}}],)"
      R"("filter":"attributes.run_id = ')" +
      run + "'\"}";
  post(kV3, record());
  ASSERT_EQ(otlp(span(1, 0)).status, 200);
  EXPECT_EQ(send(Method::kPost, kV3 + "/search", search).body, "{}");
  post(kV2 + "/link-to-run",
       fmt::format(R"({{"trace_ids":["{}","tr-ff"],"run_id":"{}"}})", kTrace, run));
  EXPECT_EQ(post(kV3 + "/search", search).find("traces")->as_array()->size(), 1U);
  EXPECT_EQ(phases(run).as_array()->size(), 1U);
  ASSERT_EQ(otlp(span(2, 1)).status, 200);
  EXPECT_EQ(phases(run).as_array()->size(), 2U);
  EXPECT_TRUE(refused(Method::kPost, kV2 + "/link-to-run",
                      R"({"trace_ids":["x"],"run_id":"ffffffffffffffffffffffffffffffff"})")
                  .starts_with("404"));
}

TEST_F(Traces, AnExporterNamesTheRunInAHeader) {
  const std::string run = make_run();
  ASSERT_EQ(otlp(span(1, 0), "0", run).status, 200);
  EXPECT_EQ(phases(run).as_array()->size(), 1U);
}

TEST_F(Traces, TagsAreSetAndDeleted) {
  post(kV3, record());
  const std::string path = kV3 + "/" + kTrace + "/tags";
  ok(Method::kPatch, path, R"({"key":"k","value":"v"})");
  EXPECT_EQ(
      get(kV3 + "/" + kTrace).find("trace")->find("trace_info")->find("tags")->get_string("k"),
      "v");
  ok(Method::kDelete, path, R"({"key":"k"})");
  EXPECT_EQ(refused(Method::kDelete, path, R"({"key":"k"})"),
            fmt::format("404 RESOURCE_DOES_NOT_EXIST: No trace tag with key 'k' for trace with ID "
                        "'{}'",
                        kTrace));
  EXPECT_TRUE(refused(Method::kPatch, path, R"({"key":"mlflow.trace.spansLocation","value":"x"})")
                  .starts_with("400"));
  EXPECT_TRUE(
      refused(Method::kPatch, kV3 + "/tr-0/tags", R"({"key":"k","value":"v"})").starts_with("404"));
}

TEST_F(Traces, TheOldestGoFirst) {
  for (int i = 1; i <= 3; ++i) {
    std::string body = record();
    body.replace(body.find(kTrace), std::string_view(kTrace).size(), fmt::format("tr-{}", i));
    body.replace(body.find("00:00:01.5Z"), 11, fmt::format("00:00:0{}Z", i));
    post(kV3, body);
  }
  const auto removed = [&](const std::string& what) {
    return post(kV3 + "/delete-traces", R"({"experiment_id":"0",)" + what + "}")
        .get_int("traces_deleted");
  };
  EXPECT_EQ(removed(R"("max_timestamp_millis":2500,"max_traces":1)"), 1);
  EXPECT_EQ(send(Method::kGet, kV3 + "/tr-1").status, 404);
  EXPECT_EQ(removed(R"("max_timestamp_millis":2000)"), 1);
  EXPECT_EQ(removed(R"("request_ids":["tr-3","tr-4"])"), 1);
  EXPECT_EQ(refused(Method::kPost, kV3 + "/delete-traces", R"({"experiment_id":"0"})"),
            "400 INVALID_PARAMETER_VALUE: Either `max_timestamp_millis` or `trace_ids` must be "
            "specified.");
}

TEST_F(Traces, OldClientsBeginAndEndARecord) {
  const Json started = post(kV2, R"({"experiment_id":"0","timestamp_ms":1000,)"
                                 R"("request_metadata":[{"key":"user","value":"ann"}],"tags":[]})");
  const std::string id = started.find("trace_info")->get_string("request_id");
  EXPECT_EQ(id.size(), 32U);
  EXPECT_EQ(started.find("trace_info")->get_string("status"), "IN_PROGRESS");
  const Response ended =
      send(Method::kPatch, kV2 + "/" + id,
           R"({"timestamp_ms":1500,"status":"OK","request_metadata":[{"key":"more","value":"1"}],)"
           R"("tags":[{"key":"t","value":"u"}]})");
  const std::string expected =
      R"({"trace_info":{"request_id":")" + id +
      R"(","experiment_id":"0","timestamp_ms":1000,"execution_time_ms":500,"status":"OK",)"
      R"("request_metadata":[{"key":"more","value":"1"},{"key":"user","value":"ann"}],)"
      R"("tags":[{"key":"mlflow.artifactLocation","value":"mlflow-artifacts:/0/traces/)" +
      id + R"(/artifacts"},{"key":"t","value":"u"}]}})";
  EXPECT_EQ(ended.body, expected);
  EXPECT_EQ(send(Method::kGet, kV2 + "/" + id + "/info").body, expected);
  EXPECT_EQ(get(kV2 + "?experiment_ids=0&max_results=10").find("traces")->as_array()->size(), 1U);
  EXPECT_TRUE(refused(Method::kPatch, kV2 + "/tr-0", R"({"timestamp_ms":1})").starts_with("404"));
}

TEST_F(Traces, SpansInAFileAreThePhasesOfTheirRun) {
  const auto files = store::artifacts::open_artifact_store((directory_ / "files").string()).value();
  context_->artifacts = files.get();
  const std::string run = make_run();
  const Json started =
      post(kV2, R"({"experiment_id":"0","timestamp_ms":1000,"tags":[],"request_metadata":[)"
                R"({"key":"mlflow.sourceRun","value":")" +
                    run + R"("}]})");
  const std::string id = started.find("trace_info")->get_string("request_id");
  const std::string file = fmt::format(
      R"({{"spans":[{{"name":"outer","context":{{"span_id":"0000000000000001","trace_id":"{0}"}},)"
      R"("parent_id":null,"start_time":1000000000,"end_time":3000000000,"status_code":"OK",)"
      R"("status_message":"","attributes":{{"mlflow.traceRequestId":"\"{1}\""}},"events":[]}},)"
      R"({{"name":"inner","context":{{"span_id":"0000000000000002","trace_id":"{0}"}},)"
      R"("parent_id":"0000000000000001","start_time":1500000000,"end_time":2000000000,)"
      R"("status_code":"OK","status_message":"","attributes":{{}},"events":[]}}]}})",
      kHex, id);
  const std::string folder = "/api/2.0/mlflow-artifacts/artifacts/0/traces/" + id + "/artifacts/";
  for (const std::string& content : {file, file, std::string("no JSON")})
    EXPECT_EQ(send(Method::kPut, folder + "traces.json", content, {}).status, 200);
  EXPECT_EQ(send(Method::kPut, folder + "other.json", file, {}).status, 200);
  const Json shown = phases(run);
  ASSERT_EQ(shown.as_array()->size(), 2U);
  const Json& outer = shown.as_array()->front();
  EXPECT_EQ(outer.get_string("name"), "outer");
  EXPECT_EQ(outer.get_int("end_ns"), 3'000'000'000);
  EXPECT_EQ(outer.find("attributes")->get_string("trace_id"), id);
  EXPECT_EQ((*shown.as_array())[1].get_string("parent"), outer.get_string("id"));
}

TEST_F(Traces, ClientsLearnWhomTheySpeakTo) {
  EXPECT_EQ(send(Method::kGet, "/version").body, "3.17.2");
  EXPECT_EQ(send(Method::kGet, "/health").body, "OK");
  EXPECT_EQ(get("/ajax-api/3.0/mlflow/server-info").get_string("store_type"), "SqlStore");
  EXPECT_EQ(send(Method::kGet, "/ajax-api/2.0/mlflow/radt-config").body, "{}");
}

TEST_F(Traces, AssessmentsAreKeptWithTheirTrace) {
  post(kV3, record(R"(,"assessments":[{"assessment_name":"first","feedback":{"value":1}}])"));
  const std::string path = kV3 + "/" + kTrace + "/assessments";
  const auto made = post(path, R"({"assessment":{"assessment_name":"right","trace_id":"x",
      "source":{"source_type":"HUMAN","source_id":"me"},"feedback":{"value":true,
      "error":{"error_code":"E"}},"rationale":"r","metadata":{"a":"b"},"other":1}})");
  const Json& one = *made.find("assessment");
  const std::string id = one.get_string("assessment_id");
  EXPECT_TRUE(id.starts_with("a-") && id.size() == 34) << id;
  EXPECT_EQ(one.get_string("trace_id"), kTrace);
  EXPECT_EQ(one.find("valid")->dump(), "true");
  EXPECT_EQ(one.find("other"), nullptr);
  EXPECT_FALSE(one.get_string("create_time").empty());
  const auto told = [&] {
    const Json info = get(kV3 + "/" + kTrace);
    return info.find("trace")->find("trace_info")->find("assessments")->as_array()->size();
  };
  EXPECT_EQ(told(), 2U);
  const Json changed = ok(Method::kPatch, path + "/" + id,
                          R"({"assessment":{"feedback":{"value":"no"},"metadata":{"c":"d"}},)"
                          R"("update_mask":"feedback,metadata"})");
  EXPECT_EQ(changed.find("assessment")->find("feedback")->dump(), R"({"value":"no"})");
  EXPECT_EQ(changed.find("assessment")->find("metadata")->dump(), R"({"a":"b","c":"d"})");
  const Json other = post(path, R"({"assessment":{"assessment_name":"right","overrides":")" + id +
                                    R"(","feedback":{"value":1}}})");
  const auto valid = [&] { return get(path + "/" + id).find("assessment")->find("valid")->dump(); };
  EXPECT_EQ(valid(), "false");
  ok(Method::kDelete, path + "/" + other.find("assessment")->get_string("assessment_id"));
  EXPECT_EQ(valid(), "true");
  ok(Method::kDelete, path + "/" + id);
  EXPECT_EQ(told(), 1U);
}

TEST_F(Traces, EvaluationDatasetsAreTakenAndNotKept) {
  const std::string path = "/api/3.0/mlflow/datasets/";
  const Json made = post(path + "create", R"({"name":"größe","tags":"{\"a\": \"b\"}"})");
  const std::string id = made.find("dataset")->get_string("dataset_id");
  EXPECT_EQ(made.find("dataset")->get_string("tags"), R"({"a": "b"})");
  EXPECT_EQ(made.find("dataset")->get_string("digest").size(), 8U);
  EXPECT_EQ(get(path + id).find("dataset")->get_string("name"), "größe");
  EXPECT_EQ(post(path + id + "/records", R"({"records":"[{},{}]"})").get_int("inserted_count"), 2);
  EXPECT_EQ(post(path + "search", "{}").dump(), "{}");
  EXPECT_TRUE(refused(Method::kGet, path + id + "/records").starts_with("501 NOT_IMPLEMENTED"));
  ok(Method::kDelete, path + id);
  for (const char* wrong : {"d-", "d-6", "d-zz", "x-61", "d-ff"})
    EXPECT_TRUE(refused(Method::kGet, path + wrong).starts_with("404 RESOURCE_DOES_NOT_EXIST"))
        << wrong;
}

TEST_F(Traces, WrongAssessmentsAreRefused) {
  post(kV3, record());
  const std::string path = kV3 + "/" + kTrace + "/assessments";
  EXPECT_EQ(
      refused(Method::kGet, path + "/a-1"),
      std::string("404 RESOURCE_DOES_NOT_EXIST: Assessment with ID 'a-1' not found for trace '") +
          kTrace + "'");
  EXPECT_TRUE(refused(Method::kPost, kV3 + "/tr-none/assessments",
                      R"({"assessment":{"assessment_name":"a","feedback":{"value":1}}})")
                  .starts_with("404 RESOURCE_DOES_NOT_EXIST"));
  for (const char* fields :
       {R"("feedback":{"value":1},"expectation":{"value":1})", R"("feedback":1)",
        R"("feedback":{"error":5})", R"("feedback":{"value":1},"metadata":{"a":1})",
        R"("feedback":{"value":1},"create_time":"now")", R"("rationale":"r")"}) {
    const std::string body =
        fmt::format(R"({{"assessment":{{"assessment_name":"a",{}}}}})", fields);
    EXPECT_TRUE(refused(Method::kPost, path, body).starts_with("400 INVALID_PARAMETER_VALUE"))
        << fields;
  }
}

}  // namespace
}  // namespace corral::server
