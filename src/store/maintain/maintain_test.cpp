// Upkeep of a store on both engines: whole, damaged in each kind of row, copied, killed.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>

#include "core/failpoint.h"
#include "core/text.h"
#include "store/engine/schema.h"
#include "store/maintain/check.h"
#include "store/maintain/collect.h"
#include "store/maintain/copy.h"
#include "store/maintain/rebuild.h"
#include "store/maintain/stats.h"
#include "store/maintain/tables.h"
#include "store/maintain/test_places.h"
#include "store/model/statistics.h"
#include "store/remove/remove.h"

namespace corral::store::maintain {
namespace {

const Watch kQuiet;

std::string told(const CheckReport& report) {
  std::string text;
  for (const Finding& finding : report.findings) text += finding.table + ": " + finding.what + "\n";
  return text;
}

// Sums have another rounding when the points are added in another order.
SliceStatistics slice_of(Connection& db) {
  auto row = db.query("SELECT statistics FROM slices");
  EXPECT_TRUE(row && *row->step());
  auto statistics = decode_statistics(row->blob(0));
  EXPECT_TRUE(statistics);
  for (auto& [series, one] : *statistics) one.sum = std::round(one.sum * 1e6);
  return *statistics;
}
constexpr const char* kSlices = "SELECT statistics FROM slices ORDER BY session, slice";

class Upkeep : public ::testing::TestWithParam<Engine> {
 protected:
  void SetUp() override {
    place_ = make_place(GetParam());
    run_ = fill(*place_);
    db_ = connect(*place_);
  }
  CheckReport check() {
    auto report = check_store(*db_, kQuiet);
    EXPECT_TRUE(report) << report.error().message;
    return report ? *std::move(report) : CheckReport{};
  }
  std::unique_ptr<Place> place_;
  RunId run_;
  std::unique_ptr<Connection> db_;
};

INSTANTIATE_TEST_SUITE_P(Engines, Upkeep, ::testing::Values(Engine::kSqlite, Engine::kPostgres),
                         [](const auto& one) {
                           return one.param == Engine::kSqlite ? "Sqlite" : "Postgres";
                         });

TEST_P(Upkeep, ASoundStoreIsFoundSound) {
  const CheckReport report = check();
  EXPECT_EQ(report.problems, 0U) << told(report);
  EXPECT_EQ(report.blocks, 16);
  EXPECT_EQ(report.pyramid_rows, 6 + 0) << "rows of values and of rates";
  EXPECT_EQ(report.batches, 1);
  EXPECT_EQ(report.runs, 1);
}

TEST_P(Upkeep, DamageOfEveryKindIsFoundAndNamesTheRun) {
  struct Case {
    const char *table, *column, *told_as;
  };
  constexpr std::array kCases = {
      Case{"batches", "frame", "batches"},   Case{"row_groups", "data", "row_groups"},
      Case{"block_times", "data", "blocks"}, Case{"blocks", "data", "blocks"},
      Case{"pyramid", "data", "pyramid"},    Case{"slices", "statistics", "slices"}};
  for (const Case& one : kCases) {
    flip(*db_, one.table, one.column);
    const CheckReport report = check();
    const auto named = [&](const Finding& finding) {
      return finding.table == one.told_as && finding.runs == std::vector{run_};
    };
    EXPECT_TRUE(std::ranges::any_of(report.findings, named)) << one.table << "\n" << told(report);
    flip(*db_, one.table, one.column);
    EXPECT_EQ(check().problems, 0U) << "the same bit again";
  }
}

TEST_P(Upkeep, BrokenInvariantsAreFound) {
  const std::array<std::pair<const char*, const char*>, 6> kCases = {{
      {"UPDATE series SET blocks = blocks + 1 WHERE id = 1", "its row says 9"},
      {"UPDATE series SET blocks = blocks - 1 WHERE id = 1", ""},
      {"DELETE FROM pyramid WHERE series = 1 AND tier = 1", "row 0 of tier 1 is missing"},
      {"DELETE FROM blocks WHERE series = 1 AND no = 3", "block 3 is missing"},
      {"UPDATE batches SET last_seq = last_seq + 100", "never acknowledged"},
      {"UPDATE series SET owner = 99 WHERE id = 2", "that is gone"},
  }};
  for (const auto& [sql, wanted] : kCases) {
    ASSERT_TRUE(db_->script(sql)) << sql;
    const std::string text = told(check());
    EXPECT_NE(text.find(wanted), std::string::npos) << sql << "\n" << text;
    if (sql == kCases[1].first) {
      EXPECT_EQ(check().problems, 0U);
    }
  }
}

TEST_P(Upkeep, APyramidThatDisagreesIsFound) {
  // A sound row, but of another series.
  ASSERT_TRUE(
      db_->script("UPDATE pyramid SET data = (SELECT data FROM pyramid WHERE series = 2 AND "
                  "channel = 0 AND tier = 0 AND no = 0) WHERE series = 1 AND channel = 0 AND tier "
                  "= 0 AND no = 0"));
  const std::string text = told(check());
  EXPECT_NE(text.find("does not agree with its blocks"), std::string::npos) << text;
}

TEST_P(Upkeep, RebuildMakesTheSamePyramidAndStatisticsAnew) {
  const std::string pyramid = dump(*db_, kPyramid);
  const SliceStatistics slices = slice_of(*db_);
  flip(*db_, "pyramid", "data");
  flip(*db_, "slices", "statistics");
  ASSERT_TRUE(db_->script("DELETE FROM pyramid WHERE tier = 1"));
  EXPECT_NE(check().problems, 0U);
  const auto report = rebuild_store(*db_, false, kQuiet);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->problems, 0U);
  EXPECT_EQ(report->slices, 1);
  EXPECT_TRUE(dump(*db_, kPyramid) == pyramid);
  EXPECT_TRUE(slice_of(*db_) == slices);
  EXPECT_EQ(check().problems, 0U) << told(check());
}

TEST_P(Upkeep, RebuildNamesADamagedBlockAndLeavesAGap) {
  const std::string slices = dump(*db_, kSlices);
  flip(*db_, "blocks", "data");
  for (int round = 0; round < 2; ++round) {
    const auto report = rebuild_store(*db_, false, kQuiet);
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_EQ(report->gaps.size(), 1U);
    EXPECT_NE(report->gaps[0].what.find("block 0"), std::string::npos) << report->gaps[0].what;
    EXPECT_EQ(report->gaps[0].runs, std::vector{run_});
  }
  EXPECT_TRUE(dump(*db_, kSlices) == slices) << "statistics know more than what is left";
  EXPECT_EQ(check().problems, 1U) << told(check());
  auto store = place_->open();
  ASSERT_TRUE(store);
  const auto events = reader_of(**store).events(run_);
  ASSERT_EQ(events->size(), 1U) << "once";
  EXPECT_EQ(events->at(0).origin, "corral");
  const auto series = reader_of(**store).series_of(run_);
  std::uint32_t nan = 0;
  const std::array ids = {series->at(0).id, series->at(1).id};
  const auto seen = reader_of(**store).view(ids, [&](PointView& view) -> Result<> {
    for (const SeriesId id : ids) {
      const auto row = TRY(view.pyramid(id, Channel::kValue, 0, 0));
      if (!view.block(id, 0)) nan = row->lower.at(0).nan;
    }
    return {};
  });
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(nan, codec::kBucketPoints);
}

TEST_P(Upkeep, AStoppedRebuildGoesOn) {
  int calls = 0;
  Watch watch;
  watch.stop = [&] { return ++calls > 12; };
  const auto stopped = rebuild_store(*db_, false, watch);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kUnavailable);
  const auto report = rebuild_store(*db_, false, kQuiet);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->continued);
  EXPECT_EQ(report->series, 1);
  EXPECT_EQ(check().problems, 0U);
}

TEST_P(Upkeep, ANumberOfBlocksThatCannotBeIsPutRight) {
  ASSERT_TRUE(db_->script("UPDATE series SET blocks = 4611686018427387904 WHERE id = 1"));
  const auto report = rebuild_store(*db_, false, kQuiet);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->gaps.size(), 1U);
  EXPECT_NE(report->gaps[0].what.find("are missing"), std::string::npos) << report->gaps[0].what;
  EXPECT_EQ(*db_->number("SELECT blocks FROM series WHERE id = 1"), 8);
  EXPECT_EQ(check().problems, 0U) << told(check());
}

TEST_P(Upkeep, StatsCountPointsByLevel) {
  const auto stats = store_stats(*db_, 3, kQuiet);
  ASSERT_TRUE(stats) << stats.error().message;
  EXPECT_EQ(stats->points, 2 * (kRows + kLater));
  EXPECT_EQ(stats->levels.at(0).points, 2 * kLater);
  EXPECT_EQ(stats->levels.at(1).points, 2 * (kRows - 8 * 8192));
  EXPECT_EQ(stats->levels.at(2).points, 2 * 8 * 8192);
  ASSERT_EQ(stats->biggest.size(), 1U);
  EXPECT_EQ(stats->biggest[0].id, run_);
  std::int64_t blobs = 0;
  for (const LevelSize& level : stats->levels) blobs += level.bytes;
  EXPECT_EQ(stats->biggest[0].bytes, blobs);
  EXPECT_GT(stats->bytes, blobs);
}

TEST_P(Upkeep, GarbageGoesAndNothingElse) {
  auto clean = collect_garbage(*db_, kQuiet);
  ASSERT_TRUE(clean) << clean.error().message;
  EXPECT_TRUE(clean->removed.empty());
  ASSERT_TRUE(
      db_->script("INSERT INTO block_times (session, data) SELECT session, data FROM "
                  "block_times"));
  ASSERT_TRUE(db_->script("UPDATE series SET owner = 99 WHERE id = 2"));
  const auto report = collect_garbage(*db_, kQuiet);
  ASSERT_TRUE(report) << report.error().message;
  const std::map<std::string, std::int64_t> removed(report->removed.begin(), report->removed.end());
  EXPECT_EQ(removed.at("series"), 1);
  EXPECT_EQ(removed.at("blocks"), 8);
  EXPECT_EQ(removed.at("block_times"), 8);
  if (GetParam() == Engine::kSqlite) {
    EXPECT_LT(report->bytes_after, report->bytes_before);
  }
}

TEST_P(Upkeep, TheTablesAreTheSchemas) {
  const std::string sql =
      GetParam() == Engine::kSqlite
          ? "SELECT m.name, c.name, c.type FROM sqlite_schema m JOIN pragma_table_info(m.name) c "
            "WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' AND m.name <> 'meta' ORDER BY "
            "m.name, c.cid"
          : "SELECT CAST(table_name AS text), CAST(column_name AS text), CAST(data_type AS text) "
            "FROM information_schema.columns WHERE table_schema = current_schema() AND table_name "
            "<> 'meta' ORDER BY table_name, ordinal_position";
  std::map<std::string, std::vector<std::string>> found, known;
  auto row = db_->query(sql);
  ASSERT_TRUE(row) << row.error().message;
  while (*row->step()) {
    const std::string type = row->text(2);
    found[row->text(0)].push_back(row->text(1) + (type == "BLOB" || type == "bytea"  ? "#"
                                                  : type == "TEXT" || type == "text" ? "$"
                                                  : type == "REAL" || type == "double precision"
                                                      ? "~"
                                                      : ""));
  }
  for (const Table& table : tables()) {
    for (const std::string_view word : split(table.columns, ' '))
      known[std::string(table.name)].emplace_back(word);
    std::ranges::sort(known[std::string(table.name)]);
    std::ranges::sort(found[std::string(table.name)]);
  }
  EXPECT_EQ(found, known);
}

// A store that an earlier Corral left, with a run.
void fill_earlier(Connection& db, int schema, RunId run) {
  ASSERT_TRUE(sql::migrate(db, schema));
  const auto experiment =
      db.number("INSERT INTO experiments (name, created) VALUES ('old', 1) RETURNING id");
  ASSERT_TRUE(experiment) << experiment.error().message;
  const auto workload = db.number(
      "INSERT INTO workloads (id, experiment, name, created) VALUES (?1, ?2, '7', 1) RETURNING key",
      WorkloadId::random(), **experiment);
  ASSERT_TRUE(workload) << workload.error().message;
  const auto key = db.number(
      "INSERT INTO runs (id, name, experiment, workload, status, supervised, started, ended, "
      "newest, host) VALUES (?1, 'early', ?2, ?3, 1, 1, 5, 9, 9, 'node7') RETURNING key",
      run, **experiment, **workload);
  ASSERT_TRUE(key) << key.error().message;
  ASSERT_TRUE(
      db.exec("INSERT INTO facts (run, kind, key, value) VALUES (?1, 0, 'lr', '0.1')", **key));
  constexpr int kNotes = 4;  // the first schema with notes and boards
  constexpr int kKinds = 9;  // the first one whose boards have a kind
  if (schema >= kNotes) {
    ASSERT_TRUE(db.exec("INSERT INTO notes (run, created, text) VALUES (?1, 6, 'why?')", **key));
    ASSERT_TRUE(
        db.exec(schema < kKinds
                    ? "INSERT INTO boards (name, updated, state) VALUES ('b', 7, 's')"
                    : "INSERT INTO boards (kind, name, updated, state) VALUES (0, 'b', 7, 's')"));
  }
}

TEST_P(Upkeep, AStoreOfEachEarlierSchemaOpensWithItsRun) {
  for (int schema = 1; schema < sql::newest_schema(); ++schema) {
    SCOPED_TRACE(schema);
    const auto place = make_place(GetParam());
    const RunId run = RunId::random();
    fill_earlier(*connect(*place), schema, run);
    fill(*place);
    const auto db = connect(*place);
    EXPECT_EQ(*sql::schema_version(*db), sql::newest_schema());
    const auto report = check_store(*db, kQuiet);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->problems, 0U) << told(*report);
    const auto store = place->open();
    ASSERT_TRUE(store) << store.error().message;
    const auto found = reader_of(**store).run(run);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->name, "early");
    EXPECT_EQ((*found)->params.size(), 1U);
    EXPECT_EQ(db->number("SELECT count(*) FROM notes WHERE mark IS NULL AND finding = ''"),
              schema >= 4 ? 1 : 0);
    EXPECT_EQ(db->number("SELECT count(*) FROM boards WHERE kind = 0 AND name = 'b'"),
              schema >= 4 ? 1 : 0);
  }
}

// ---- copies
class Copies : public ::testing::TestWithParam<std::pair<Engine, Engine>> {
 protected:
  void SetUp() override {
    from_ = make_place(GetParam().first);
    to_ = make_place(GetParam().second);
    run_ = fill(*from_);
  }
  Result<CopyReport> copy() {
    const auto from = connect(*from_);
    const auto to = connect(*to_);
    return copy_store(*from, *to, kQuiet);
  }
  // Ends like kill -9 after this number of transactions of the copy.
  void copy_and_die(int transactions) {
    const pid_t child = ::fork();
    if (child == 0) {
      failpoint::arm(fmt::format("copy.committed:{}", transactions));
      const auto from = from_->connect();
      const auto to = to_->connect();
      if (from && to) static_cast<void>(copy_store(**from, **to, kQuiet));
      std::_Exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), failpoint::kExitStatus);
  }
  void expect_same() {
    const auto to = connect(*to_);
    const auto report = check_store(*to, kQuiet);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->problems, 0U) << told(*report);
    const auto from = connect(*from_);
    for (const Table& table : tables()) {
      const auto a = sum_table(*from, table, kQuiet);
      const auto b = sum_table(*to, table, kQuiet);
      EXPECT_EQ(a->rows, b->rows) << table.name;
      EXPECT_EQ(a->checksum, b->checksum) << table.name;
    }
  }
  std::unique_ptr<Place> from_, to_;
  RunId run_;
};

INSTANTIATE_TEST_SUITE_P(Engines, Copies,
                         ::testing::Values(std::pair(Engine::kSqlite, Engine::kPostgres),
                                           std::pair(Engine::kPostgres, Engine::kSqlite),
                                           std::pair(Engine::kSqlite, Engine::kSqlite)));

TEST_P(Copies, ACopyHasEverythingAndTakesMore) {
  const auto report = copy();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->continued);
  expect_same();
  fill(*to_);  // new keys do not meet old ones
  auto store = to_->open();
  ASSERT_TRUE(store);
  EXPECT_EQ(reader_of(**store).runs({})->total, 2);
}

TEST_P(Copies, FractionsAndWhatIsLeftOutStayAsTheyAre) {
  const auto from = connect(*from_);
  for (const char* sql :
       {"INSERT INTO logged_models VALUES ('m-1', 0, 'n', '', '', 1, '', 'u', 1, 1, 0)",
        "INSERT INTO logged_model_metrics VALUES ('m-1', 'r', 'acc', 1, 2, '', '', 0.1, 0)",
        "INSERT INTO registered_models VALUES ('a', 1, 1, '', 7)",
        "INSERT INTO model_versions VALUES ('a', 7, 1, 1, NULL, '', 'None', 's', '', '', '', '', "
        "3, '')",
        "INSERT INTO views VALUES ('abcdefgh', 1, '{}')",
        "INSERT INTO boards VALUES (1, 'b', 1, '{}')",
        "INSERT INTO plans (id, updated, summary, document) SELECT 'p', 1, '{}', id FROM runs "
        "LIMIT 1",
        "INSERT INTO users VALUES (7, 'ada', 'Ada', 4, 0, 1, 'https://id', 's1')",
        "INSERT INTO tokens SELECT 't', id, 7, 'laptop', 2, 3, 4, NULL, 'p', 1 FROM runs LIMIT 1",
        "INSERT INTO account_state VALUES (1, 1, 3)",
        "INSERT INTO spaces VALUES (3, 'vision', 4)",
        "INSERT INTO space_members VALUES (3, 7)",
        "INSERT INTO teams VALUES (4, 'seniors', 'https://id', 'lab-seniors', 1)",
        "INSERT INTO team_members VALUES (4, 7, 1)",
        "INSERT INTO space_teams VALUES (3, 4)",
        "INSERT INTO alerts VALUES (2, 7, 3, 'e', 'loss', 0.1, NULL, 1, 'https://h', 's', 1, "
        "2, 3, 4, 5, 6, NULL, 'p')",
        "INSERT INTO members SELECT run, 0, key, 1, 3, 'node7', NULL, 5, 6, 0, 1, NULL, 'failed', "
        "'why' FROM sessions ORDER BY key LIMIT 1",
        "INSERT INTO alert_states VALUES (2, 1, 1, 5)",
        "INSERT INTO alert_outbox VALUES (6, 2, 1, 3, '{}')",
        "INSERT INTO device_codes SELECT id, 'BCDF-GHJK', 'node7', '', 9, NULL, NULL FROM runs "
        "LIMIT 1",
        "INSERT INTO audit VALUES (5, 1, 'ada', '10.0.0.7', 'DELETE /x', '', NULL)",
        "INSERT INTO notes (run, time, created, text, ended, author) SELECT key, NULL, 2, 'of "
        "all', 3, "
        "'ada' FROM runs"}) {
    const auto done = from->exec(sql);
    ASSERT_TRUE(done) << done.error().message;
  }
  const auto report = copy();
  ASSERT_TRUE(report) << report.error().message;
  expect_same();
  const auto to = connect(*to_);
  auto row = to->query(
      "SELECT m.value, v.description FROM logged_model_metrics m JOIN model_versions v ON "
      "v.version = 7");
  ASSERT_TRUE(row && *row->step());
  EXPECT_EQ(row->real(0), 0.1);
  EXPECT_TRUE(row->is_null(1));
  auto note = to->query(
      "SELECT n.text, n.time, n.ended, n.author FROM notes n JOIN runs r ON r.key = n.run");
  ASSERT_TRUE(note && *note->step());
  EXPECT_EQ(note->text(0), "of all");
  EXPECT_TRUE(note->is_null(1));
  EXPECT_EQ(note->integer(2), 3);
  EXPECT_EQ(note->text(3), "ada");
}

// The reviewed case: a pending removal in the source, whose cleaning meets new rows in the copy.
TEST_P(Copies, KeysOfWhatIsGoneAreNotGivenAgain) {
  const RunId gone = fill(*from_);
  {
    const auto db = connect(*from_);
    ASSERT_TRUE(db->script(db->dialect().begin_write.data()));
    ASSERT_TRUE(*sql::mark_removed(*db, gone, sql::IfRunning::kRemove));
    ASSERT_TRUE(db->script("COMMIT"));
  }
  const auto report = copy();
  ASSERT_TRUE(report) << report.error().message;
  std::map<std::string, std::int64_t> used;
  {
    const auto from = connect(*from_);
    for (const Table& table : tables()) {
      if (!table.identity) continue;
      const auto columns = parse_columns(table);
      used[std::string(table.name)] =
          from->number(fmt::format(fmt::runtime(from->dialect().last_key), table.name,
                                   columns.front().name))
              ->value_or(0);
    }
  }
  EXPECT_EQ(used.at("runs"), 2);
  EXPECT_EQ(used.at("series"), 4);
  EXPECT_GE(used.at("batches"), 30) << "all but two are sealed";
  const RunId fresh = fill(*to_);
  const auto to = connect(*to_);
  for (const Table& table : tables()) {
    if (!table.identity || table.name == "experiments" || table.name == "events") continue;
    if (table.name == "logs" || table.name == "datasets" || table.name == "removed_artifacts" ||
        table.name == "notes" || table.name == "hosts" || table.name == "spaces" ||
        table.name == "users" || table.name == "teams" || table.name == "audit" ||
        table.name == "alerts" || table.name == "alert_outbox")
      continue;
    const auto rows = to->number(fmt::format("SELECT count(*) FROM {} WHERE {} > {}", table.name,
                                             parse_columns(table).front().name,
                                             used.at(std::string(table.name))));
    EXPECT_GE(rows->value_or(0), 1) << table.name << " of the new run stand behind all others";
  }
  // The copied removal deletes nothing of the new run.
  auto store = to_->open();
  ASSERT_TRUE(store);
  ASSERT_TRUE((*store)->seal(true));
  const auto series = reader_of(**store).series_of(fresh);
  ASSERT_EQ(series->size(), 2U);
  EXPECT_EQ(series->at(0).points, kRows + kLater);
  EXPECT_EQ(reader_of(**store).runs({})->total, 2);
}

TEST_P(Copies, ACopyOfACopyRemembersToo) {
  {
    const auto db = connect(*from_);
    ASSERT_TRUE(db->script("DELETE FROM row_groups"));
  }
  ASSERT_TRUE(copy());
  const auto last = [](Place& place) {
    const auto db = connect(place);
    return db->number(fmt::format(fmt::runtime(db->dialect().last_key), "row_groups", "id"))
        ->value_or(0);
  };
  EXPECT_GE(last(*to_), 1);
  EXPECT_EQ(last(*to_), last(*from_));
}

TEST_P(Copies, ADestinationWithDataIsRefused) {
  fill(*to_);
  const auto refused = copy();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kAlreadyExists) << refused.error().message;
}

TEST_P(Copies, AKilledCopyIsNoStoreAndGoesOn) {
  copy_and_die(9);
  const auto half = to_->open();
  ASSERT_FALSE(half);
  EXPECT_NE(half.error().message.find("not finished"), std::string::npos) << half.error().message;
  const auto report = copy();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->continued);
  expect_same();
  std::int64_t rows = 0;
  for (const CopiedTable& table : report->tables) rows += table.rows;
  EXPECT_LT(report->rows, rows) << "what was there is not copied again";
}

TEST_P(Copies, ACopyOfWhatHasChangedStartsAnew) {
  copy_and_die(9);
  fill(*from_);
  const auto report = copy();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->continued);
  expect_same();
}

TEST(Durability, RelaxedIsWhatItSays) {
  const fs::path path = fs::temp_directory_path() / ("corral-relaxed-" + RunId::random().hex());
  fs::create_directory(path);
  {
    const auto relaxed = sqlite::open_database(path / "corral.db", sqlite::Mode::kRelaxed);
    ASSERT_TRUE(relaxed);
    EXPECT_EQ(*(*relaxed)->number("PRAGMA synchronous"), 1);
  }
  fs::remove_all(path);
  const auto server = PostgresServer::shared();
  ASSERT_TRUE(server);
  const auto url = (*server)->new_schema();
  const auto relaxed = postgres::open_database(*url, postgres::Mode::kRelaxed);
  ASSERT_TRUE(relaxed);
  auto row = (*relaxed)->query("SELECT current_setting('synchronous_commit')");
  ASSERT_TRUE(row && *row->step());
  EXPECT_EQ(row->text(0), "off");
}

}  // namespace
}  // namespace corral::store::maintain
