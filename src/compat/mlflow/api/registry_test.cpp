// Registry and logged models through the routes, over a real SQLite store, without a socket.

#include <algorithm>
#include <filesystem>

#include "compat/mlflow/tables/logged_models.h"
#include "server/core/test_handlers.h"

namespace corral::server {
namespace {

class Registry : public HandlerTest {
 protected:
  static std::string full(const std::string& path) { return "/api/2.0/mlflow/" + path; }
  Json ok(Method method, const std::string& path, const std::string& body = {}) {
    return HandlerTest::ok(method, full(path), body);
  }
  std::string refused(Method method, const std::string& path, const std::string& body = {}) {
    return HandlerTest::refused(method, full(path), body);
  }
  Json post(const std::string& path, const std::string& body) {
    return ok(Method::kPost, path, body);
  }
  Json get(const std::string& path) { return ok(Method::kGet, path); }
  std::string refused_post(const std::string& path, const std::string& body) {
    return refused(Method::kPost, path, body);
  }
  std::string make_logged(const std::string& fields = {}) {
    return at(post("logged-models", R"({"experiment_id":"0","name":"net")" + fields + "}"),
              {"model", "info", "model_id"});
  }
  static std::string at(Json json, const std::vector<std::string>& path) {
    for (const std::string& name : path) {
      const Json* next = json.find(name);
      if (next == nullptr) return "(no " + name + ")";
      Json copy = *next;
      json = std::move(copy);
    }
    return json.as_string() != nullptr ? *json.as_string() : json.dump();
  }
  static std::string source_of(const Json& answer) {
    return at(answer, {"model_version", "source"});
  }
};

constexpr std::string_view kLocalHint =
    " To use a local path as a model version source, the run_id request parameter has to be "
    "specified and the local path has to be contained within the artifact directory of the run "
    "specified by the run_id.";

TEST_F(Registry, EmptyFieldsAreLeftOutAndTimesAreNumbers) {
  const Json made = post("registered-models/create", R"({"name":"a"})");
  const Json* model = made.find("registered_model");
  ASSERT_NE(model, nullptr);
  ASSERT_NE(model->as_object(), nullptr);
  EXPECT_EQ(model->as_object()->size(), 3u) << made.dump();
  EXPECT_GT(model->get_int("creation_timestamp"), 1'700'000'000'000);
  EXPECT_NE(model->find("last_updated_timestamp")->as_int(), nullptr);
  const Json version = post("model-versions/create", R"({"name":"a","source":"s3://b/m"})");
  EXPECT_EQ(at(version, {"model_version", "version"}), "1");
  EXPECT_EQ(at(version, {"model_version", "current_stage"}), "None");
  EXPECT_EQ(at(version, {"model_version", "description"}), "");
  EXPECT_EQ(at(version, {"model_version", "status"}), "READY");
  EXPECT_EQ(at(version, {"model_version", "tags"}), "(no tags)");
}

TEST_F(Registry, NamesAndTagsAreChecked) {
  post("registered-models/create", R"({"name":"größe 🐎","tags":[{"key":"k","value":"v"}]})");
  EXPECT_EQ(refused_post("registered-models/create", R"({"name":"a/b"})"),
            "400 INVALID_PARAMETER_VALUE: Invalid model name 'a/b'. Names cannot contain '/' or "
            "':'.");
  EXPECT_EQ(
      refused_post("registered-models/create", R"({"name":")" + std::string(257, 'n') + "\"}"),
      "400 INVALID_PARAMETER_VALUE: 'name' exceeds the maximum length of 256 characters");
  EXPECT_EQ(refused_post("registered-models/create", "{}"),
            "400 INVALID_PARAMETER_VALUE: Missing value for required parameter 'name'. See the API "
            "docs for more information about request parameters.");
  EXPECT_EQ(refused_post("registered-models/create", R"({"name":"b","tags":[{"key":"k","value":")" +
                                                         std::string(100'001, 'v') + "\"}]}"),
            "400 INVALID_PARAMETER_VALUE: 'value' exceeds the maximum length of 100000 characters");
  EXPECT_EQ(refused(Method::kGet, "registered-models/get?name=b"),
            "404 RESOURCE_DOES_NOT_EXIST: Registered Model with name=b not found")
      << "nothing of a refused model stays";
}

TEST_F(Registry, ModelsAndPromptsDoNotShareAName) {
  const std::string prompt = R"("tags":[{"key":"mlflow.prompt.is_prompt","value":"True"}])";
  post("registered-models/create", R"({"name":"p",)" + prompt + "}");
  post("registered-models/create", R"({"name":"m"})");
  EXPECT_EQ(refused_post("registered-models/create", R"({"name":"m"})"),
            "400 RESOURCE_ALREADY_EXISTS: Registered Model (name=m) already exists.");
  EXPECT_EQ(refused_post("registered-models/create", R"({"name":"p",)" + prompt + "}"),
            "400 RESOURCE_ALREADY_EXISTS: Prompt (name=p) already exists.");
  EXPECT_EQ(refused_post("registered-models/create", R"({"name":"p"})"),
            "400 RESOURCE_ALREADY_EXISTS: Tried to create a registered model with name 'p', but "
            "the name is already taken by a prompt. MLflow does not allow creating a model and a "
            "prompt with the same name.");
  const Json version =
      post("model-versions/create", R"({"name":"p","source":"prompt-template",)" + prompt + "}");
  EXPECT_EQ(source_of(version), "prompt-template") << "a prompt's source is no path";
}

TEST_F(Registry, AliasesFollowAndAreChecked) {
  post("registered-models/create", R"({"name":"a"})");
  for (int i = 0; i < 2; ++i) post("model-versions/create", R"({"name":"a","source":"s3://b/m"})");
  post("registered-models/alias", R"({"name":"a","alias":"best","version":"1"})");
  post("registered-models/alias", R"({"name":"a","alias":"best","version":2})");
  EXPECT_EQ(at(get("registered-models/alias?name=a&alias=best"), {"model_version", "version"}),
            "2");
  EXPECT_EQ(at(get("model-versions/get?name=a&version=2"), {"model_version", "aliases"}),
            R"(["best"])");
  EXPECT_EQ(at(get("registered-models/get?name=a"), {"registered_model", "aliases"}),
            R"([{"alias":"best","version":"2"}])");
  EXPECT_EQ(refused(Method::kGet, "registered-models/alias?name=a&alias=nobody"),
            "400 INVALID_PARAMETER_VALUE: Registered model alias nobody not found.");
  EXPECT_EQ(
      refused_post("registered-models/alias", R"({"name":"a","alias":"Latest","version":"1"})"),
      "400 INVALID_PARAMETER_VALUE: 'latest' alias name (case insensitive) is reserved.");
  EXPECT_EQ(refused_post("registered-models/alias", R"({"name":"a","alias":"V12","version":"1"})"),
            "400 INVALID_PARAMETER_VALUE: Version alias name 'V12' is reserved.");
  EXPECT_EQ(refused_post("registered-models/alias", R"({"name":"a","alias":"a b","version":"1"})"),
            "400 INVALID_PARAMETER_VALUE: Invalid alias name: 'a b'. Names may only contain "
            "alphanumerics, underscores (_), and dashes (-).");
  EXPECT_EQ(refused_post("registered-models/alias", R"({"name":"a","alias":"x","version":"one"})"),
            "400 INVALID_PARAMETER_VALUE: Parameter 'version' must be an integer, got 'one'.");
  ok(Method::kDelete, "registered-models/alias", R"({"name":"a","alias":"best"})");
  EXPECT_EQ(at(get("registered-models/get?name=a"), {"registered_model", "aliases"}),
            "(no aliases)");
}

TEST_F(Registry, StagesMoveAndArchive) {
  post("registered-models/create", R"({"name":"a"})");
  for (int i = 0; i < 2; ++i) post("model-versions/create", R"({"name":"a","source":"s3://b/m"})");
  const std::string path = "model-versions/transition-stage";
  post(path, R"({"name":"a","version":"1","stage":"production"})");
  post(path, R"({"name":"a","version":"2","stage":"Production","archive_existing_versions":true})");
  EXPECT_EQ(at(get("model-versions/get?name=a&version=1"), {"model_version", "current_stage"}),
            "Archived");
  const Json latest = get("registered-models/get-latest-versions?name=a&stages=production");
  EXPECT_NE(latest.dump().find(R"("version":"2")"), std::string::npos);
  EXPECT_EQ(refused_post(path, R"({"name":"a","version":"1","stage":"Nowhere"})"),
            "400 INVALID_PARAMETER_VALUE: Invalid Model Version stage: Nowhere. Value must be one "
            "of None, Staging, Production, Archived.");
  EXPECT_EQ(
      refused_post(path,
                   R"({"name":"a","version":"1","stage":"None","archive_existing_versions":true})"),
      "400 INVALID_PARAMETER_VALUE: Model version transition cannot archive existing model "
      "versions because 'None' is not an Active stage. Valid stages are ['Staging', "
      "'Production']");
}

TEST_F(Registry, ADescriptionThatIsLeftOutIsTakenBack) {
  post("registered-models/create", R"({"name":"a"})");
  post("model-versions/create", R"({"name":"a","source":"s3://b/m","description":"d"})");
  const auto update = [&](const std::string& body) {
    return at(ok(Method::kPatch, "model-versions/update", body), {"model_version", "description"});
  };
  EXPECT_EQ(update(R"({"name":"a","version":"1","description":"new"})"), "new");
  EXPECT_EQ(update(R"({"name":"a","version":"1"})"), "(no description)");
}

TEST_F(Registry, SourcesOfModelsAndRunsAreResolved) {
  const std::string run =
      at(post("runs/create", R"({"experiment_id":"0","start_time":1})"), {"run", "info", "run_id"});
  const std::string model = make_logged(R"(,"source_run_id":")" + run + '"');
  post("registered-models/create", R"({"name":"a"})");
  const auto make = [&](const std::string& source) {
    return post("model-versions/create", R"({"name":"a","source":")" + source + "\"}");
  };
  const Json first = make("models:/" + model);
  EXPECT_EQ(source_of(first), "models:/" + model);
  EXPECT_EQ(at(first, {"model_version", "run_id"}), run);
  const std::string place = "mlflow-artifacts:/0/models/" + model + "/artifacts";
  EXPECT_EQ(at(get("model-versions/get-download-uri?name=a&version=1"), {"artifact_uri"}), place);
  post("registered-models/alias", R"({"name":"a","alias":"best","version":"1"})");
  EXPECT_EQ(source_of(make("models:/a/latest")), "models:/a/1");
  EXPECT_EQ(source_of(make("models:/a@best")), "models:/a/1");
  EXPECT_EQ(at(make("models:/a/1"), {"model_version", "run_id"}), run);
  EXPECT_EQ(at(get("model-versions/get-download-uri?name=a&version=4"), {"artifact_uri"}), place);
  make("runs:/" + run + "/some/model");
  EXPECT_EQ(at(get("model-versions/get-download-uri?name=a&version=5"), {"artifact_uri"}),
            "mlflow-artifacts:/0/" + run + "/artifacts/some/model");
}

TEST_F(Registry, AVersionOfARunThatIsNotHereKeepsItsSource) {
  post("registered-models/create", R"({"name":"a"})");
  const std::string run(32, 'e');
  const Json made =
      post("model-versions/create", R"({"name":"a","source":"runs:/)" + run + R"(/model"})");
  EXPECT_EQ(at(made, {"model_version", "run_id"}), run);
  EXPECT_EQ(at(get("model-versions/get-download-uri?name=a&version=1"), {"artifact_uri"}),
            "runs:/" + run + "/model");
}

TEST_F(Registry, ALoggedModelKnowsItsVersions) {
  const std::string model = make_logged();
  post("registered-models/create", R"({"name":"a"})");
  const auto tags = [&] { return at(get("logged-models/" + model), {"model", "info", "tags"}); };
  const std::string body = R"({"name":"a","source":"models:/)" + model + "\"}";
  post("model-versions/create", body);
  EXPECT_EQ(tags(),
            R"([{"key":"mlflow.modelVersions","value":"[{\"name\":\"a\",\"version\":1}]"}])");
  post("model-versions/create", body);
  EXPECT_EQ(tags(), R"([{"key":"mlflow.modelVersions","value":"[{\"name\":\"a\",\"version\":1},)"
                    R"({\"name\":\"a\",\"version\":2}]"}])");
}

TEST_F(Registry, SourcesThatLeadElsewhereAreRefused) {
  post("registered-models/create", R"({"name":"a"})");
  const auto refusal = [&](const std::string& source) {
    return refused_post("model-versions/create", R"({"name":"a","source":")" + source + "\"}");
  };
  for (const std::string source :
       {"/etc", "file:///etc/passwd", "../../etc", "//etc/passwd", " "}) {
    EXPECT_EQ(refusal(source), "400 INVALID_PARAMETER_VALUE: Invalid model version source: '" +
                                   source + "'." + std::string(kLocalHint));
  }
  for (const char* source :
       {"mlflow-artifacts:/../../etc", "mlflow-artifacts:/a#/../../etc",
        "mlflow-artifacts:/%252e%252e/b", "s3://b/../x", "dbfs:/../x", "unknown://x/%2e%2e/y",
        "gs://b", "s3://b/", "models:/", "models:/m", "models:/a/b/c", "runs:/abc"})
    EXPECT_TRUE(refusal(source).starts_with("400 INVALID_PARAMETER_VALUE: Invalid model version "))
        << source << ' ' << refusal(source);
  EXPECT_EQ(refusal("models:/a/1"),
            "404 RESOURCE_DOES_NOT_EXIST: Model Version (name=a, version=1) not found");
  EXPECT_EQ(refusal("models:/m-0"),
            "404 RESOURCE_DOES_NOT_EXIST: Logged model with ID 'm-0' not found.");
  EXPECT_EQ(refusal("models:/nobody/1"),
            "404 RESOURCE_DOES_NOT_EXIST: Registered Model with name=nobody not found");
}

TEST_F(Registry, ALocalSourceLiesWithinTheArtifactsOfItsRun) {
  const std::string root = (directory_ / "artifacts").string();
  const std::string experiment =
      at(post("experiments/create", R"({"name":"e","artifact_location":")" + root + "\"}"),
         {"experiment_id"});
  const std::string run = at(post("runs/create", R"({"experiment_id":")" + experiment + "\"}"),
                             {"run", "info", "run_id"});
  post("registered-models/create", R"({"name":"a"})");
  const auto body = [&](const std::string& source) {
    return R"({"name":"a","run_id":")" + run + R"(","source":")" + source + "\"}";
  };
  const std::string inside = root + "/" + run + "/artifacts/model";
  EXPECT_EQ(source_of(post("model-versions/create", body(inside))), inside);
  EXPECT_EQ(source_of(post("model-versions/create", body("file://" + inside))), "file://" + inside);
  for (const std::string& source :
       {root, inside + "/../../../x", root + "/" + run + "/artifacts2", "file://" + root})
    EXPECT_TRUE(refused_post("model-versions/create", body(source)).ends_with(kLocalHint))
        << source;
  std::filesystem::create_directories(root + "/" + run + "/artifacts");
  std::filesystem::create_directory_symlink("/etc", root + "/" + run + "/artifacts/link");
  EXPECT_TRUE(refused_post("model-versions/create", body(root + "/" + run + "/artifacts/link"))
                  .ends_with(kLocalHint));
}

TEST_F(Registry, SearchesGiveModelsAndVersionsAPageAtATime) {
  for (const char* name : {"a", "b", "c"}) {
    post("registered-models/create", R"({"name":")" + std::string(name) + "\"}");
    post("model-versions/create", R"({"name":")" + std::string(name) + R"(","source":"s3://b/m"})");
  }
  const Json page = get("registered-models/search?max_results=2");
  EXPECT_EQ(page.find("registered_models")->as_array()->size(), 2u);
  const Json rest = get("registered-models/search?max_results=2&page_token=" +
                        page.get_string("next_page_token"));
  EXPECT_EQ(rest.find("registered_models")->as_array()->size(), 1u);
  EXPECT_EQ(at(rest, {"next_page_token"}), "(no next_page_token)");
  const Json versions = get("model-versions/search?filter=name%3D'b'");
  ASSERT_EQ(versions.find("model_versions")->as_array()->size(), 1u);
  EXPECT_EQ(versions.find("model_versions")->as_array()->front().get_string("name"), "b");
  EXPECT_EQ(get("model-versions/search?filter=name%3D'nobody'").dump(), "{}");
  EXPECT_TRUE(refused(Method::kGet, "registered-models/search?max_results=1001")
                  .starts_with("400 INVALID_PARAMETER_VALUE"));
}

TEST_F(Registry, AnImportedModelMayHaveNoStatus) {
  const std::string path = "logged-models/" + make_logged();
  const auto stored = store_->change(
      [](store::sql::Connection& db) { return db.script("UPDATE logged_models SET status = 0"); });
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(at(get(path), {"model", "info", "status"}), "LOGGED_MODEL_STATUS_UNSPECIFIED");
  EXPECT_TRUE(refused(Method::kPatch, path, R"({"status":"LOGGED_MODEL_STATUS_UNSPECIFIED"})")
                  .starts_with("400 INVALID_PARAMETER_VALUE"));
}

TEST_F(Registry, ALoggedModelLivesItsLife) {
  const std::string id = make_logged(
      R"(,"model_type":"cnn","params":[{"key":"lr","value":"0.1"}],"tags":[{"key":"k","value":"v"}])");
  const std::string path = "logged-models/" + id;
  const Json made = get(path);
  EXPECT_EQ(at(made, {"model", "info", "status"}), "LOGGED_MODEL_PENDING");
  EXPECT_EQ(at(made, {"model", "info", "artifact_uri"}),
            "mlflow-artifacts:/0/models/" + id + "/artifacts");
  EXPECT_EQ(at(made, {"model", "data", "params"}), R"([{"key":"lr","value":"0.1"}])");
  EXPECT_EQ(at(made, {"model", "info", "tags"}), R"([{"key":"k","value":"v"}])");
  ok(Method::kPatch, path, R"({"model_id":")" + id + R"(","status":"LOGGED_MODEL_READY"})");
  EXPECT_EQ(at(get(path), {"model", "info", "status"}), "LOGGED_MODEL_READY");
  EXPECT_TRUE(refused(Method::kPatch, path, R"({"status":"DONE"})")
                  .starts_with("400 INVALID_PARAMETER_VALUE: Invalid value \"DONE\""));
  post(path + "/params", R"({"params":[{"key":"lr","value":"0.1"},{"key":"d","value":"5"}]})");
  EXPECT_EQ(refused_post(path + "/params", R"({"params":[{"key":"d","value":"6"}]})"),
            "400 BAD_REQUEST: Changing param values is not allowed. Param with key='d' was already "
            "logged with value='5' for model ID='" +
                id + "'. Attempted logging new value '6'.");
  ok(Method::kPatch, path + "/tags", R"({"tags":[{"key":"k","value":"w"}]})");
  EXPECT_EQ(at(get(path), {"model", "info", "tags"}), R"([{"key":"k","value":"w"}])");
  ok(Method::kDelete, path + "/tags/k");
  EXPECT_EQ(
      refused(Method::kDelete, path + "/tags/k"),
      "404 RESOURCE_DOES_NOT_EXIST: No tag with key 'k' found for model with ID '" + id + "'.");
  ok(Method::kDelete, path);
  ok(Method::kDelete, path);
  EXPECT_EQ(refused(Method::kGet, path),
            "404 RESOURCE_DOES_NOT_EXIST: Logged model with ID '" + id + "' not found.");
  EXPECT_EQ(at(get(path + "?allow_deleted=true"), {"model", "info", "model_id"}), id);
}

TEST_F(Registry, LoggedModelsAreNamedAndChecked) {
  const Json made = post("logged-models", R"({"experiment_id":"0"})");
  EXPECT_FALSE(at(made, {"model", "info", "name"}).empty());
  EXPECT_EQ(
      refused_post("logged-models", R"({"experiment_id":"0","name":"a'b"})"),
      "400 INVALID_PARAMETER_VALUE: Invalid model name (\"a'b\") provided. Model name must be "
      "a non-empty string and cannot contain the following characters: ('/', ':', '.', '%', "
      "'\"', \"'\")");
  EXPECT_EQ(refused_post("logged-models", R"({"experiment_id":"987","name":"a"})"),
            "404 RESOURCE_DOES_NOT_EXIST: No Experiment with id=987 exists");
  EXPECT_TRUE(
      refused_post("logged-models",
                   R"({"experiment_id":"0","params":[{"key":"a","value":"1"},{"key":"a"}]})")
          .starts_with("400 BAD_REQUEST"));
}

TEST_F(Registry, LoggedModelsAreSearchedAndOrdered) {
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(make_logged());
  const auto stored = store_->change([&](store::sql::Connection& db) -> Result<> {
    std::vector<store::tracking::ModelMetric> metrics;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      metrics.push_back({ids[i], "", "acc", static_cast<double>((i * 2) % 3), utc_time(5'000'000),
                         1, i == 0 ? "iris" : "", ""});
    }
    return store::tracking::store_model_metrics(db, "r", metrics);
  });
  ASSERT_TRUE(stored) << stored.error().message;
  const auto found = [&](const std::string& fields) {
    std::string order;
    const Json answer = post("logged-models/search", R"({"experiment_ids":["0"])" + fields + "}");
    const Json* models = answer.find("models");
    if (models == nullptr) return order;
    for (const Json& model : *models->as_array()) {
      const std::string id = at(model, {"info", "model_id"});
      order += std::to_string(std::ranges::find(ids, id) - ids.begin());
    }
    return order;
  };
  EXPECT_EQ(found(R"(,"order_by":[{"field_name":"metrics.acc"}])"), "021");
  EXPECT_EQ(found(R"(,"order_by":[{"field_name":"metrics.acc","ascending":false}])"), "120");
  EXPECT_EQ(found(R"(,"filter":"metrics.acc > 1")"), "1");
  EXPECT_EQ(found(R"(,"datasets":[{"dataset_name":"iris"}])"), "0");
  EXPECT_EQ(found(R"(,"filter":"name = 'other'")"), "");
  EXPECT_EQ(found(R"(,"order_by":[{"field_name":"metrics.acc"}],"max_results":2)"), "02");
  EXPECT_TRUE(refused_post("logged-models/search", "{}").find("'experiment_ids'") !=
              std::string::npos);
  EXPECT_EQ(refused_post("logged-models/search",
                         R"({"experiment_ids":["0"],"order_by":[{"field_name":"nothing"}]})"),
            "400 INVALID_PARAMETER_VALUE: Invalid order by field name: nothing");
  const Json all = post("logged-models/search", R"({"experiment_ids":["0"],"max_results":1})");
  EXPECT_NE(at(all, {"next_page_token"}), "(no next_page_token)");
}

}  // namespace
}  // namespace corral::server
