// Changing runs in bulk, and what other routes then say of them.
#include "server/core/test_handlers.h"
#include "store/test_frames.h"

namespace corral::server {
namespace {

namespace frames = store::testing;

constexpr std::string_view kChanges = "/api/corral/v1/runs/changes";
constexpr std::string_view kSearch = "/api/corral/v1/runs/search";

class ChangeRuns : public HandlerTest {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < 2; ++i) {
      const std::vector sent{
          writers_[i].frame(frames::session_body(runs_[i], "supervisor")),
          writers_[i].frame(codec::FactsBody{.facts = {{codec::FactKind::kTag, "team", "vision"}}}),
          writers_[i].frame(codec::RunEndBody{.time = boot_time(9000),
                                              .reason = codec::EndReason::kExit,
                                              .exit_code = 0,
                                              .exit_signal = {}})};
      ASSERT_TRUE(store_->append(sent));
    }
  }
  // {"changes": [{"runs": [the first n], MEMBERS}]}
  [[nodiscard]] std::string body(std::size_t runs, std::string_view members) const {
    std::string ids = '"' + runs_[0].hex() + '"';
    if (runs > 1) ids += ",\"" + runs_[1].hex() + '"';
    return R"({"changes":[{"runs":[)" + ids + "]," + std::string(members) + "}]}";
  }
  std::string error_of(std::string body) {
    const Response response = send(Method::kPost, kChanges, std::move(body));
    const Json json = json_of(response);
    const Json* error = json.find("error");
    if (error == nullptr) return response.body;
    return std::to_string(response.status) + ' ' + error->get_string("field");
  }
  std::int64_t found(std::string_view body) {
    return ok(Method::kPost, kSearch, std::string(body)).get_int("total");
  }
  Json run(std::size_t i) { return ok(Method::kGet, "/api/corral/v1/runs/" + runs_[i].hex()); }

  const std::array<RunId, 2> runs_ = {RunId::random(), RunId::random()};
  std::array<frames::SessionWriter, 2> writers_;
};

TEST_F(ChangeRuns, EachAnswersWithTheChangeThatTakesItBack) {
  const Json answer = ok(Method::kPost, kChanges,
                         body(1, R"("name":"best","tags":{"team":null,"x":"1","y":null})"));
  const Json& run = answer.find("runs")->as_array()->at(0);
  EXPECT_EQ(run.get_string("name"), "best");
  EXPECT_EQ(run.get_string("state"), "active");
  EXPECT_EQ(run.find("undo")->dump(), R"({"name":"calm-otter","tags":{"team":"vision","x":null}})");
  EXPECT_EQ(this->run(0).find("tags")->dump(), R"({"x":"1"})");
  EXPECT_EQ(ok(Method::kGet, "/api/corral/v1/runs/best").get_string("id"), runs_[0].hex());
  ok(Method::kPost, kChanges,
     body(1, run.find("undo")->dump().substr(1, run.find("undo")->dump().size() - 2)));
  EXPECT_EQ(this->run(0).get_string("name"), "calm-otter");
  EXPECT_EQ(this->run(0).find("tags")->dump(), R"({"team":"vision"})");
}

TEST_F(ChangeRuns, ARunInTheTrashIsFoundThereAndByItsIdOnly) {
  ok(Method::kPost, kChanges, body(1, R"("state":"trashed")"));
  EXPECT_EQ(found("{}"), 1);
  EXPECT_EQ(found(R"({"runs":[")" + runs_[0].hex() + R"("]})"), 0);
  EXPECT_EQ(found(R"({"state":"trashed"})"), 1);
  EXPECT_EQ(ok(Method::kGet, "/api/corral/v1/runs?state=trashed").get_int("total"), 1);
  EXPECT_EQ(ok(Method::kGet, "/api/corral/v1/runs/@1").get_string("id"), runs_[1].hex());
  EXPECT_EQ(ok(Method::kGet, "/api/corral/v1/runs/calm-otter").get_string("id"), runs_[1].hex());
  const Json run = this->run(0);
  EXPECT_EQ(run.get_string("state"), "trashed");
  EXPECT_EQ(run.get_int("removal_ns") - run.get_int("trashed_ns"), 30LL * 86'400'000'000'000);
  ok(Method::kPost, kChanges, body(2, R"("state":"active")"));
  EXPECT_EQ(found("{}"), 2);
  EXPECT_TRUE(this->run(0).find("removal_ns")->is_null());
}

TEST_F(ChangeRuns, AnArchivedRunIsLeftOutUnlessItIsNamed) {
  ok(Method::kPost, kChanges, body(1, R"("state":"archived")"));
  EXPECT_EQ(found("{}"), 1);
  EXPECT_EQ(found(R"({"runs":[")" + runs_[0].hex() + R"("]})"), 1);
  EXPECT_EQ(found(R"({"state":"archived"})"), 1);
  EXPECT_EQ(run(0).get_string("state"), "archived");
}

TEST_F(ChangeRuns, WhatLeftTheTrashIsNotRemovedAsItsContent) {
  const std::string target = "/api/corral/v1/runs/" + runs_[0].hex() + "?state=";
  EXPECT_EQ(send(Method::kDelete, target + "trashed").status, 404);
  EXPECT_EQ(send(Method::kDelete, target + "trashed&force=true").status, 404);
  EXPECT_EQ(send(Method::kDelete, target + "active").status, 400);
  EXPECT_EQ(run(0).get_string("state"), "active");
  ok(Method::kPost, kChanges, body(1, R"("state":"trashed")"));
  ok(Method::kDelete, target + "trashed");
  EXPECT_EQ(send(Method::kGet, "/api/corral/v1/runs/" + runs_[0].hex()).status, 404);
}

TEST_F(ChangeRuns, ARunningRunLeavesTheTrashByForceOnly) {
  const RunId running = RunId::random();
  frames::SessionWriter writer;
  ASSERT_TRUE(
      store_->append(std::vector{writer.frame(frames::session_body(running, "supervisor"))}));
  ok(Method::kPost, kChanges,
     R"({"force":true,"changes":[{"runs":[")" + running.hex() + R"("],"state":"trashed"}]})");
  const std::string target = "/api/corral/v1/runs/" + running.hex();
  EXPECT_EQ(send(Method::kDelete, target + "?state=trashed").status, 409);
  ok(Method::kDelete, target + "?state=trashed&force=true");
  EXPECT_EQ(send(Method::kGet, target).status, 404);
}

// The first is bob's, the second nobody's, the third one ada's.
TEST_F(ChangeRuns, WhoIsNoOwnerTrashesOwnRunsOnly) {
  const RunId adas = RunId::random();
  frames::SessionWriter writer;
  ASSERT_TRUE(
      store_->append(std::vector{writer.frame(frames::session_body(adas, "supervisor")),
                                 writer.frame(codec::RunEndBody{.time = boot_time(9000),
                                                                .reason = codec::EndReason::kExit,
                                                                .exit_code = 0,
                                                                .exit_signal = {}})},
                     {}, {.user = "ada"}));
  const std::string all =
      R"({"changes":[{"runs":[")" + runs_[0].hex() + R"(",")" + adas.hex() + R"("],"state":")";
  const auto state = [&] {
    return ok(Method::kGet, "/api/corral/v1/runs/" + adas.hex()).get_string("state");
  };
  context_->who = {.user = "bob", .role = Role::kWriter};
  const Response refused = send(Method::kPost, kChanges, all + "trashed\"}]}");
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.body.find("recorded by 'ada'"), std::string::npos) << refused.body;
  EXPECT_EQ(run(0).get_string("state"), "active") << "all or nothing";
  ok(Method::kPost, kChanges, all + "archived\"}]}");
  EXPECT_EQ(state(), "archived") << "which loses nothing";
  EXPECT_EQ(send(Method::kPost, kChanges, all + "trashed\"}]}").status, 403);
  ok(Method::kPost, kChanges, body(1, R"("state":"trashed")"));

  context_->who = {.user = "ada", .role = Role::kWriter};
  ok(Method::kPost, kChanges, all + "trashed\"}]}");
  EXPECT_EQ(state(), "trashed");
  context_->who = {.user = "bob", .role = Role::kWriter};
  ok(Method::kPost, kChanges, all + "trashed\"}]}");  // they are there already
  ok(Method::kPost, kChanges, all + "active\"}]}");
  EXPECT_EQ(state(), "active");
  context_->who = {.user = "olga", .role = Role::kOwner};
  ok(Method::kPost, kChanges, all + "trashed\"}]}");
  EXPECT_EQ(state(), "trashed");
}

TEST_F(ChangeRuns, RunsAreFoundByWhoRecordedThem) {
  const RunId adas = RunId::random();
  frames::SessionWriter writer;
  ASSERT_TRUE(store_->append(std::vector{writer.frame(frames::session_body(adas, "supervisor"))},
                             {}, {.user = "ada"}));
  EXPECT_EQ(found(R"({"where":{"creator":["ada"]}})"), 1);
  EXPECT_EQ(found(R"({"where":{"creator":[""]}})"), 2);
  EXPECT_EQ(found(R"({"text":"ada"})"), 1);
  const Json answer =
      ok(Method::kPost, kSearch,
         R"({"facets":["creator"],"group":"creator","order":[{"by":"creator"}],"limit":1})");
  const Json& first = answer.find("runs")->as_array()->at(0);
  EXPECT_EQ(first.get_string("creator"), "ada") << "those of nobody known come last";
  EXPECT_EQ(answer.find("facets")->find("creator")->as_array()->size(), 2U);
  EXPECT_EQ(answer.find("groups")->as_array()->size(), 2U);
}

TEST_F(ChangeRuns, AllHappensOrNothing) {
  const std::string unknown = RunId::random().hex();
  const Response response =
      send(Method::kPost, kChanges,
           R"({"changes":[{"runs":[")" + runs_[0].hex() + R"("],"name":"x"},{"runs":[")" + unknown +
               R"("],"name":"y"}]})");
  EXPECT_EQ(response.status, 404);
  EXPECT_NE(response.body.find(unknown), std::string::npos);
  EXPECT_EQ(run(0).get_string("name"), "calm-otter");
}

TEST_F(ChangeRuns, TagsAreBoundedOverAllRunsTogether) {
  const auto change = [](std::size_t runs, std::size_t tags) {
    std::string text = R"({"runs":[)";
    for (std::size_t i = 0; i < runs; ++i)
      text += (i > 0 ? ",\"" : "\"") + RunId::random().hex() + '"';
    text += R"(],"tags":{)";
    for (std::size_t i = 0; i < tags; ++i)
      text += (i > 0 ? ",\"t" : "\"t") + std::to_string(i) + "\":\"" + std::string(8000, 'x') + '"';
    return text + "}}";
  };
  const auto refusal = [&](const std::string& changes) {
    return error_of(R"({"changes":[)" + changes + "]}");
  };
  EXPECT_EQ(refusal(change(30, 100)), "400 changes[0].tags");
  EXPECT_EQ(refusal(change(15, 100) + ',' + change(15, 100)), "400 changes[1].tags");
  EXPECT_EQ(refusal(change(1, 101)), "400 changes[0].tags");
  // As many as fit are read: only then is the first of the runs missed.
  EXPECT_EQ(refusal(change(20, 100)).substr(0, 3), "404");
}

TEST_F(ChangeRuns, WhatIsNoChangeIsRefused) {
  EXPECT_EQ(error_of("{}"), "400 changes");
  EXPECT_EQ(error_of(body(1, R"("state":"gone")")), "400 changes[0].state");
  EXPECT_EQ(error_of(body(1, R"("tags":{})")), "400 changes[0].state") << "it changes nothing";
  EXPECT_EQ(error_of(body(1, R"("name":" ")")), "400 changes[0].name");
  EXPECT_EQ(error_of(body(1, R"("name":"a\nb")")), "400 changes[0].name");
  EXPECT_EQ(error_of(body(1, R"("tags":{"k":7})")), "400 changes[0].tags.k");
  EXPECT_EQ(error_of(body(1, R"("tags":{"":"v"})")), "400 changes[0].tags.");
  EXPECT_EQ(error_of(body(1, R"("tags":{"k":"a\u0000"})")), "400 changes[0].tags.k");
  EXPECT_EQ(error_of(body(1, R"("tags":{"mlflow.runName":"x"})")),
            "400 changes[0].tags.mlflow.runName");
  EXPECT_EQ(error_of(body(1, R"("title":"x")")), "400 changes[0].title");
  EXPECT_EQ(error_of(R"({"changes":[{"runs":[],"name":"x"}]})"), "400 changes[0].runs");
  const std::string id = runs_[0].hex();
  EXPECT_EQ(error_of(R"({"changes":[{"runs":[")" + id + R"("],"name":"x"},{"runs":[")" + id +
                     R"("],"name":"y"}]})"),
            "400 changes[1].runs");
  EXPECT_EQ(run(0).get_string("name"), "calm-otter");
}

}  // namespace
}  // namespace corral::server
