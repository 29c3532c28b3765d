#include "server/core/figures.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

namespace corral::server {
namespace {

http::Exchange exchange_of(std::string_view route, int status, Nanos took) {
  http::Exchange exchange;
  exchange.method = Method::kGet;
  exchange.route = route;
  exchange.status = status;
  exchange.took = took;
  return exchange;
}
std::string text_of(const Figures& figures) {
  std::string text;
  figures.write(text);
  return text;
}
bool has(const std::string& text, const std::string& line) {
  return text.find("\n" + line + "\n") != std::string::npos;
}

TEST(Figures, CountsByRouteMethodAndClass) {
  Figures figures;
  for (int i = 0; i < 3; ++i) figures.note(exchange_of("/runs/{run}", 200, Nanos(0)));
  figures.note(exchange_of("/runs/{run}", 404, Nanos(0)));
  http::Exchange post = exchange_of("/runs/{run}", 503, Nanos(0));
  post.method = Method::kPost;
  figures.note(post);
  figures.note(exchange_of("", 400, Nanos(0)));
  const std::string text = text_of(figures);
  EXPECT_TRUE(
      has(text, R"(corral_http_requests_total{route="/runs/{run}",method="GET",status="2xx"} 3)"));
  EXPECT_TRUE(
      has(text, R"(corral_http_requests_total{route="/runs/{run}",method="GET",status="4xx"} 1)"));
  EXPECT_TRUE(
      has(text, R"(corral_http_requests_total{route="/runs/{run}",method="POST",status="5xx"} 1)"));
  EXPECT_TRUE(has(text, R"(corral_http_requests_total{route="",method="OTHER",status="4xx"} 1)"));
}

TEST(Figures, BucketsOfLatencySumUp) {
  Figures figures;
  figures.note(
      exchange_of("/a", 200, std::chrono::milliseconds(1)));  // a bound belongs to its bucket
  figures.note(exchange_of("/a", 200, std::chrono::milliseconds(2)));
  figures.note(exchange_of("/a", 200, std::chrono::seconds(100)));
  const std::string text = text_of(figures);
  const auto bucket = [&](const std::string& le, int n) {
    return has(text, R"(corral_http_request_seconds_bucket{route="/a",method="GET",le=")" + le +
                         "\"} " + std::to_string(n));
  };
  EXPECT_TRUE(bucket("0.0005", 0));
  EXPECT_TRUE(bucket("0.001", 1));
  EXPECT_TRUE(bucket("0.0025", 2));
  EXPECT_TRUE(bucket("30", 2));
  EXPECT_TRUE(bucket("+Inf", 3));
  EXPECT_TRUE(has(text, R"(corral_http_request_seconds_count{route="/a",method="GET"} 3)"));
  EXPECT_TRUE(has(text, R"(corral_http_request_seconds_sum{route="/a",method="GET"} 100.003)"));
}

TEST(Figures, EachFigureIsExplainedOnceBeforeItsValues) {
  Figures figures;
  figures.note(exchange_of("/a", 200, Nanos(0)));
  const std::string text = text_of(figures);
  for (const char* name :
       {"corral_http_requests_total counter", "corral_http_request_seconds histogram",
        "corral_http_connections gauge"}) {
    const std::string type = std::string("# TYPE ") + name + "\n";
    const std::size_t at = text.find(type);
    ASSERT_NE(at, std::string::npos) << name;
    EXPECT_EQ(text.find(type, at + 1), std::string::npos) << name;
  }
}

TEST(Figures, NothingIsLostWhenThreadsMeetNewRoutes) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 2000;
  const std::vector<std::string> routes = {"/a", "/b", "/c", "/d", "/e"};
  Figures figures;
  std::latch start(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        for (int i = 0; i < kRounds; ++i) {
          for (const std::string& route : routes) figures.note(exchange_of(route, 200, Nanos(1)));
        }
      });
    }
  }
  const std::string text = text_of(figures);
  for (const std::string& route : routes) {
    EXPECT_TRUE(has(text, "corral_http_requests_total{route=\"" + route +
                              "\",method=\"GET\",status=\"2xx\"} " +
                              std::to_string(kThreads * kRounds)));
  }
}

TEST(Figures, RequestsWithoutARouteAreCountedWhileRoutesAreAdded) {
  constexpr int kRounds = 2000;
  std::vector<std::string> routes;
  for (int i = 0; i < 400; ++i) routes.push_back("/" + std::to_string(i));
  Figures figures;
  {
    const std::jthread adding([&] {
      for (const std::string& route : routes) figures.note(exchange_of(route, 200, Nanos(0)));
    });
    for (int i = 0; i < kRounds; ++i) figures.note(exchange_of("", 200, Nanos(0)));
  }
  EXPECT_TRUE(
      has(text_of(figures), R"(corral_http_requests_total{route="",method="OTHER",status="2xx"} )" +
                                std::to_string(kRounds)));
}

TEST(Figures, MoreRoutesThanThereIsRoomForAreCountedTogether) {
  Figures figures;
  std::vector<std::string> routes;
  for (int i = 0; i < 2000; ++i) routes.push_back("/" + std::to_string(i));
  for (const std::string& route : routes) figures.note(exchange_of(route, 200, Nanos(0)));
  const std::string text = text_of(figures);
  EXPECT_TRUE(
      has(text, R"(corral_http_requests_total{route="",method="OTHER",status="2xx"} 1489)"));
}

}  // namespace
}  // namespace corral::server
