#include "store/conformance/conformance.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <thread>

#include "store/engine/database.h"
#include "sys/clock.h"

namespace corral::store {

using testing::samples;
using testing::series_def;
using testing::session_body;
using testing::SessionWriter;
using testing::utc;

Series StoreConformance::only_series(RunId id, std::string_view name) {
  const auto all = reader_of(*store_).series_of(id);
  EXPECT_TRUE(all);
  Series found;
  int count = 0;
  for (const Series& series : *all) {
    if (series.name != name) continue;
    found = series;
    ++count;
  }
  EXPECT_EQ(count, 1) << name;
  return found;
}

std::vector<std::pair<std::int64_t, double>> StoreConformance::points(SeriesId series, UtcTime from,
                                                                      UtcTime to) {
  std::vector<std::pair<std::int64_t, double>> points;
  const auto take = [&](std::int64_t time, double value) {
    if (utc_time(time) >= from && utc_time(time) < to) points.emplace_back(time, value);
  };
  const auto done = reader_of(*store_).view(std::array{series}, [&](PointView& view) -> Result<> {
    for (std::int64_t no = 0; no < view.block_count(series); ++no) {
      const auto block = TRY(view.block(series, no));
      std::vector<std::int64_t> times(codec::kColumnEntries);
      std::vector<double> values(codec::kColumnEntries);
      TRY(block->times(0, times));
      TRY(block->values(0, values));
      for (std::size_t i = 0; i < times.size(); ++i) take(times[i], values[i]);
    }
    for (const Chunk& chunk : view.recent(series)) {
      for (std::size_t i = 0; i < chunk.values.size(); ++i)
        take((*chunk.times)[i], chunk.values[i]);
    }
    return {};
  });
  EXPECT_TRUE(done);
  std::ranges::stable_sort(points, {}, [](const auto& point) { return point.first; });
  return points;
}

namespace {

std::pair<std::int64_t, double> at(std::int64_t boot_ns, double value) {
  return {ns_of(utc(boot_ns)), value};
}

TEST_P(StoreConformance, AnEmptyStoreHasNothing) {
  EXPECT_TRUE(reader_of(*store_).experiments()->empty());
  EXPECT_EQ(reader_of(*store_).runs({})->total, 0);
  EXPECT_FALSE(*store_->session(SessionId::random()));
  EXPECT_FALSE(*reader_of(*store_).run(RunId::random()));
  EXPECT_TRUE(reader_of(*store_).find_runs("abcd")->empty());
  EXPECT_GT(store_->info()->schema_version, 0);
}

// The database is on this machine, and its clock may have whole microseconds only.
TEST_P(StoreConformance, TellsTheTime) {
  const UtcTime before = sys::utc_now() - std::chrono::microseconds(1);
  const StoreTime now = store_->now().value();
  EXPECT_GE(now.time, before);
  EXPECT_LE(now.time, sys::utc_now());
}

TEST_P(StoreConformance, ASessionFrameMakesExperimentWorkloadAndRun) {
  const RunId id = RunId::random();
  SessionWriter writer;
  const auto result = append({writer.frame(session_body(id))});
  ASSERT_EQ(result.acks.size(), 1U);
  EXPECT_EQ(result.acks[0].durable_seq, 1U);
  EXPECT_EQ(result.changed_runs, std::vector{id});

  const store::Run made = run(id);
  EXPECT_EQ(made.name, "calm-otter");
  EXPECT_EQ(made.experiment_name, "digits");
  EXPECT_EQ(made.workload, own_workload_of(id));
  EXPECT_EQ(made.status, RunStatus::kRunning);
  EXPECT_EQ(made.start, utc(1000));
  EXPECT_EQ(made.newest, utc(1000));
  EXPECT_EQ(made.host, "node7");
  const auto experiments = *reader_of(*store_).experiments();
  ASSERT_EQ(experiments.size(), 1U);
  EXPECT_EQ(experiments[0].runs, 1);
  EXPECT_EQ(experiments[0].running, 1);
  const auto workloads = *reader_of(*store_).workloads(experiments[0].id);
  ASSERT_EQ(workloads.size(), 1U);
  EXPECT_EQ(workloads[0].runs, std::vector{id});
}

TEST_P(StoreConformance, AnythingBeforeTheSessionFrameIsUnprocessable) {
  SessionWriter writer;
  const auto result =
      append({writer.frame(codec::FactsBody{.facts = {{codec::FactKind::kParam, "lr", "1"}}})});
  ASSERT_EQ(result.refusals.size(), 1U);
  EXPECT_EQ(result.refusals[0].error.code, Code::kUnprocessable);
  EXPECT_EQ(result.acks.at(0).durable_seq, 0U);
  EXPECT_FALSE(*store_->session(writer.id()));
}

TEST_P(StoreConformance, AGapInTheNumbersRefusesTheRestOfThatSessionOnly) {
  SessionWriter first;
  SessionWriter second;
  begin(first, RunId::random());
  begin(second, RunId::random());
  const codec::FactsBody facts{.facts = {{codec::FactKind::kTag, "a", "b"}}};
  first.seek(5);
  const auto late = first.frame(facts);
  first.seek(2);
  const auto right = first.frame(facts);
  const auto result = append({late, right, second.frame(facts)});
  ASSERT_EQ(result.refusals.size(), 2U);
  for (const Refusal& refusal : result.refusals) {
    EXPECT_EQ(refusal.error.code, Code::kConflict);
    EXPECT_EQ(refusal.session, first.id());
  }
  EXPECT_EQ(result.refusals[0].index, 0U);
  EXPECT_EQ(result.refusals[0].first, 5U);
  EXPECT_EQ(result.refusals[1].index, 1U);
  EXPECT_EQ((*store_->session(first.id()))->durable_seq, 1U);
  EXPECT_EQ((*store_->session(second.id()))->durable_seq, 2U);
}

TEST_P(StoreConformance, AResendIsAcknowledgedAndIgnoredForEver) {
  const RunId id = RunId::random();
  SessionWriter writer;
  const std::vector frames = {
      writer.frame(session_body(id)),
      writer.frame(codec::SchemaBody{.series = {series_def(1, "loss")}}),
      writer.frame(samples(1, {{2000, 0.5}, {3000, 0.25}}), 2),
      writer.frame(codec::EventsBody{.events = {{boot_time(2500), "checkpoint", "user", {}}}})};
  append(frames);
  for (int round = 0; round < 3; ++round) {
    const auto again = append(frames);
    EXPECT_TRUE(again.refusals.empty());
    EXPECT_EQ(again.acks.at(0).durable_seq, 5U);
    EXPECT_TRUE(again.data_runs.empty());
    reopen();
  }
  const Series loss = only_series(id, "loss");
  EXPECT_EQ(loss.points, 2);
  EXPECT_EQ(points(loss.id), (std::vector{at(2000, 0.5), at(3000, 0.25)}));
  EXPECT_EQ(reader_of(*store_).events(id)->size(), 1U);
}

TEST_P(StoreConformance, AFrameThatIsPartlyStoredIsAConflict) {
  SessionWriter writer;
  begin(writer, RunId::random());
  append({writer.frame(codec::FactsBody{}, 3)});
  writer.seek(3);
  const auto result = append({writer.frame(codec::FactsBody{}, 4)});
  ASSERT_EQ(result.refusals.size(), 1U);
  EXPECT_EQ(result.refusals[0].error.code, Code::kConflict);
  EXPECT_EQ(result.acks.at(0).durable_seq, 4U);
}

TEST_P(StoreConformance, SamplesOfAnUndeclaredSeriesWaitForAGap) {
  const RunId id = RunId::random();
  SessionWriter writer;
  begin(writer, id);
  const auto refused = append({writer.frame(samples(7, {{2000, 1.0}}), 10)});
  ASSERT_EQ(refused.refusals.size(), 1U);
  EXPECT_EQ(refused.refusals[0].error.code, Code::kUnprocessable);
  EXPECT_NE(refused.refusals[0].error.message.find("series 7"), std::string::npos);
  EXPECT_EQ((*store_->session(writer.id()))->durable_seq, 1U);

  writer.seek(2);
  const auto gap = append({writer.frame(
      codec::GapBody{codec::GapReason::kRefused, "series 7 was never declared"}, 10)});
  EXPECT_TRUE(gap.refusals.empty());
  EXPECT_EQ(gap.acks.at(0).durable_seq, 11U);
  const auto events = *reader_of(*store_).events(id);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].origin, "corral");
  EXPECT_EQ(events[0].name, "10 records refused by the server: series 7 was never declared");
}

TEST_P(StoreConformance, AnEmptyGapLeavesNoEvent) {
  const RunId id = RunId::random();
  SessionWriter writer;
  begin(writer, id);
  EXPECT_EQ(append({writer.frame(codec::GapBody{}, 5)}).acks.at(0).durable_seq, 6U);
  EXPECT_TRUE(reader_of(*store_).events(id)->empty());
}

TEST_P(StoreConformance, ASeriesIdCannotBecomeAnotherMetric) {
  SessionWriter writer;
  begin(writer, RunId::random());
  append({writer.frame(codec::SchemaBody{.series = {series_def(1, "loss")}})});
  EXPECT_TRUE(append({writer.frame(codec::SchemaBody{.series = {series_def(1, "loss")}})})
                  .refusals.empty());
  const auto result =
      append({writer.frame(codec::SchemaBody{.series = {series_def(1, "accuracy")}})});
  ASSERT_EQ(result.refusals.size(), 1U);
  EXPECT_EQ(result.refusals[0].error.code, Code::kUnprocessable);
}

TEST_P(StoreConformance, ABundleIsStoredWholeOrNotAtAll) {
  const RunId id = RunId::random();
  SessionWriter writer;
  begin(writer, id);
  codec::Bundle good;
  good.add(codec::SchemaBody{.series = {series_def(1, "loss")}});
  good.add(samples(1, {{2000, 0.5}}, {3}));
  good.add(codec::FactsBody{.facts = {{codec::FactKind::kParam, "lr", "0.1"}}});
  EXPECT_EQ(append({writer.bundle(good, 4)}).acks.at(0).durable_seq, 5U);
  EXPECT_EQ(points(only_series(id, "loss").id), (std::vector{at(2000, 0.5)}));

  codec::Bundle bad;
  bad.add(codec::SchemaBody{.series = {series_def(2, "accuracy")}});
  bad.add(codec::FactsBody{.facts = {{codec::FactKind::kParam, "lr", "0.2"}}});
  bad.add(samples(9, {{3000, 0.5}}));
  EXPECT_EQ(append({writer.bundle(bad, 4)}).refusals.size(), 1U);
  EXPECT_EQ(run(id).params, (std::vector{std::pair<std::string, std::string>{"lr", "0.1"}}));
  EXPECT_EQ(reader_of(*store_).series_of(id)->size(), 1U);
}

TEST_P(StoreConformance, StatisticsFollowEveryAppend) {
  const RunId id = RunId::random();
  SessionWriter writer;
  begin(writer, id);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  append(
      {writer.frame(codec::SchemaBody{.series = {series_def(1, "loss"), series_def(2, "silent")}}),
       writer.frame(samples(1, {{3000, 4.0}, {5000, kNan}}, {30, 50}))});
  append({writer.frame(samples(1, {{2000, -1.0}, {4000, 2.5}}, {20, 40}))});
  append({writer.frame(samples(1, {{3500, 9.0}}, {35}))});
  const Series loss = only_series(id, "loss");
  EXPECT_EQ(loss.points, 5);
  EXPECT_EQ(loss.nan, 1);
  EXPECT_EQ(loss.first, utc(2000));
  EXPECT_EQ(loss.last_time, utc(5000));
  EXPECT_EQ(loss.first_step, 20);
  EXPECT_EQ(loss.last, 2.5);
  EXPECT_EQ(loss.last_step, 40);
  EXPECT_EQ(loss.min, -1.0);
  EXPECT_EQ(loss.max, 9.0);
  EXPECT_DOUBLE_EQ(loss.sum, 14.5);
  EXPECT_EQ(run(id).newest, utc(5000));

  const Series silent = only_series(id, "silent");
  EXPECT_EQ(silent.points, 0);
  EXPECT_FALSE(silent.last || silent.min || silent.first_step);
  const SeriesId ids[] = {silent.id, loss.id, SeriesId{999999}};
  EXPECT_EQ(reader_of(*store_).series(ids)->size(), 2U);
  EXPECT_EQ(reader_of(*store_).series(ids)->at(0).owner_id, id.hex());
}

TEST_P(StoreConformance, ValuesKeepEveryBit) {
  const RunId id = RunId::random();
  SessionWriter writer;
  begin(writer, id);
  const std::vector<double> values = {-0.0, std::numeric_limits<double>::denorm_min(),
                                      std::numeric_limits<double>::infinity(), 0.1};
  std::vector<std::pair<std::int64_t, double>> logged;
  for (const double value : values)
    logged.emplace_back(2000 + static_cast<std::int64_t>(logged.size()), value);
  append({writer.frame(codec::SchemaBody{.series = {series_def(1, "x")}}),
          writer.frame(samples(1, logged))});
  const auto stored = points(only_series(id, "x").id);
  ASSERT_EQ(stored.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(stored[i].second),
              std::bit_cast<std::uint64_t>(values[i]));
}

TEST_P(StoreConformance, TwoSessionsOfARunFeedOneSeries) {
  const RunId id = RunId::random();
  SessionWriter first;
  SessionWriter second;
  begin(first, id);
  begin(second, id);
  append({first.frame(codec::SchemaBody{.series = {series_def(1, "loss")}}),
          first.frame(samples(1, {{2000, 1.0}}))});
  append({second.frame(codec::SchemaBody{.series = {series_def(5, "loss")}}),
          second.frame(samples(5, {{3000, 2.0}}))});
  append({first.frame(samples(1, {{4000, 3.0}}))});
  const Series loss = only_series(id, "loss");
  EXPECT_EQ(loss.points, 3);
  EXPECT_EQ(points(loss.id), (std::vector{at(2000, 1.0), at(3000, 2.0), at(4000, 3.0)}));
}

TEST_P(StoreConformance, WorkloadSeriesAreSharedByItsRuns) {
  const RunId one = RunId::random();
  const RunId two = RunId::random();
  SessionWriter first;
  SessionWriter second;
  for (auto [writer, id] : {std::pair{&first, one}, std::pair{&second, two}}) {
    auto body = session_body(id, "supervisor");
    body.workload = workload_id_of("digits", "pair");
    body.workload_name = "pair";
    append({writer->frame(body)});
  }
  auto def = series_def(1, "host.cpu.busy");
  def.owner = metric::Owner::kWorkload;
  def.kind = metric::Kind::kCounter;
  def.unit = "s";
  const auto result = append(
      {first.frame(codec::SchemaBody{.series = {def}}), first.frame(samples(1, {{2000, 1.0}}))});
  EXPECT_EQ(result.data_runs.size(), 2U) << "both runs show the workload's series";
  EXPECT_EQ(only_series(two, "host.cpu.busy").id, only_series(one, "host.cpu.busy").id);
  EXPECT_EQ(only_series(two, "host.cpu.busy").kind, metric::Kind::kCounter);
  const std::string workload = workload_id_of("digits", "pair").hex();
  const SeriesId ids[] = {only_series(two, "host.cpu.busy").id};
  EXPECT_EQ(only_series(two, "host.cpu.busy").owner_id, workload);
  EXPECT_EQ(reader_of(*store_).series(ids)->at(0).owner_id, workload);
  EXPECT_EQ(reader_of(*store_).workloads(std::nullopt)->at(0).runs.size(), 2U);
}

TEST_P(StoreConformance, SeriesAreFoundByTheEndOfTheirName) {
  const RunId id = RunId::random();
  SessionWriter writer;
  begin(writer, id);
  append({writer.frame(
      codec::SchemaBody{.series = {series_def(1, "loss"), series_def(2, "val/loss"),
                                   series_def(3, "LOSS"), series_def(4, "losses")}})});
  const RunId runs[] = {id, RunId::random()};
  const auto found = *reader_of(*store_).series_ending(runs, "loss");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].second.name, "loss");
  EXPECT_EQ(found[1].second.name, "val/loss");
  EXPECT_EQ(found[0].first, id);
}

TEST_P(StoreConformance, AWideSchemaIsDeclaredAndKnownAgain) {
  constexpr std::uint32_t kSeries = 1500;
  const RunId id = RunId::random();
  codec::SchemaBody schema;
  for (std::uint32_t i = 1; i <= kSeries; ++i) {
    schema.series.push_back(series_def(i, "m" + std::to_string(i)));
    if (i % 2 == 0) schema.series.back().owner = metric::Owner::kWorkload;
    if (i % 3 == 0) schema.series.back().source = "cpu" + std::to_string(i);
  }
  // The same metric twice, under two numbers.
  schema.series.push_back(schema.series.front());
  schema.series.back().id = kSeries + 1;
  SessionWriter first;
  begin(first, id);
  append({first.frame(schema)});
  append({first.frame(samples(1, {{2000, 1.0}})), first.frame(samples(kSeries + 1, {{2001, 2.0}})),
          first.frame(samples(1499, {{2002, 3.0}}))});
  SessionWriter second;  // knows them already
  begin(second, id);
  std::ranges::reverse(schema.series);
  append({second.frame(schema), second.frame(samples(1, {{2003, 4.0}}))});
  append({second.frame(schema)});
  EXPECT_EQ(reader_of(*store_).series_of(id)->size(), kSeries);
  EXPECT_EQ(points(only_series(id, "m1").id, utc(0), utc(9000)).size(), 3U);
  EXPECT_EQ(points(only_series(id, "m1499").id, utc(0), utc(9000)).size(), 1U);
  EXPECT_EQ(only_series(id, "m1500").source, "cpu1500");
  EXPECT_EQ(only_series(id, "m1500").owner, metric::Owner::kWorkload);
  schema.series.at(700).name += "x";
  EXPECT_EQ(append({second.frame(schema)}).refusals.at(0).error.code, Code::kUnprocessable);
  EXPECT_EQ(reader_of(*store_).series_of(id)->size(), kSeries);
}

TEST_P(StoreConformance, AReadThatThrowsTakesNobodysPlace) {
  const auto broken = [](PointView&) -> Result<> { throw std::runtime_error("no memory"); };
  for (int i = 0; i < 40; ++i)
    EXPECT_THROW(static_cast<void>(reader_of(*store_).view({}, broken)), std::runtime_error);
  EXPECT_TRUE(reader_of(*store_).runs({}));
}

TEST_P(StoreConformance, HostileTimesAreRefused) {
  // With such a clock and such a time the difference between two sessions is more than an int64.
  constexpr std::int64_t kTooFar = std::int64_t{1} << 61;
  for (const std::int64_t clock : {-kTooFar, kTooFar}) {
    SessionWriter late;
    auto odd = session_body(RunId::random());
    odd.anchor.utc_minus_boot = Nanos(clock);
    EXPECT_EQ(append({late.frame(odd)}).refusals.at(0).error.code, Code::kUnprocessable);
    SessionWriter samples_of;
    begin(samples_of, RunId::random());
    append({samples_of.frame(codec::SchemaBody{.series = {series_def(1, "x")}})});
    EXPECT_EQ(append({samples_of.frame(samples(1, {{clock, 1.0}}))}).refusals.at(0).error.code,
              Code::kUnprocessable);
  }
  SessionWriter far;
  auto body = session_body(RunId::random());
  body.anchor.utc_minus_boot = Nanos(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(append({far.frame(body)}).refusals.at(0).error.code, Code::kUnprocessable);
  SessionWriter writer;
  begin(writer, RunId::random());
  append({writer.frame(codec::SchemaBody{.series = {series_def(1, "x")}})});
  EXPECT_EQ(append({writer.frame(samples(1, {{std::numeric_limits<std::int64_t>::max(), 1.0}}))})
                .refusals.at(0)
                .error.code,
            Code::kUnprocessable);
}

TEST_P(StoreConformance, ManyThreadsAppendAtOnce) {
  const RunId id = RunId::random();
  constexpr int kThreads = 6;
  constexpr int kFrames = 40;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, id] {
      SessionWriter writer;
      begin(writer, id);
      append({writer.frame(codec::SchemaBody{.series = {series_def(1, "x")}})});
      for (std::int64_t i = 0; i < kFrames; ++i)
        append({writer.frame(samples(1, {{2000 + i, 1.0}}))});
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Series x = only_series(id, "x");
  EXPECT_EQ(x.points, kThreads * kFrames);
  EXPECT_EQ(x.sum, kThreads * kFrames);
  EXPECT_EQ(points(x.id).size(), static_cast<std::size_t>(kThreads * kFrames));
}

TEST_P(StoreConformance, ARefusedFrameTakesAllOfItsCallBack) {
  const RunId id = RunId::random();
  SessionWriter writer;
  begin(writer, id);
  const Change rename = [&](sql::Connection& db) {
    return db.exec("UPDATE runs SET name = 'renamed' WHERE id = ?1", id);
  };
  const std::array frames{writer.frame(codec::SchemaBody{.series = {series_def(1, "x")}}),
                          writer.frame(samples(9, {{2000, 1.0}}))};
  const auto refused = store_->append(frames, rename);
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_EQ(refused->refusals.size(), 1U) << "series 9 was never declared";
  EXPECT_NE(run(id).name, "renamed");
  EXPECT_EQ((*store_->session(writer.id()))->durable_seq, 1U);
  const auto taken = store_->append(std::span(frames).first(1), rename);
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_TRUE(taken->refusals.empty());
  EXPECT_EQ(run(id).name, "renamed");
  EXPECT_EQ((*store_->session(writer.id()))->durable_seq, 2U);
}

TEST_P(StoreConformance, EverythingIsThereAfterReopening) {
  const RunId id = RunId::random();
  SessionWriter writer;
  begin(writer, id);
  append({writer.frame(codec::SchemaBody{.series = {series_def(1, "x")}}),
          writer.frame(samples(1, {{2000, 1.0}}))});
  reopen();
  EXPECT_TRUE(append({writer.frame(samples(1, {{3000, 2.0}}))}).refusals.empty())
      << "the declared series are remembered";
  EXPECT_EQ(points(only_series(id, "x").id).size(), 2U);
  EXPECT_EQ((*store_->session(writer.id()))->durable_seq, 4U);
}

}  // namespace
}  // namespace corral::store
