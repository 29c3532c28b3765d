// Artifacts go with their runs and experiments, over a directory and the real store.
#include "server/core/artifact_removal.h"
#include "server/core/test_handlers.h"

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "store/artifacts/open/open_artifacts.h"
#include "store/search/runs.h"
#include "sys/clock.h"

namespace corral::server {
namespace {

namespace fs = std::filesystem;

class Removal : public HandlerTest {
 protected:
  Removal() { context_->artifacts = artifacts_.get(); }
  void start() {
    removal_ =
        std::make_unique<ArtifactRemoval>(*store_, reader_of(*store_), *artifacts_,
                                          [this](std::string_view /*text*/) { complaints_ += 1; });
    context_->artifact_removal = removal_.get();
  }

  [[nodiscard]] fs::path files() const { return directory_ / "files"; }
  std::string new_experiment(const std::string& more = "") {
    const auto made =
        ok(Method::kPost, "/api/2.0/mlflow/experiments/create", R"({"name":"e")" + more + "}");
    return made.get_string("experiment_id");
  }
  // A run that has ended, with one artifact.
  std::string new_run(const std::string& experiment) {
    const auto made = ok(Method::kPost, "/api/2.0/mlflow/runs/create",
                         R"({"experiment_id":")" + experiment + R"("})");
    const std::string id = made.find("run")->find("info")->get_string("run_id");
    ok(Method::kPost, "/api/2.0/mlflow/runs/update",
       R"({"run_id":")" + id + R"(","status":"FINISHED"})");
    return id;
  }
  void write(const std::string& path) {
    fs::create_directories((files() / path).parent_path());
    std::ofstream(files() / path) << "x";
  }
  [[nodiscard]] bool is_there(const std::string& path) const { return fs::exists(files() / path); }
  [[nodiscard]] std::size_t noted() const {
    std::size_t count = 0;
    EXPECT_TRUE(reader_of(*store_).inspect([&](store::Reading& reading) -> Result<> {
      count = TRY(store::page::removed_artifacts(reading, 0, 1000)).size();
      return {};
    }));
    return count;
  }
  template <class Condition>
  static bool soon(Condition&& condition) {
    const BootTime until = sys::boot_now() + std::chrono::seconds(20);
    while (!condition() && sys::boot_now() < until) std::this_thread::yield();
    return condition();
  }

  const std::unique_ptr<store::artifacts::ArtifactStore> artifacts_ =
      store::artifacts::open_artifact_store(files().string()).value();
  std::unique_ptr<ArtifactRemoval> removal_;
  std::atomic<int> complaints_ = 0;
};

TEST_F(Removal, TakesTheRunsFilesAndNoOthers) {
  start();
  const std::string gone = new_run("0");
  const std::string stays = new_run("0");
  write("0/" + gone + "/artifacts/dir/a.txt");
  write("0/" + stays + "/artifacts/a.txt");
  ok(Method::kDelete, "/api/corral/v1/runs/" + gone + "?dry_run");
  EXPECT_TRUE(is_there("0/" + gone + "/artifacts/dir/a.txt"));
  ok(Method::kDelete, "/api/corral/v1/runs/" + gone);
  EXPECT_TRUE(soon([&] { return !is_there("0/" + gone) && noted() == 0; }));
  EXPECT_TRUE(is_there("0/" + stays + "/artifacts/a.txt"));
  EXPECT_EQ(complaints_, 0);
}

TEST_F(Removal, TakesModelsAndTracesWithTheExperiment) {
  start();
  const std::string experiment = new_experiment();
  const std::string run = new_run(experiment);
  const Json made = ok(Method::kPost, "/api/2.0/mlflow/logged-models",
                       R"({"experiment_id":")" + experiment + R"(","name":"m"})");
  const std::string model = made.find("model")->find("info")->get_string("model_id");
  ok(Method::kPost, "/api/3.0/mlflow/traces",
     R"({"trace":{"trace_info":{"trace_id":"tr-1","trace_location":{"mlflow_experiment":)"
     R"({"experiment_id":")" +
         experiment + R"("}},"request_time":"2025-01-01T00:00:00Z"}}})");
  const std::string trace = experiment + "/traces/tr-1/artifacts/traces.json";
  const std::string weights = experiment + "/models/" + model + "/artifacts/w.bin";
  write(trace);
  write(weights);
  write(experiment + "/" + run + "/artifacts/a.txt");
  ok(Method::kDelete, "/api/corral/v1/experiments/" + experiment);
  EXPECT_TRUE(soon(
      [&] { return !is_there(trace) && !is_there(weights) && !is_there(experiment + "/" + run); }));
  EXPECT_TRUE(soon([&] { return noted() == 0; }));
}

TEST_F(Removal, AFileThatComesAfterItsRunIsGoneIsRefused) {
  const std::string run = new_run("0");
  ok(Method::kDelete, "/api/corral/v1/runs/" + run);
  const std::string path = "0/" + run + "/artifacts/late.txt";
  EXPECT_EQ(refused(Method::kPut, "/api/2.0/mlflow-artifacts/artifacts/" + path, "x").substr(0, 3),
            "404");
  EXPECT_FALSE(is_there("0/" + run));
}

TEST_F(Removal, AFileThatComesWhileItsRunGoesLeavesNothing) {
  start();
  for (const bool native : {false, true}) {
    const std::string run = new_run("0");
    Request request;
    request.method = Method::kPut;
    ASSERT_TRUE(
        parse_target(native ? "/api/corral/v1/runs/" + run + "/artifacts/a.txt"
                            : "/api/2.0/mlflow-artifacts/artifacts/0/" + run + "/artifacts/a.txt",
                     request));
    request.streamed = true;
    const Response response = route(std::move(request), *context_);
    ASSERT_TRUE(response.taker);
    EXPECT_TRUE(response.taker->take("bytes"));
    ok(Method::kDelete, "/api/corral/v1/runs/" + run);
    EXPECT_TRUE(soon([&] { return noted() == 0; })) << "the removal has been there";
    EXPECT_EQ(response.taker->end({}).status, 404);
    EXPECT_FALSE(is_there("0/" + run));
  }
}

TEST_F(Removal, AMovedRunsFilesAreFoundAndGoWithIt) {
  start();
  const std::string run = new_run("0");
  const std::string elsewhere = new_experiment();
  const std::string files = "/api/corral/v1/runs/" + run + "/artifacts";
  const std::string proxy = "/api/2.0/mlflow-artifacts/artifacts/";
  ok(Method::kPut, proxy + "0/" + run + "/artifacts/old.txt", "old");
  ASSERT_TRUE(store_->change([&](store::Writing& writing) -> Result<> {
    const auto row = TRY(store::tracking::run(writing, RunId::parse(run).value()));
    return store::tracking::move_run(writing, row->key, ExperimentId{std::stoll(elsewhere)});
  }));
  EXPECT_EQ(send(Method::kGet, files + "/old.txt").body, "old");
  ok(Method::kPut, files + "/new.txt", "new");
  const Json told = ok(Method::kGet, "/api/2.0/mlflow/runs/get?run_id=" + run);
  const Json& info = *told.find("run")->find("info");
  EXPECT_EQ(info.get_string("experiment_id"), elsewhere);
  EXPECT_EQ(info.get_string("artifact_uri"), "mlflow-artifacts:/0/" + run + "/artifacts");
  EXPECT_TRUE(is_there("0/" + run + "/artifacts/new.txt"));
  ok(Method::kDelete, "/api/corral/v1/runs/" + run);
  EXPECT_TRUE(soon([&] { return !is_there("0/" + run); }));
}

TEST_F(Removal, ARunThatMovesBeforeItsFirstFileHasItInTheNewPlace) {
  const std::string run = new_run("0");
  const std::string elsewhere = new_experiment();
  ASSERT_TRUE(store_->change([&](store::Writing& writing) -> Result<> {
    const auto row = TRY(store::tracking::run(writing, RunId::parse(run).value()));
    return store::tracking::move_run(writing, row->key, ExperimentId{std::stoll(elsewhere)});
  }));
  ok(Method::kPut, "/api/corral/v1/runs/" + run + "/artifacts/a.txt", "x");
  EXPECT_TRUE(is_there(elsewhere + "/" + run + "/artifacts/a.txt"));
}

TEST_F(Removal, LeavesWhatLiesElsewhere) {
  start();
  const fs::path outside = directory_ / "elsewhere";
  const std::string run =
      new_run(new_experiment(R"(,"artifact_location":"file://)" + outside.string() + R"(")"));
  fs::create_directories(outside / run / "artifacts");
  ok(Method::kDelete, "/api/corral/v1/runs/" + run);
  EXPECT_TRUE(soon([&] { return noted() == 0; }));
  EXPECT_TRUE(fs::exists(outside / run / "artifacts"));
}

TEST_F(Removal, GoesOnWhereTheLastServerStopped) {
  const std::string run = new_run("0");
  write("0/" + run + "/artifacts/a.txt");
  ok(Method::kDelete, "/api/corral/v1/runs/" + run);
  EXPECT_EQ(noted(), 1U) << "no server removes files";
  start();
  EXPECT_TRUE(soon([&] { return !is_there("0/" + run) && noted() == 0; }));
}

TEST_F(Removal, NamesWhatItCannotRemoveOnceAndTriesAgain) {
  const std::string run = new_run("0");
  write("0/" + run + "/artifacts/a.txt");
  // A link instead of the experiment's directory: nothing behind it is touched.
  fs::rename(files() / "0", directory_ / "moved");
  fs::create_directory_symlink(directory_ / "moved", files() / "0");
  start();
  ok(Method::kDelete, "/api/corral/v1/runs/" + run);
  EXPECT_TRUE(soon([&] { return complaints_ == 1; }));
  EXPECT_EQ(noted(), 1U);
  fs::remove(files() / "0");
  fs::rename(directory_ / "moved", files() / "0");
  removal_->wake();
  EXPECT_TRUE(soon([&] { return !is_there("0/" + run) && noted() == 0; }));
  EXPECT_EQ(complaints_, 1);
}

}  // namespace
}  // namespace corral::server
