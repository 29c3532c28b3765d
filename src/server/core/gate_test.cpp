#include "server/core/gate.h"

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
  const Decision decision = decide(request, rules);
  EXPECT_EQ(decision.allowed(), !decision.answer.has_value());
  return decision.allowed() ? 200 : decision.answer->status;
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
  for (const char* host :
       {"evil.example", "localhost.evil.example", "10.0.0.1", "127.0.0.1.evil.example", "[::2]",
        "[", "127.evil", "[::1]evil.example", "localhost:evil", "localhost:80:evil",
        "localhost@evil.example", "evil@localhost", ":5000", "[]:5000", "."}) {
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
  Request by_https = get("localhost:5000", "http://localhost:5000");
  by_https.over_tls = true;
  EXPECT_EQ(status(by_https, kLocal), 403);  // plain HTTP can be changed on the way
  by_https.headers.back().second = "https://localhost:5000";
  EXPECT_EQ(status(by_https, kLocal), 200);
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

TEST(Gate, ByHttpsOnlyTheCookieCountsThatThisVeryHostHasSet) {
  Request request = get("localhost");
  request.over_tls = true;
  request.headers.emplace_back("cookie", "corral_token=" + std::string(kToken));
  EXPECT_EQ(status(request, kClosed), 401);
  request.headers.back().second = "__Host-corral_token=" + std::string(kToken);
  EXPECT_EQ(status(request, kClosed), 200);
  request.over_tls = false;
  EXPECT_EQ(status(request, kClosed), 200) << "a proxy in front may have ended TLS";
  const std::string set = token_cookie(kToken, true);
  EXPECT_TRUE(set.starts_with("__Host-corral_token=0123456789abcdef; Path=/; ")) << set;
  EXPECT_TRUE(set.ends_with("; Secure")) << set;
  EXPECT_EQ(set.find("Domain"), std::string::npos) << set;
}

TEST(Gate, BasicTakesTheTokenAsPasswordWhoeverTheUserIs) {
  const auto with = [](std::string_view value) {
    Request request = get("localhost");
    request.headers.emplace_back("authorization", value);
    return status(request, kClosed);
  };
  EXPECT_EQ(with("Basic YWxpY2U6MDEyMzQ1Njc4OWFiY2RlZg=="), 200);  // alice:TOKEN
  EXPECT_EQ(with("basic OjAxMjM0NTY3ODlhYmNkZWY="), 200);          // :TOKEN
  EXPECT_EQ(with("Basic MDEyMzQ1Njc4OWFiY2RlZg=="), 401);          // TOKEN
  EXPECT_EQ(with("Basic MDEyMzQ1Njc4OWFiY2RlZjo="), 401);          // TOKEN:
  EXPECT_EQ(with("Basic YWxpY2U6MDEyMzQ1Njc4OWFiY2RlZQ=="), 401);  // alice:0123456789abcdee
  for (const char* broken : {"Basic", "Basic ", "Basic \xff\xff", "Basic ====", "Digest a", "B"}) {
    EXPECT_EQ(with(broken), 401) << broken;
  }
}

TEST(Gate, HealthIsAnsweredWithoutATokenAndOnlyByName) {
  Request request = get("localhost");
  request.path = "/health";
  EXPECT_EQ(status(request, kClosed), 200);
  request = get("evil.example");
  request.path = "/health";
  EXPECT_EQ(status(request, kClosed), 403);
}

TEST(Gate, PagesOfOtherSitesChangeNothing) {
  const auto post = [](std::string_view header, std::string_view value,
                       Method method = Method::kPost) {
    Request request = get("localhost:5000");
    request.method = method;
    request.headers.emplace_back(header, value);
    return status(request, kLocal);
  };
  for (const Method method :
       {Method::kPost, Method::kPut, Method::kPatch, Method::kDelete, Method::kOther}) {
    EXPECT_EQ(post("sec-fetch-site", "cross-site", method), 403);
    EXPECT_EQ(post("sec-fetch-site", "same-site", method), 403);
    EXPECT_EQ(post("sec-fetch-site", "same-origin", method), 200);
    EXPECT_EQ(post("sec-fetch-site", "none", method), 200);
  }
  // A link on another site may lead here.
  EXPECT_EQ(post("sec-fetch-site", "cross-site", Method::kGet), 200);
  for (const char* kind : {"text/plain", "Text/Plain;charset=UTF-8", "multipart/form-data; b=c",
                           "application/x-www-form-urlencoded", "text/plain ; x"}) {
    EXPECT_EQ(post("content-type", kind), 415) << kind;
  }
  EXPECT_EQ(post("content-type", "application/json; charset=utf-8"), 200);
  // Files are uploaded with their own type; a browser sends a preflight before a PUT to another
  // site.
  EXPECT_EQ(post("content-type", "text/plain", Method::kPut), 200);
  EXPECT_EQ(post("content-type", "application/x-corral-frames"), 200);
}

TEST(Gate, TheCookieAloneChangesNothing) {
  Request request = get("localhost:5000");
  request.headers.emplace_back("cookie", "corral_token=" + std::string(kToken));
  EXPECT_EQ(status(request, kClosed), 200);
  request.method = Method::kDelete;
  EXPECT_EQ(status(request, kClosed), 403);
  Request own = request;
  own.headers.emplace_back("origin", "http://localhost:5000");
  EXPECT_EQ(status(own, kClosed), 200);
  request.headers.emplace_back("sec-fetch-site", "same-origin");
  EXPECT_EQ(status(request, kClosed), 200);
}

TEST(Gate, MlflowsPathsAreRefusedInMlflowsWords) {
  Request request = get("localhost");
  request.method = Method::kPost;
  for (const char* path : {"/api/2.0/mlflow/runs/create", "/ajax-api/2.0/mlflow/runs/create",
                           "/api/3.0/mlflow/traces", "/api/2.0/mlflow-artifacts/artifacts/a"}) {
    request.path = path;
    const auto answer = decide(request, kClosed).answer;
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, 401);
    EXPECT_TRUE(answer->body.starts_with(R"({"error_code":"UNAUTHENTICATED","message":")"))
        << answer->body;
    EXPECT_TRUE(answer->has_header("WWW-Authenticate"));
  }
  request.headers.emplace_back("content-type", "text/plain");
  const auto form = decide(request, kLocal).answer;
  ASSERT_TRUE(form);
  EXPECT_EQ(form->status, 400);
  EXPECT_TRUE(form->body.starts_with(R"({"error_code":"INVALID_PARAMETER_VALUE")")) << form->body;
  const auto host = decide(
                        [&] {
                          Request foreign = get("evil.example");
                          foreign.path = request.path;
                          return foreign;
                        }(),
                        kLocal)
                        .answer;
  ASSERT_TRUE(host);
  EXPECT_EQ(host->status, 403);
  EXPECT_NE(host->body.find("Invalid Host header: 'evil.example'"), std::string::npos);
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
  const auto answer = decide(request, kClosed).answer;
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
  const auto answer = decide(request, kClosed).answer;
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
