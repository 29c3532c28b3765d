#include "compat/mlflow/wire/page_token.h"

#include <gtest/gtest.h>

#include "compat/mlflow/wire/span.h"

namespace corral::mlflow {
namespace {

TEST(PageToken, GoesThereAndBack) {
  EXPECT_EQ(page_token(100), "eyJvZmZzZXQiOiAxMDB9");
  for (const std::int64_t offset : {std::int64_t{1}, std::int64_t{50000}, INT64_MAX})
    EXPECT_EQ(parse_page_token(page_token(offset)), offset);
  EXPECT_EQ(parse_page_token(""), 0);
  EXPECT_EQ(parse_page_token(base64(R"({"offset": "7"})")), 7);
}

TEST(PageToken, OfAHistoryHoldsATime) {
  for (const HistoryToken& place : {HistoryToken{.time_ms = 1'790'000'000'000, .offset = 0},
                                    HistoryToken{.time_ms = INT64_MIN, .offset = INT64_MAX}}) {
    const auto parsed = parse_history_token(history_token(place));
    ASSERT_TRUE(parsed && *parsed);
    EXPECT_EQ((*parsed)->time_ms, place.time_ms);
    EXPECT_EQ((*parsed)->offset, place.offset);
  }
  EXPECT_FALSE(parse_history_token("").value());
  EXPECT_FALSE(parse_history_token(page_token(100)));
  EXPECT_FALSE(parse_history_token(history_token({.time_ms = 5, .offset = -1})));
  EXPECT_FALSE(parse_history_token("?"));
}

TEST(PageToken, OthersAreRefused) {
  for (const std::string& token :
       {std::string("?"), std::string("not base64!"), base64("{"), base64("[1]"), base64("7"),
        base64("{}"), base64(R"({"offset": 0})"), base64(R"({"offset": -1})"),
        base64(R"({"offset": "x"})"), base64("\xff\xfe")}) {
    const auto offset = parse_page_token(token);
    ASSERT_FALSE(offset) << token;
    EXPECT_EQ(offset.error().code, ErrorCode::kInvalidParameterValue);
    EXPECT_TRUE(offset.error().message.starts_with("Invalid page token, ")) << token;
  }
}

}  // namespace
}  // namespace corral::mlflow
