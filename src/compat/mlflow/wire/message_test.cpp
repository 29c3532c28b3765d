#include "compat/mlflow/wire/message.h"

#include <gtest/gtest.h>

#include <array>

#include "compat/mlflow/wire/names.h"
#include "core/base64.h"

namespace corral::mlflow {
namespace {

Json object(std::string_view text) { return *Json::parse(text); }

TEST(Message, TakesNumbersAsNumbersAndAsStrings) {
  const Json json =
      object(R"({"a": 3, "b": "4", "c": 5.0, "x": "1.5", "n": "NaN", "i": "-Infinity"})");
  Message in(json);
  EXPECT_EQ(in.need_integer("a"), 3);
  EXPECT_EQ(in.need_integer("b"), 4);
  EXPECT_EQ(in.need_integer("c"), 5);
  EXPECT_FALSE(in.error());
}

TEST(Message, NamesTheFirstThingThatIsWrong) {
  const Json json = object(R"({"metrics": [{"key": "a"}, {"key": 5}], "t": 1.5, "s": null})");
  {
    Message in(json);
    auto metrics = in.messages("metrics");
    ASSERT_EQ(metrics.size(), 2U);
    EXPECT_EQ(metrics[0].need_text("key"), "a");
    metrics[0].need_integer("timestamp");
    metrics[1].need_text("key");
    ASSERT_TRUE(in.error());
    EXPECT_EQ(in.error()->message,
              "Missing value for required parameter 'metrics[0].timestamp'. See the API docs for "
              "more information about request parameters.");
    EXPECT_EQ(http_status(in.error()->code), 400);
  }
  {
    Message in(json);
    EXPECT_EQ(in.maybe_integer("t"), std::nullopt);
    ASSERT_TRUE(in.error());
    EXPECT_TRUE(in.error()->message.starts_with("Invalid value 1.5 for parameter 't' supplied"));
  }
  Message in(json);
  EXPECT_EQ(in.maybe_text("s"), std::nullopt);
  EXPECT_FALSE(in.error());
  in.need_text("s");
  EXPECT_TRUE(in.error());
}

TEST(Message, EnumsAreNamesOrNumbersAndUnknownNamesAbsent) {
  constexpr std::array<std::string_view, 3> kNames{"", "RUNNING", "FINISHED"};
  const Json json = object(R"({"a": "FINISHED", "b": 1, "c": "FOO", "d": 0})");
  Message in(json);
  EXPECT_EQ(in.maybe_enum("a", kNames), 2U);
  EXPECT_EQ(in.maybe_enum("b", kNames), 1U);
  EXPECT_EQ(in.maybe_enum("c", kNames), std::nullopt);
  EXPECT_FALSE(in.error());
  // A number that is none is no name of a later release, but wrong.
  EXPECT_EQ(in.maybe_enum("d", kNames), std::nullopt);
  EXPECT_TRUE(in.error());
}

TEST(Message, NumbersAreShownAsPythonShowsThem) {
  EXPECT_EQ(invalid_value("a", Json(9.0)), "Invalid value 9.0 for parameter 'a' supplied.");
  EXPECT_EQ(invalid_value("a", Json(9)), "Invalid value 9 for parameter 'a' supplied.");
  EXPECT_EQ(invalid_value("a", Json(0.5)), "Invalid value 0.5 for parameter 'a' supplied.");
}

TEST(Message, AQueryIsAMessage) {
  const Json json = query_object({{"run_id", "a"}, {"ids", "1"}, {"ids", "2"}, {"ids", "3"}});
  Message in(json);
  EXPECT_EQ(in.text("run_id"), "a");
  EXPECT_EQ(in.texts("run_id"), std::vector<std::string>{"a"});
  EXPECT_EQ(in.texts("ids"), (std::vector<std::string>{"1", "2", "3"}));
}

TEST(Message, BodiesMayBeEmptyOrEncodedTwice) {
  EXPECT_TRUE(parse_body("")->as_object()->empty());
  EXPECT_EQ(parse_body(R"("{\"a\": \"b\"}")")->get_string("a"), "b");
  for (const char* text : {"[1]", "5", "{", R"({"a": NaN})", R"("x")"}) {
    const auto body = parse_body(text);
    ASSERT_FALSE(body) << text;
    EXPECT_EQ(http_status(body.error().code), 400);
  }
}

TEST(Names, KeysAreTheirOwnPath) {
  for (const char* good : {"a", "a/b", "größe ok", "x.y-z:w", "a b", "..a", "a.."})
    EXPECT_TRUE(check_key(good, "key")) << good;
  for (const char* bad :
       {"", "../b", "a//b", "/a", "a/.", "a/", "a/../b", "a%", "a\"b", "a\n", ".."})
    EXPECT_FALSE(check_key(bad, "key")) << bad;
  EXPECT_TRUE(check_key(std::string(250, 'k'), "key"));
  EXPECT_FALSE(check_key(std::string(251, 'k'), "key"));
}

TEST(Names, TextIsCutAtACodePoint) {
  EXPECT_EQ(cut("abc", 3), "abc");
  EXPECT_EQ(cut("größe", 3), "grö");
  EXPECT_EQ(cut("größe", 9), "größe");
}

// ---- page tokens

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
