#include "server/core/router.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "core/json.h"
#include "core/text.h"

namespace corral::server {
namespace {

bool matches(std::string_view pattern, std::string_view path, Pairs& params) {
  return match(pattern, path, params).value_or(false);
}

TEST(Router, SegmentsMatchAndParametersAreDecoded) {
  Pairs params;
  EXPECT_TRUE(matches("/runs/{run}/logs", "/runs/a%2Fb/logs", params));
  EXPECT_EQ(params, (Pairs{{"run", "a/b"}}));
  EXPECT_FALSE(matches("/runs/{run}/logs", "/runs/a", params));
  EXPECT_FALSE(matches("/runs/{run}/logs", "/runs/a/logs/", params));
  EXPECT_FALSE(matches("/runs/{run}/logs", "/runs//logs", params));
  EXPECT_FALSE(matches("/health", "/healthy", params));
  EXPECT_FALSE(match("/runs/{run}", "/runs/%", params));
}

TEST(Router, ARestTakesWhatIsLeftEvenNothing) {
  Pairs params;
  EXPECT_TRUE(matches("/{path...}", "/", params));
  EXPECT_EQ(params, (Pairs{{"path", ""}}));
  EXPECT_TRUE(matches("/runs/{path...}", "/runs", params));
  EXPECT_EQ(params, (Pairs{{"path", ""}}));
  EXPECT_TRUE(matches("/{a}/b", "/{x}/b", params));
  EXPECT_EQ(params, (Pairs{{"a", "{x}"}}));
  EXPECT_TRUE(matches("/assets/{path...}", "/assets/a/b.js", params));
  EXPECT_EQ(params, (Pairs{{"path", "a/b.js"}}));
}

TEST(Router, EveryRouteIsListedOnceAndInOpenApi) {
  const auto parsed = Json::parse(openapi(routes(), "1.2.3"));
  ASSERT_TRUE(parsed);
  std::set<std::string> seen;
  for (const Route& entry : routes()) {
    EXPECT_TRUE(
        seen.insert(std::string(method_name(entry.method)) + std::string(entry.pattern)).second);
    if (entry.summary.empty()) continue;
    const Json* path = parsed->find("paths")->find(entry.pattern);
    ASSERT_NE(path, nullptr) << entry.pattern;
    std::string method(method_name(entry.method));
    std::ranges::transform(method, method.begin(), [](char c) { return std::tolower(c); });
    EXPECT_NE(path->find(method), nullptr) << method << ' ' << entry.pattern;
  }
}

TEST(Router, OpenApiNamesNothingThatIsNotThere) {
  const auto parsed = Json::parse(openapi(routes(), "1.2.3"));
  ASSERT_TRUE(parsed);
  std::size_t operations = 0;
  for (const auto& [path, methods] : *parsed->find("paths")->as_object()) {
    for (const auto& [name, operation] : *methods.as_object()) {
      const auto listed = std::ranges::find_if(routes(), [&, p = path, n = name](const Route& r) {
        return r.pattern == p && equal_ignoring_case(method_name(r.method), n) &&
               !r.summary.empty();
      });
      EXPECT_NE(listed, routes().end()) << name << ' ' << path;
      ++operations;
    }
  }
  EXPECT_GT(operations, 20U);
}

}  // namespace
}  // namespace corral::server
