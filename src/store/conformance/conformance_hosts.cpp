// Series of hosts: one timeline each, of which runs show the time in which they were there.
#include <array>
#include <set>

#include "codec/block/pyramid.h"
#include "store/conformance/conformance_hosts.h"

namespace corral::store {

using testing::samples;
using testing::session_body;
using testing::SessionWriter;
using testing::utc;

namespace {

std::pair<std::int64_t, double> at(std::int64_t seconds, double value) {
  return {ns_of(utc(seconds * kSecond)), value};
}

TEST_P(StoreHosts, TwoHostsOfOneWorkloadNeverMix) {
  SessionWriter one;
  SessionWriter two;
  const RunId here = start(one, {.workload = "pair"});
  const RunId there = start(two, {.host = "node8", .machine = "m8", .workload = "pair"});
  declare(one);
  declare(two);
  measure(one, {{kSecond, 1.0}, {2 * kSecond, 2.0}});
  measure(two, {{kSecond, 10.0}, {2 * kSecond, 20.0}});
  EXPECT_EQ(shown(here), (Points{at(1, 1.0), at(2, 2.0)}));
  EXPECT_EQ(shown(there), (Points{at(1, 10.0), at(2, 20.0)}));
  EXPECT_EQ(only_series(here, "host.load.1m").host, "node7");
  EXPECT_EQ(only_series(there, "host.load.1m").host, "node8");
  EXPECT_EQ(only_series(there, "host.load.1m").owner_id, workload_id_of("digits", "pair").hex());
}

TEST_P(StoreHosts, EqualNamesOfTwoMachinesAndEqualMachinesOfTwoNamesAreDifferentHosts) {
  SessionWriter writers[3];
  const RunId runs[] = {start(writers[0], {.workload = "w"}),
                        start(writers[1], {.machine = "m8", .workload = "w"}),
                        start(writers[2], {.host = "node8", .workload = "w"})};
  for (int n = 0; n < 3; ++n) {
    declare(writers[n]);
    measure(writers[n], {{kSecond, n}});
  }
  for (int n = 0; n < 3; ++n) EXPECT_EQ(shown(runs[n]), (Points{at(1, n)}));
}

TEST_P(StoreHosts, RunsOfAHostShowOneTimelineEachItsOwnTime) {
  SessionWriter one;
  SessionWriter two;
  const RunId first = start(one, {});
  declare(one);
  measure(one, {{10 * kSecond, 1.0}});
  const RunId second = start(two, {.started = 20 * kSecond});
  const auto told = measure(one, {{30 * kSecond, 2.0}});
  EXPECT_EQ(std::set(told.data_runs.begin(), told.data_runs.end()), (std::set{first, second}));
  EXPECT_EQ(shown(second), (Points{at(30, 2.0)})) << "measured by the other's supervisor";
  end(one, 40 * kSecond);
  declare(two);
  measure(two, {{50 * kSecond, 3.0}, {60 * kSecond, 4.0}});
  end(two, 55 * kSecond);
  EXPECT_EQ(shown(first), (Points{at(10, 1.0), at(30, 2.0)}));
  EXPECT_EQ(shown(second), (Points{at(30, 2.0), at(50, 3.0)}));
  EXPECT_NE(only_series(first, "host.load.1m").id, only_series(second, "host.load.1m").id);
  reopen();
  EXPECT_EQ(shown(second), (Points{at(30, 2.0), at(50, 3.0)}));
}

TEST_P(StoreHosts, AWorkloadShowsTheTimesOfItsRunsAndNothingBetween) {
  SessionWriter writers[3];
  const RunId first = start(writers[0], {.workload = "w"});
  const RunId other = start(writers[1], {});
  declare(writers[1]);
  measure(writers[1], {{5 * kSecond, 1.0}, {15 * kSecond, 2.0}, {25 * kSecond, 3.0}});
  end(writers[0], 10 * kSecond);
  const RunId last = start(writers[2], {.workload = "w", .started = 20 * kSecond});
  EXPECT_EQ(shown(other).size(), 3U);
  EXPECT_EQ(shown(first), (Points{at(5, 1.0), at(25, 3.0)}));
  EXPECT_EQ(only_series(first, "host.load.1m").id, only_series(last, "host.load.1m").id);
}

TEST_P(StoreHosts, AWriterWithoutAMachineHasNoTimeline) {
  SessionWriter old;
  const RunId id = start(old, {.machine = ""});
  const auto refused = append({old.frame(codec::SchemaBody{.series = {host_def()}})}).refusals;
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].error.code, Code::kUnprocessable);
  // As supervisors of earlier versions declare it.
  auto def = host_def();
  def.owner = metric::Owner::kWorkload;
  SessionWriter again;
  append({again.frame(session_body(id, "supervisor"))});
  EXPECT_TRUE(append({again.frame(codec::SchemaBody{.series = {def}})}).refusals.empty());
  EXPECT_EQ(only_series(id, "host.load.1m").owner, metric::Owner::kWorkload);
}

TEST_P(StoreHosts, AStoreOfSchema5MigratesAndKeepsItsWorkloadsSeries) {
  SessionWriter old;
  const RunId before = start(old, {.machine = ""});
  auto def = host_def();
  def.owner = metric::Owner::kWorkload;
  append({old.frame(codec::SchemaBody{.series = {def}})});
  measure(old, {{kSecond, 1.0}});
  EXPECT_TRUE(store_->change([](sql::Connection& db) {
    return db.script(
        "DROP INDEX runs_by_machine; DROP INDEX sessions_by_machine; DROP INDEX events_of_health; "
        "DROP TABLE hosts; "
        "ALTER TABLE runs DROP COLUMN machine; ALTER TABLE sessions DROP COLUMN machine; "
        "DROP INDEX runs_in_trash; ALTER TABLE runs DROP COLUMN trashed; "
        "ALTER TABLE notes DROP COLUMN finding; ALTER TABLE notes DROP COLUMN mark; "
        "ALTER TABLE notes DROP COLUMN ended; "
        "DROP INDEX runs_by_end; DROP INDEX runs_without_end; "
        "DROP TABLE members; DROP TABLE alerts; DROP TABLE alert_states; DROP TABLE alert_outbox; "
        "DROP TABLE space_teams; DROP TABLE team_members; DROP TABLE teams; "
        "DROP TABLE space_members; DROP TABLE spaces; "
        "DROP TABLE tokens; DROP TABLE users; DROP TABLE account_state; DROP TABLE audit; "
        "DROP TABLE device_codes; "
        "ALTER TABLE runs DROP COLUMN creator; ALTER TABLE notes DROP COLUMN author; "
        "UPDATE meta SET value = 5 WHERE key = 'schema_version'");
  }));
  reopen();
  EXPECT_EQ(store_->info()->schema_version, 17);
  measure(old, {{2 * kSecond, 2.0}});
  const Series series = only_series(before, "host.load.1m");
  EXPECT_EQ(series.owner, metric::Owner::kWorkload);
  EXPECT_EQ(points(series.id), (Points{at(1, 1.0), at(2, 2.0)}));
  SessionWriter writer;
  const RunId after = start(writer, {});
  declare(writer);
  measure(writer, {{kSecond, 3.0}});
  EXPECT_EQ(shown(after), (Points{at(1, 3.0)}));
}

// Nearly 20 blocks of the host, of which the run shows some: whole, with their pyramid, and cut.
TEST_P(StoreHosts, ALongTimelineIsCutWithoutDecodingWhatIsWhole) {
  constexpr std::int64_t kRows = 160'000;
  SessionWriter feeder;
  SessionWriter writer;
  start(feeder, {});
  append({feeder.frame(codec::SchemaBody{.series = {host_def()}})});
  for (std::int64_t from = 0; from < kRows; from += 16'000) {
    Points some;
    for (std::int64_t i = from; i < from + 16'000; ++i)
      some.emplace_back(i * kSecond, static_cast<double>(i * 7 % 1013));
    append({feeder.frame(samples(1, some))});
  }
  ASSERT_TRUE(store_->seal(false));
  const RunId id = start(writer, {.started = 20'001 * kSecond});
  end(writer, 149'999 * kSecond);
  const auto found = shown(id);
  ASSERT_EQ(found.size(), 130'001U);
  for (std::int64_t i = 0; i < std::ssize(found); ++i)
    ASSERT_EQ(found[static_cast<std::size_t>(i)],
              at(20'000 + i, static_cast<double>((20'000 + i) * 7 % 1013)));
  const SeriesId series = only_series(id, "host.load.1m").id;
  EXPECT_EQ(blocks_of(series), 8) << "blocks 8 to 15";
  const auto done = reader_of(*store_).view(std::array{series}, [&](PointView& view) -> Result<> {
    const auto row = TRY(view.pyramid(series, Channel::kValue, 0, 0));
    EXPECT_EQ(row->lower.size(), 256U);
    EXPECT_EQ(row->lower[0].t0, at(8 * 8192, 0).first);
    const auto above = TRY(view.pyramid(series, Channel::kValue, 1, 0));
    EXPECT_EQ(above->lower.size(), 16U);
    EXPECT_EQ(above->upper.size(), 4U);
    EXPECT_EQ(above->upper[3].t1, at(16 * 8192 - 1, 0).first);
    const auto top = TRY(view.pyramid(series, Channel::kValue, 2, 0));
    EXPECT_EQ(top->lower.size(), 1U);
    EXPECT_EQ(top->lower[0].count, 65'536U);
    EXPECT_EQ(view.pyramid(series, Channel::kValue, 3, 0).error().code, Code::kNotFound);
    EXPECT_EQ(view.pyramid(series, Channel::kValue, 0, 1).error().code, Code::kNotFound);
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
}

TEST_P(StoreHosts, ARemovedRunLeavesItsHostsTimelineToTheOthers) {
  SessionWriter feeder;
  SessionWriter writer;
  const RunId gone = start(feeder, {});
  const RunId stays = start(writer, {});
  append({feeder.frame(codec::SchemaBody{.series = {host_def(), testing::series_def(2, "loss")}})});
  auto body = samples(1, {{kSecond, 1.0}, {2 * kSecond, 2.0}});
  body.groups[0].columns.push_back({.series = 2, .present = {}, .values = {3.0, 4.0}});
  append({feeder.frame(body)});
  EXPECT_TRUE(store_->seal(false));
  EXPECT_EQ(count("SELECT count(*) FROM slices"), 2)
      << "a host's series share no slice with others";
  end(feeder, 3 * kSecond);
  remove({gone});
  expect_gone(gone);
  EXPECT_EQ(shown(stays), (Points{at(1, 1.0), at(2, 2.0)}));
  clean();
  EXPECT_EQ(shown(stays), (Points{at(1, 1.0), at(2, 2.0)}));
  EXPECT_EQ(count("SELECT count(*) FROM slices"), 1) << "the run's own points are gone";
  EXPECT_EQ(count("SELECT count(*) FROM row_groups"), 1);
  reopen();
  EXPECT_EQ(shown(stays), (Points{at(1, 1.0), at(2, 2.0)}));
}

TEST_P(StoreHosts, ASupervisorWhoseRunWasRemovedStillMeasuresItsHost) {
  SessionWriter feeder;
  SessionWriter writer;
  const RunId gone = start(feeder, {});
  const RunId stays = start(writer, {});
  append({feeder.frame(codec::SchemaBody{.series = {host_def(), testing::series_def(2, "loss")}})});
  const auto both = [&](std::int64_t time) {
    auto body = samples(1, {{time, 1.0}});
    body.groups[0].columns.push_back({.series = 2, .present = {}, .values = {3.0}});
    return append({feeder.frame(body)});
  };
  both(kSecond);
  remove({gone}, {.force = true});
  EXPECT_EQ(both(2 * kSecond).data_runs, std::vector{stays});
  expect_gone(gone);
  EXPECT_EQ(shown(stays), (Points{at(1, 1.0), at(2, 1.0)}));
  for (std::int64_t second : {3, 4, 5}) {
    second == 4 ? reopen() : clean();
    // A series of the run, which is not made again.
    append({feeder.frame(codec::SchemaBody{
        .series = {testing::series_def(static_cast<std::uint32_t>(second), "late")}})});
    EXPECT_TRUE(both(second * kSecond).refusals.empty());
  }
  EXPECT_TRUE(store_->seal(false));
  clean();
  EXPECT_EQ(shown(stays), (Points{at(1, 1.0), at(2, 1.0), at(3, 1.0), at(4, 1.0), at(5, 1.0)}));
  EXPECT_EQ(count("SELECT count(*) FROM series"), 1) << "the host's";
  EXPECT_EQ(count("SELECT count(*) FROM session_series"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM batches"), 0);
  expect_gone(gone);
}

TEST_P(StoreHosts, AHostThatNoRunRefersToGoesAfterAMonth) {
  SessionWriter writer;
  const RunId id = start(writer, {});
  declare(writer);
  measure(writer, {{kSecond, 1.0}});
  end(writer, 3 * kSecond);
  remove({id});
  clean();
  EXPECT_EQ(count("SELECT count(*) FROM series WHERE owner_kind = 2"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM hosts WHERE idle_since IS NOT NULL"), 1);
  SessionWriter other;
  const RunId back = start(other, {});
  EXPECT_EQ(count("SELECT count(*) FROM hosts WHERE idle_since IS NOT NULL"), 0) << "a run again";
  end(other, 3 * kSecond);
  EXPECT_EQ(shown(back), (Points{at(1, 1.0)})) << "measured for the other run at that time";
  remove({back});
  clean();
  const auto long_ago = [](sql::Connection& db) {
    return db.exec("UPDATE hosts SET idle_since = idle_since - ?1",
                   std::int64_t{31} * 24 * 3600 * kSecond);
  };
  EXPECT_TRUE(store_->change(long_ago));
  EXPECT_TRUE(store_->seal(true));
  for (const char* table : {"hosts", "series", "session_series", "slices", "row_groups", "batches"})
    EXPECT_EQ(count(std::string("SELECT count(*) FROM ") + table), 0) << table;
}

}  // namespace
}  // namespace corral::store
