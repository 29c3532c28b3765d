// Tests sharing over a real store: lanes, overlaps, a metric alone and shared; workloads with
// their members.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/text.h"
#include "server/core/test_handlers.h"
#include "store/test_frames.h"

namespace corral::server {
namespace {

namespace frames = store::testing;

constexpr std::int64_t kSecond = 1'000'000'000;

class SharingApi : public HandlerTest {
 protected:
  struct Given {
    std::string experiment = "digits";
    std::string workload = "7";
    std::string devices = R"([{"device":"0"}])";
    std::int64_t begin = 0, end = 0;  // s
    double value = 0;                 // "speed", one point each second
    std::string outcome = "finished";
  };
  // A run with a metric of its own and one of its workload's GPU.
  RunId add(const std::string& name, const Given& given) {
    const RunId id = RunId::random();
    frames::SessionWriter writer;
    auto body = frames::session_body(id, "supervisor");
    body.run_name = name;
    body.experiment = given.experiment;
    body.workload = workload_id_of(given.experiment, given.workload);
    body.workload_name = given.workload;
    body.started = boot_time(given.begin * kSecond);
    codec::FactsBody facts;
    facts.facts = {{codec::FactKind::kTag, "corral.devices", given.devices},
                   {codec::FactKind::kTag, "corral.collocation", "mps"},
                   {codec::FactKind::kTag, "corral.outcome", given.outcome}};
    codec::SchemaBody schema{.series = {frames::series_def(1, "speed")}};
    std::vector<std::pair<std::int64_t, double>> points;
    for (std::int64_t s = given.begin; s <= given.end; ++s)
      points.emplace_back(s * kSecond, s < 10 ? given.value : given.value / 2);
    const auto done = store_->append(std::vector<codec::Frame>{
        writer.frame(body), writer.frame(facts), writer.frame(schema),
        writer.frame(frames::samples(1, points)),
        writer.frame(codec::RunEndBody{
            .time = boot_time(given.end * kSecond), .exit_code = 0, .exit_signal = {}})});
    EXPECT_TRUE(done && done->refusals.empty());
    return id;
  }
  Json sharing(std::string_view workload, std::string_view query = "") {
    return ok(Method::kGet, "/api/corral/v1/workloads/" + workload_id_of("digits", workload).hex() +
                                "/sharing" + std::string(query));
  }
  static const Json& item(const Json& json, std::string_view list, std::size_t at) {
    return json.find(list)->as_array()->at(at);
  }
  static std::size_t count(const Json& json, std::string_view list) {
    return json.find(list)->as_array()->size();
  }
};

TEST_F(SharingApi, LanesSayWhoMetWhomAndWhen) {
  const RunId a = add("a", {.begin = 0, .end = 20, .value = 10});
  const RunId b = add("b", {.begin = 10, .end = 30});
  const Json answer = sharing("7");
  EXPECT_EQ(answer.get_string("workload"), "7");
  EXPECT_EQ(count(answer, "lanes"), 1U);
  const Json& lane = item(answer, "lanes", 0);
  EXPECT_EQ(lane.get_string("kind"), "device");
  EXPECT_EQ(lane.get_string("name"), "gpu0");
  EXPECT_EQ(count(lane, "stays"), 2U);
  ASSERT_EQ(count(lane, "overlaps"), 1U);
  const Json& overlap = item(lane, "overlaps", 0);
  EXPECT_EQ(overlap.get_int("start_ns"), 10 * kSecond + frames::kUtcMinusBoot);
  EXPECT_EQ(overlap.get_int("end_ns"), 20 * kSecond + frames::kUtcMinusBoot);
  EXPECT_EQ(overlap.find("runs")->dump(), "[0,1]");
  EXPECT_DOUBLE_EQ(lane.find("alone_s")->as_double(0), 20);
  EXPECT_DOUBLE_EQ(lane.find("shared_s")->as_double(0), 10);
  const Json& first = item(answer, "runs", 0);
  EXPECT_EQ(first.get_string("id"), a.hex());
  EXPECT_EQ(first.get_string("collocation"), "mps");
  EXPECT_EQ(first.get_string("outcome"), "finished");
  EXPECT_EQ(first.find("with")->dump(), "[1]");
  EXPECT_TRUE(first.find("alone")->find("mean")->is_null()) << "no metric was asked for";
  EXPECT_EQ(item(answer, "runs", 1).get_string("id"), b.hex());
}

TEST_F(SharingApi, AMetricIsToldAloneAndShared) {
  add("a", {.begin = 0, .end = 20, .value = 10});
  add("b", {.begin = 10, .end = 30});
  const Json answer = sharing("7", "?metric=speed");
  const Json& first = item(answer, "runs", 0);
  // The line from 10 at 9 s to 5 at 10 s belongs to the time alone.
  EXPECT_NEAR(first.find("alone")->find("mean")->as_double(0), 9.75, 1e-9);
  EXPECT_NEAR(first.find("shared")->find("mean")->as_double(0), 5, 1e-9);
  EXPECT_NEAR(first.find("shared")->find("covered_s")->as_double(0), 10, 1e-9);
  const Json none = sharing("7", "?metric=nothing");
  EXPECT_TRUE(item(none, "runs", 0).find("alone")->find("mean")->is_null());
}

TEST_F(SharingApi, ARunOfAnotherWorkloadOnTheSameDeviceIsANeighbour) {
  add("mine", {.begin = 0, .end = 20});
  add("other", {.workload = "8", .begin = 5, .end = 50});
  add("elsewhere", {.workload = "8", .devices = R"([{"device":"1"}])", .begin = 5, .end = 50});
  const Json answer = sharing("7");
  ASSERT_EQ(count(answer, "runs"), 2U);
  EXPECT_EQ(item(answer, "runs", 1).get_string("name"), "other");
  EXPECT_EQ(item(answer, "runs", 1).find("own")->dump(), "false");
  EXPECT_DOUBLE_EQ(item(answer, "runs", 0).find("shared_s")->as_double(0), 15);
}

TEST_F(SharingApi, WhatIsNoWorkloadIsRefused) {
  EXPECT_EQ(send(Method::kGet, "/api/corral/v1/workloads/7/sharing").status, 400);
  EXPECT_EQ(
      send(Method::kGet, "/api/corral/v1/workloads/" + RunId::random().hex() + "/sharing").status,
      404);
}

TEST_F(SharingApi, WorkloadsTellTheirMembersOnDemand) {
  add("a", {.begin = 0, .end = 20});
  add("b", {.begin = 10, .end = 30, .outcome = "out-of-memory"});
  add("c", {.workload = "8", .begin = 40, .end = 50});
  const std::string path = "/api/corral/v1/workloads";
  EXPECT_EQ(item(ok(Method::kGet, path), "workloads", 0).find("members"), nullptr);
  EXPECT_EQ(send(Method::kGet, path + "?members=perhaps").status, 400);
  const Json answer = ok(Method::kGet, path + "?members=true");
  ASSERT_EQ(count(answer, "workloads"), 2U);
  EXPECT_EQ(item(answer, "workloads", 0).find("shared")->dump(), "[]");
  const Json& seven = item(answer, "workloads", 1);
  EXPECT_EQ(seven.get_string("experiment"), "digits");
  ASSERT_EQ(count(seven, "members"), 2U);
  const Json& member = item(seven, "members", 1);
  EXPECT_EQ(member.get_string("outcome"), "out-of-memory");
  EXPECT_EQ(member.find("devices")->dump(), R"([{"device":"0"}])");
  ASSERT_EQ(count(seven, "shared"), 1U);
  EXPECT_EQ(item(seven, "shared", 0).get_string("name"), "gpu0");
  EXPECT_EQ(count(item(seven, "shared", 0), "runs"), 2U);
}

// The workload's own runs that overlapped with others, and these.
std::set<std::string> met_in(const Json& lanes) {
  const Json::Array& runs = *lanes.find("runs")->as_array();
  std::set<std::string> met;
  for (const Json& run : runs) {
    if (run.find("own")->dump() != "true" || run.find("with")->as_array()->empty()) continue;
    met.insert(run.get_string("id"));
    for (const Json& with : *run.find("with")->as_array())
      met.insert(runs.at(static_cast<std::size_t>(*with.as_int())).get_string("id"));
  }
  return met;
}

std::set<std::string> listed_in(const Json& place) {
  std::set<std::string> listed;
  for (const Json& run : *place.find("runs")->as_array()) listed.insert(*run.as_string());
  for (const Json& run : *place.find("others")->as_array()) listed.insert(run.get_string("id"));
  return listed;
}

TEST_F(SharingApi, MembersOfWorkloadsShareWithOthersAsTheLanesSay) {
  const RunId a = add("a", {.begin = 0, .end = 20});
  const RunId b = add("b", {.begin = 10, .end = 30});
  const RunId c = add("c", {.experiment = "letters", .workload = "8", .begin = 25, .end = 60});
  add("d", {.workload = "9", .begin = 50, .end = 55});
  add("elsewhere", {.workload = "9", .devices = R"([{"device":"1"}])", .begin = 0, .end = 60});
  const std::string path = "/api/corral/v1/workloads";
  const Json answer = ok(Method::kGet, path + "?members=true");
  ASSERT_EQ(count(answer, "workloads"), 3U);
  for (const Json& workload : *answer.find("workloads")->as_array()) {
    const std::string name = workload.get_string("name");
    ASSERT_EQ(count(workload, "shared"), 1U) << name;
    const Json& told = item(workload, "shared", 0);
    const Json lanes = ok(Method::kGet, path + "/" + workload.get_string("id") + "/sharing");
    EXPECT_EQ(told.find("shared_s")->dump(), item(lanes, "lanes", 0).find("shared_s")->dump());
    EXPECT_EQ(listed_in(told), met_in(lanes)) << name;
    const Json chosen =
        ok(Method::kGet, path + "?members=true&experiment=" + workload.get_string("experiment_id"));
    const auto& few = *chosen.find("workloads")->as_array();
    EXPECT_EQ(std::ranges::count(few, workload.dump(), &Json::dump), 1) << "its others, too";
    if (name != "7") continue;
    EXPECT_EQ(told.find("runs")->dump(), Json(Json::Array{a.hex(), b.hex()}).dump());
    EXPECT_EQ(item(told, "others", 0).get_string("id"), c.hex());
    EXPECT_EQ(item(told, "others", 0).get_string("workload"), "8");
    EXPECT_DOUBLE_EQ(told.find("shared_s")->as_double(0), 15);
  }
}

TEST_F(SharingApi, RunsAreToldWithTheirOutcome) {
  const RunId id = add("b", {.begin = 10, .end = 30, .outcome = "out-of-memory"});
  const std::string path = "/api/corral/v1/runs";
  EXPECT_EQ(ok(Method::kGet, path + "/" + id.hex()).get_string("outcome"), "out-of-memory");
  EXPECT_EQ(item(ok(Method::kGet, path), "runs", 0).get_string("outcome"), "out-of-memory");
  EXPECT_EQ(item(ok(Method::kPost, path + "/search", "{}"), "runs", 0).get_string("outcome"),
            "out-of-memory");
}

}  // namespace
}  // namespace corral::server
