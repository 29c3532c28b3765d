#include "compat/mlflow/wire/span_json.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace corral::mlflow {
namespace {

std::string answer_of(const Span& span) {
  std::string out;
  JsonWriter json(out);
  write_span(json, span);
  return out;
}

// As MLflow 3.17.2 stores it.
constexpr std::string_view kStored = R"({
  "trace_id": "AQIDBAUGBwgJCgsMDQ4PEA==", "span_id": "AQIDBAUGBwg=",
  "parent_span_id": "AAAAAAAAAP8=", "name": "größe", "start_time_unix_nano": 1000000000,
  "end_time_unix_nano": 2000000000,
  "events": [{"name": "e", "time_unix_nano": 1500000000, "attributes": {"a": "b", "n": NaN}}],
  "status": {"code": "STATUS_CODE_ERROR", "message": "bad"},
  "attributes": {"mlflow.traceRequestId": "\"tr-0102030405060708090a0b0c0d0e0f10\"",
                 "mlflow.spanInputs": "{\"x\": [1, 2.5, null]}", "text": "\"1\"",
                 "plain": "no JSON", "odd": "NaN"},
  "links": [{"trace_id": "tr-0102030405060708090a0b0c0d0e0f11", "span_id": "0102030405060709",
             "attributes": {"k": 1}}]})";

TEST(SpanJson, ReadsWhatMlflowStores) {
  const auto span = parse_span_json(kStored);
  ASSERT_TRUE(span) << span.error().message;
  EXPECT_EQ(
      answer_of(*span),
      R"({"trace_id":"AQIDBAUGBwgJCgsMDQ4PEA==","span_id":"AQIDBAUGBwg=",)"
      R"("parent_span_id":"AAAAAAAAAP8=","name":"größe","start_time_unix_nano":1000000000,)"
      R"("end_time_unix_nano":2000000000,"attributes":[)"
      R"({"key":"mlflow.traceRequestId","value":{"string_value":)"
      R"("tr-0102030405060708090a0b0c0d0e0f10"}},{"key":"mlflow.spanInputs","value":)"
      R"({"kvlist_value":{"values":[{"key":"x","value":{"array_value":{"values":[)"
      R"({"int_value":1},{"double_value":2.5},{}]}}}]}}},)"
      R"({"key":"text","value":{"string_value":"1"}},)"
      R"({"key":"plain","value":{"string_value":"no JSON"}},)"
      R"({"key":"odd","value":{"string_value":"NaN"}}],)"
      R"("events":[{"time_unix_nano":1500000000,"name":"e","attributes":[)"
      R"({"key":"a","value":{"string_value":"b"}},{"key":"n","value":{"string_value":"NaN"}}]}],)"
      R"("links":[{"trace_id":"AQIDBAUGBwgJCgsMDQ4PEQ==","span_id":"AQIDBAUGBwk=",)"
      R"("attributes":[{"key":"k","value":{"int_value":1}}]}],)"
      R"("status":{"message":"bad","code":"STATUS_CODE_ERROR"}})");
}

TEST(SpanJson, ReadsWhatItsFirstReleaseStored) {
  const auto span = parse_span_json(
      R"({"trace_id": "tr-0102030405060708090a0b0c0d0e0f10", "span_id": "0102030405060708",
          "parent_span_id": null, "name": "x", "start_time_unix_nano": "1",
          "end_time_unix_nano": null, "status": {"code": "OK"}, "attributes": null})");
  ASSERT_TRUE(span) << span.error().message;
  EXPECT_EQ(trace_id_of(span->trace), "tr-0102030405060708090a0b0c0d0e0f10");
  EXPECT_EQ(span_id_text(span->id), "0102030405060708");
  EXPECT_EQ(span->parent, 0U);
  EXPECT_EQ(span->status, SpanStatus::kOk);
  EXPECT_EQ(span->start_ns, 1);
  EXPECT_EQ(span->end_ns, 0);
}

TEST(SpanJson, WhatNestsTooDeepStaysText) {
  const std::string deep = std::string(50, '[') + std::string(50, ']');
  const auto span = parse_span_json(fmt::format(
      R"({{"trace_id": "0102030405060708090a0b0c0d0e0f10", "span_id": "0102030405060708",
           "name": "x", "start_time_unix_nano": 1, "attributes": {{"a": "{}", "n": "3"}}}})",
      deep));
  ASSERT_TRUE(span) << span.error().message;
  EXPECT_EQ(span->text("a"), deep);
  EXPECT_EQ(*span->attribute("n")->as_int(), 3);
}

TEST(SpanJson, ReadsTheFilesOfTraces) {
  const auto spans = parse_trace_file(R"({"request": "{}", "response": null, "spans": [
      {"name": "outer", "context": {"span_id": "0102030405060708",
                                    "trace_id": "0102030405060708090a0b0c0d0e0f10"},
       "parent_id": null, "start_time": 1000000000, "end_time": 2000000000, "status_code": "ERROR",
       "status_message": "bad", "attributes": {"mlflow.traceRequestId": "\"4d\"", "n": NaN},
       "events": [{"name": "e", "timestamp": 1500000, "attributes": {}}]},
      {"name": "of 3", "span_id": "AQIDBAUGBwk=", "trace_id": "AQIDBAUGBwgJCgsMDQ4PEA==",
       "parent_span_id": "AQIDBAUGBwg=", "start_time_unix_nano": 1100000000,
       "end_time_unix_nano": null, "attributes": {}, "status": {"code": "STATUS_CODE_OK"}},
      {"name": "no ids"}, 7]})");
  ASSERT_TRUE(spans) << spans.error().message;
  ASSERT_EQ(spans->size(), 2U);
  const Span& outer = spans->front();
  EXPECT_EQ(outer.name, "outer");
  EXPECT_EQ(span_id_text(outer.id), "0102030405060708");
  EXPECT_EQ(outer.parent, 0U);
  EXPECT_EQ(outer.start_ns, 1'000'000'000);
  EXPECT_EQ(outer.end_ns, 2'000'000'000);
  EXPECT_EQ(outer.status, SpanStatus::kError);
  EXPECT_EQ(outer.status_message, "bad");
  EXPECT_EQ(outer.text("mlflow.traceRequestId"), "4d");
  EXPECT_EQ(outer.text("n"), "NaN");
  EXPECT_EQ(spans->back().parent, outer.id);
  EXPECT_EQ(spans->back().end_ns, 0);
  for (const char* none : {"", "[]", "{}", R"({"spans": {}})"})
    EXPECT_EQ(parse_trace_file(none).error().code, Code::kInvalidArgument) << none;
}

TEST(SpanJson, SaysWhatIsWrong) {
  EXPECT_EQ(parse_span_json("[1]").error().code, Code::kInvalidArgument);
  EXPECT_EQ(parse_span_json("{\"name\": \"x\"").error().code, Code::kInvalidArgument);
  EXPECT_EQ(parse_span_json("{}").error().message, "a trace id has 16 bytes");
  EXPECT_EQ(parse_span_json(R"({"trace_id": 5})").error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace corral::mlflow
