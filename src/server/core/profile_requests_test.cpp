// Profiles on demand: the page's request reaches the run's supervisor with its next frames, and the
// supervisor's reports reach the page.
#include "server/core/profile_requests.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "codec/frame.h"
#include "server/core/test_handlers.h"

namespace corral::server {
namespace {

using codec::FrameHeader;
using codec::FrameKind;

class Profiles : public HandlerTest {
 protected:
  void SetUp() override {
    codec::SessionBody body;
    body.run = run_;
    body.workload = own_workload_of(run_);
    body.experiment = "E";
    body.run_name = "calm-otter";
    body.role = "supervisor";
    post(codec::encode(header(FrameKind::kSession), body));
  }
  FrameHeader header(FrameKind kind) {
    ++number_;
    return {.kind = kind, .session = session_, .first = number_, .last = number_};
  }
  Json post(const codec::Bytes& frame) {
    return json_of(send(Method::kPost, "/api/corral/v1/frames",
                        std::string(reinterpret_cast<const char*>(frame.data()), frame.size()),
                        {{"content-type", "application/x-corral-frames"}}));
  }
  Json post_event() {
    codec::Event event;
    event.time = boot_time(5);
    event.name = "x";
    event.origin = "user";
    return post(codec::encode(header(FrameKind::kEvents), codec::EventsBody{{event}}));
  }
  Json ask(std::string_view body = R"({"steps":2})") {
    return *ok(Method::kPost, profile_, std::string(body)).find("profile");
  }
  Json latest() { return *ok(Method::kGet, profile_).find("profile"); }
  Json tell(const Json& profile, const std::string& news) {
    return *ok(Method::kPut, profile_ + "/" + profile.get_string("id"), news).find("profile");
  }

  const RunId run_ = RunId::random();
  const SessionId session_ = SessionId::random();
  const std::string profile_ = "/api/corral/v1/runs/" + run_.hex() + "/profile";
  std::uint64_t number_ = 0;
};

TEST_F(Profiles, TheNextFramesOfTheRunBringTheWishUntilSomebodyHasHeardIt) {
  EXPECT_TRUE(latest().is_null());
  EXPECT_EQ(post_event().find("profiles"), nullptr);
  const Json asked = ask();
  EXPECT_EQ(asked.get_string("state"), "asked");
  EXPECT_TRUE(asked.get_string("id").starts_with("torch-20")) << asked.get_string("id");
  for (int twice = 0; twice < 2; ++twice) {  // the first answer may be lost
    const Json answer = post_event();
    ASSERT_NE(answer.find("profiles"), nullptr) << answer.dump();
    EXPECT_EQ(answer.find("profiles")->as_array()->front().dump(), asked.dump());
  }
  EXPECT_EQ(tell(asked, R"({"state":"waiting"})").get_string("state"), "waiting");
  EXPECT_EQ(post_event().find("profiles"), nullptr);
  EXPECT_EQ(send(Method::kPost, profile_, "{}").status, 409) << "one is on its way";
  tell(asked, R"({"state":"running","first":12,"last":13})");
  EXPECT_EQ(latest().get_int("last"), 13);
  tell(asked, R"({"state":"done","first":12,"last":13,"artifact":"profile/x"})");
  EXPECT_EQ(latest().get_string("artifact"), "profile/x");
  EXPECT_EQ(ask("{}").get_int("steps"), 3);
}

TEST_F(Profiles, WhatNobodySpeaksOfIsOver) {
  const Json asked = ask();
  profiles_.age(std::chrono::seconds(61));
  EXPECT_EQ(post_event().find("profiles"), nullptr);
  EXPECT_EQ(latest().get_string("state"), "refused");
  EXPECT_NE(latest().get_string("reason").find("within 60 s"), std::string::npos);
  tell(asked, R"({"state":"waiting"})");  // it had the wish all the same
  EXPECT_EQ(latest().get_string("state"), "waiting");
  profiles_.age(std::chrono::seconds(61));
  EXPECT_EQ(latest().get_string("state"), "failed");
  ask();
}

TEST_F(Profiles, WhatCannotBeIsRefused) {
  const auto status = [&](std::string body) {
    const Response response = send(Method::kPost, profile_, std::move(body));
    const Json json = json_of(response);
    const Json* error = json.find("error");
    return fmt::format("{} {}", response.status, error ? error->get_string("field") : "");
  };
  EXPECT_EQ(status(R"({"steps":0})"), "400 steps");
  EXPECT_EQ(status(R"({"steps":1001})"), "400 steps");
  EXPECT_EQ(status(R"({"tool":"nsys"})"), "400 tool");
  EXPECT_EQ(status(R"({"kind":"torch"})"), "400 kind");
  EXPECT_EQ(status("[]"), "400 ");
  EXPECT_EQ(send(Method::kPost, "/api/corral/v1/runs/none/profile", "{}").status, 404);
  EXPECT_EQ(send(Method::kPut, profile_ + "/torch-1", R"({"state":"done"})").status, 404);
  EXPECT_EQ(send(Method::kPut, profile_ + "/torch-1", R"({"state":"asked"})").status, 400);
  codec::RunEndBody end;
  end.time = boot_time(9);
  post(codec::encode(header(FrameKind::kRunEnd), end));
  EXPECT_EQ(status("{}"), "409 ") << "the run has ended";
}

}  // namespace
}  // namespace corral::server
