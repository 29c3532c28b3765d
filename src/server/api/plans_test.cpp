// Plans: a scheduler's report is checked, kept unchanged, listed and announced.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <semaphore>

#include "server/api/requests.h"
#include "server/core/test_handlers.h"

namespace corral::server {
namespace {

constexpr const char* kId = "0123456789abcdef0123456789abcdef";

std::string run(std::string_view state, std::string_view more = "") {
  return fmt::format(R"({{"key":"k","experiment":"E","workload":"7","state":"{}"{}}})", state,
                     more);
}
std::string document(std::string_view runs, std::string_view more = "") {
  return fmt::format(
      R"({{"file":"plan.csv","host":"node7","state":"running","updated_ns":"5","runs":[{}]{}}})",
      runs, more);
}

class Plans : public HandlerTest {
 protected:
  std::string refusal(const std::string& body) { return refusal(body, plan_); }
  std::string refusal(const std::string& body, const std::string& target) {
    const Response response = send(Method::kPut, target, body);
    const Json json = json_of(response);
    const Json* error = json.find("error");
    return error == nullptr ? response.body
                            : fmt::format("{} {}", response.status, error->get_string("field"));
  }

  const std::string plans_ = "/api/corral/v1/plans";
  const std::string plan_ = plans_ + "/" + kId;
};

TEST_F(Plans, ADocumentComesBackAsItWasWritten) {
  const std::string text =
      document(run("finished", R"(,"run":"00000000000000000000000000000001","tail":["\u0000"])") +
                   " , " + run("waiting"),
               R"(,"message":"waiting: GPU 0 is 84 C","later":[1.0])");
  EXPECT_EQ(ok(Method::kPut, plan_, text).get_string("id"), kId);
  EXPECT_EQ(send(Method::kGet, plan_).body, text);
}

TEST_F(Plans, AListSaysHowFarEachIs) {
  EXPECT_EQ(ok(Method::kGet, plans_).dump(), R"({"plans":[]})");
  ok(Method::kPut, plan_, document(run("waiting")));
  ok(Method::kPut, plan_, document(run("finished") + "," + run("out-of-memory")));
  const Json all = ok(Method::kGet, plans_);
  ASSERT_EQ(all.find("plans")->as_array()->size(), 1U);
  const Json& plan = all.find("plans")->as_array()->front();
  EXPECT_EQ(plan.get_string("id"), kId);
  EXPECT_GT(plan.get_int("received_ns"), 0);
  EXPECT_EQ(plan.get_string("file"), "plan.csv");
  EXPECT_EQ(plan.get_string("host"), "node7");
  EXPECT_EQ(plan.get_string("state"), "running");
  EXPECT_EQ(plan.get_string("updated_ns"), "5");
  EXPECT_EQ(plan.get_int("runs"), 2);
  EXPECT_EQ(plan.get_int("workloads"), 1);
  EXPECT_EQ(plan.find("counts")->dump(), R"({"finished":1,"out-of-memory":1})");
  EXPECT_EQ(plan.find("experiments")->dump(), R"(["E"])");
}

TEST_F(Plans, WhatIsWrongIsNamed) {
  EXPECT_EQ(refusal("[]"), "400 ");
  EXPECT_EQ(refusal("{"), "400 ");
  EXPECT_EQ(refusal("{}"), "400 file");
  EXPECT_EQ(refusal(R"({"file":"f","host":"h"})"), "400 state");
  EXPECT_EQ(refusal(R"({"file":"f","host":"h","state":"done","updated_ns":"1","runs":[]})"),
            "400 state");
  EXPECT_EQ(refusal(R"({"file":"f","host":"h","state":"failed","runs":[]})"), "400 updated_ns");
  EXPECT_EQ(refusal(R"({"file":"f","host":"h","state":"failed","updated_ns":"1"})"), "400 runs");
  EXPECT_EQ(refusal(document("7")), "400 runs[0]");
  EXPECT_EQ(refusal(document(run("waiting") + "," + run("Not A Word"))), "400 runs[1].state");
  EXPECT_EQ(refusal(document(run("waiting", R"(,"run":"abc")"))), "400 runs[0].run");
  EXPECT_EQ(refusal(document(run("waiting", R"(,"tail":"line")"))), "400 runs[0].tail");
  EXPECT_EQ(refusal(document(run("waiting", R"(,"line":"seven")"))), "400 runs[0].line");
  EXPECT_EQ(refusal(document(R"({"key":"k","workload":"1","state":"waiting"})")),
            "400 runs[0].experiment");
  EXPECT_EQ(refusal(document(""), plans_ + "/ABC"), "400 plan");
  EXPECT_EQ(refusal(document("", R"(,"x":")" + std::string(8u << 20, 'x') + '"')), "413 ");
  EXPECT_EQ(ok(Method::kGet, plans_).dump(), R"({"plans":[]})");
  EXPECT_EQ(send(Method::kGet, plan_).status, 404);
  EXPECT_EQ(send(Method::kGet, plans_ + "/%27%22").status, 404);
}

TEST_F(Plans, APlanIsForgotten) {
  EXPECT_EQ(send(Method::kDelete, plan_).status, 404);
  ok(Method::kPut, plan_, document(""));
  ok(Method::kDelete, plan_);
  EXPECT_EQ(send(Method::kGet, plan_).status, 404);
}

TEST_F(Plans, OpenPagesAreTold) {
  const auto stream = events_.subscribe();
  std::string seen;
  std::counting_semaphore<> news{0};
  stream->attach([&] { news.release(); });
  ok(Method::kPut, plan_, document(""));
  while (seen.find(kId) == std::string::npos) {
    ASSERT_TRUE(news.try_acquire_for(std::chrono::seconds(60)));
    seen += stream->drain();
  }
  stream->attach(nullptr);
  EXPECT_NE(seen.find("event: plans"), std::string::npos);
}

}  // namespace
}  // namespace corral::server
