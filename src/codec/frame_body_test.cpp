// The bodies of frames: what is encoded is what is decoded, and damage is named.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "codec/frame.h"
#include "codec/test_frames.h"
#include "codec/wire.h"
#include "core/limits.h"

namespace corral::codec {
namespace {

using testing::header_of;

template <class Body>
Frame framed(const Body& body) {
  Frame frame = decode_frame(encode(header_of(), body)).value();
  frame.raw = {};
  return frame;
}
Frame with_body(Bytes body) { return {.header = header_of(), .body = std::move(body), .raw = {}}; }

RC_GTEST_PROP(FrameBody, Session, ()) {
  const SessionBody body = testing::any_session();
  RC_ASSERT(decode_session(framed(body)).value() == body);
}
RC_GTEST_PROP(FrameBody, Schema, ()) {
  const SchemaBody body = testing::any_schema();
  RC_ASSERT(decode_schema(framed(body)).value().series == body.series);
}
RC_GTEST_PROP(FrameBody, Samples, ()) {
  const SamplesBody body = testing::any_samples();
  RC_ASSERT(testing::same(decode_samples(framed(body)).value(), body));
}
RC_GTEST_PROP(FrameBody, Phases, ()) {
  const PhasesBody body = testing::any_phases();
  RC_ASSERT(decode_phases(framed(body)).value().phases == body.phases);
}
RC_GTEST_PROP(FrameBody, Facts, ()) {
  const FactsBody body = testing::any_facts();
  RC_ASSERT(decode_facts(framed(body)).value().facts == body.facts);
}
RC_GTEST_PROP(FrameBody, Events, ()) {
  const EventsBody body = testing::any_events();
  RC_ASSERT(decode_events(framed(body)).value().events == body.events);
}
RC_GTEST_PROP(FrameBody, Log, ()) {
  const LogBody body = testing::any_log();
  RC_ASSERT(decode_log(framed(body)).value() == body);
}
RC_GTEST_PROP(FrameBody, RunEnd, ()) {
  const RunEndBody body = testing::any_run_end();
  RC_ASSERT(decode_run_end(framed(body)).value() == body);
}
RC_GTEST_PROP(FrameBody, Gap, ()) {
  const GapBody body{.reason = testing::any_enum(GapReason::kCorrupt),
                     .message = testing::any_text()};
  const GapBody back = decode_gap(framed(body)).value();
  RC_ASSERT(back.reason == body.reason && back.message == body.message);
}

TEST(FrameBody, TimesAndStepsOfEveryDistanceComeBack) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  SampleGroup group;
  for (const std::int64_t t :
       {kMax, kMin, std::int64_t{0}, kMin, kMax, std::int64_t{-1}, kMax - 1}) {
    group.times.push_back(boot_time(t));
    group.steps.push_back(~t);
  }
  group.columns.push_back(
      {.series = 1, .present = {}, .values = std::vector<double>(group.times.size(), -0.0)});
  const SamplesBody body{{group}};
  EXPECT_TRUE(testing::same(decode_samples(framed(body)).value(), body));
}

TEST(FrameBody, BitmapsOfEveryLengthComeBack) {
  for (std::size_t rows = 1; rows <= 33; ++rows) {
    SampleGroup group;
    group.times.assign(rows, boot_time(1));
    Column column{.series = 1, .present = std::vector<bool>(rows), .values = {}};
    for (std::size_t i = 0; i < rows; i += 3) column.present[i] = true;
    column.values.assign((rows + 2) / 3, 1.0);
    group.columns.push_back(column);
    const SamplesBody body{{group}};
    EXPECT_TRUE(testing::same(decode_samples(framed(body)).value(), body)) << rows;
  }
}

// ---- what is refused
template <class Decoded>
std::string error_of(const Decoded& decoded) {
  EXPECT_FALSE(decoded);
  if (decoded) return {};
  EXPECT_EQ(decoded.error().code, Code::kInvalidArgument);
  return decoded.error().message;
}

TEST(FrameBody, ErrorsNameFieldAndByte) {
  Frame frame = framed(FactsBody{{{FactKind::kParam, "lr", "0.1"}}});
  frame.body[4] = 99;
  EXPECT_EQ(error_of(decode_facts(frame)), "fact kind at byte 5: unknown value");
  frame = framed(RunEndBody{});
  frame.body.push_back(0);
  EXPECT_NE(error_of(decode_run_end(frame)).find("left over"), std::string::npos);
}

TEST(FrameBody, CountsThatTheBytesCannotHoldAreRefusedBeforeAnythingIsReserved) {
  const Bytes huge = {0xFF, 0xFF, 0xFF, 0xFF};
  EXPECT_NE(error_of(decode_schema(with_body(huge))).find("series count"), std::string::npos);
  EXPECT_NE(error_of(decode_samples(with_body(huge))).find("groups"), std::string::npos);
  EXPECT_NE(error_of(decode_phases(with_body(huge))).find("phase count"), std::string::npos);
  EXPECT_NE(error_of(decode_facts(with_body(huge))).find("fact count"), std::string::npos);
  EXPECT_NE(error_of(decode_events(with_body(huge))).find("event count"), std::string::npos);
}

TEST(FrameBody, LimitsAreChecked) {
  const std::string long_name(limits::kNameBytes + 1, 'n');
  SessionBody session;
  session.run = RunId::random();
  session.workload = WorkloadId::random();
  session.experiment = "e";
  EXPECT_TRUE(decode_session(framed(session)));
  const auto changed = [&](auto change) {
    SessionBody other = session;
    change(other);
    return error_of(decode_session(framed(other)));
  };
  EXPECT_NE(changed([](SessionBody& s) { s.experiment = ""; }).find("experiment"),
            std::string::npos);
  EXPECT_NE(changed([](SessionBody& s) { s.run = {}; }).find("run"), std::string::npos);
  EXPECT_NE(changed([](SessionBody& s) { s.workload = {}; }).find("workload"), std::string::npos);
  EXPECT_NE(changed([](SessionBody& s) { s.host = "\xFF"; }).find("host"), std::string::npos);
  EXPECT_NE(changed([&](SessionBody& s) { s.run_name = long_name; }).find("run name"),
            std::string::npos);

  error_of(decode_schema(framed(SchemaBody{{{.id = 0, .name = "a", .source = "", .unit = ""}}})));
  error_of(decode_schema(framed(
      SchemaBody{{{.id = limits::kSeriesPerSession + 1, .name = "a", .source = "", .unit = ""}}})));
  error_of(
      decode_schema(framed(SchemaBody{{{.id = 1, .name = long_name, .source = "", .unit = ""}}})));
  error_of(decode_facts(
      framed(FactsBody{{{FactKind::kParam, "k", std::string(limits::kFactBytes + 1, 'v')}}})));
  error_of(decode_facts(framed(FactsBody{{{FactKind::kParam, "", "v"}}})));
  error_of(decode_events(framed(
      EventsBody{{{boot_time(0), "e", "user", Attributes(limits::kAttributes + 1, {"k", "1"})}}})));
  error_of(decode_events(framed(EventsBody{{{boot_time(0), long_name, "user", {}}}})));
  error_of(decode_log(
      framed(LogBody{.time = {}, .stream = LogStream::kTty, .offset = -1, .bytes = ""})));
}

TEST(FrameBody, ASessionOfOneOfSeveralSupervisorsTellsTheAttempt) {
  SessionBody session;
  session.run = RunId::random();
  session.workload = WorkloadId::random();
  session.experiment = "e";
  session.attempt = 0;
  EXPECT_EQ(decode_session(framed(session)).value(), session);
  session.machine = "m";
  session.attempt = 70000;
  EXPECT_EQ(decode_session(framed(session)).value(), session);
}

TEST(FrameBody, ASessionThatNamesNoMachineEndsAsEarlierVersionsWroteIt) {
  SessionBody session;
  session.run = RunId::random();
  session.workload = WorkloadId::random();
  session.experiment = "e";
  const std::size_t before = framed(session).body.size();
  EXPECT_EQ(decode_session(framed(session))->machine, "");
  session.machine = "m";
  EXPECT_EQ(framed(session).body.size(), before + 3);
  EXPECT_EQ(decode_session(framed(session))->machine, "m");
  session.machine = std::string(limits::kNameBytes + 1, 'm');
  EXPECT_NE(error_of(decode_session(framed(session))).find("machine"), std::string::npos);
}

TEST(FrameBody, APhaseSaysWhenAndWhich) {
  const PhaseRecord good{.id = 1,
                         .begin = boot_time(1),
                         .end = {},
                         .name = "epoch",
                         .type = "epoch",
                         .lane = "h/1/m",
                         .links = {},
                         .attributes = {}};
  EXPECT_TRUE(decode_phases(framed(PhasesBody{{good}})));
  const auto changed = [&](auto change) {
    PhaseRecord other = good;
    change(other);
    return error_of(decode_phases(framed(PhasesBody{{other}})));
  };
  EXPECT_NE(changed([](PhaseRecord& p) { p.id = 0; }).find("phase id"), std::string::npos);
  EXPECT_NE(changed([](PhaseRecord& p) { p.begin.reset(); }).find("neither"), std::string::npos);
  EXPECT_NE(changed([](PhaseRecord& p) { p.name.clear(); }).find("phase name"), std::string::npos);
  EXPECT_NE(changed([](PhaseRecord& p) {
              p.name = std::string(limits::kNameBytes + 1, 'n');
            }).find("phase name"),
            std::string::npos);
  EXPECT_NE(changed([](PhaseRecord& p) { p.lane = "\xC0"; }).find("UTF-8"), std::string::npos);
  EXPECT_NE(changed([](PhaseRecord& p) { p.links.assign(65, 1); }).find("links"),
            std::string::npos);
}

TEST(Varint, NumbersLongerThanSixtyFourBitsAreRefused) {
  Bytes nines(9, 0xFF);
  Bytes most = nines;
  most.push_back(0x01);
  WireReader good(most);
  EXPECT_EQ(good.varint("v"), std::numeric_limits<std::int64_t>::min());
  EXPECT_TRUE(good.ok());
  Bytes beyond = nines;
  beyond.push_back(0x02);
  WireReader bad(beyond);
  bad.varint("v");
  EXPECT_FALSE(bad.ok());
  Bytes endless(11, 0x80);
  WireReader longer(endless);
  longer.varint("v");
  EXPECT_FALSE(longer.ok());
}

// Any damage is either named or gives a body that can be written again.
RC_GTEST_PROP(FrameBody, DamageIsNamedOrHarmless, ()) {
  Frame frame = framed(testing::any_samples());
  switch (*rc::gen::inRange(0, 5)) {
    case 0:
      frame = framed(testing::any_session());
      break;
    case 1:
      frame = framed(testing::any_schema());
      break;
    case 2:
      frame = framed(testing::any_phases());
      break;
    case 3:
      frame = framed(testing::any_events());
      break;
    default:
      break;
  }
  for (int n = *rc::gen::inRange(1, 4); n > 0 && !frame.body.empty(); --n) {
    frame.body[testing::up_to(frame.body.size() - 1)] = *rc::gen::arbitrary<std::uint8_t>();
  }
  frame.body.resize(testing::up_to(frame.body.size()));
  const auto check = [](const auto& decoded) {
    if (decoded) {
      encode(header_of(), *decoded);
    } else {
      RC_ASSERT(decoded.error().code == Code::kInvalidArgument);
      RC_ASSERT(decoded.error().message.find(" at byte ") != std::string::npos);
    }
  };
  check(decode_session(frame));
  check(decode_schema(frame));
  check(decode_samples(frame));
  check(decode_phases(frame));
  check(decode_facts(frame));
  check(decode_events(frame));
  check(decode_run_end(frame));
  check(decode_gap(frame));
  check(decode_log(frame));
}

}  // namespace
}  // namespace corral::codec
