// The JSON reader and writer: what is refused and where, what survives a round trip.
#include "core/json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/text.h"

namespace corral {
namespace {

std::string error_of(std::string_view text) {
  const auto json = Json::parse(text);
  EXPECT_FALSE(json) << text;
  if (json) return {};
  EXPECT_EQ(json.error().code, Code::kInvalidArgument);
  return json.error().message;
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + "1" + std::string(depth, ']');
}

TEST(Json, ItsMemoryGrowsWithValuesAndTextsButNotWithBlanks) {
  const std::string list = "[0,0,0,0,0,0,0,0,0,0]";
  EXPECT_GE(json_memory(list), 10 * sizeof(Json));
  EXPECT_EQ(json_memory("  " + list) - json_memory(list), 2U);
  EXPECT_GE(json_memory("\"" + list + "\""), json_memory(list)) << "a text may hold JSON";
  const std::string text = '"' + std::string(1000, 'x') + '"';
  EXPECT_GE(json_memory(text), 3000U);
  EXPECT_LT(json_memory(text), 4000U);
}

TEST(JsonParse, ReadsEveryTypeAndKeepsTheOrderOfMembers) {
  const auto json =
      Json::parse(R"( {"z": null, "a": [true, false], "n": -7, "d": 2.5, "s": "tïn\n\u00e9"} )");
  ASSERT_TRUE(json) << json.error().message;
  const auto& members = *json->as_object();
  ASSERT_EQ(members.size(), 5u);
  EXPECT_EQ(members[0].first, "z");
  EXPECT_EQ(members[4].first, "s");
  EXPECT_TRUE(json->find("z")->is_null());
  EXPECT_TRUE(*(*json->find("a")->as_array())[0].as_bool());
  EXPECT_EQ(json->get_int("n"), -7);
  EXPECT_EQ(json->find("d")->as_double(0), 2.5);
  EXPECT_EQ(json->get_string("s"), "tïn\né");
}

TEST(JsonParse, NamesTheByteOfTheFault) {
  const std::pair<std::string, std::size_t> cases[] = {
      {R"({"a":1,})", 7}, {R"({"a" 1})", 5},
      {"[1,2", 4},        {"", 0},
      {"   ", 3},         {"[truth]", 4},
      {"{} x", 3},        {"[01]", 2},
      {R"(["a\qb"])", 4}, {R"(["\u12g4"])", 6},
      {"[\"a\nb\"]", 3},  {"[\"ab\xff\"]", 4},
      {"[1, 1e999]", 4},  {"[1, 99999999999999999999]", 4},
      {R"(["abc)", 5}};
  for (const auto& [text, at] : cases) {
    EXPECT_NE(error_of(text).find("at byte " + std::to_string(at) + ":"), std::string::npos)
        << text << ": " << error_of(text);
  }
}

TEST(JsonParse, NothingIsMalformed) {
  EXPECT_FALSE(Json::parse(""));
  EXPECT_FALSE(Json::parse(std::string_view()));
}

TEST(JsonParse, NestingHasALimit) {
  EXPECT_TRUE(Json::parse(nested(64)));
  EXPECT_NE(error_of(nested(65)).find("at byte 64:"), std::string::npos);
  EXPECT_NE(error_of(std::string(1'000'000, '[')).find("at byte 64:"), std::string::npos);
  std::string objects;
  for (int i = 0; i < 65; ++i) objects += R"({"a":)";
  error_of(objects + "1" + std::string(65, '}'));
}

TEST(JsonParse, IntegersKeepSixtyFourBits) {
  const auto json = Json::parse(
      "[9223372036854775807,-9223372036854775808,9007199254740993,9223372036854775808]");
  ASSERT_TRUE(json);
  const auto& numbers = *json->as_array();
  EXPECT_EQ(*numbers[0].as_int(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(*numbers[1].as_int(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(*numbers[2].as_int(), 9007199254740993);
  EXPECT_EQ(numbers[3].as_int(), nullptr);
  EXPECT_EQ(numbers[3].as_double(0), 9223372036854775808.0);
  EXPECT_EQ(Json::parse(json->dump())->as_array()->size(), 4u);
}

TEST(JsonParse, HalfOfASurrogatePairNeverMakesInvalidText) {
  for (const char* text :
       {R"(["\udc00"])", R"(["\ud800"])", R"(["\ud800x"])", R"(["\ud800\u0041"])"}) {
    const auto json = Json::parse(text);
    EXPECT_TRUE(!json || is_utf8(*(*json->as_array())[0].as_string())) << text;
  }
  EXPECT_EQ(*(*Json::parse(R"(["\ud83d\ude00"])")->as_array())[0].as_string(), "😀");
}

TEST(JsonParse, ATextMayHoldNul) {
  const auto json = Json::parse(R"(["a\u0000b"])");
  ASSERT_TRUE(json);
  EXPECT_EQ(*(*json->as_array())[0].as_string(), std::string("a\0b", 3));
  EXPECT_FALSE(Json::parse(std::string_view("[1]\0", 4)));
}

TEST(Json, LookingUpWhatIsNotThereGivesTheFallback) {
  const auto json = Json::parse(R"({"n": "12", "s": 3, "x": "12a", "a": []})").value();
  EXPECT_EQ(json.get_int("n"), 12);  // 64-bit times travel as text
  EXPECT_EQ(json.get_int("x", -1), -1);
  EXPECT_EQ(json.get_int("a", -1), -1);
  EXPECT_EQ(json.get_int("none", -1), -1);
  EXPECT_EQ(json.get_string("s", "fallback"), "fallback");
  EXPECT_EQ(json.find("a")->find("n"), nullptr);
  EXPECT_EQ(Json("text").as_double(1.5), 1.5);
  EXPECT_EQ(Json(3).as_double(0), 3.0);
}

TEST(Json, SetReplacesInPlaceAndMakesAnObjectOfAnythingElse) {
  Json json(5);
  json.set("a", 1);
  json.set("b", 2);
  json.set("a", "x");
  EXPECT_EQ(json.dump(), R"({"a":"x","b":2})");
}

TEST(JsonWriter, EscapesWhatJsonWantsEscapedAndReplacesWhatIsNoText) {
  EXPECT_EQ(Json(std::string("\"\\\n\r\t\x01\x1f/\x7f", 9)).dump(),
            "\"\\\"\\\\\\n\\r\\t\\u0001\\u001f/\x7f\"");
  EXPECT_EQ(Json(std::string("a\0b", 3)).dump(), R"("a\u0000b")");
  EXPECT_EQ(Json("a\xff\xe2\x82").dump(), "\"a\uFFFD\uFFFD\uFFFD\"");
}

TEST(JsonWriter, NumbersThatAreNoneAreTexts) {
  EXPECT_EQ(
      Json(Json::Array{Json(std::nan("")), Json(-std::nan("")), Json(HUGE_VAL), Json(-HUGE_VAL)})
          .dump(),
      R"(["NaN","NaN","Infinity","-Infinity"])");
}

TEST(JsonWriter, LargeNumbersStayNumbersThatCanBeRead) {
  for (const double d : {18446744073709551615.0, -123456789012345678901.0, 9223372036854775808.0,
                         1.7976931348623157e308, 5e-324}) {
    const auto back = Json::parse(Json(d).dump());
    ASSERT_TRUE(back) << Json(d).dump();
    EXPECT_EQ(back->as_double(0), d);
  }
}

TEST(JsonWriter, NegativeZeroStaysWhatItIs) {
  EXPECT_TRUE(std::signbit(Json::parse(Json(-0.0).dump())->as_double(1)));
}

TEST(JsonWriter, PutsCommasBetweenAndNowhereElse) {
  std::string out;
  JsonWriter json(out);
  json.begin_object()
      .member("a", 1)
      .key("b")
      .begin_array()
      .value("x")
      .null()
      .value(true)
      .begin_object()
      .end_object()
      .end_array();
  json.key("c")
      .value_string(std::numeric_limits<std::int64_t>::min())
      .member("d", 0.5)
      .end_object();
  EXPECT_EQ(out, R"({"a":1,"b":["x",null,true,{}],"c":"-9223372036854775808","d":0.5})");
  EXPECT_TRUE(Json::parse(out));
}

// ---- properties
bool same(const Json& a, const Json& b) {
  if (a.as_object() != nullptr && b.as_object() != nullptr) {
    return std::ranges::equal(*a.as_object(), *b.as_object(), [](const auto& x, const auto& y) {
      return x.first == y.first && same(x.second, y.second);
    });
  }
  if (a.as_array() != nullptr && b.as_array() != nullptr)
    return std::ranges::equal(*a.as_array(), *b.as_array(), same);
  if (a.as_string() != nullptr && b.as_string() != nullptr) return *a.as_string() == *b.as_string();
  if (a.as_bool() != nullptr && b.as_bool() != nullptr) return *a.as_bool() == *b.as_bool();
  if (a.as_int() != nullptr && b.as_int() != nullptr) return *a.as_int() == *b.as_int();
  // A whole double comes back as an integer.
  const bool numbers =
      (a.is_double() || a.as_int() != nullptr) && (b.is_double() || b.as_int() != nullptr);
  return numbers ? a.as_double(0) == b.as_double(1) : a.is_null() && b.is_null();
}

std::string text() { return to_utf8(*rc::gen::arbitrary<std::string>()); }

Json any_json(int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 7 : 5)) {
    case 0:
      return Json();
    case 1:
      return Json(*rc::gen::arbitrary<bool>());
    case 2:
      return Json(*rc::gen::arbitrary<std::int64_t>());
    case 3: {
      const auto d = std::bit_cast<double>(*rc::gen::arbitrary<std::uint64_t>());
      return Json(std::isfinite(d) ? d : 0.1);
    }
    case 4:
      return Json(text());
    case 5: {
      Json::Array array;
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) array.push_back(any_json(depth - 1));
      return Json(std::move(array));
    }
    default: {
      Json object{Json::Object{}};
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) object.set(text(), any_json(depth - 1));
      return object;
    }
  }
}

RC_GTEST_PROP(JsonProperty, WhatIsWrittenIsWhatIsRead, ()) {
  const Json json = any_json(3);
  const auto back = Json::parse(json.dump());
  RC_ASSERT(back.has_value());
  RC_ASSERT(same(json, *back));
}

RC_GTEST_PROP(JsonProperty, AnyBytesAreWrittenAsValidText, (const std::string& bytes)) {
  const auto back = Json::parse(Json(bytes).dump());
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back->as_string() == to_utf8(bytes));
}

RC_GTEST_PROP(JsonProperty, ADamagedTextIsReadOrItsFaultLiesWithinIt, ()) {
  std::string text = any_json(3).dump();
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  text[at] = *rc::gen::arbitrary<char>();
  const auto json = Json::parse(text);
  RC_ASSERT(json || json_error_position(text) <= text.size());
}

}  // namespace
}  // namespace corral
