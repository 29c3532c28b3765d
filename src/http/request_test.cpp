#include "http/request.h"

#include <gtest/gtest.h>

namespace corral::http {
namespace {

TEST(Request, TargetIsSplitIntoPathAndDecodedQuery) {
  Request request;
  ASSERT_TRUE(parse_target("/runs/%401/metrics?metric=a%2Fb+c&empty&x=1&x=2#part", request));
  EXPECT_EQ(request.path, "/runs/%401/metrics");
  EXPECT_EQ(request.query_value("metric"), "a/b c");
  EXPECT_EQ(request.query_value("empty"), "");
  EXPECT_EQ(request.query_value("x"), "1");
  EXPECT_EQ(request.query_value("absent"), std::nullopt);
}

TEST(Request, AbsoluteTargetsLoseTheirHost) {
  Request request;
  ASSERT_TRUE(parse_target("http://localhost:5000/health?a=b", request));
  EXPECT_EQ(request.path, "/health");
  ASSERT_TRUE(parse_target("http://localhost:5000", request));
  EXPECT_EQ(request.path, "/");
}

TEST(Request, BrokenTargetsAreRefused) {
  for (const char* target :
       {"", "*", "runs", "/a%", "/a%4", "/a%zz", "/a%00", "/?a=%1", "/a%ff", "/\xff", "/?a=%c3"}) {
    Request request;
    EXPECT_FALSE(parse_target(target, request)) << target;
  }
}

TEST(Request, EscapesAtTheEndOfTextDecode) {
  EXPECT_EQ(percent_decode("a%41"), "aA");
  EXPECT_EQ(percent_decode("%c3%a4"), "\xc3\xa4");
  EXPECT_EQ(percent_decode("a+b"), "a+b");
  EXPECT_EQ(percent_decode("a+b", true), "a b");
}

TEST(Request, CookiesAreFoundByWholeName) {
  Request request;
  request.headers = {{"cookie", "a=1; xtoken=no; token=yes; b"}};
  EXPECT_EQ(request.cookie("token"), "yes");
  EXPECT_EQ(request.cookie("tok"), "");
  EXPECT_EQ(request.cookie("b"), "");
}

TEST(Request, OfTwoCookiesOfANameNeitherCounts) {
  Request request;
  request.headers = {{"cookie", "token=mine; token=mine"}};
  EXPECT_EQ(request.cookie("token"), "mine");
  request.headers = {{"cookie", "token=theirs; token=mine"}};
  EXPECT_EQ(request.cookie("token"), "");
  request.headers = {{"cookie", "token="}, {"cookie", "token=mine"}};
  EXPECT_EQ(request.cookie("token"), "");
}

TEST(Host, IsWithoutItsPort) {
  EXPECT_EQ(host_without_port("LOCALHOST:5000"), "localhost");
  EXPECT_EQ(host_without_port("node_7.lab."), "node_7.lab");
  EXPECT_EQ(host_without_port("[FE80::1]:5000"), "fe80::1");
  for (const char* none : {"", ":80", "[::1", "[::1]x", "a:b", "a:80:90", "a:123456", "a b", "a@b",
                           "a/b", "\"><b>", "[a-b]", "h\xc3\xa9"})
    EXPECT_EQ(host_without_port(none), "") << none;
}

}  // namespace
}  // namespace corral::http
