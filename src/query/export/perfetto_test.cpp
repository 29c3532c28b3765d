#include "query/export/perfetto.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "analyze/check_phases.h"
#include "codec/protobuf.h"
#include "query/export/lane_stacks.h"
#include "query/series/test_store.h"

namespace corral::query {
namespace {

namespace frames = store::testing;
using codec::ProtoField;
using codec::ProtoReader;

// A message as a reader of Perfetto's protobuf sees it, by the numbers of the fields.
struct Event {
  std::uint64_t time = 0, type = 0, track = 0;
  std::string name;
  std::vector<std::uint64_t> flows;
  std::map<std::string, std::string> arguments;
  double value = 0;
};
struct Trace {
  std::map<std::uint64_t, std::string> tracks;
  std::vector<Event> events;
};

std::map<std::uint32_t, ProtoField> fields_of(std::string_view message) {
  std::map<std::uint32_t, ProtoField> fields;
  ProtoReader in(message);
  for (ProtoField field; in.next(field);) fields[field.number] = field;
  EXPECT_TRUE(in.ok());
  return fields;
}

std::string argument_text(std::string_view message) {
  auto fields = fields_of(message);
  if (fields.contains(6)) return std::string(fields[6].bytes);
  if (fields.contains(4)) return std::to_string(static_cast<std::int64_t>(fields[4].value));
  if (fields.contains(2)) return fields[2].value != 0 ? "true" : "false";
  if (fields.contains(5)) return std::to_string(fields[5].real());
  if (fields.contains(11)) return "{" + argument_text(fields[11].bytes) + "}";
  if (fields.contains(12)) return "[" + argument_text(fields[12].bytes) + "]";
  return "?";
}

Event event_of(std::string_view message, std::uint64_t time) {
  Event event;
  event.time = time;
  ProtoReader in(message);
  for (ProtoField field; in.next(field);) {
    if (field.number == 9) event.type = field.value;
    if (field.number == 11) event.track = field.value;
    if (field.number == 23) event.name = field.bytes;
    if (field.number == 47) event.flows.push_back(field.value);
    if (field.number == 44) event.value = field.real();
    if (field.number == 4)
      event.arguments[std::string(fields_of(field.bytes)[10].bytes)] = argument_text(field.bytes);
  }
  return event;
}

Trace trace_of(const store::Reader& store, RunId run) {
  std::string bytes;
  const PartStream file = export_trace(store, {.run = run});
  for (Result<bool> more = true; more && *more;) {
    more = file(bytes);
    EXPECT_TRUE(more) << more.error().message;
  }
  Trace trace;
  ProtoReader in(bytes);
  for (ProtoField packet; in.next(packet);) {
    auto fields = fields_of(packet.bytes);
    if (fields.contains(60)) {
      auto track = fields_of(fields[60].bytes);
      trace.tracks[track[1].value] =
          track.contains(2) ? std::string(track[2].bytes) : std::string("process");
    } else {
      trace.events.push_back(event_of(fields[11].bytes, fields[8].value));
    }
  }
  EXPECT_TRUE(in.ok());
  return trace;
}

codec::PhaseRecord phase(std::uint64_t id, std::int64_t begin, std::optional<std::int64_t> end,
                         std::string lane = "h/1/main") {
  codec::PhaseRecord record;
  record.id = id;
  record.begin = boot_time(begin);
  if (end) record.end = boot_time(*end);
  record.name = "p" + std::to_string(id);
  record.type = "t";
  record.lane = std::move(lane);
  return record;
}

class Perfetto : public ::testing::Test {
 protected:
  void add(std::vector<codec::PhaseRecord> phases) {
    store_.append({writer_.frame(codec::PhasesBody{std::move(phases)})});
  }
  testing::TestStore store_;
  const RunId run_ = RunId::random();
  frames::SessionWriter writer_ = store_.begin(run_, {frames::series_def(1, "loss")});
};

TEST_F(Perfetto, LanesAreTracksAndNestingIsKept) {
  add({phase(1, 2000, 9000), phase(2, 2000, 5000), phase(3, 6000, std::nullopt),
       phase(4, 3000, 4000, "h/1/loader")});
  const Trace trace = trace_of(*store_, run_);
  std::vector<std::string> told;
  for (const Event& event : trace.events) {
    told.push_back(trace.tracks.at(event.track) + (event.type == 1 ? " begin " : " end ") +
                   event.name + "@" +
                   std::to_string(static_cast<std::int64_t>(event.time) - frames::kUtcMinusBoot));
  }
  EXPECT_EQ(told, (std::vector<std::string>{"h/1/main begin p1@2000", "h/1/main end @9000",
                                            "h/1/main begin p2@2000", "h/1/main end @5000",
                                            "h/1/loader begin p4@3000", "h/1/loader end @4000",
                                            "h/1/main begin p3@6000"}));
  std::set<std::uint64_t> tracks;
  for (const Event& event : trace.events) tracks.insert(event.track);
  EXPECT_EQ(tracks.size(), 3U);  // p3 never ends: p1's end is not its own
}

TEST_F(Perfetto, WhatOverlapsHasATrackOfItsOwn) {
  add({phase(1, 2000, 5000), phase(2, 3000, 6000), phase(3, 5000, 7000)});
  const Trace trace = trace_of(*store_, run_);
  std::map<std::string, std::uint64_t> track;
  for (const Event& event : trace.events) {
    if (event.type == 1) track[event.name] = event.track;
  }
  EXPECT_NE(track["p1"], track["p2"]);
  EXPECT_EQ(track["p1"], track["p3"]);
}

TEST_F(Perfetto, LinksAreArrowsAndAttributesArguments) {
  codec::PhaseRecord from = phase(1, 2000, 3000);
  codec::PhaseRecord to = phase(2, 4000, 5000, "h/2/main");
  to.links = {1};
  to.attributes = {{"text", "\"a\""},      {"n", "-5"},         {"flag", "true"}, {"d", "2.5"},
                   {"map", R"({"k": 7})"}, {"list", R"(["x"])"}};
  add({from, to, phase(3, 6000, 7000)});
  const Trace trace = trace_of(*store_, run_);
  ASSERT_EQ(trace.events.size(), 6U);
  ASSERT_EQ(trace.events[0].flows.size(), 1U);
  EXPECT_EQ(trace.events[0].flows, trace.events[2].flows);
  EXPECT_TRUE(trace.events[4].flows.empty());
  const std::map<std::string, std::string> expected = {{"text", "a"},    {"n", "-5"},
                                                       {"flag", "true"}, {"d", "2.500000"},
                                                       {"map", "{7}"},   {"list", "[x]"}};
  EXPECT_EQ(trace.events[2].arguments, expected);
}

TEST_F(Perfetto, RadtsFlowsAreArrows) {
  codec::PhaseRecord from = phase(1, 2000, 3000);
  from.attributes = {{"out_flow_id", R"("00000000-0000-0000-8000-00000000002a")"}};
  codec::PhaseRecord to = phase(2, 4000, 5000);
  to.attributes = {{"in_flow_id", R"("00000000-0000-0000-8000-00000000002a")"}};
  add({from, to});
  const Trace trace = trace_of(*store_, run_);
  EXPECT_EQ(trace.events[0].flows, std::vector<std::uint64_t>{0x2a});
  EXPECT_EQ(trace.events[2].flows, std::vector<std::uint64_t>{0x2a});
}

TEST_F(Perfetto, MetricsAreCountersAndEventsInstants) {
  store_.append({writer_.frame(frames::samples(1, {{2000, 0.5}, {3000, 0.25}}))});
  store_.append({writer_.frame(
      codec::EventsBody{{{boot_time(2500), "checkpoint", "user", {{"ok", "true"}}}}})});
  const Trace trace = trace_of(*store_, run_);
  ASSERT_EQ(trace.events.size(), 3U);
  EXPECT_EQ(trace.events[0].type, 3U);
  EXPECT_EQ(trace.events[0].name, "checkpoint");
  EXPECT_EQ(trace.tracks.at(trace.events[1].track), "loss");
  EXPECT_EQ(trace.events[1].type, 4U);
  EXPECT_EQ(trace.events[1].value, 0.5);
  EXPECT_EQ(trace.events[2].value, 0.25);
}

TEST_F(Perfetto, ManyPagesAreOneTrace) {
  std::vector<codec::PhaseRecord> phases;
  for (std::uint64_t i = 1; i <= 10'000; ++i)
    phases.push_back(phase(i, static_cast<std::int64_t>(2000 + i / 3), 100'000));
  add(std::move(phases));
  std::set<std::uint64_t> seen;
  std::int64_t last = 0;
  ASSERT_TRUE(walk_phases(*store_, run_, [&](const store::Phase& one) {
    EXPECT_GE(ns_of(*one.start), last);
    last = ns_of(*one.start);
    seen.insert(one.id);
    return true;
  }));
  EXPECT_EQ(seen.size(), 10'000U);
}

TEST_F(Perfetto, TheCheckNamesWhatIsWrong) {
  codec::PhaseRecord orphan = phase(2, 3000, 4000);
  orphan.parent = 77;
  codec::PhaseRecord end_alone;
  end_alone.id = 9;
  end_alone.end = boot_time(5000);
  add({phase(1, 2000, 5000), orphan, phase(3, 4500, 6000), phase(4, 7000, std::nullopt),
       phase(5, 7000, 6500), end_alone, phase(6, 1500, 3500, "traces"),
       phase(7, 2500, 4500, "traces")});
  const auto running = analyze::check_phases(*store_, run_);
  ASSERT_TRUE(running);
  EXPECT_EQ(running->counts.phases, 7);
  EXPECT_EQ(running->counts.unended, 1);
  EXPECT_EQ(running->counts.ends_alone, 1);
  EXPECT_EQ(running->counts.unknown_parents, 1);
  EXPECT_EQ(running->counts.backwards, 1);
  EXPECT_EQ(running->overlaps, 1);
  EXPECT_EQ(running->problems.size(), 4U);  // a run that runs may have an open phase
  codec::RunEndBody end;
  end.time = boot_time(8000);
  store_.append({writer_.frame(end)});
  EXPECT_EQ(analyze::check_phases(*store_, run_)->problems.front(), "1 phase without an end");
}

TEST(LaneStacks, OneThatBeginsAtTheEndOfAnotherFollowsIt) {
  LaneStacks lane;
  EXPECT_EQ(lane.place(0, 10), 0U);
  EXPECT_EQ(lane.place(0, 10), 0U);
  EXPECT_EQ(lane.place(10, 20), 0U);
  EXPECT_EQ(lane.place(15, 25), 1U);
  EXPECT_EQ(lane.place(16, LaneStacks::kOpen), 2U);
  EXPECT_EQ(lane.place(30, 40), 0U);
}

TEST_F(Perfetto, OfARunThatIsRemovedMeanwhileIsAnError) {
  const PartStream file = export_trace(*store_, {.run = run_});
  std::string part;
  ASSERT_TRUE(file(part).value());
  ASSERT_TRUE(store_->remove_runs(std::span(&run_, 1), {.force = true}));
  Result<bool> more = true;
  while (more && *more) more = file(part);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, Code::kNotFound);
}

}  // namespace
}  // namespace corral::query
