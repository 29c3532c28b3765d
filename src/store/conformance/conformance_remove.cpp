// Tests the rows that removing runs must delete, and those that it must keep.
#include <algorithm>
#include <array>

#include "store/conformance/conformance_remove.h"

namespace corral::store {

using testing::samples;
using testing::series_def;
using testing::session_body;
using testing::SessionWriter;
using testing::utc;

namespace {

TEST_P(StoreRemoval, ARemovedRunIsGoneForEveryReader) {
  const RunId id = RunId::random();
  SessionWriter writer;
  record(writer, id);
  append({writer.frame(codec::EventsBody{.events = {{boot_time(2500), "checkpoint", "user", {}}}}),
          writer.frame(codec::FactsBody{.facts = {{codec::FactKind::kParam, "lr", "1"}}}),
          writer.frame(codec::LogBody{.time = boot_time(2500),
                                      .stream = codec::LogStream::kStdout,
                                      .offset = 0,
                                      .bytes = "hello"})});
  end(writer);
  const SeriesId loss = only_series(id, "loss").id;
  const Removal planned = remove({id}, {.dry_run = true});
  EXPECT_EQ(run(id).status, RunStatus::kFinished) << "only asked";
  const Removal removal = remove({id, id, RunId::random()});
  EXPECT_EQ(removal.runs, std::vector{id});
  EXPECT_EQ(removal.points, 3);
  EXPECT_GT(removal.bytes, 5);
  EXPECT_EQ(planned.bytes, removal.bytes);
  for (int round = 0; round < 3; ++round) {
    expect_gone(id);
    EXPECT_EQ(reader_of(*store_).runs({})->total, 0);
    EXPECT_TRUE(reader_of(*store_).experiments()->empty());
    EXPECT_TRUE(reader_of(*store_).workloads(std::nullopt)->empty());
    EXPECT_TRUE(reader_of(*store_).series(std::array{loss})->empty());
    EXPECT_TRUE(points(loss).empty());
    round == 0 ? clean() : reopen();
  }
  EXPECT_TRUE(remove({id}).runs.empty()) << "once is enough";
}

TEST_P(StoreRemoval, ARunningRunGoesOnlyByForceAndTakesNoneWithIt) {
  const RunId running = RunId::random();
  const RunId ended = RunId::random();
  SessionWriter one;
  SessionWriter two;
  record(one, running);
  record(two, ended);
  end(two);
  for (const bool dry_run : {true, false}) {
    const auto refused =
        store_->remove_runs(std::array{ended, running}, {.force = false, .dry_run = dry_run});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kConflict);
    EXPECT_NE(refused.error().message.find("calm-otter"), std::string::npos);
    EXPECT_NE(refused.error().message.find(running.hex()), std::string::npos);
  }
  EXPECT_EQ(reader_of(*store_).runs({})->total, 2);
  EXPECT_EQ(remove({ended, running}, {.force = true}).runs.size(), 2U);
  EXPECT_EQ(reader_of(*store_).runs({})->total, 0);
}

TEST_P(StoreRemoval, WhatComesLaterIsAcknowledgedAndIgnored) {
  const RunId id = RunId::random();
  SessionWriter writer;
  record(writer, id);
  remove({id}, {.force = true});
  for (int round = 0; round < 3; ++round) {
    SessionWriter fresh;  // a process that joins the run
    const auto result = append(
        {writer.frame(samples(1, {{5000, 1.0}})), fresh.frame(session_body(id, "supervisor")),
         fresh.frame(codec::SchemaBody{.series = {series_def(1, "loss")}}),
         fresh.frame(samples(1, {{5000, 1.0}}), 7),
         fresh.frame(codec::FactsBody{.facts = {{codec::FactKind::kParam, "lr", "1"}}})});
    EXPECT_TRUE(result.refusals.empty());
    EXPECT_TRUE(result.changed_runs.empty());
    EXPECT_TRUE(result.data_runs.empty());
    ASSERT_EQ(result.acks.size(), 2U);
    for (const Ack& ack : result.acks) {
      EXPECT_EQ(ack.durable_seq, (ack.session == writer.id() ? writer : fresh).next() - 1);
      EXPECT_EQ((*store_->session(ack.session))->durable_seq, ack.durable_seq);
    }
    expect_gone(id);
    EXPECT_TRUE(reader_of(*store_).experiments()->empty());
    round == 0 ? clean() : reopen();
  }
  writer.seek(writer.next() + 5);  // frames that the spool lost no longer count
  EXPECT_TRUE(append({writer.frame(samples(1, {{6000, 1.0}}))}).refusals.empty());
}

TEST_P(StoreRemoval, AWorkloadGoesWithItsLastRun) {
  const RunId runs[] = {RunId::random(), RunId::random()};
  SessionWriter writers[2];
  auto shared = series_def(2, "host.cpu.busy");
  shared.owner = metric::Owner::kWorkload;
  for (std::size_t n = 0; n < 2; ++n) {
    auto body = session_body(runs[n], "supervisor");
    body.workload = workload_id_of("digits", "pair");
    body.workload_name = "pair";
    append({writers[n].frame(body),
            writers[n].frame(codec::SchemaBody{.series = {series_def(1, "loss"), shared}})});
  }
  // The first run's session measures for both, side by side with its own.
  const auto measure = [&](std::size_t n, std::int64_t time) {
    auto body = samples(1, {{time, 1.0}, {time + 1, 2.0}});
    body.groups[0].columns.push_back({.series = 2, .present = {}, .values = {3.0, 4.0}});
    append({writers[n].frame(body)});
  };
  measure(0, 2000);
  end(writers[0]);
  remove({runs[0]});
  expect_gone(runs[0]);
  clean();
  const SeriesId cpu = only_series(runs[1], "host.cpu.busy").id;
  EXPECT_EQ(points(cpu).size(), 2U) << "what the first run measured is the workload's";
  measure(1, 3000);
  EXPECT_TRUE(store_->seal(true));
  EXPECT_EQ(points(cpu).size(), 4U);
  EXPECT_EQ(only_series(runs[1], "host.cpu.busy").points, 4);
  EXPECT_EQ(points(only_series(runs[1], "loss").id).size(), 2U);
  EXPECT_EQ(reader_of(*store_).workloads(std::nullopt)->at(0).runs, std::vector{runs[1]});
  end(writers[1]);
  remove({runs[1]});
  EXPECT_TRUE(points(cpu).empty());
  clean();
  EXPECT_TRUE(reader_of(*store_).workloads(std::nullopt)->empty());
  EXPECT_TRUE(reader_of(*store_).series(std::array{cpu})->empty());
}

TEST_P(StoreRemoval, EveryLevelOfOneRunGoesAndTheOtherKeepsEveryBit) {
  const RunId kept = RunId::random();
  const RunId gone = RunId::random();
  SessionWriter one;
  SessionWriter two;
  const codec::SchemaBody schema{.series = {series_def(1, "s1")}};
  begin(one, kept);
  begin(two, gone);
  append({one.frame(schema), two.frame(schema)});
  std::vector<LevelRow> rows;
  for (std::int64_t i = 0; i < 9000; ++i)
    rows.push_back({.time = i * 1000, .step = i, .values = {static_cast<double>(i % 97)}});
  log(two, rows);
  expected_.clear();
  log(one, rows);
  const SeriesId series = only_series(gone, "s1").id;
  EXPECT_EQ(remove({gone}, {.force = true}).points, 9000);
  EXPECT_EQ(blocks_of(series), 0);
  expect_all(kept);
  clean();
  EXPECT_TRUE(read(series).empty());
  expect_all(kept);
  reopen();
  expect_all(kept);
}

TEST_P(StoreRemoval, AViewThatIsOpenKeepsItsSnapshot) {
  const RunId id = RunId::random();
  SessionWriter writer;
  begin(writer, id);
  append({writer.frame(codec::SchemaBody{.series = {series_def(1, "s1")}})});
  std::vector<LevelRow> rows;
  for (std::int64_t i = 0; i < 9000; ++i)
    rows.push_back({.time = i * 1000, .step = i, .values = {static_cast<double>(i)}});
  log(writer, rows);
  const SeriesId series = only_series(id, "s1").id;
  std::size_t found = 0;
  const auto done = reader_of(*store_).view(std::array{series}, [&](PointView& view) -> Result<> {
    remove({id}, {.force = true});
    clean();
    for (std::int64_t no = 0; no < view.block_count(series); ++no) {
      TRY(view.block(series, no));
      found += codec::kColumnEntries;
    }
    for (const Chunk& chunk : view.recent(series)) found += chunk.values.size();
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_EQ(found, 9000U);
  EXPECT_TRUE(points(series).empty());
}

TEST_P(StoreRemoval, AnExperimentGoesWithAllItsRuns) {
  const RunId other = RunId::random();
  SessionWriter writers[4];
  for (int n = 0; n < 3; ++n) {
    record(writers[n], RunId::random());
    end(writers[n]);
  }
  auto body = session_body(other);
  body.experiment = "letters";
  append({writers[3].frame(body)});
  const auto experiments = *reader_of(*store_).experiments();
  ASSERT_EQ(experiments.size(), 2U);
  for (const Experiment& experiment : experiments) {
    if (experiment.name != "digits") continue;
    const auto removal = store_->remove_experiment(experiment.id, {});
    ASSERT_TRUE(removal) << removal.error().message;
    EXPECT_EQ(removal->runs.size(), 3U);
    EXPECT_EQ(removal->points, 9);
    EXPECT_EQ(store_->remove_experiment(experiment.id, {}).error().code, Code::kNotFound);
  }
  ASSERT_EQ(reader_of(*store_).experiments()->size(), 1U);
  EXPECT_EQ(reader_of(*store_).experiments()->at(0).name, "letters");
  const auto running = store_->remove_experiment(reader_of(*store_).experiments()->at(0).id, {});
  ASSERT_FALSE(running);
  EXPECT_EQ(running.error().code, Code::kConflict);
  EXPECT_EQ(run(other).experiment_name, "letters");
}

TEST_P(StoreRemoval, AgeTakesTheOldestThatEnded) {
  std::vector<RunId> ids;
  SessionWriter writers[4];
  for (int n = 0; n < 4; ++n) {
    ids.push_back(RunId::random());
    record(writers[n], ids.back());
    if (n > 0) end(writers[n], 10'000 * n);
  }
  const auto prune = [&](std::int64_t ended_before, bool dry_run) {
    const auto removal =
        store_->prune({.age = Nanos(5000), .bytes = {}}, utc(ended_before + 5000), dry_run);
    EXPECT_TRUE(removal) << removal.error().message;
    return removal->runs;
  };
  EXPECT_TRUE(prune(10'000, false).empty()) << "just as old is not older";
  EXPECT_EQ(prune(20'001, true), (std::vector{ids[1], ids[2]}));
  EXPECT_EQ(reader_of(*store_).runs({})->total, 4);
  EXPECT_EQ(prune(20'001, false), (std::vector{ids[1], ids[2]}));
  EXPECT_EQ(prune(1'000'000'000, false), std::vector{ids[3]});
  EXPECT_EQ(run(ids[0]).status, RunStatus::kRunning) << "however old";
}

TEST_P(StoreRemoval, ARunOfUnknownEndThatSendsIsKept) {
  const RunId id = RunId::random();
  SessionWriter writer;
  record(writer, id);
  append({writer.frame(codec::RunEndBody{.time = boot_time(3000),
                                         .reason = codec::EndReason::kUnknown,
                                         .exit_code = {},
                                         .exit_signal = {}})});
  ASSERT_EQ(run(id).status, RunStatus::kUnknown);
  const std::int64_t ten_minutes = 600'000'000'000;
  append({writer.frame(samples(1, {{ten_minutes, 1.0}}))});  // sent all the same
  const auto prune = [&](std::int64_t now) {
    const auto removal = store_->prune({.age = Nanos(5000), .bytes = 0}, utc(now), false);
    EXPECT_TRUE(removal) << removal.error().message;
    return removal->runs;
  };
  EXPECT_TRUE(prune(2 * ten_minutes - 1).empty());
  EXPECT_EQ(run(id).status, RunStatus::kUnknown);
  EXPECT_EQ(prune(2 * ten_minutes), std::vector{id});
}

TEST_P(StoreRemoval, SizeTakesAsManyOfTheOldestAsNeeded) {
  std::vector<RunId> ids;
  SessionWriter writers[3];
  for (int n = 0; n < 3; ++n) {
    ids.push_back(RunId::random());
    record(writers[n], ids.back(), 500);
    end(writers[n], 30'000 - 10'000 * n);  // the last one ended first
  }
  const std::int64_t all = remove(ids, {.dry_run = true}).bytes;
  const auto prune = [&](std::int64_t bytes) {
    const auto removal = store_->prune({.age = {}, .bytes = bytes}, utc(0), false);
    EXPECT_TRUE(removal) << removal.error().message;
    return removal->runs;
  };
  EXPECT_TRUE(prune(all).empty());
  EXPECT_EQ(prune(all - 1), std::vector{ids[2]});
  EXPECT_TRUE(prune(all - 1).empty()) << "the room is given back";
  EXPECT_EQ(prune(0), (std::vector{ids[1], ids[0]}));
  EXPECT_EQ(reader_of(*store_).runs({})->total, 0);
}

}  // namespace
}  // namespace corral::store
