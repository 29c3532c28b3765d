#include "server/gate.h"

#include <gtest/gtest.h>

namespace corral::server {
namespace {

constexpr std::string_view kToken = "0123456789abcdef";

Request get(std::string_view host, std::string_view origin = "") {
  Request request;
  request.path = "/";
  if (!host.empty()) request.headers.emplace_back("host", host);
  if (!origin.empty()) request.headers.emplace_back("origin", origin);
  return request;
}

int status(const Request& request, const GateRules& rules) {
  const auto refusal = check_gate(request, rules);
  return refusal ? refusal->status : 200;
}

const GateRules kLocal{.hosts = {"127.0.0.1"}, .wildcard = false, .token = {}};
const GateRules kEverywhere{
    .hosts = {"0.0.0.0", "node7.lab", "node7"}, .wildcard = true, .token = {}};
const GateRules kClosed{.hosts = {"127.0.0.1"}, .wildcard = false, .token = std::string(kToken)};

TEST(Gate, LoopbackNamesAreAlwaysTaken) {
  for (const char* host :
       {"localhost", "LocalHost:5000", "127.0.0.1:5000", "127.1.2.3", "[::1]:5000", "localhost."}) {
    EXPECT_EQ(status(get(host), kLocal), 200) << host;
  }
}

TEST(Gate, NamesOfOthersAreRefused) {
  for (const char* host : {"evil.example", "localhost.evil.example", "10.0.0.1",
                           "127.0.0.1.evil.example", "[::2]", "[", "127.evil"}) {
    EXPECT_EQ(status(get(host), kLocal), 403) << host;
  }
  EXPECT_EQ(status(get(""), kLocal), 400);
}

TEST(Gate, OnEveryAddressLiteralsAndTheMachinesNameAreTaken) {
  for (const char* host : {"10.0.0.5:5000", "[fe80::1]:5000", "node7.lab:5000", "NODE7"}) {
    EXPECT_EQ(status(get(host), kEverywhere), 200) << host;
  }
  EXPECT_EQ(status(get("evil.example"), kEverywhere), 403);
}

TEST(Gate, OnlyTheOwnOriginMaySpeak) {
  EXPECT_EQ(status(get("localhost:5000", "http://localhost:5000"), kLocal), 200);
  EXPECT_EQ(status(get("localhost:5000", "https://localhost:5000"), kLocal), 200);
  for (const char* origin : {"null", "http://evil.example", "http://localhost:3000",
                             "http://localhost", "http://127.0.0.1:5000"}) {
    EXPECT_EQ(status(get("localhost:5000", origin), kLocal), 403) << origin;
  }
}

TEST(Gate, ATokenOpensAsBearerAndAsCookie) {
  EXPECT_EQ(status(get("localhost"), kClosed), 401);
  Request bearer = get("localhost");
  bearer.headers.emplace_back("authorization", "bearer " + std::string(kToken));
  EXPECT_EQ(status(bearer, kClosed), 200);
  Request cookie = get("localhost");
  cookie.headers.emplace_back("cookie", "a=b; corral_token=" + std::string(kToken));
  EXPECT_EQ(status(cookie, kClosed), 200);
  Request wrong = get("localhost");
  wrong.headers.emplace_back("authorization", "Bearer 0123456789abcdee");
  EXPECT_EQ(status(wrong, kClosed), 401);
}

TEST(Gate, TheUnixSocketNeedsNothing) {
  Request request = get("evil.example", "http://evil.example");
  request.over_unix = true;
  EXPECT_EQ(status(request, kClosed), 200);
}

TEST(Gate, ATokenInTheAddressBecomesACookieAndLeavesTheAddress) {
  Request request = get("localhost");
  request.path = "/runs/abc";
  request.query = {{"x", "1 2"}, {"token", std::string(kToken)}};
  const auto answer = check_gate(request, kClosed);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 303);
  const std::string head = response_head(*answer, Framing::kLength, true);
  EXPECT_NE(head.find("Location: /runs/abc?x=1%202\r\n"), std::string::npos) << head;
  EXPECT_NE(head.find("corral_token=0123456789abcdef; Path=/; HttpOnly; SameSite=Strict"),
            std::string::npos)
      << head;
}

TEST(Gate, TheRedirectStaysOnThisSite) {
  Request request = get("localhost");
  request.path = "//evil.example/";
  request.query = {{"token", std::string(kToken)}};
  const auto answer = check_gate(request, kClosed);
  ASSERT_TRUE(answer);
  EXPECT_NE(response_head(*answer, Framing::kLength, true).find("Location: /evil.example/\r\n"),
            std::string::npos);
}

TEST(Gate, AWrongTokenInTheAddressSetsNoCookie) {
  Request request = get("localhost");
  request.query = {{"token", "0123456789abcdeX"}};
  EXPECT_EQ(status(request, kClosed), 401);
}

TEST(Gate, TokensAreTrimmedAndOfAStatedAlphabet) {
  EXPECT_EQ(parse_token("  0123456789abcdef\n").value_or(""), kToken);
  EXPECT_FALSE(parse_token("short"));
  EXPECT_FALSE(parse_token("0123456789abc;def"));
  EXPECT_FALSE(parse_token(""));
}

}  // namespace
}  // namespace corral::server
