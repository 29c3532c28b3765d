// The part of the suite about what belongs to a run besides its series.
#include <set>

#include "codec/frame.h"
#include "core/limits.h"
#include "store/conformance/conformance.h"

namespace corral::store {

using testing::session_body;
using testing::SessionWriter;
using testing::utc;

namespace {

struct EndCase {
  codec::RunEndBody end;
  RunStatus status;
};

TEST_P(StoreConformance, HowARunEndedIsItsStatus) {
  using codec::EndReason;
  const auto t = boot_time(9000);
  const std::vector<EndCase> cases = {
      {{t, EndReason::kExit, 0, std::nullopt}, RunStatus::kFinished},
      {{t, EndReason::kExit, 3, std::nullopt}, RunStatus::kFailed},
      {{t, EndReason::kSignal, std::nullopt, 11}, RunStatus::kFailed},
      {{t, EndReason::kMaxTime, std::nullopt, 15}, RunStatus::kStopped},
      {{t, EndReason::kInterrupt, 130, std::nullopt}, RunStatus::kStopped},
      {{t, EndReason::kUnknown, std::nullopt, std::nullopt}, RunStatus::kUnknown},
      {{t, EndReason::kNotStarted, 127, std::nullopt}, RunStatus::kFailed}};
  for (const EndCase& c : cases) {
    const RunId id = RunId::random();
    SessionWriter writer;
    begin(writer, id, "supervisor");
    EXPECT_EQ(append({writer.frame(c.end)}).changed_runs, std::vector{id});
    const store::Run ended = run(id);
    EXPECT_EQ(ended.status, c.status);
    EXPECT_EQ(ended.end, utc(9000));
    EXPECT_EQ(ended.end_reason, c.end.reason);
    EXPECT_EQ(ended.exit_code, c.end.exit_code);
    EXPECT_EQ(ended.exit_signal, c.end.exit_signal);
  }
}

TEST_P(StoreConformance, ItsFirstSenderRecordedARun) {
  const RunId ada = RunId::random();
  const RunId nobody = RunId::random();
  SessionWriter first;
  SessionWriter second;
  SessionWriter other;
  const auto send = [&](SessionWriter& writer, RunId id, std::string_view user) {
    const std::vector sent{writer.frame(session_body(id, "supervisor"))};
    ASSERT_TRUE(store_->append(sent, {}, {.user = std::string(user)}));
  };
  send(first, ada, "ada");
  send(second, ada, "bob");
  send(other, nobody, "");
  EXPECT_EQ(run(ada).creator, "ada");
  EXPECT_EQ(run(nobody).creator, "");
}

TEST_P(StoreConformance, OnlyAnUnknownEndIsUndoneByAdoption) {
  for (const bool known : {false, true}) {
    const RunId id = RunId::random();
    SessionWriter first;
    SessionWriter adopter;
    begin(first, id, "supervisor");
    append({first.frame(
        codec::RunEndBody{.time = boot_time(9000),
                          .reason = known ? codec::EndReason::kExit : codec::EndReason::kUnknown,
                          .exit_code = known ? std::optional(0) : std::nullopt,
                          .exit_signal = std::nullopt})});
    auto body = session_body(id, "supervisor");
    body.started = boot_time(5000);
    append({adopter.frame(body)});
    EXPECT_EQ(run(id).status, known ? RunStatus::kFinished : RunStatus::kRunning);
    EXPECT_EQ(run(id).end.has_value(), known);
    EXPECT_EQ(run(id).start, utc(1000)) << "the first supervisor knows when it started";
    append({adopter.frame(codec::RunEndBody{.time = boot_time(9500),
                                            .reason = codec::EndReason::kUnknown,
                                            .exit_code = {},
                                            .exit_signal = {}})});
    EXPECT_EQ(run(id).status, known ? RunStatus::kFinished : RunStatus::kUnknown)
        << "not knowing does not wipe what is known";
  }
}

TEST_P(StoreConformance, ARunStartsWhenItsCommandBegan) {
  const RunId id = RunId::random();
  SessionWriter writer;
  begin(writer, id, "supervisor");
  EXPECT_EQ(run(id).start, utc(1000)) << "until more is known, that of its session";
  const auto began = [&](std::int64_t at, const char* origin) {
    codec::EventsBody body;
    body.events.push_back({.time = boot_time(at),
                           .name = std::string(codec::kRunBegan),
                           .origin = origin,
                           .attributes = {}});
    append({writer.frame(body)});
  };
  began(3000, "corral");
  EXPECT_EQ(run(id).start, utc(3000));
  began(3500, "corral");
  EXPECT_EQ(run(id).start, utc(3500)) << "the last one counts";
  began(4000, "user");
  EXPECT_EQ(run(id).start, utc(3500)) << "a training's own event is an event";
  EXPECT_EQ(reader_of(*store_).events(id)->size(), 1U);
}

TEST_P(StoreConformance, PhasesMayEndInALaterFrame) {
  const RunId id = RunId::random();
  SessionWriter writer;
  begin(writer, id);
  codec::PhaseRecord begin_record{.id = 2,
                                  .parent = 1,
                                  .begin = boot_time(2000),
                                  .end = {},
                                  .kind = codec::PhaseKind::kIo,
                                  .name = "epoch",
                                  .type = "train/epoch",
                                  .lane = "node7/4711/main",
                                  .links = {7, 18446744073709551615U},
                                  .attributes = {{"index", "3"}, {"text", "\"a \\\"b\\\"\""}}};
  append({writer.frame(codec::PhasesBody{.phases = {begin_record}})});
  EXPECT_FALSE(reader_of(*store_).phases(id)->at(0).end);
  codec::PhaseRecord end_record;
  end_record.id = 2;
  end_record.end = boot_time(4000);
  append({writer.frame(codec::PhasesBody{.phases = {end_record}})});
  const auto phases = *reader_of(*store_).phases(id);
  ASSERT_EQ(phases.size(), 1U);
  EXPECT_EQ(phases[0].id, 2U);
  EXPECT_EQ(phases[0].parent, 1U);
  EXPECT_EQ(phases[0].name, "epoch");
  EXPECT_EQ(phases[0].type, "train/epoch");
  EXPECT_EQ(phases[0].lane, "node7/4711/main");
  EXPECT_EQ(phases[0].kind, codec::PhaseKind::kIo);
  EXPECT_EQ(phases[0].start, utc(2000));
  EXPECT_EQ(phases[0].end, utc(4000));
  EXPECT_EQ(phases[0].links, begin_record.links);
  EXPECT_EQ(phases[0].attributes, begin_record.attributes);
}

TEST_P(StoreConformance, FactsKeepTheNewestAndDropsOnlyGrow) {
  const RunId id = RunId::random();
  SessionWriter writer;
  begin(writer, id);
  using codec::FactKind;
  append(
      {writer.frame(codec::FactsBody{.facts = {{FactKind::kParam, "lr", "0.1"},
                                               {FactKind::kTag, "team", "a"},
                                               {FactKind::kInfo, "cpus", "8"},
                                               {FactKind::kUnavailable, "run.io", "no permission"},
                                               {FactKind::kDrop, "points", "12"}}})});
  const auto changed = append({writer.frame(codec::FactsBody{
      .facts = {{FactKind::kParam, "lr", "0.2"}, {FactKind::kDrop, "points", "9"}}})});
  EXPECT_EQ(changed.changed_runs, std::vector{id});
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  const store::Run whole = run(id);
  EXPECT_EQ(whole.params, (Pairs{{"lr", "0.2"}}));
  EXPECT_EQ(whole.tags, (Pairs{{"team", "a"}}));
  EXPECT_EQ(whole.info, (Pairs{{"cpus", "8"}}));
  EXPECT_EQ(whole.unavailable, (Pairs{{"run.io", "no permission"}}));
  EXPECT_EQ(whole.drops, (Pairs{{"points", "12"}}));
  EXPECT_TRUE(reader_of(*store_).runs({})->runs.at(0).params.empty());
  RunFilter with_facts;
  with_facts.facts = true;
  EXPECT_EQ(reader_of(*store_).runs(with_facts)->runs.at(0).params, (Pairs{{"lr", "0.2"}}));
}

TEST_P(StoreConformance, ATagThatAClientDeletedIsGoneUntilItIsSetAgain) {
  const RunId id = RunId::random();
  SessionWriter writer;
  begin(writer, id);
  using codec::FactKind;
  append({writer.frame(codec::FactsBody{.facts = {{FactKind::kTag, "gone", "1"},
                                                  {FactKind::kTag, "again", "1"},
                                                  {FactKind::kParam, "gone", "stays"},
                                                  {FactKind::kInfo, "mlflow.delete-tag", "gone"},
                                                  {FactKind::kInfo, "mlflow.delete-tag", "again"},
                                                  {FactKind::kTag, "again", "2"}}})});
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(run(id).tags, (Pairs{{"again", "2"}}));
  EXPECT_EQ(run(id).params, (Pairs{{"gone", "stays"}}));
  EXPECT_TRUE(run(id).info.empty());
}

codec::LogBody log_of(std::int64_t offset, std::string bytes,
                      codec::LogStream stream = codec::LogStream::kStdout) {
  return {.time = boot_time(2000 + offset),
          .stream = stream,
          .offset = offset,
          .bytes = std::move(bytes)};
}

TEST_P(StoreConformance, OutputIsStoredOnceHoweverItIsCut) {
  const RunId id = RunId::random();
  SessionWriter first;
  SessionWriter second;
  begin(first, id, "supervisor");
  begin(second, id, "supervisor");
  append({first.frame(log_of(0, "epoch ")), first.frame(log_of(6, "one\n")),
          first.frame(log_of(0, "oops", codec::LogStream::kStderr))});
  append({second.frame(log_of(0, "epoch one")), second.frame(log_of(9, "\nepoch two\n"))});
  append({second.frame(log_of(30, "after a hole"))});
  std::string text;
  LogQuery query;
  query.run = id;
  query.stream = codec::LogStream::kStdout;
  query.limit = 2;
  for (;;) {
    const auto chunks = *reader_of(*store_).logs(query);
    if (chunks.empty()) break;
    for (const LogChunk& chunk : chunks) text += chunk.bytes;
    query.after_row = chunks.back().row;
  }
  EXPECT_EQ(text, "epoch one\nepoch two\nafter a hole");
  const auto extents = *reader_of(*store_).log_extents(id);
  ASSERT_EQ(extents.size(), 2U);
  EXPECT_EQ(extents[0].end, 42);
  EXPECT_EQ(extents[0].gaps, (std::vector<std::pair<std::int64_t, std::int64_t>>{{20, 30}}));
  EXPECT_EQ(extents[1].end, 4);
  EXPECT_TRUE(extents[1].gaps.empty());
}

TEST_P(StoreConformance, OfLongOutputHeadAndTailAreKept) {
  const RunId id = RunId::random();
  SessionWriter writer;
  begin(writer, id, "supervisor");
  const auto chunk = static_cast<std::int64_t>(limits::kLogChunkBytes);
  const std::int64_t total = limits::kLogHeadBytes + limits::kLogTailBytes + 10 * chunk;
  std::vector<codec::Frame> frames;
  for (std::int64_t offset = 0; offset < total; offset += chunk)
    frames.push_back(writer.frame(log_of(offset, std::string(limits::kLogChunkBytes, 'x'))));
  append(frames);
  const auto extents = *reader_of(*store_).log_extents(id);
  ASSERT_EQ(extents.size(), 1U);
  EXPECT_EQ(extents[0].end, total);
  EXPECT_EQ(extents[0].gaps, (std::vector<std::pair<std::int64_t, std::int64_t>>{
                                 {limits::kLogHeadBytes, limits::kLogHeadBytes + 10 * chunk}}));
}

TEST_P(StoreConformance, RunsArePagedNewestFirst) {
  std::vector<RunId> ids;
  for (int i = 0; i < 7; ++i) {
    ids.push_back(RunId::random());
    SessionWriter writer;
    auto body = session_body(ids.back());
    body.started = boot_time(1000 + i / 2);  // some start at the same time
    body.experiment = i < 5 ? "digits" : "faces";
    append({writer.frame(body)});
  }
  RunFilter filter;
  filter.limit = 3;
  std::vector<RunId> seen;
  for (;;) {
    const auto page = *reader_of(*store_).runs(filter);
    EXPECT_EQ(page.total, 7);
    if (page.runs.empty()) break;
    for (const store::Run& r : page.runs) seen.push_back(r.id);
    filter.before = std::pair(page.runs.back().start, page.runs.back().id);
  }
  ASSERT_EQ(seen.size(), 7U);
  EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 7U);
  EXPECT_EQ(run(seen.front()).start, utc(1003));

  RunFilter faces;
  faces.experiment = run(ids.back()).experiment;
  EXPECT_EQ(reader_of(*store_).runs(faces)->total, 2);
  RunFilter finished;
  finished.status = RunStatus::kFinished;
  EXPECT_EQ(reader_of(*store_).runs(finished)->total, 0);
  RunFilter one;
  one.workload = own_workload_of(ids[0]);
  EXPECT_EQ(reader_of(*store_).runs(one)->runs.at(0).id, ids[0]);
}

TEST_P(StoreConformance, RunsAreFoundByPrefixAndName) {
  const RunId older = *RunId::parse("abcd0000000000000000000000000001");
  const RunId newer = *RunId::parse("abcd0000000000000000000000000002");
  for (const RunId id : {older, newer}) {
    SessionWriter writer;
    auto body = session_body(id);
    body.started = boot_time(id == older ? 1000 : 2000);
    append({writer.frame(body)});
  }
  EXPECT_EQ(*reader_of(*store_).find_runs("abcd0"), (std::vector{newer, older}));
  EXPECT_EQ(*reader_of(*store_).find_runs(older.hex()), std::vector{older});
  EXPECT_EQ(*reader_of(*store_).find_runs("calm-otter"), (std::vector{newer, older}));
  EXPECT_TRUE(reader_of(*store_).find_runs("abce")->empty());
  EXPECT_TRUE(reader_of(*store_).find_runs("calm")->empty());
}

}  // namespace
}  // namespace corral::store
