// Bodies of requests in memory: who may send them, and how much they take together.
#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "http/body_budget.h"
#include "http/server.h"
#include "http/test_client.h"

namespace corral::http {
namespace {

constexpr std::size_t kBody = 500'000;

class Bodies : public ::testing::Test {
 protected:
  void start(HttpOptions options) {
    std::vector<Listener> listeners;
    sys::Fd tcp = sys::listen_tcp({"127.0.0.1", 0}).value();
    port_ = sys::bound_port(tcp).value();
    listeners.push_back({std::move(tcp), false});
    listeners.push_back({sys::listen_unix(socket_).value(), true});
    server_ = HttpServer::start(std::move(listeners), std::move(options), handlers_).value();
  }
  static std::string head(std::size_t bytes, std::string_view more = "") {
    return "POST / HTTP/1.1\r\nHost: x\r\n" + std::string(more) +
           "Content-Length: " + std::to_string(bytes) + "\r\n\r\n";
  }
  static std::string post(std::size_t bytes) { return head(bytes) + std::string(bytes, 'x'); }
  static std::string chunked(std::size_t bytes) {
    std::string text = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (std::size_t i = 0; i < bytes; i += 1000)
      text += "3e8\r\n" + std::string(1000, 'x') + "\r\n";
    return text + "0\r\n\r\n";
  }
  void wait_for_memory(std::uint64_t bytes) const {
    while (traffic_->body_bytes < bytes) std::this_thread::yield();
  }
  void wait_for_no_memory() const {
    while (traffic_->body_bytes > 0) std::this_thread::yield();
  }

  std::shared_ptr<Traffic> traffic_ = std::make_shared<Traffic>();
  HttpHandlers handlers_ = {
      .gate = {},
      .handle =
          [](const Request& request) { return text_response(std::to_string(request.body.size())); },
      .traffic = traffic_};
  std::uint16_t port_ = 0;
  sys::fs::path socket_ = ::testing::TempDir() + "bodies-" + std::to_string(::getpid()) + ".sock";
  std::unique_ptr<HttpServer> server_;
};

TEST_F(Bodies, ManyTogetherStayWithinTheBudgetAndAllAreTaken) {
  constexpr std::size_t kBudget = 1u << 20;
  constexpr int kClients = 10;
  start({.body_limit = kBody, .body_memory = kBudget});
  // Each has a part of its body under way before any sends the rest.
  std::latch begun(kClients);
  std::atomic<int> taken = 0;
  {
    std::vector<std::jthread> clients;
    clients.reserve(kClients);
    for (int i = 0; i < kClients; ++i) {
      clients.emplace_back([&, i] {
        TestClient client(port_);
        const std::string request = i % 2 == 0 ? post(kBody) : chunked(kBody);
        client.send(std::string_view(request).substr(0, 100'000));
        begun.arrive_and_wait();
        client.send(std::string_view(request).substr(100'000));
        const auto reply = client.reply();
        if (reply && reply->body == std::to_string(kBody)) taken += 1;
      });
    }
  }
  EXPECT_EQ(taken, kClients);
  EXPECT_LE(traffic_->most_body_bytes, kBudget);
  EXPECT_GE(traffic_->most_body_bytes, kBody / 2);
  server_.reset();
  EXPECT_EQ(traffic_->body_bytes, 0U);
}

TEST_F(Bodies, OneThatStopsHalfwayDoesNotHoldUpShortOnes) {
  start({.body_limit = kBody, .body_memory = kBody});
  TestClient halted(port_);
  halted.send(post(kBody).substr(0, kBody / 2));
  wait_for_memory(kBody / 4);
  TestClient short_one(port_);
  short_one.send(post(1000));
  EXPECT_EQ(short_one.reply()->body, "1000");
}

TEST_F(Bodies, ClientsOverTcpDoNotHoldUpThisUsersOwn) {
  start({.body_limit = kBody, .body_memory = kBody});
  TestClient halted(port_);
  halted.send(post(kBody).substr(0, kBody - 1));
  wait_for_memory(kBody / 2);
  TestClient own(socket_);
  own.send(post(kBody));
  const auto reply = own.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, std::to_string(kBody));
  EXPECT_GE(traffic_->body_bytes, kBody / 2) << "the other one still waits";
}

TEST_F(Bodies, BytesThatCameFastEarnNoLongPause) {
  constexpr std::size_t kLong = 16u << 20;  // at the slowest pace that is allowed: four minutes
  start(
      {.body_limit = kLong, .body_memory = kLong, .write_timeout = std::chrono::milliseconds(50)});
  TestClient halted(port_);
  halted.send(head(kLong) + std::string(kLong - 1000, 'x'));
  EXPECT_FALSE(halted.reply()) << "it is ended";
  wait_for_no_memory();  // given back after the connection is closed
}

TEST_F(Bodies, WithoutRoomForLongTheAnswerIs503AndTheRoomIsFreeAgain) {
  std::latch entered(1), leave(1);
  handlers_.handle = [&](const Request& request) {
    if (!request.header("x-hold").empty()) {
      entered.count_down();
      leave.wait();
    }
    return text_response(std::to_string(request.body.size()));
  };
  start({.body_limit = kBody, .body_memory = kBody, .write_timeout = std::chrono::seconds(2)});
  TestClient holder(port_);
  holder.send(head(kBody, "X-Hold: 1\r\n") + std::string(kBody, 'x'));
  entered.wait();
  TestClient late(port_);
  late.send(post(kBody));
  const auto reply = late.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 503);
  EXPECT_NE(reply->head.find("Retry-After: 1\r\n"), std::string::npos);
  leave.count_down();
  EXPECT_EQ(holder.reply()->body, std::to_string(kBody));
  TestClient next(port_);
  next.send(post(kBody));
  EXPECT_EQ(next.reply()->body, std::to_string(kBody));
}

TEST_F(Bodies, ThoseThatTheGateRefusesAreNeverKept) {
  handlers_.gate = [](const Request&) {
    return std::optional(error_response({Code::kUnauthenticated, "who are you?"}));
  };
  start({});
  for (const std::string& request : {post(1'000'000), chunked(1'000'000), post(60'000)}) {
    TestClient client(port_);
    client.send(request.substr(0, 20'000));
    if (request.size() < 100'000) client.send(request.substr(20'000));
    EXPECT_EQ(client.reply()->status, 401);
    if (request.size() < 100'000) continue;
    client.shutdown_send();
    EXPECT_TRUE(client.ends()) << "a long body is not waited for";
  }
  EXPECT_EQ(traffic_->most_body_bytes, 0U);
}

TEST_F(Bodies, WhoTakesNoneDropsAShortOneAndRefusesALongOne) {
  handlers_.takes_body = [](const Request&) { return false; };
  start({});
  TestClient client(port_);
  client.send(post(60'000));
  EXPECT_EQ(client.reply()->body, "0");
  client.send(post(100'000));
  EXPECT_EQ(client.reply()->status, 413);
  TestClient endless(port_);
  endless.send(chunked(1000));
  EXPECT_EQ(endless.reply()->status, 413);
  EXPECT_EQ(traffic_->most_body_bytes, 0U);
}

TEST_F(Bodies, UnpackedOnesCountBesideWhatCame) {
  const std::string hello(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00"
      "\x00\x00",
      25);
  std::string members;
  for (int i = 0; i < 10'000; ++i) members += hello;
  const std::string request = head(members.size(), "Content-Encoding: gzip\r\n") + members;
  start({.body_limit = kBody, .body_memory = kBody});
  TestClient client(port_);
  client.send(request);
  EXPECT_EQ(client.reply()->body, "50000");
  EXPECT_GE(traffic_->most_body_bytes, members.size() + 50'000 - BodyBudget::kFreeBytes);
  server_.reset();
  start({.body_limit = members.size(), .body_memory = members.size()});
  TestClient full(port_);
  full.send(request);
  const auto reply = full.reply();
  EXPECT_EQ(reply->status, 503);
  EXPECT_NE(reply->head.find("Retry-After: 1\r\n"), std::string::npos);
}

TEST_F(Bodies, ABudgetBelowOneBodyIsAnError) {
  const auto server = HttpServer::start({}, {.body_limit = 2, .body_memory = 1}, handlers_);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, Code::kInvalidArgument);
}

TEST(BodyBudget, TheFirstThatWaitsIsServedFirstAndHasTheRoomOfAWholeBody) {
  constexpr std::size_t kFree = BodyBudget::kFreeBytes;
  const auto traffic = std::make_shared<Traffic>();
  BodyBudget budget(300, 100, traffic);
  auto a = budget.room(), b = budget.room(), c = budget.room(), d = budget.room();
  EXPECT_TRUE(a->resize(kFree + 100));
  EXPECT_TRUE(b->resize(kFree + 100));
  EXPECT_TRUE(c->resize(kFree + 60)) << "favoured: the others fill what is shared";
  int granted = 0;
  EXPECT_FALSE(d->resize(kFree + 50, [&] { ++granted; }));
  EXPECT_TRUE(c->resize(kFree + 100));
  EXPECT_FALSE(c->resize(kFree + 101)) << "no body is longer";
  EXPECT_EQ(traffic->body_bytes, 300U);
  auto e = budget.room();
  EXPECT_FALSE(e->resize(kFree + 1, [&] { granted += 10; }));
  EXPECT_TRUE(e->resize(kFree)) << "what is short never waits";
  c.reset();
  EXPECT_EQ(granted, 1) << "favoured next";
  e.reset();
  a.reset();
  EXPECT_EQ(granted, 1) << "who has gone is not told";
  EXPECT_EQ(traffic->body_bytes, 150U);
}

}  // namespace
}  // namespace corral::http
