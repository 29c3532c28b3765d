// GET /plans/{plan}/workflow and its siblings, over a real store.

#include <gtest/gtest.h>

#include <deque>
#include <utility>
#include <vector>

#include "server/core/test_handlers.h"
#include "store/test_frames.h"

namespace corral::server {
namespace {

namespace frames = store::testing;

constexpr std::int64_t kNanos = 1'000'000'000;
constexpr const char* kPlanId = "0123456789abcdef0123456789abcdef";
using Tags = std::vector<std::pair<std::string, std::string>>;

class WorkflowRoute : public HandlerTest {
 protected:
  struct Planned {
    std::string name;
    std::string workload;
    std::int64_t from = 0, to = 0;  // s
    Tags tags = {};
    double watts = 0;  // 0: the package's energy is not measured
  };

  RunId add(const Planned& planned) {
    const RunId run = RunId::random();
    frames::SessionWriter& writer = writers_.emplace_back();
    auto body = frames::session_body(run, "supervisor");
    body.run_name = planned.name;
    body.workload = workload_of(planned.workload);
    body.workload_name = planned.workload;
    body.machine = "m7";
    body.started = boot_time(planned.from * kNanos);
    Tags tags = planned.tags;
    tags.emplace_back("corral.plan", kPlanId);
    tags.emplace_back("corral.plan.repetition", "1");
    codec::FactsBody facts;
    for (auto& [key, value] : tags)
      facts.facts.push_back({.kind = codec::FactKind::kTag, .key = key, .value = value});
    facts.facts.push_back(
        {.kind = codec::FactKind::kInfo, .key = "footprint.price_per_hour", .value = "36"});
    facts.facts.push_back(
        {.kind = codec::FactKind::kInfo, .key = "footprint.currency", .value = "\"EUR\""});
    std::vector<codec::Frame> all = {writer.frame(body), writer.frame(facts)};
    if (planned.watts > 0) add_package(planned, writer, all);
    all.push_back(writer.frame(codec::RunEndBody{.time = boot_time(planned.to * kNanos),
                                                 .reason = codec::EndReason::kExit,
                                                 .exit_code = 0,
                                                 .exit_signal = {}}));
    const auto done = store_->append(all);
    EXPECT_TRUE(done && done->refusals.empty());
    return run;
  }

  static void add_package(const Planned& planned, frames::SessionWriter& writer,
                          std::vector<codec::Frame>& all) {
    codec::SeriesDef package = frames::series_def(1, "host.energy.package");
    package.kind = metric::Kind::kCounter;
    package.owner = metric::Owner::kHost;
    package.source = "package-0";
    std::vector<std::pair<std::int64_t, double>> joules;
    for (std::int64_t s = planned.from; s <= planned.to; ++s)
      joules.emplace_back(s * kNanos, planned.watts * static_cast<double>(s));
    all.push_back(writer.frame(codec::SchemaBody{{package}}));
    all.push_back(writer.frame(frames::samples(1, joules)));
  }

  WorkloadId workload_of(const std::string& name) {
    const auto [place, fresh] = workloads_.try_emplace(name);
    if (fresh) place->second = WorkloadId::random();
    return place->second;
  }

  // A fails and is repeated after B; C comes After 1. A and B use 360 W for 10 s each.
  void add_plan() {
    const std::string row = "corral.plan.row", outcome = "corral.outcome";
    first_ = add({"A", "1", 0, 10, {{row, "a"}, {outcome, "failed"}}, 360});
    add({"B", "2", 10, 20, {{row, "b"}, {outcome, "finished"}}, 360});
    again_ = add({"A", "1", 22, 30, {{row, "a"}, {outcome, "finished"}}});
    add({"C", "3", 31, 36, {{row, "c"}, {outcome, "finished"}, {"corral.plan.after", "1"}}});
  }

  static double number(const Json& json, const char* name) {
    const Json* value = json.find(name);
    return value == nullptr ? -1 : value->as_double(-1);
  }

  const std::string plan_ = std::string("/api/corral/v1/plans/") + kPlanId + "/workflow";
  RunId first_, again_;
  std::deque<frames::SessionWriter> writers_;
  std::map<std::string, WorkloadId> workloads_;
};

TEST_F(WorkflowRoute, AnswersPathQueueAndEnds) {
  add_plan();
  const Json found = ok(Method::kGet, plan_);
  EXPECT_EQ(found.get_string("plan"), kPlanId);
  EXPECT_TRUE(found.find("workload")->is_null());
  EXPECT_DOUBLE_EQ(number(found, "makespan_s"), 36);
  EXPECT_DOUBLE_EQ(number(found, "waiting_s"), 3);
  EXPECT_EQ(found.get_string("summary"),
            "4 runs took 36 s. The critical path has 4 runs; 8.3 % of it is waits. 1 run failed.");
  const Json::Array& path = *found.find("path")->as_array();
  ASSERT_EQ(path.size(), 4U);
  EXPECT_EQ(path[2].get_string("link"), "turn");
  EXPECT_DOUBLE_EQ(number(path[2], "wait_s"), 2);
  EXPECT_EQ(path[3].get_string("link"), "after");
  EXPECT_DOUBLE_EQ(number(path[3], "wait_s"), 1);
  EXPECT_EQ(found.find("stages")->dump().substr(0, 40),
            R"([{"stage":"wait","seconds":3,"share":0.0)");
  EXPECT_DOUBLE_EQ(number(*found.find("queue"), "mean_s"), (0 + 10 + 12 + 1) / 4.0);
  EXPECT_EQ(found.find("runs")->dump(),
            R"({"all":4,"running":0,"finished":3,"failed":1,"interrupted":0,"repeated":1})");
  const Json& failed = found.find("not_finished")->as_array()->at(0);
  EXPECT_EQ(failed.get_string("run"), first_.hex());
  EXPECT_EQ(failed.get_string("repeated_by"), again_.hex());
  EXPECT_DOUBLE_EQ(number(found, "lost_s"), 10);
}

TEST_F(WorkflowRoute, AddsTheEnergyOfItsRuns) {
  add_plan();
  const Json sum = *ok(Method::kGet, plan_).find("footprint");
  EXPECT_EQ(sum.get_int("runs"), 4);
  EXPECT_EQ(sum.get_int("measured"), 2);
  EXPECT_NEAR(number(sum, "joules"), 7200, 1e-3);
  EXPECT_TRUE(sum.find("co2e_g")->is_null()) << "no intensity was given";
  EXPECT_NEAR(number(sum.find("costs")->as_array()->at(0), "total"), 0.33, 1e-9);
  EXPECT_NEAR(number(*sum.find("failed"), "joules"), 3600, 1e-3);
  EXPECT_EQ(sum.find("not_measured")->as_array()->size(), 2U);
  EXPECT_TRUE(
      sum.find("not_measured")->as_array()->at(0).get_string("reason").starts_with("gpu: "));
}

TEST_F(WorkflowRoute, WorkloadsAndExperimentsHaveOneToo) {
  add_plan();
  const Json workload =
      ok(Method::kGet, "/api/corral/v1/workloads/" + workload_of("1").hex() + "/workflow");
  EXPECT_EQ(workload.get_string("workload"), workload_of("1").hex());
  EXPECT_EQ(workload.find("runs")->get_int("all"), 2);
  EXPECT_TRUE(workload.find("queue")->is_null()) << "what its runs waited for is not in it";
  const Json experiments = ok(Method::kGet, "/api/corral/v1/experiments");
  const std::string id = experiments.find("experiments")->as_array()->at(0).get_string("id");
  const Json experiment = ok(Method::kGet, "/api/corral/v1/experiments/" + id + "/workflow");
  EXPECT_EQ(experiment.find("runs")->get_int("all"), 4);
}

TEST_F(WorkflowRoute, TheAnswerIsKeptUntilItsRunsChange) {
  add_plan();
  const auto kept = [&] {
    Request request;
    request.method = Method::kGet;
    EXPECT_TRUE(parse_target(plan_, request));
    return !route(std::move(request), *context_).late;
  };
  EXPECT_FALSE(kept());
  const std::string before = send(Method::kGet, plan_).body;
  EXPECT_TRUE(kept());
  EXPECT_EQ(send(Method::kGet, plan_).body, before);
  add({"D", "4", 40, 41, {{"corral.plan.row", "d"}, {"corral.outcome", "finished"}}});
  EXPECT_FALSE(kept());
  EXPECT_EQ(ok(Method::kGet, plan_).find("runs")->get_int("all"), 5);
  EXPECT_TRUE(kept());
  const auto update = [&](const std::string& body) {
    ok(Method::kPost, "/api/2.0/mlflow/runs/update", body);
  };
  update(R"({"run_id": ")" + first_.hex() + R"(", "run_name": "another"})");
  EXPECT_FALSE(kept());
  EXPECT_EQ(ok(Method::kGet, plan_).find("path")->as_array()->at(0).get_string("name"), "another");
  EXPECT_TRUE(kept());
}

TEST_F(WorkflowRoute, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(send(Method::kGet, plan_).status, 404);
  ok(Method::kPut, std::string("/api/corral/v1/plans/") + kPlanId,
     R"({"file":"plan.csv","host":"node7","state":"running","updated_ns":"5","runs":[]})");
  const Json empty = ok(Method::kGet, plan_);
  EXPECT_EQ(empty.get_string("summary"), "There are no runs yet.");
  EXPECT_TRUE(empty.find("from_ns")->is_null());
  EXPECT_EQ(send(Method::kGet, "/api/corral/v1/workloads/nothing/workflow").status, 400);
  EXPECT_EQ(send(Method::kGet, "/api/corral/v1/experiments/x/workflow").status, 400);
  EXPECT_EQ(send(Method::kGet, "/api/corral/v1/experiments/99/workflow").status, 404);
}

TEST_F(WorkflowRoute, CirclesAreRefused) {
  add({"A", "1", 0, 1, {{"corral.plan.after", "2"}}});
  add({"B", "2", 1, 2, {{"corral.plan.after", "1"}}});
  EXPECT_EQ(send(Method::kGet, plan_).status, 422);
}

}  // namespace
}  // namespace corral::server
