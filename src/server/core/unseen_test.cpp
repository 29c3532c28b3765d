// Everything that an interface answers, asked by one who does not see a space: nothing of what lies
// in it is told, and nothing of it changes.
#include "server/core/unseen.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/text.h"
#include "server/core/test_handlers.h"
#include "store/artifacts/open/open_artifacts.h"
#include "store/tables/spaces.h"
#include "store/test_frames.h"
#include "store/test_rows.h"

namespace corral::server {
namespace {

constexpr std::string_view kApi = "/api/corral/v1/";

class Unseen : public HandlerTest {
 protected:
  // Two alike: what lies in the space "hidden" (and tells of a secret), and in the space "seen".
  struct Side {
    std::string space;
    RunId run;
    SessionId session;
    std::map<std::string, std::string> ids;  // by name of a field
  };

  void SetUp() override {
    if (!door::owns("/api/2.0/mlflow")) GTEST_SKIP() << "built without compat";
    files_ = store::artifacts::open_artifact_store((directory_ / "artifacts").string(),
                                                   (directory_ / "store").string())
                 .value();
    for (const char* space : {"hidden", "seen"}) {
      ASSERT_TRUE(store_->change([&](store::Writing& writing) {
        return store::accounts::add_space(writing, {.name = space, .members = {}});
      }));
    }
    see_all();
    for (Side* side : {&hidden_, &seen_}) fill(*side);
  }
  void see_all() {
    context_->reader = {*store_, store::Access::everything()};
    context_->artifacts = files_.get();
  }
  // From now on as one who sees all but the space.
  void see_all_but(const std::string& space) {
    context_->reader = {*store_, store::Access::all_but({space})};
    seen_files_ = seen_artifacts(*files_, context_->reader);
    context_->artifacts = seen_files_.get();
  }

  void fill(Side& side) {
    const std::string secret = side.space == "hidden" ? "secret" : "plain";
    store::testing::SessionWriter writer;
    side.session = writer.id();
    side.run = RunId::random();
    auto body = store::testing::session_body(side.run, "supervisor");
    body.experiment = side.space + "/resnet";
    body.run_name = secret + "-run";
    const std::array frames = {
        writer.frame(body),
        writer.frame(codec::SchemaBody{{store::testing::series_def(1, secret + ".loss")}}),
        writer.frame(store::testing::samples(1, {{2000, 0.5}, {3000, 0.25}}))};
    ASSERT_TRUE(store_->append(frames));
    const std::string run = side.run.hex();
    const std::string mlflow = "/api/2.0/mlflow/";
    side.ids["run_id"] = run;
    side.ids["experiment_id"] = ok(Method::kGet, mlflow + "runs/get?run_id=" + run)
                                    .find("run")
                                    ->find("info")
                                    ->get_string("experiment_id");
    side.ids["name"] = side.space + ".model";
    ok(Method::kPost, mlflow + "registered-models/create",
       fmt::format(R"({{"name": "{}", "description": "{}"}})", side.ids["name"], secret));
    ok(Method::kPost, mlflow + "runs/log-parameter",
       fmt::format(R"({{"run_id": "{}", "key": "{}", "value": "1"}})", run, secret));
    side.ids["model_id"] = ok(Method::kPost, mlflow + "logged-models",
                              fmt::format(R"({{"experiment_id": "{}", "name": "{}"}})",
                                          side.ids["experiment_id"], secret))
                               .find("model")
                               ->find("info")
                               ->get_string("model_id");
    side.ids["trace_id"] = "tr-" + RunId::random().hex();
    ok(Method::kPost, "/api/3.0/mlflow/traces", trace_of(side.ids));
    ok(Method::kPost, std::string(kApi) + "runs/" + run + "/notes",
       fmt::format(R"({{"text": "{}"}})", secret));
    side.ids["board"] = side.space + "%2Fboard";
    for (const char* kind : {"boards", "lists", "reports"})
      ok(Method::kPut, fmt::format("{}{}/{}", kApi, kind, side.ids["board"]),
         fmt::format(R"({{"state": "{}"}})", secret));
    side.ids["plan"] = RunId::random().hex();
    ok(Method::kPut, std::string(kApi) + "plans/" + side.ids["plan"], plan_of(side.space, secret));
    ok(Method::kPut, fmt::format("{}runs/{}/artifacts/note.txt", kApi, run), secret);
  }
  static std::string trace_of(const std::map<std::string, std::string>& ids) {
    return fmt::format(
        R"({{"trace": {{"trace_info": {{"trace_id": "{}", "trace_location": {{"type": )"
        R"("MLFLOW_EXPERIMENT", "mlflow_experiment": {{"experiment_id": "{}"}}}}, )"
        R"("request_time": "2026-11-21T19:10:20Z", "state": "OK", )"
        R"("trace_metadata": {{"mlflow.sourceRun": "{}"}}}}}}}})",
        ids.at("trace_id"), ids.at("experiment_id"), ids.at("run_id"));
  }
  static std::string plan_of(const std::string& space, const std::string& secret) {
    return fmt::format(
        R"({{"file": "{1}.csv", "host": "node7", "state": "running", "updated_ns": "5", )"
        R"("runs": [{{"key": "a", "experiment": "{0}/resnet", "workload": "1", )"
        R"("state": "waiting"}}]}})",
        space, secret);
  }

  // All rows that only those see who see the hidden side.
  std::string hidden_rows() {
    std::string rows = store::rows_seen_by({*store_, store::Access::all_but({"seen"})});
    see_all();
    rows += ok(Method::kGet, std::string(kApi) + "plans/" + hidden_.ids["plan"]).dump();
    rows += send(Method::kGet, fmt::format("{}runs/{}/artifacts/note.txt", kApi, hidden_.run.hex()))
                .body;
    see_all_but("hidden");
    return rows;
  }

  Side hidden_{.space = "hidden", .run = {}, .session = {}, .ids = {}};
  Side seen_{.space = "seen", .run = {}, .session = {}, .ids = {}};
  std::unique_ptr<store::artifacts::ArtifactStore> files_, seen_files_;
};

// The path of a route whose parameters name what lies on one side.
std::string path_on(std::string_view pattern, const std::map<std::string, std::string>& values) {
  std::string path;
  for (const std::string_view segment : split(pattern.substr(1), '/')) {
    path += '/';
    if (!segment.starts_with('{')) {
      path += segment;
      continue;
    }
    const auto known = values.find(std::string(segment));
    path += known == values.end() ? "1" : known->second;
  }
  return path;
}

TEST_F(Unseen, EachRouteKeepsWhatItsPathNames) {
  const std::map<std::string, std::string> values = {
      {"{run}", hidden_.run.hex()},
      {"{experiment}", hidden_.ids["experiment_id"]},
      {"{workload}", own_workload_of(hidden_.run).hex()},
      {"{session}", hidden_.session.hex()},
      {"{board}", hidden_.ids["board"]},
      {"{list}", hidden_.ids["board"]},
      {"{report}", hidden_.ids["board"]},
      {"{path...}", "note.txt"}};
  see_all_but("hidden");
  const std::string before = hidden_rows();
  ASSERT_NE(before.find("secret"), std::string::npos);
  int asked = 0;
  for (const Route& route : routes()) {
    if (role_for(route) == Role::kAnyone || route.pattern == "/api/corral/v1/stream") continue;
    const bool named = std::ranges::any_of(values, [&](const auto& value) {
      return route.pattern.find(value.first) != std::string_view::npos;
    });
    auto with_plan = values;
    with_plan["{plan}"] = hidden_.ids["plan"];
    const std::string path = path_on(route.pattern, with_plan);
    const Response answer = send(route.method, path, route.method == Method::kGet ? "" : "{}");
    EXPECT_EQ(answer.body.find("secret"), std::string::npos) << path << ' ' << answer.body;
    if (!named) continue;
    ++asked;
    if (route.pattern.find("/sessions/") != std::string_view::npos) {
      EXPECT_NE(answer.body.find("\"known\":false"), std::string::npos) << answer.body;
      continue;
    }
    EXPECT_TRUE(answer.status == 404 || answer.status == 403)
        << method_name(route.method) << ' ' << path << ' ' << answer.status << ' ' << answer.body;
  }
  EXPECT_GE(asked, 40);
  EXPECT_EQ(hidden_rows(), before);
}

TEST_F(Unseen, EachCallOfMlflowKeepsWhatItsFieldsName) {
  constexpr std::string_view kCalls =
      "GET 2.0/mlflow/artifacts/list|POST 2.0/mlflow/upload-artifact|"
      "POST 3.0/mlflow/traces/{trace_id}/assessments|POST 3.0/mlflow/datasets/create|"
      "POST 2.0/mlflow/experiments/create|GET 2.0/mlflow/experiments/get|"
      "GET 2.0/mlflow/experiments/get-by-name|POST 2.0/mlflow/experiments/search|"
      "GET 2.0/mlflow/experiments/search|POST 2.0/mlflow/experiments/update|"
      "POST 2.0/mlflow/experiments/delete|POST 2.0/mlflow/experiments/restore|"
      "POST 2.0/mlflow/experiments/set-experiment-tag|"
      "POST 2.0/mlflow/experiments/delete-experiment-tag|POST 2.0/mlflow/logged-models|"
      "POST 2.0/mlflow/logged-models/search|GET 2.0/mlflow/logged-models/{model_id}|"
      "PATCH 2.0/mlflow/logged-models/{model_id}|DELETE 2.0/mlflow/logged-models/{model_id}|"
      "POST 2.0/mlflow/logged-models/{model_id}/params|"
      "PATCH 2.0/mlflow/logged-models/{model_id}/tags|"
      "DELETE 2.0/mlflow/logged-models/{model_id}/tags/{key}|"
      "GET 2.0/mlflow/logged-models/{model_id}/artifacts/directories|"
      "POST 2.0/mlflow/runs/log-metric|POST 2.0/mlflow/runs/log-batch|"
      "GET 2.0/mlflow/metrics/get-history|GET 2.0/mlflow/metrics/get-history-bulk|"
      "GET 2.0/mlflow/metrics/get-history-bulk-interval|POST 2.0/mlflow/registered-models/create|"
      "GET 2.0/mlflow/registered-models/get|GET 2.0/mlflow/registered-models/search|"
      "POST 2.0/mlflow/registered-models/rename|PATCH 2.0/mlflow/registered-models/update|"
      "DELETE 2.0/mlflow/registered-models/delete|"
      "POST 2.0/mlflow/registered-models/get-latest-versions|"
      "POST 2.0/mlflow/registered-models/set-tag|DELETE 2.0/mlflow/registered-models/delete-tag|"
      "POST 2.0/mlflow/registered-models/alias|DELETE 2.0/mlflow/registered-models/alias|"
      "POST 2.0/mlflow/model-versions/create|GET 2.0/mlflow/model-versions/get|"
      "GET 2.0/mlflow/model-versions/search|PATCH 2.0/mlflow/model-versions/update|"
      "POST 2.0/mlflow/model-versions/transition-stage|DELETE 2.0/mlflow/model-versions/delete|"
      "POST 2.0/mlflow/model-versions/set-tag|DELETE 2.0/mlflow/model-versions/delete-tag|"
      "POST 2.0/mlflow/experiments/search-datasets|POST 2.0/mlflow/runs/create|"
      "GET 2.0/mlflow/runs/get|POST 2.0/mlflow/runs/update|POST 2.0/mlflow/runs/delete|"
      "POST 2.0/mlflow/runs/restore|POST 2.0/mlflow/runs/search|"
      "POST 2.0/mlflow/runs/log-parameter|POST 2.0/mlflow/runs/set-tag|"
      "POST 2.0/mlflow/runs/delete-tag|POST 2.0/mlflow/runs/log-inputs|"
      "POST 2.0/mlflow/runs/outputs|POST 2.0/mlflow/runs/log-model|POST 3.0/mlflow/traces/search|"
      "GET 3.0/mlflow/traces/get|GET 3.0/mlflow/traces/batchGet|"
      "POST 3.0/mlflow/traces/batchGetInfos|POST 3.0/mlflow/traces/delete-traces|"
      "GET 3.0/mlflow/traces/{trace_id}|PATCH 3.0/mlflow/traces/{trace_id}/tags|"
      "DELETE 3.0/mlflow/traces/{trace_id}/tags|POST 2.0/mlflow/traces/link-to-run|"
      "POST 2.0/mlflow/traces|GET 2.0/mlflow/traces|POST 2.0/mlflow/traces/delete-traces|"
      "PATCH 2.0/mlflow/traces/{trace_id}|GET 2.0/mlflow/traces/{trace_id}/info";
  see_all_but("hidden");
  const std::string before = hidden_rows();
  const std::array<std::string, 5> fields = {"run_id", "experiment_id", "name", "model_id",
                                             "trace_id"};
  for (const std::string& hidden_field : fields) {
    std::map<std::string, std::string> ids = seen_.ids;
    ids[hidden_field] = hidden_.ids[hidden_field];
    const std::string body = fmt::format(
        R"({{"run_id": "{0}", "run_uuid": "{0}", "experiment_id": "{1}", )"
        R"("experiment_ids": ["{1}"], "name": "{2}", "new_name": "{2}", "model_id": "{3}", )"
        R"("models": [{{"model_id": "{3}", "step": 1}}], "trace_id": "{4}", )"
        R"("trace_ids": ["{4}"], "request_ids": ["{4}"], "request_id": "{4}", "key": "k", )"
        R"("value": "v", "timestamp": 5, "step": 1, "alias": "a", "version": "1", )"
        R"("source": "runs:/{0}/model", "max_results": 10, "timestamp_ms": 5, )"
        R"("metrics": [{{"key": "k", "value": 1, "timestamp": 5, "step": 1}}], )"
        R"("tags": [{{"key": "k", "value": "v"}}], "metric_key": "{5}"}})",
        ids["run_id"], ids["experiment_id"], ids["name"], ids["model_id"], ids["trace_id"],
        "secret.loss");
    const std::string query = fmt::format(
        "?run_id={0}&run_uuid={0}&run_ids={0}&experiment_id={1}&experiment_ids={1}&name={2}&"
        "model_id={3}&trace_id={4}&trace_ids={4}&experiment_name=hidden/resnet&max_results=10&"
        "version=1&metric_key=secret.loss&path=note.txt",
        ids["run_id"], ids["experiment_id"], ids["name"], ids["model_id"], ids["trace_id"]);
    const std::map<std::string, std::string> values = {
        {"{model_id}", ids["model_id"]}, {"{trace_id}", ids["trace_id"]}, {"{key}", "k"}};
    for (const std::string_view call : split(kCalls, '|')) {
      const std::size_t space = call.find(' ');
      const std::string_view word = call.substr(0, space);
      const std::string path = path_on("/api/" + std::string(call.substr(space + 1)), values);
      const Method method = word == "GET"     ? Method::kGet
                            : word == "POST"  ? Method::kPost
                            : word == "PATCH" ? Method::kPatch
                                              : Method::kDelete;
      // Names of experiments lie in a space by another sign than those of models.
      std::string given = body;
      if (path.find("/experiments/") != std::string::npos)
        for (std::size_t at = 0; (at = given.find(".model", at)) != std::string::npos;)
          given[at] = '/';
      const Response answer =
          method == Method::kGet ? send(method, path + query) : send(method, path, given);
      EXPECT_NE(answer.status, 500) << call << ' ' << answer.body;
      EXPECT_EQ(answer.body.find("secret"), std::string::npos)
          << call << " by " << hidden_field << ": " << answer.body;
    }
    EXPECT_EQ(hidden_rows(), before) << "changed by " << hidden_field;
  }
}

TEST_F(Unseen, FilesAreNeitherListedNorReadNorReplaced) {
  see_all_but("hidden");
  const std::string run = hidden_.run.hex();
  const std::string place = hidden_.ids["experiment_id"] + "/" + run + "/artifacts/note.txt";
  const std::string proxy = "/api/2.0/mlflow-artifacts/artifacts";
  EXPECT_EQ(send(Method::kGet, proxy + "/" + place).status, 404);
  EXPECT_EQ(send(Method::kPut, proxy + "/" + place, "mine").status, 404);
  EXPECT_EQ(send(Method::kDelete, proxy + "/" + place).status, 404);
  EXPECT_EQ(send(Method::kDelete, proxy + "/" + hidden_.ids["experiment_id"]).status, 404);
  EXPECT_EQ(send(Method::kDelete, proxy + "/" + seen_.ids["experiment_id"]).status, 403)
      << "a run that was moved may have its files there";
  const std::string root = send(Method::kGet, proxy).body;
  EXPECT_EQ(root.find('"' + hidden_.ids["experiment_id"] + '"'), std::string::npos) << root;
  EXPECT_NE(root.find('"' + seen_.ids["experiment_id"] + '"'), std::string::npos) << root;
  EXPECT_EQ(send(Method::kGet, "/get-artifact?run_uuid=" + run + "&path=note.txt").status, 404);
  const std::string theirs = seen_.ids["experiment_id"] + "/" + seen_.run.hex();
  EXPECT_EQ(send(Method::kGet, proxy + "/" + theirs + "/artifacts/note.txt").body, "plain");

  // A version of a model of one's own that says it were made of the run.
  const std::string source = "mlflow-artifacts:/" + place;
  send(Method::kPost, "/api/2.0/mlflow/model-versions/create",
       fmt::format(R"({{"name": "{}", "source": "{}"}})", seen_.ids["name"], source));
  see_all();
  ok(Method::kPost, "/api/2.0/mlflow/model-versions/create",
     fmt::format(R"({{"name": "{}", "source": "{}"}})", seen_.ids["name"],
                 source.substr(0, source.rfind('/'))));
  see_all_but("hidden");
  const Response deputy = send(Method::kGet,
                               "/model-versions/get-artifact?name=seen.model&"
                               "version=1&path=note.txt");
  EXPECT_EQ(deputy.status, 404) << deputy.body;
}

TEST_F(Unseen, NamesInAForeignSpaceAreNotTaken) {
  see_all_but("hidden");
  const std::string before = hidden_rows();
  const auto create = [&](const std::string& name) {
    return refused(Method::kPost, "/api/2.0/mlflow/experiments/create",
                   fmt::format(R"({{"name": "{}"}})", name));
  };
  EXPECT_NE(create("hidden/new").find("PERMISSION_DENIED"), std::string::npos)
      << create("hidden/new");
  EXPECT_NE(create("hidden/resnet").find("PERMISSION_DENIED"), std::string::npos);

  store::testing::SessionWriter writer;
  auto body = store::testing::session_body(RunId::random(), "supervisor");
  const auto post = [&](const codec::Frame& frame) {
    return send(Method::kPost, std::string(kApi) + "frames",
                std::string(frame.raw.begin(), frame.raw.end()))
        .status;
  };
  body.experiment = "hidden/mine";
  EXPECT_EQ(post(writer.frame(body)), 403);
  body.experiment = "seen/mine";
  body.run = hidden_.run;
  writer.seek(1);
  EXPECT_EQ(post(writer.frame(body)), 403) << "a session of a run that is not seen";
  body.run = RunId::random();
  writer.seek(1);
  EXPECT_EQ(post(writer.frame(body)), 200);
  store::testing::SessionWriter thief(hidden_.session);
  thief.seek(4);
  EXPECT_EQ(post(thief.frame(store::testing::samples(1, {{4000, 9.0}}))), 403);
  EXPECT_EQ(hidden_rows(), before);
  ok(Method::kPost, "/api/2.0/mlflow/experiments/create", R"({"name": "hiddenness/new"})");
}

// Each of these would be another text to a check that reads it otherwise than its handler does.
TEST_F(Unseen, BodiesInDisguiseAreReadAsTheirHandlersReadThem) {
  see_all_but("hidden");
  const std::string before = hidden_rows();
  const std::string update =
      fmt::format(R"({{"experiment_id": "{}", "new_name": "mine"}})", hidden_.ids["experiment_id"]);
  const std::string mark = "\xEF\xBB\xBF";
  std::string twice;
  JsonWriter(twice).value(update);
  for (const std::string& body : {update, mark + update, mark + mark + update, twice, " " + update})
    EXPECT_NE(send(Method::kPost, "/api/2.0/mlflow/experiments/update", body).status, 200) << body;
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  EXPECT_EQ(
      send(Method::kPost, "/api/2.0/mlflow/runs/log-batch",
           fmt::format(R"({{"run_id": "{}", "tags": [{{"key": "k", "value": "v"}}], "x": {}}})",
                       hidden_.run.hex(), deep))
          .status,
      400);
  EXPECT_NE(refused(Method::kPost, "/api/2.0/mlflow/model-versions/create",
                    fmt::format(R"({{"name": "{}", "source": "models:/{}/1"}})", seen_.ids["name"],
                                hidden_.ids["name"]))
                .find("PERMISSION_DENIED"),
            std::string::npos);
  EXPECT_EQ(hidden_rows(), before);
}

TEST_F(Unseen, TracesMayHaveAnyId) {
  std::map<std::string, std::string> ids = hidden_.ids;
  for (const std::string& id : {std::string("my_trace"), RunId::random().hex()}) {
    see_all();
    ids["trace_id"] = id;
    ok(Method::kPost, "/api/3.0/mlflow/traces", trace_of(ids));
    see_all_but("hidden");
    const std::string before = hidden_rows();
    auto stolen = seen_.ids;
    stolen["trace_id"] = id;
    EXPECT_EQ(send(Method::kPost, "/api/3.0/mlflow/traces", trace_of(stolen)).status, 404) << id;
    for (const char* path : {"/api/3.0/mlflow/traces/", "/api/2.0/mlflow/traces/"})
      EXPECT_EQ(send(Method::kPatch, path + id + "/tags", R"({"key": "a", "value": "b"})").status,
                404);
    EXPECT_EQ(hidden_rows(), before);
  }
}

TEST_F(Unseen, ATraceThatIsCalledAsACallIsStopsNobody) {
  auto ids = hidden_.ids;
  ids["trace_id"] = "search";
  ok(Method::kPost, "/api/3.0/mlflow/traces", trace_of(ids));
  see_all_but("hidden");
  ok(Method::kPost, "/api/3.0/mlflow/traces/search",
     fmt::format(R"({{"locations": [{{"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": )"
                 R"({{"experiment_id": "{}"}}}}], "max_results": 10}})",
                 seen_.ids["experiment_id"]));
}

TEST_F(Unseen, AScriptThatMovesItsRunIntoAForeignSpaceLeavesItWhereItIs) {
  see_all_but("hidden");
  const std::string before = hidden_rows();
  store::testing::SessionWriter writer;
  auto body = store::testing::session_body(RunId::random(), "supervisor");
  body.experiment = "seen/mine";
  const codec::FactsBody facts{{{codec::FactKind::kInfo, "mlflow.update",
                                 R"({"name": "named", "experiment": "hidden/x"})"}}};
  std::string frames;
  for (const codec::Frame& frame : {writer.frame(body), writer.frame(facts)})
    frames.append(frame.raw.begin(), frame.raw.end());
  EXPECT_EQ(send(Method::kPost, std::string(kApi) + "frames", frames).status, 200);
  const Json run = ok(Method::kGet, std::string(kApi) + "runs/" + body.run.hex());
  EXPECT_EQ(run.get_string("experiment"), "seen/mine");
  EXPECT_EQ(run.get_string("name"), "named");
  EXPECT_EQ(hidden_rows(), before);
}

TEST_F(Unseen, OnlyAnOwnerTakesAnExperimentIntoASpace) {
  const std::string id =
      ok(Method::kPost, "/api/2.0/mlflow/experiments/create", R"({"name": "everybodys"})")
          .get_string("experiment_id");
  const auto rename = [&](Role role, const std::string& name) {
    context_->who = {.user = "wes", .role = role};
    return send(Method::kPost, "/api/2.0/mlflow/experiments/update",
                fmt::format(R"({{"experiment_id": "{}", "new_name": "{}"}})", id, name))
        .status;
  };
  EXPECT_EQ(rename(Role::kWriter, "seen/mine"), 403);
  EXPECT_EQ(rename(Role::kWriter, "all"), 200);
  EXPECT_EQ(rename(Role::kOwner, "seen/mine"), 200);
  EXPECT_EQ(rename(Role::kWriter, "seen/still"), 200);
  EXPECT_EQ(rename(Role::kWriter, "all"), 403);
}

// A workload's id follows from the names of its experiment and its own.
TEST_F(Unseen, AWorkloadThatWasMadeAheadIsNotJoined) {
  const WorkloadId guessed = workload_id_of("hidden/resnet", "w");
  const auto record = [&](const std::string& experiment) {
    store::testing::SessionWriter writer;
    auto body = store::testing::session_body(RunId::random(), "supervisor");
    body.experiment = experiment;
    body.workload = guessed;
    body.workload_name = "w";
    EXPECT_TRUE(store_->append(std::array{writer.frame(body)}));
    return body.run;
  };
  const RunId theirs = record("seen/mine");
  const RunId ours = record("hidden/resnet");
  const store::Reader all(*store_, store::Access::everything());
  EXPECT_EQ(all.run(theirs)->value().workload, guessed);
  EXPECT_NE(all.run(ours)->value().workload, guessed);
}

TEST_F(Unseen, WhatIsKeptOfRunsThatWereSeenIsForgotten) {
  const auto log = [&](const std::string& run) {
    return send(Method::kPost, "/api/2.0/mlflow/runs/log-parameter",
                fmt::format(R"({{"run_id": "{}", "key": "p", "value": "1"}})", run))
        .status;
  };
  see_all_but("hidden");
  EXPECT_EQ(log(seen_.run.hex()), 200);
  EXPECT_TRUE(context_->seen_ids->has(context_->reader.access(), seen_.run.hex()));
  EXPECT_FALSE(context_->seen_ids->has(store::Access::all_but({"seen"}), seen_.run.hex()));
  EXPECT_EQ(log(hidden_.run.hex()), 404);
  EXPECT_FALSE(context_->seen_ids->has(context_->reader.access(), hidden_.run.hex()));
  const std::string nowhere = RunId::random().hex();
  EXPECT_EQ(log(nowhere), 404);
  EXPECT_FALSE(context_->seen_ids->has(context_->reader.access(), nowhere)) << "hidden in a moment";

  see_all();
  ok(Method::kPost, "/api/2.0/mlflow/experiments/update",
     fmt::format(R"({{"experiment_id": "{}", "new_name": "hidden/moved"}})",
                 seen_.ids["experiment_id"]));
  see_all_but("hidden");
  context_->seen_ids->age(SeenIds::kLongest);
  EXPECT_EQ(log(seen_.run.hex()), 404);
}

TEST_F(Unseen, APlanWithARunThatBecameHiddenIsHidden) {
  const std::string plan = RunId::random().hex();
  ok(Method::kPut, std::string(kApi) + "plans/" + plan, plan_of("early", "secret"));
  see_all_but("hidden");
  ok(Method::kGet, std::string(kApi) + "plans/" + plan);
  see_all();
  ok(Method::kPost, "/api/2.0/mlflow/runs/set-tag",
     fmt::format(R"({{"run_id": "{}", "key": "corral.plan", "value": "{}"}})", hidden_.run.hex(),
                 plan));
  see_all_but("hidden");
  EXPECT_EQ(send(Method::kGet, std::string(kApi) + "plans/" + plan).status, 404);
  EXPECT_EQ(send(Method::kDelete, std::string(kApi) + "plans/" + plan).status, 404);
  EXPECT_EQ(send(Method::kGet, std::string(kApi) + "plans").body.find("secret"), std::string::npos);
}

TEST_F(Unseen, TextsThatPeopleKeepMayNameAnything) {
  see_all_but("hidden");
  ok(Method::kPost, "/api/2.0/mlflow/runs/set-tag",
     fmt::format(R"({{"run_id": "{}", "key": "mlflow.parentRunId", "value": "{}"}})",
                 seen_.run.hex(), hidden_.run.hex()));
  ok(Method::kPost, std::string(kApi) + "runs/" + seen_.run.hex() + "/notes",
     fmt::format(R"({{"text": "better than {}"}})", hidden_.run.hex()));
}

}  // namespace
}  // namespace corral::server
