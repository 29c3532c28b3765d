#include "http/json_budget.h"

#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <thread>

#include "core/json.h"
#include "http/server.h"
#include "http/test_client.h"

namespace corral::http {
namespace {

constexpr Nanos kLong = std::chrono::seconds(60);
constexpr Nanos kNone{0};

// "[0,0,…]" of that many values.
std::string zeros(std::size_t values) {
  std::string text = "[0";
  for (std::size_t i = 1; i < values; ++i) text += ",0";
  return text + "]";
}

TEST(JsonBudget, ABodyTakesWhatReadingItMayTakeAndGivesItBack) {
  const std::string body = zeros(100'000);
  JsonBudget budget(json_memory(body));
  auto room = budget.acquire(body, kNone);
  ASSERT_TRUE(room);
  const std::string other = zeros(50'000);
  const auto refused = budget.acquire(other, kNone);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_TRUE(budget.acquire(zeros(100), kNone)) << "short ones take none";
  room->reset();
  EXPECT_TRUE(budget.acquire(other, kNone));
}

TEST(JsonBudget, ABodyThatNeverFitsIsRefusedAtOnce) {
  const std::string body = zeros(100'000);
  JsonBudget budget(json_memory(body) - 1);
  const auto refused = budget.acquire(body, kLong);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kTooLarge);
}

TEST(JsonBudget, TheFirstThatWaitsIsServedFirst) {
  const std::string large = zeros(100'000), half = zeros(50'000);
  JsonBudget budget(json_memory(large));
  auto room = budget.acquire(half, kNone);
  ASSERT_TRUE(room);
  auto waits = std::async(std::launch::async, [&] {
    const auto taken = budget.acquire(large, kLong);
    return taken.has_value();
  });
  // Until it waits there is room for another half.
  while (budget.acquire(zeros(40'000), kNone)) std::this_thread::yield();
  room->reset();
  EXPECT_TRUE(waits.get());
  EXPECT_TRUE(budget.acquire(large, kNone)) << "nobody waits any more, and all is given back";
}

class Documents : public ::testing::Test {
 protected:
  void start(HttpOptions options) {
    std::vector<Listener> listeners;
    sys::Fd tcp = sys::listen_tcp({"127.0.0.1", 0}).value();
    port_ = sys::bound_port(tcp).value();
    listeners.push_back({std::move(tcp), false});
    server_ = HttpServer::start(std::move(listeners), std::move(options), handlers_).value();
  }
  static std::string post(const std::string& path, const std::string& body) {
    return "POST " + path +
           " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           body;
  }

  HttpHandlers handlers_ = {
      .gate = {},
      .handle =
          [](const Request& request) { return text_response(std::to_string(request.body.size())); },
      .reads_json = [](const Request& request) { return request.path != "/file"; }};
  std::uint16_t port_ = 0;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(Documents, TooManyValuesAre413ButNotInAFile) {
  const std::string body = zeros(100'000);
  start({.json_memory = 1u << 20});
  TestClient client(port_);
  client.send(post("/json", body));
  const auto refused = client.reply();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 413);
  EXPECT_NE(refused->body.find("too many values"), std::string::npos);
  client.send(post("/file", body));
  EXPECT_EQ(client.reply()->body, std::to_string(body.size()));
}

TEST_F(Documents, OneIsHandledOnceAnotherHasGivenItsRoomBack) {
  const std::string body = zeros(100'000);
  std::latch entered(1), leave(1);
  std::atomic<int> at_once = 0;
  handlers_.handle = [&](const Request& request) {
    EXPECT_EQ(++at_once, 1);
    if (request.path == "/first") {
      entered.count_down();
      leave.wait();
    }
    --at_once;
    return text_response(request.path);
  };
  start({.json_memory = json_memory(body)});
  TestClient first(port_), second(port_);
  first.send(post("/first", body));
  entered.wait();
  second.send(post("/second", body));
  EXPECT_FALSE(second.readable(std::chrono::milliseconds(100)));
  leave.count_down();
  EXPECT_EQ(first.reply()->body, "/first");
  EXPECT_EQ(second.reply()->body, "/second");
}

TEST_F(Documents, WithoutRoomForLongTheAnswerIs503) {
  const std::string body = zeros(100'000);
  std::latch entered(1), leave(1);
  handlers_.handle = [&](const Request&) {
    entered.count_down();
    leave.wait();
    return text_response("done");
  };
  start({.json_memory = json_memory(body), .write_timeout = std::chrono::seconds(2)});
  TestClient first(port_), second(port_);
  first.send(post("/first", body));
  entered.wait();
  second.send(post("/second", body));
  const auto reply = second.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 503);
  EXPECT_NE(reply->head.find("Retry-After: 1\r\n"), std::string::npos);
  leave.count_down();
  EXPECT_EQ(first.reply()->body, "done");
}

}  // namespace
}  // namespace corral::http
