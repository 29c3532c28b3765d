#include "compat/mlflow/wire/otlp.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "codec/protobuf.h"
#include "compat/mlflow/wire/phases_of_spans.h"
#include "compat/mlflow/wire/times.h"
#include "compat/mlflow/wire/trace_of_spans.h"
#include "core/limits.h"

namespace corral::mlflow {
namespace {

using codec::ProtoWriter;

std::string answer_of(const Span& span) {
  std::string out;
  JsonWriter json(out);
  write_span(json, span);
  return out;
}

const std::string kTrace = "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10";
const std::string kId = "\x01\x02\x03\x04\x05\x06\x07\x08";

ProtoWriter text_attribute(std::string_view key, std::string_view text) {
  ProtoWriter value;
  value.bytes(1, text);
  ProtoWriter out;
  out.bytes(1, key).message(2, value);
  return out;
}

// One request of one span, to which `more` was added.
std::string request_of(const ProtoWriter& span, std::string_view host = {}) {
  ProtoWriter scope;
  scope.message(2, span);
  ProtoWriter resource;
  if (!host.empty()) resource.message(1, text_attribute("host.name", host));
  ProtoWriter group;
  group.message(2, scope).message(1, resource);  // the resource behind its spans: any order is good
  ProtoWriter out;
  out.message(1, group);
  return out.text();
}

ProtoWriter plain_span() {
  ProtoWriter span;
  span.bytes(1, kTrace).bytes(2, kId).bytes(5, "load").number(6, 3);
  span.fixed(7, 1'000'000'000).fixed(8, 2'000'000'000);
  return span;
}

constexpr std::string_view kJson = R"({"resourceSpans": [{
  "resource": {"attributes": [{"key": "host.name", "value": {"stringValue": "h1"}},
                              {"key": "service.name", "value": {"stringValue": "svc/a"}}]},
  "scopeSpans": [{"spans": [{
    "traceId": "0102030405060708090a0b0c0d0e0f10", "spanId": "0102030405060708",
    "parentSpanId": "00000000000000ff", "name": "x", "kind": "SPAN_KIND_CLIENT",
    "startTimeUnixNano": "1000000000", "endTimeUnixNano": 2000000000,
    "attributes": [{"key": "i", "value": {"intValue": "9007199254740993"}},
                   {"key": "d", "value": {"doubleValue": 2.0}},
                   {"key": "n", "value": {}},
                   {"key": "nan", "value": {"doubleValue": "NaN"}},
                   {"key": "list", "value": {"arrayValue": {"values": [{"boolValue": true}, {}]}}},
                   {"key": "map", "value": {"kvlistValue": {"values": [
                       {"key": "k", "value": {"stringValue": "ü"}}]}}},
                   {"key": "thread.id", "value": {"intValue": 7}}],
    "events": [{"timeUnixNano": "1500000000", "name": "e",
                "attributes": [{"key": "a", "value": {"stringValue": "b"}}]}],
    "links": [{"traceId": "0102030405060708090a0b0c0d0e0f11", "spanId": "0102030405060709"}],
    "status": {"code": 2, "message": "bad"}}]}]}]})";

constexpr std::string_view kAnswer =
    R"({"trace_id":"AQIDBAUGBwgJCgsMDQ4PEA==","span_id":"AQIDBAUGBwg=",)"
    R"("parent_span_id":"AAAAAAAAAP8=","name":"x","start_time_unix_nano":1000000000,)"
    R"("end_time_unix_nano":2000000000,"attributes":[)"
    R"({"key":"i","value":{"int_value":9007199254740993}},{"key":"d","value":{"double_value":2}},)"
    R"({"key":"n","value":{}},{"key":"nan","value":{"double_value":"NaN"}},)"
    R"({"key":"list","value":{"array_value":{"values":[{"bool_value":true},{}]}}},)"
    R"({"key":"map","value":{"kvlist_value":{"values":[{"key":"k","value":{"string_value":"ü"}}]}}},)"
    R"({"key":"thread.id","value":{"int_value":7}}],)"
    R"("events":[{"time_unix_nano":1500000000,"name":"e","attributes":[)"
    R"({"key":"a","value":{"string_value":"b"}}]}],)"
    R"("links":[{"trace_id":"AQIDBAUGBwgJCgsMDQ4PEQ==","span_id":"AQIDBAUGBwk="}],)"
    R"("status":{"message":"bad","code":"STATUS_CODE_ERROR"}})";

TEST(Otlp, JsonBecomesTheAnswerThatClientsRead) {
  const auto parsed = parse_otlp_json(kJson);
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_EQ(parsed->size(), 1U);
  const Span& span = parsed->front().spans.at(0);
  EXPECT_EQ(answer_of(span), kAnswer);
  EXPECT_EQ(span.lane, "h1/svc_a/7");
  EXPECT_EQ(span.kind, SpanKind::kClient);
  EXPECT_EQ(trace_id_text(span.trace), "tr-0102030405060708090a0b0c0d0e0f10");
}

TEST(Otlp, AStoredSpanIsTheSameSpan) {
  const Span span = parse_otlp_json(kJson)->front().spans.at(0);
  const auto again = decode_span(encode_span(span));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(answer_of(*again), kAnswer);
  EXPECT_EQ(again->lane, "h1/svc_a/7");
  EXPECT_EQ(again->kind, span.kind);
}

TEST(Otlp, AnswersAreTakenAsRequests) {
  const std::string text =
      R"({"resource_spans": [{"scope_spans": [{"spans": [)" + std::string(kAnswer) + "]}]}]}";
  const auto parsed = parse_otlp_json(text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(answer_of(parsed->front().spans.at(0)), kAnswer);
}

TEST(Otlp, ProtobufIsRead) {
  ProtoWriter span = plain_span();
  span.message(9, text_attribute("thread.name", "main"));
  span.bytes(999, "unknown").number(16, 1);
  const auto parsed = parse_otlp_protobuf(request_of(span, "h"));
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Span& read = parsed->front().spans.at(0);
  EXPECT_EQ(read.name, "load");
  EXPECT_EQ(read.id, 0x0102030405060708U);
  EXPECT_EQ(read.parent, 0U);
  EXPECT_EQ(read.kind, SpanKind::kClient);
  EXPECT_EQ(read.start_ns, 1'000'000'000);
  EXPECT_EQ(read.end_ns, 2'000'000'000);
  EXPECT_EQ(read.lane, "h/main");
  EXPECT_EQ(read.text("thread.name"), "main");
}

TEST(Otlp, SaysWhatIsWrong) {
  const auto code_of = [](const auto& result) {
    return result ? Code::kInternal : result.error().code;
  };
  EXPECT_EQ(code_of(parse_otlp_protobuf("\xff\xff\xff")), Code::kInvalidArgument);
  EXPECT_EQ(code_of(parse_otlp_json("[]")), Code::kInvalidArgument);
  EXPECT_EQ(code_of(parse_otlp_json(R"({"resourceSpans": 5})")), Code::kInvalidArgument);
  ProtoWriter anonymous;
  anonymous.bytes(1, kTrace).bytes(5, "no id");
  EXPECT_EQ(code_of(parse_otlp_protobuf(request_of(anonymous))), Code::kUnprocessable);
  ProtoWriter short_id = plain_span();
  short_id.bytes(2, "123");
  EXPECT_EQ(code_of(parse_otlp_protobuf(request_of(short_id))), Code::kUnprocessable);
  ProtoWriter late = plain_span();
  late.fixed(8, ~std::uint64_t{0});
  EXPECT_EQ(code_of(parse_otlp_protobuf(request_of(late))), Code::kUnprocessable);
  EXPECT_TRUE(parse_otlp_protobuf("")->empty());
  EXPECT_TRUE(parse_otlp_json("{}")->empty());
}

TEST(Otlp, DeepAndManyValuesAreRefused) {
  ProtoWriter value;
  for (int depth = 0; depth < 40; ++depth) {
    ProtoWriter list;
    list.message(1, value);
    ProtoWriter outer;
    outer.message(5, list);
    value = outer;
  }
  ProtoWriter attribute;
  attribute.bytes(1, "deep").message(2, value);
  ProtoWriter deep = plain_span();
  deep.message(9, attribute);
  EXPECT_EQ(parse_otlp_protobuf(request_of(deep)).error().code, Code::kInvalidArgument);
  ProtoWriter wide = plain_span();
  for (std::size_t i = 0; i < kOtlpValues; ++i) wide.bytes(9, "");
  EXPECT_EQ(parse_otlp_protobuf(request_of(wide)).error().code, Code::kTooLarge);
}

RC_GTEST_PROP(Otlp, AnyBytesEnd, (const std::string& bytes)) {
  if (const auto parsed = parse_otlp_protobuf(bytes)) {
    for (const auto& group : *parsed)
      for (const Span& span : group.spans) RC_ASSERT(decode_span(encode_span(span)));
  }
}

TEST(PhasesOfSpans, ASpanIsAPhaseWithinTheLimits) {
  Span span = parse_otlp_json(kJson)->front().spans.at(0);
  span.attributes.emplace_back(kSpanTypeAttribute, "CHAT_MODEL");
  span.attributes.emplace_back("long", std::string(20'000, '\x01'));
  span.name = std::string(300, 'n');
  const auto phases = phases_of_spans(std::vector{span});
  ASSERT_EQ(phases.size(), 1U);
  const codec::PhaseRecord& phase = phases[0];
  EXPECT_EQ(phase.id, span.id);
  EXPECT_EQ(phase.parent, 0xFFU);
  EXPECT_EQ(phase.kind, codec::PhaseKind::kIo);
  EXPECT_EQ(phase.type, "trace/chat_model");
  EXPECT_EQ(phase.lane, "h1/svc_a/7");
  EXPECT_EQ(phase.name.size(), limits::kNameBytes);
  EXPECT_EQ(kClientAnchor.to_utc(*phase.begin), utc_time(1'000'000'000));
  EXPECT_EQ(kClientAnchor.to_utc(*phase.end), utc_time(2'000'000'000));
  EXPECT_EQ(phase.links, std::vector<std::uint64_t>{0x0102030405060709U});
  EXPECT_EQ(phase.attributes.front(), std::pair(std::string("error"), std::string("\"bad\"")));
  for (const auto& [key, value] : phase.attributes) {
    EXPECT_LE(value.size(), limits::kValueBytes);
    EXPECT_TRUE(Json::parse(value)) << key;
  }
  codec::FrameHeader header{.session = SessionId::random(), .first = 1, .last = 1};
  const codec::Bytes bytes = codec::encode(header, codec::PhasesBody{phases});
  const auto decoded = codec::decode_phases(*codec::decode_frame(bytes));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->phases, phases);
}

TEST(PhasesOfSpans, TextsHoldNoNulAndEndAtACharacter) {
  EXPECT_EQ(phase_text(std::string_view("a\0b", 3), 10), "a b");
  EXPECT_EQ(phase_text("größe", 3), "gr");
  EXPECT_EQ(phase_text("\xff", 1), "");
}

bool has_nul(std::initializer_list<std::string_view> texts) {
  return std::ranges::any_of(
      texts, [](std::string_view text) { return text.find('\0') != std::string_view::npos; });
}

// Checks all that becomes text of a database, because PostgreSQL takes no NUL.
void expect_no_nul(const SpanExport& spans) {
  for (const TraceOfSpans& trace : traces_from_spans(spans)) {
    EXPECT_FALSE(has_nul({trace.request, trace.response}));
    for (const auto& [key, value] : trace.tags) EXPECT_FALSE(has_nul({key, value})) << key;
    for (const auto& [key, value] : trace.metadata) EXPECT_FALSE(has_nul({key, value})) << key;
  }
  for (const ResourceSpans& group : spans) {
    for (const codec::PhaseRecord& phase : phases_of_spans(group.spans)) {
      EXPECT_FALSE(has_nul({phase.name, phase.type, phase.lane}));
      for (const auto& [key, value] : phase.attributes) EXPECT_FALSE(has_nul({key, value})) << key;
    }
  }
}

TEST(Otlp, NulsStayOutOfTheDatabasesText) {
  using namespace std::string_view_literals;
  ProtoWriter span = plain_span();
  span.bytes(5, "na\0me"sv);
  for (const std::string_view key :
       {"session.id"sv, "user.id"sv, "thread.name"sv, "mlflow.spanType"sv, "mlflow.spanInputs"sv,
        "mlflow.traceTag.a"sv, "mlflow.traceTag.\0b"sv, "o\0dd"sv}) {
    span.message(9, text_attribute(key, "va\0lue"sv));
  }
  const auto protobuf = parse_otlp_protobuf(request_of(span, "ho\0st"sv));
  ASSERT_TRUE(protobuf) << protobuf.error().message;
  expect_no_nul(*protobuf);
  const auto traces = traces_from_spans(*protobuf);
  ASSERT_EQ(traces.size(), 1U);
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(traces[0].metadata,
            (Pairs{{"mlflow.trace.session", "va lue"}, {"mlflow.trace.user", "va lue"}}));
  EXPECT_EQ(traces[0].tags, (Pairs{{"host.name", "ho st"}, {"a", "va lue"}}));
  // The span itself is kept as it came.
  EXPECT_EQ(decode_span(encode_span(*traces[0].spans[0]))->name, "na\0me"sv);

  std::string json(kJson);
  const std::size_t name = json.find(R"("x")");
  json.replace(name, 3, R"("x\u0000y")");
  json.replace(json.find(R"("h1")"), 4, R"("h\u00001")");
  const auto read = parse_otlp_json(json);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->front().spans.front().name, "x\0y"sv);
  expect_no_nul(*read);
}

TEST(PhasesOfSpans, ManyGoInSeveralBatches) {
  std::vector<Span> spans(100, parse_otlp_json(kJson)->front().spans.at(0));
  const auto phases = phases_of_spans(spans);
  std::size_t sum = 0;
  const auto batches = phase_batches(phases, 2000);
  for (const auto& batch : batches) sum += batch.size();
  EXPECT_EQ(sum, 100U);
  EXPECT_GT(batches.size(), 5U);
  EXPECT_EQ(phase_batches(phases, 1).size(), 100U);
  EXPECT_TRUE(phase_batches({}, 1).empty());
}

// ---- MLflow's JSON

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
  EXPECT_EQ(trace_id_text(span->trace), "tr-0102030405060708090a0b0c0d0e0f10");
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
