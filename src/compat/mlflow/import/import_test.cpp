#include "compat/mlflow/import/import.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "compat/mlflow/import/points.h"
#include "compat/mlflow/wire/times.h"
#include "core/text.h"
#include "store/artifacts/open/open_artifacts.h"
#include "store/engine/postgres/database.h"
#include "store/engine/sqlite/database.h"
#include "store/open/postgres_store.h"
#include "store/open/sqlite_store.h"
#include "store/open/test_postgres.h"
#include "store/test_reader.h"

namespace corral::store::importing {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRunA = "0c42fd5de87d4f529c0fb7d3ab1d3c05";
constexpr std::string_view kRunB = "b7eb70ccc03d4cbfaf56dfc52ad3b1b6";

// The columns that matter of MLflow 3.17's tables; BOOLEAN, FLOAT and so on as it declares them.
constexpr const char* kTables = R"sql(
CREATE TABLE experiments (experiment_id INTEGER PRIMARY KEY, name VARCHAR(256) NOT NULL,
  artifact_location VARCHAR(256), lifecycle_stage VARCHAR(32), creation_time BIGINT,
  last_update_time BIGINT);
CREATE TABLE runs (run_uuid VARCHAR(32) PRIMARY KEY, name VARCHAR(250), user_id VARCHAR(256),
  status VARCHAR(9), start_time BIGINT, end_time BIGINT, lifecycle_stage VARCHAR(20),
  artifact_uri VARCHAR(200), experiment_id INTEGER);
CREATE TABLE params (key VARCHAR(250) NOT NULL, value VARCHAR(8000) NOT NULL, run_uuid VARCHAR(32));
CREATE TABLE tags (key VARCHAR(250) NOT NULL, value VARCHAR(8000), run_uuid VARCHAR(32));
CREATE TABLE metrics (key VARCHAR(250) NOT NULL, value DOUBLE PRECISION NOT NULL,
  "timestamp" BIGINT NOT NULL, run_uuid VARCHAR(32) NOT NULL, step BIGINT DEFAULT 0 NOT NULL,
  is_nan BOOLEAN NOT NULL);
CREATE TABLE datasets (dataset_uuid VARCHAR(36), experiment_id INTEGER, name VARCHAR(500),
  digest VARCHAR(36), dataset_source_type VARCHAR(36), dataset_source TEXT, dataset_schema TEXT,
  dataset_profile TEXT);
CREATE TABLE inputs (input_uuid VARCHAR(36), source_type VARCHAR(36), source_id VARCHAR(36),
  destination_type VARCHAR(36), destination_id VARCHAR(36), step BIGINT);
CREATE TABLE input_tags (input_uuid VARCHAR(36), name VARCHAR(255), value VARCHAR(500));
CREATE TABLE latest_metrics (key VARCHAR(250), value DOUBLE PRECISION, "timestamp" BIGINT,
  step BIGINT, is_nan BOOLEAN, run_uuid VARCHAR(32));
CREATE TABLE trace_info (request_id VARCHAR(50), experiment_id INTEGER, timestamp_ms BIGINT,
  execution_time_ms BIGINT, status VARCHAR(50), client_request_id VARCHAR(50),
  request_preview VARCHAR(1000), response_preview VARCHAR(1000), trace_name VARCHAR(8000),
  session_id VARCHAR(250));
CREATE TABLE trace_tags (key VARCHAR(250), value VARCHAR(8000), request_id VARCHAR(50));
CREATE TABLE trace_request_metadata (key VARCHAR(250), value VARCHAR(8000),
  request_id VARCHAR(50));
CREATE TABLE entity_associations (association_id VARCHAR(36), source_type VARCHAR(36),
  source_id VARCHAR(36), destination_type VARCHAR(36), destination_id VARCHAR(36),
  created_time BIGINT);
CREATE TABLE spans (trace_id VARCHAR(50), experiment_id INTEGER, span_id VARCHAR(50),
  parent_span_id VARCHAR(50), name TEXT, content TEXT);
CREATE TABLE registered_models (name VARCHAR(256), creation_time BIGINT, last_updated_time BIGINT,
  description VARCHAR(5000));
CREATE TABLE registered_model_tags (key VARCHAR(250), value VARCHAR(5000), name VARCHAR(256));
CREATE TABLE model_versions (name VARCHAR(256), version INTEGER, creation_time BIGINT,
  last_updated_time BIGINT, description VARCHAR(5000), user_id VARCHAR(256),
  current_stage VARCHAR(20), source VARCHAR(500), run_id VARCHAR(32), status VARCHAR(20),
  status_message VARCHAR(500));
INSERT INTO experiments VALUES (0, 'Default', '/a/0', 'active', 1700000000000, 1700000000000);
INSERT INTO experiments VALUES (7, 'vision', '/a/7', 'active', 1700000000000, 1700000001000);
INSERT INTO experiments VALUES (8, 'gone', '/a/8', 'deleted', NULL, NULL);
INSERT INTO registered_models VALUES ('net', 1700000000000, 1700000000001, NULL);
INSERT INTO registered_model_tags VALUES ('k', 'v', 'net');
INSERT INTO model_versions VALUES ('net', 1, 1, 2, NULL, 'u', 'Production', 'models:/m-12', 'r',
  'READY', NULL);
INSERT INTO model_versions VALUES ('net', 2, 1, 2, NULL, NULL, 'Deleted_Internal', 'x', NULL,
  'READY', NULL);
)sql";

struct Point {
  std::string key, value;  // SQL
  std::int64_t ms = 1'700'000'000'000, step = 0;
  bool nan = false;
};

// An MLflow database and a store, each on either engine.
struct Engines {
  bool source_on_server = false, store_on_server = false;
};

class Import : public ::testing::TestWithParam<Engines> {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / fmt::format("corral-import-{}", RunId::random().hex());
    fs::create_directories(directory_);
    place_ = (directory_ / "mlflow.db").string();
    if (GetParam().source_on_server || GetParam().store_on_server) {
      const auto server = testing::PostgresServer::shared();
      if (!server) GTEST_SKIP() << server.error().message;
      if (GetParam().source_on_server) place_ = *(*server)->new_schema();
      if (GetParam().store_on_server) store_url_ = *(*server)->new_schema();
    }
    auto db = GetParam().source_on_server
                  ? postgres::open_database(place_, postgres::Mode::kReadWrite)
                  : sqlite::open_database(place_, sqlite::Mode::kReadWrite);
    ASSERT_TRUE(db) << db.error().message;
    db_ = *std::move(db);
    write(kTables);
    open_store();
  }
  void TearDown() override {
    store_.reset();
    db_.reset();
    std::error_code error;
    fs::remove_all(directory_, error);
  }

  void open_store() {
    store_.reset();
    auto store = store_url_.empty() ? open_sqlite_store({.directory = directory_ / "store"})
                                    : open_postgres_store({.url = store_url_});
    ASSERT_TRUE(store) << store.error().message;
    store_ = *std::move(store);
  }

  void write(const std::string& sql) {
    const auto done = db_->script(sql);
    ASSERT_TRUE(done) << done.error().message;
  }
  void write_run(std::string_view id, std::string_view more =
                                          "'FINISHED', 1700000000000, "
                                          "1700000009000, 'active'") {
    write(fmt::format("INSERT INTO runs VALUES ('{}', 'run', 'me', {}, '/a/7/x/artifacts', 7)", id,
                      more));
  }
  void write_points(std::string_view run, const std::vector<Point>& points) {
    for (const Point& p : points) {
      write(fmt::format("INSERT INTO metrics VALUES ('{}', {}, {}, '{}', {}, {})", p.key, p.value,
                        p.ms, run, p.step, p.nan ? "TRUE" : "FALSE"));
    }
  }

  void write_trace();
  void write_span(std::string_view id);

  static Count count_of(const ImportReport& report, std::string_view what) {
    const auto count = std::ranges::find(report.counts, what, &Count::what);
    EXPECT_NE(count, report.counts.end()) << what;
    return count == report.counts.end() ? Count{} : *count;
  }
  Result<ImportReport> import(const maintain::Watch& watch = {},
                              const ImportOptions& options = {.access = Access::everything()}) {
    Source source = TRY(Source::open(place_));
    return import_database(source, *store_, options, watch);
  }
  ImportReport must_import(const ImportOptions& options = {.access = Access::everything()}) {
    auto report = import({}, options);
    EXPECT_TRUE(report) << report.error().message;
    if (!report) return {};
    EXPECT_TRUE(report->complete());
    return *std::move(report);
  }
  std::optional<store::Run> run(std::string_view id) {
    return reader_of(*store_).run(*RunId::parse(id)).value_or(std::nullopt);
  }
  std::int64_t points_of(std::string_view id) {
    std::int64_t points = 0;
    const auto all = reader_of(*store_).series_of(*RunId::parse(id));
    EXPECT_TRUE(all);
    for (const Series& series : *all) points += series.points;
    return points;
  }
  std::int64_t number(std::string_view sql) {
    std::int64_t result = -1;
    const auto done = reader_of(*store_).inspect([&](sql::Reading& reading) -> Result<> {
      result = TRY(reading.db.number(sql)).value_or(-1);
      return {};
    });
    EXPECT_TRUE(done) << done.error().message;
    return result;
  }
  // (time in ms, step, bits of the value) of one series.
  using Triple = std::tuple<std::int64_t, std::int64_t, std::uint64_t>;
  std::vector<Triple> points_of(std::string_view id, std::string_view name);

  fs::path directory_;
  std::string place_, store_url_;
  std::unique_ptr<sql::Connection> db_;
  std::unique_ptr<Store> store_;
};

std::vector<Import::Triple> Import::points_of(std::string_view id, std::string_view name) {
  std::vector<Triple> points;
  const auto all = reader_of(*store_).series_of(*RunId::parse(id));
  EXPECT_TRUE(all);
  for (const Series& series : *all) {
    if (series.name != name) continue;
    const auto read =
        reader_of(*store_).view(std::span(&series.id, 1), [&](PointView& view) -> Result<> {
          for (const Chunk& chunk : view.recent(series.id)) {
            for (std::size_t i = 0; i < chunk.values.size(); ++i) {
              points.emplace_back(chunk.times->at(i) / 1'000'000, chunk.steps->at(i),
                                  std::bit_cast<std::uint64_t>(chunk.values[i]));
            }
          }
          return {};
        });
    EXPECT_TRUE(read) << read.error().message;
  }
  return points;
}

constexpr std::string_view kTrace = "tr-0102030405060708090a0b0c0d0e0f10";

// Writes a trace of run A.
void Import::write_trace() {
  write(fmt::format(
      "INSERT INTO trace_info VALUES ('{0}', 7, 1700000000000, 5, 'OK', NULL, 'in', 'out', 'work', "
      "'s'); INSERT "
      "INTO trace_request_metadata VALUES ('mlflow.sourceRun', '{1}', '{0}'); INSERT INTO "
      "trace_tags VALUES ('mlflow.trace.spansLocation', 'TRACKING_STORE', '{0}')",
      kTrace, kRunA));
}

void Import::write_span(std::string_view id) {
  write(fmt::format(
      R"sql(INSERT INTO spans VALUES ('{0}', 7, '{1}', NULL, 'work', '{{"trace_id":
      "{0}", "span_id": "{1}", "parent_span_id": null, "name": "work", "start_time_unix_nano":
      1700000000000000000, "end_time_unix_nano": 1700000000500000000, "events": [], "links": [],
      "status": {{"code": "STATUS_CODE_OK", "message": ""}}, "attributes": {{"mlflow.spanType":
      "\"TOOL\""}}}}'))sql",
      kTrace, id));
}

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

TEST_P(Import, TakesARunWithAllThatBelongsToIt) {
  write_run(kRunA);
  write(
      fmt::format("INSERT INTO params VALUES ('lr', '0.1', '{0}'); INSERT INTO tags VALUES "
                  "('who', 'me', '{0}'); INSERT INTO tags VALUES ('none', NULL, '{0}')",
                  kRunA));
  write(fmt::format(
      "INSERT INTO datasets VALUES ('d1', 7, 'set', 'abc', 'local', '{{}}', NULL, NULL); INSERT "
      "INTO inputs VALUES ('i1', 'DATASET', 'd1', 'RUN', '{0}', 0); INSERT INTO input_tags VALUES "
      "('i1', 'mlflow.data.context', 'training'); INSERT INTO inputs VALUES ('i2', 'RUN_OUTPUT', "
      "'{0}', 'MODEL_OUTPUT', 'm-1', 5)",
      kRunA));
  must_import();
  const auto run = this->run(kRunA);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->name, "run");
  EXPECT_EQ(run->experiment_name, "vision");
  EXPECT_EQ(run->experiment, ExperimentId{7});
  EXPECT_EQ(run->status, RunStatus::kFinished);
  EXPECT_EQ(run->start, utc_time(1'700'000'000'000'000'000));
  EXPECT_EQ(run->end, utc_time(1'700'000'009'000'000'000));
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(run->params, (Pairs{{"lr", "0.1"}}));
  EXPECT_EQ(run->tags, (Pairs{{"none", ""}, {"who", "me"}}));
  EXPECT_EQ(number("SELECT count(*) FROM run_inputs WHERE context = 'training'"), 1);
  EXPECT_EQ(number("SELECT step FROM run_models WHERE direction = 1 AND model = 'm-1'"), 5);
  EXPECT_EQ(number("SELECT count(*) FROM runs WHERE artifact_uri = '/a/7/x/artifacts' AND user_id "
                   "= 'me' AND client_status = 3"),
            1);
}

TEST_P(Import, PointsAreTheSameBitForBit) {
  write_run(kRunA);
  write_points(kRunA, {{.key = "m", .value = "0.30000000000000004", .ms = 1'700'000'000'001},
                       {.key = "m", .value = "0", .ms = 1'700'000'000'002, .step = 1, .nan = true},
                       {.key = "m", .value = "1.7976931348623157e308", .ms = 3, .step = -2},
                       {.key = "m", .value = "-1.7976931348623157e308", .ms = 4, .step = 1},
                       {.key = "m", .value = "5e-324", .ms = 5, .step = 9'007'199'254'740'993}});
  must_import();
  constexpr double kGreatest = std::numeric_limits<double>::max();
  auto points = points_of(kRunA, "m");
  std::ranges::sort(points);
  EXPECT_EQ(points, (std::vector<Triple>{
                        {3, -2, bits(kGreatest)},
                        {4, 1, bits(-kGreatest)},
                        {5, 9'007'199'254'740'993, bits(5e-324)},
                        {1'700'000'000'001, 0, bits(0.30000000000000004)},
                        {1'700'000'000'002, 1, bits(std::numeric_limits<double>::quiet_NaN())}}));
}

TEST_P(Import, ASecondOneAddsWhatIsNewAndNothingElse) {
  write_run(kRunA, "'RUNNING', 1700000000000, NULL, 'active'");
  write_points(kRunA, {{.key = "a", .value = "1", .ms = 1}, {.key = "b", .value = "2", .ms = 2}});
  EXPECT_EQ(must_import().new_points, 2);
  EXPECT_EQ(must_import().new_points, 0);
  EXPECT_EQ(points_of(kRunA), 2);
  write("UPDATE runs SET status = 'FAILED', end_time = 1700000005000");
  write_points(kRunA, {{.key = "c", .value = "3", .ms = 3}, {.key = "a", .value = "4", .ms = 4}});
  open_store();
  const ImportReport report = must_import();
  EXPECT_EQ(report.new_points, 2);
  for (const Count& count : report.counts) EXPECT_EQ(count.added.value_or(0), 0) << count.what;
  EXPECT_EQ(run(kRunA)->status, RunStatus::kFailed);
  EXPECT_EQ(points_of(kRunA, "a"), (std::vector<Triple>{{1, 0, bits(1)}, {4, 0, bits(4)}}));
  EXPECT_EQ(points_of(kRunA, "c"), (std::vector<Triple>{{3, 0, bits(3)}}));
  EXPECT_EQ(number("SELECT count(*) FROM experiments"), 3);
}

TEST_P(Import, GoesOnWhereItWasStopped) {
  write_run(kRunA);
  write_run(kRunB);
  constexpr std::int64_t kPoints = 60'000;  // per run: several frames, several pages
  for (const std::string_view run : {kRunA, kRunB}) {
    write(
        fmt::format("INSERT INTO metrics WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 "
                    "FROM n WHERE i < {} - 1) SELECT 'm' || (i % 3), i * 0.5, i, '{}', i, FALSE "
                    "FROM n",
                    kPoints, run));
  }
  for (const std::int64_t stop_at : {20'000, 70'000}) {
    std::int64_t at = 0;
    const maintain::Watch watch{.tell =
                                    [&](std::string_view what, std::int64_t done, std::int64_t) {
                                      if (what == "points") at = done;
                                    },
                                .stop = [&] { return at >= stop_at; }};
    const auto stopped = import(watch);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, Code::kUnavailable);
    open_store();
  }
  EXPECT_LT(must_import().new_points, 2 * kPoints);
  for (const std::string_view id : {kRunA, kRunB}) {
    const auto all = reader_of(*store_).series_of(*RunId::parse(id));
    ASSERT_TRUE(all);
    ASSERT_EQ(all->size(), 3U);
    for (const Series& series : *all) {
      const std::int64_t first = parse_int(series.name.substr(1)).value_or(-1);
      EXPECT_EQ(series.points, kPoints / 3);
      EXPECT_EQ(series.last_step, kPoints - 3 + first);
      EXPECT_EQ(series.sum, 0.5 * static_cast<double>(kPoints / 3) *
                                static_cast<double>(2 * first + kPoints - 3) / 2);
    }
  }
}

TEST_P(Import, ExperimentsKeepTheirNumbersUnlessTaken) {
  ASSERT_TRUE(store_->change([](sql::Connection& db) {
    return db.exec("INSERT INTO experiments (id, name, created) VALUES (7, 'other', 1)");
  }));
  write_run(kRunA);
  const ImportReport report = must_import();
  EXPECT_EQ(report.notes.size(), 1U);
  EXPECT_NE(run(kRunA)->experiment, ExperimentId{7});
  EXPECT_EQ(run(kRunA)->experiment_name, "vision");
  EXPECT_EQ(number("SELECT lifecycle FROM experiments WHERE id = 8 AND name = 'gone'"), 1);
  // The next one has a number of its own.
  ASSERT_TRUE(store_->change([](sql::Connection& db) {
    return db.exec("INSERT INTO experiments (name, created) VALUES ('next', 1)");
  }));
  EXPECT_EQ(must_import().notes.size(), 1U);
}

TEST_P(Import, TakesTheRegistryAndLeavesWhatHasNoParent) {
  write("INSERT INTO registered_model_tags VALUES ('k', 'orphan', 'no such model')");
  EXPECT_EQ(must_import().notes,
            (std::vector<std::string>{"1 of the registered models' tags belong to nothing that is "
                                      "here"}));
  EXPECT_EQ(number("SELECT count(*) FROM registered_model_tags"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM model_versions WHERE stage = 'Production' AND model_id = "
                   "'m-12' AND description IS NULL AND status = 3"),
            1);
  // A version that was deleted is gone, and its number with it.
  EXPECT_EQ(number("SELECT count(*) FROM model_versions"), 1);
  EXPECT_EQ(number("SELECT last_version FROM registered_models"), 2);
}

TEST_P(Import, SortsRadtsRunsIntoTheirWorkloads) {
  for (const std::string_view id : {kRunA, kRunB}) {
    write_run(id);
    for (const auto& [key, value] :
         {std::pair{"workload", "3"}, {"letter", "0"}, {"listeners", "smi"}})
      write(fmt::format("INSERT INTO params VALUES ('{}', '{}', '{}')", key, value, id));
  }
  must_import();
  EXPECT_EQ(run(kRunA)->workload, workload_id_of("vision", "3"));
  EXPECT_EQ(run(kRunA)->workload_name, "3");
  EXPECT_EQ(run(kRunB)->workload, run(kRunA)->workload);
  EXPECT_EQ(number("SELECT count(*) FROM workloads"), 1);
}

TEST_P(Import, ARunThatWasRemovedStaysAway) {
  write_run(kRunA);
  write_points(kRunA, {{.key = "a", .value = "1", .ms = 1}});
  must_import();
  const RunId id = *RunId::parse(kRunA);
  ASSERT_TRUE(store_->remove_runs(std::span(&id, 1), {}));
  const ImportReport report = must_import();
  EXPECT_FALSE(run(kRunA));
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_NE(report.notes[0].find("1 run was removed"), std::string::npos);
}

TEST_P(Import, WhatTheStoreCannotKeepAsItIsIsSaid) {
  write_run(kRunA);
  std::string name;
  for (int i = 0; i < 200; ++i) name += "ß";  // 400 bytes
  write_points(kRunA, {{.key = name, .value = "1", .ms = 1},
                       {.key = name + "2", .value = "1", .ms = 1},
                       {.key = "m", .value = "1", .ms = 99'999'999'999'999}});
  const ImportReport report = must_import();
  EXPECT_EQ(report.notes.size(), 1U);
  EXPECT_EQ(reader_of(*store_).series_of(*RunId::parse(kRunA))->size(), 3U);
  EXPECT_EQ(std::get<0>(points_of(kRunA, "m").at(0)), mlflow::kLastClientMs);
}

TEST_P(Import, CopiesArtifacts) {
  const fs::path from = directory_ / "files" / "7" / "x" / "artifacts";
  fs::create_directories(from / "model");
  std::ofstream(from / "model" / "weights.bin") << "0123";
  std::ofstream(from / "empty");
  write_run(kRunA);
  write_run(kRunB);
  write(
      fmt::format("UPDATE runs SET artifact_uri = 'mlflow-artifacts:/7/x/artifacts' WHERE "
                  "run_uuid = '{}'",
                  kRunA));
  write(fmt::format("UPDATE runs SET artifact_uri = 'dbfs://x/y' WHERE run_uuid = '{}'", kRunB));
  const auto to = artifacts::open_artifact_store((directory_ / "artifacts").string());
  ASSERT_TRUE(to);
  const ImportOptions options{.access = Access::everything(),
                              .artifacts = to->get(),
                              .artifacts_root = (directory_ / "files").string()};
  const auto imported = import({}, options);
  ASSERT_TRUE(imported) << imported.error().message;
  const ImportReport& report = *imported;
  EXPECT_EQ(report.files, 2);
  EXPECT_EQ(report.bytes, 4);
  EXPECT_EQ(report.notes,
            (std::vector<std::string>{
                "the artifacts at 1 location were not copied: such locations cannot be read",
                "  dbfs://x/y"}));
  EXPECT_EQ(report.uncopied, 1);
  EXPECT_FALSE(report.complete());
  const fs::path there = directory_ / "artifacts" / "7" / kRunA / "artifacts";
  EXPECT_EQ(fs::file_size(there / "model" / "weights.bin"), 4U);
  EXPECT_EQ(number("SELECT count(*) FROM runs WHERE artifact_uri = ''"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM runs WHERE artifact_uri = 'dbfs://x/y'"), 1);
  EXPECT_EQ(import({}, options)->files, 0);
}

TEST_P(Import, CountsArtifactsThatItCannotCopy) {
  for (int run = 1; run <= 5; ++run) {
    const std::string id = fmt::format("{:032x}", run);
    write_run(id);
    write(fmt::format(
        "UPDATE runs SET artifact_uri = 'mlflow-artifacts:/7/{0}' WHERE run_uuid = '{0}'", id));
  }
  const auto to = artifacts::open_artifact_store((directory_ / "artifacts").string());
  ASSERT_TRUE(to);
  const auto report = import({}, {.access = Access::everything(), .artifacts = to->get()});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->complete());
  EXPECT_EQ(report->uncopied, 5);
  ASSERT_EQ(report->notes.size(), 5U);
  EXPECT_EQ(report->notes.front(),
            "the artifacts at 5 locations were not copied: they are at the old server; name its "
            "--artifacts-destination with --artifacts-from DIR");
  EXPECT_EQ(report->notes.back(), "  and 2 more");
}

TEST_P(Import, SpansOfTracesBecomePhasesOfTheirRuns) {
  write_run(kRunA);
  write_run(kRunB);
  write_trace();
  for (const char* id : {"0102030405060708", "0102030405060709"}) write_span(id);
  write(fmt::format("INSERT INTO entity_associations VALUES ('a-1', 'trace', '{}', 'run', '{}', 1)",
                    kTrace, kRunB));
  write("INSERT INTO entity_associations VALUES ('a-2', 'trace', 'x', 'prompt_version', 'p', 1)");
  write(fmt::format("INSERT INTO spans VALUES ('{}', 7, '0a', NULL, 'archived', '')", kTrace));
  EXPECT_EQ(count_of(must_import(), "spans").added, 2);
  EXPECT_EQ(number("SELECT count(*) FROM spans"), 2);
  EXPECT_EQ(number("SELECT count(*) FROM trace_facts WHERE (kind = 1 AND key = 'mlflow.traceName' "
                   "AND value = 'work') OR (kind = 0 AND key = 'mlflow.trace.session' AND value = "
                   "'s')"),
            2);
  for (const std::string_view run : {kRunA, kRunB}) {
    const auto phases = reader_of(*store_).phases(*RunId::parse(run));
    ASSERT_TRUE(phases) << phases.error().message;
    ASSERT_EQ(phases->size(), 2U);
    EXPECT_EQ(phases->front().name, "work");
    EXPECT_EQ(phases->front().type, "trace/tool");
    EXPECT_EQ(ns_of(phases->front().start.value()), 1'700'000'000'000'000'000);
  }
  // A second import adds only what is new.
  write_span("0102030405060710");
  const std::int64_t batches = number("SELECT sum(durable_seq) FROM sessions");
  const Count count = count_of(must_import(), "spans");
  EXPECT_EQ(count.added, 1);
  EXPECT_EQ(count.source, 3);
  EXPECT_EQ(number("SELECT sum(durable_seq) FROM sessions"), batches + 2);  // the last of each run
}

TEST_P(Import, NamesWhatIsMissing) {
  write_run(kRunA);
  write_trace();
  write(fmt::format("INSERT INTO spans VALUES ('{}', 7, '0a', NULL, 'odd', '[1]')", kTrace));
  write(fmt::format("INSERT INTO latest_metrics VALUES ('gone', 1, 5, 5, FALSE, '{}')", kRunA));
  const auto report = import();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->complete());
  const Count spans = count_of(*report, "spans");
  EXPECT_EQ(spans.source, 1);
  EXPECT_EQ(spans.stored, 0);
  EXPECT_EQ(spans.missing, (std::vector<std::string>{std::string(kTrace) + " / 0a"}));
  EXPECT_EQ(count_of(*report, "latest values").missing,
            (std::vector<std::string>{fmt::format("gone of run {}", kRunA)}));
  ASSERT_EQ(report->notes.size(), 1U);
  EXPECT_EQ(report->notes[0], fmt::format("not understood: span 0a of trace {}: the span is no "
                                          "JSON object",
                                          kTrace));
}

TEST_P(Import, SaysWhatAnOldDatabaseLacks) {
  write("ALTER TABLE metrics DROP COLUMN is_nan");
  const auto source = Source::open(place_);
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, Code::kUnsupported);
  EXPECT_NE(source.error().message.find("lacks metrics.is_nan"), std::string::npos)
      << source.error().message;
}

TEST_P(Import, RefusesOtherDatabases) {
  const std::string own =
      store_url_.empty() ? (directory_ / "store" / "corral.db").string() : store_url_;
  EXPECT_EQ(Source::open(own).error().code, Code::kUnsupported);
  EXPECT_EQ(Source::open((directory_ / "none").string()).error().code, Code::kNotFound);
  EXPECT_EQ(Source::open("mysql://u:secret@h/db").error().message.find("secret"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Engines, Import,
                         ::testing::Values(Engines{}, Engines{.source_on_server = true},
                                           Engines{.store_on_server = true}),
                         [](const auto& engines) {
                           return engines.param.source_on_server  ? "FromPostgres"
                                  : engines.param.store_on_server ? "IntoPostgres"
                                                                  : "Sqlite";
                         });

}  // namespace
}  // namespace corral::store::importing
