// Tests the sealer's repair: the rows that it remakes, the rows that it keeps, and its work beside
// other servers.
#include <gtest/gtest.h>

#include <thread>

#include "store/maintain/rebuild.h"
#include "store/maintain/repair.h"
#include "store/maintain/test_places.h"
#include "store/model/statistics.h"
#include "store/remove/remove.h"
#include "sys/clock.h"

namespace corral::store::maintain {
namespace {

constexpr const char* kStatistics = "SELECT statistics FROM slices";

Result<> in_transaction(Connection& db, const std::function<Result<>()>& work) {
  TRY(db.script(std::string(db.dialect().begin_write)));
  const Result<> done = work();
  TRY(db.script(done ? "COMMIT" : "ROLLBACK"));
  return done;
}

class Repairs : public ::testing::TestWithParam<Engine> {
 protected:
  void SetUp() override {
    place_ = make_place(GetParam());
    fill(*place_);
    // 18 blocks: three rows of tier 0, two of them full.
    {
      auto store = place_->open();
      ASSERT_TRUE(store);
      const auto runs = reader_of(**store).runs({});
      SessionWriter writer;
      auto counter = store::testing::series_def(2, "bytes");
      counter.kind = metric::Kind::kCounter;
      const auto append = [&](const auto& body) {
        const auto done = (*store)->append(std::vector{writer.frame(body)});
        ASSERT_TRUE(done && done->refusals.empty());
      };
      append(store::testing::session_body(runs->runs.at(0).id));
      append(codec::SchemaBody{.series = {store::testing::series_def(1, "loss"), counter}});
      for (std::int64_t first = 100'000; first < 185'000; first += 5000) append(rows(first, 5000));
      ASSERT_TRUE((*store)->seal(true));
    }
    db_ = connect(*place_);
    ASSERT_EQ(*db_->number("SELECT blocks FROM series WHERE id = 1"), 18);
    pyramid_ = dump(*db_, kPyramid);
  }
  void repair() {
    for (const std::int64_t session : {1, 2}) {
      const auto done = in_transaction(*db_, [&]() { return repair_session(*db_, session); });
      ASSERT_TRUE(done) << done.error().message;
    }
  }
  void change(const std::string& sql) {
    const auto done = db_->script(sql);
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_FALSE(dump(*db_, kPyramid) == pyramid_) << sql;
  }
  static std::string copy_row(const std::string& to, const std::string& from) {
    return "UPDATE pyramid SET data = (SELECT data FROM pyramid WHERE " + from + ") WHERE " + to;
  }
  std::unique_ptr<Place> place_;
  std::unique_ptr<Connection> db_;
  std::string pyramid_;
};

INSTANTIATE_TEST_SUITE_P(Engines, Repairs, ::testing::Values(Engine::kSqlite, Engine::kPostgres),
                         [](const auto& one) {
                           return one.param == Engine::kSqlite ? "Sqlite" : "Postgres";
                         });

TEST_P(Repairs, TheLastRowsOfEachTierAreMadeAnew) {
  for (const char* channel : {"0", "1"}) {
    const std::string mine = std::string("series = 1 AND channel = ") + channel + " AND ";
    const std::string last = mine + "tier = 0 AND no = 2", above = mine + "tier = 1 AND no = 0";
    const std::string other = mine + "tier = 0 AND no = 0";
    for (const std::string& sql :
         {"DELETE FROM pyramid WHERE " + last, "DELETE FROM pyramid WHERE " + above,
          copy_row(last, other), copy_row(above, other),
          "DELETE FROM pyramid WHERE " + mine + "(tier = 1 OR no = 1)",
          std::string("DELETE FROM pyramid")}) {
      change(sql);
      repair();
      if (sql == "DELETE FROM pyramid") {
        EXPECT_EQ(*db_->number("SELECT count(*) FROM pyramid"), 12) << "tier 1 needs all of tier 0";
      }
      EXPECT_TRUE(dump(*db_, kPyramid) == pyramid_) << sql;
    }
  }
}

// Sealing does not read this row, and remaking it would read blocks while acknowledgements wait.
TEST_P(Repairs, RowsThatSealingDoesNotReadAreLeft) {
  change("DELETE FROM pyramid WHERE tier = 0 AND no = 1");
  const std::string damaged = dump(*db_, kPyramid);
  repair();
  EXPECT_TRUE(dump(*db_, kPyramid) == damaged);
}

// The blocks below the row are not read again where a tier stands between.
TEST_P(Repairs, AnUpperRowComesFromTheRowsBelow) {
  flip(*db_, "blocks", "data");
  change("DELETE FROM pyramid WHERE tier = 1");
  repair();
  EXPECT_TRUE(dump(*db_, kPyramid) == pyramid_);
  EXPECT_EQ(*db_->number("SELECT count(*) FROM events"), 0);
}

TEST_P(Repairs, ADamagedBlockUnderTheRowIsAGapAndAnEvent) {
  change("DELETE FROM pyramid WHERE series = 1 AND tier = 0 AND no = 2");
  ASSERT_TRUE(
      db_->script("UPDATE blocks SET data = (SELECT data FROM pyramid LIMIT 1) WHERE "
                  "series = 1 AND no = 17"));
  repair();
  EXPECT_FALSE(dump(*db_, kPyramid) == pyramid_);
  EXPECT_EQ(*db_->number("SELECT count(*) FROM events"), 1);
  EXPECT_EQ(*db_->number("SELECT count(*) FROM pyramid WHERE series = 1"), 8);
}

TEST_P(Repairs, ASeriesThatSaysTooManyBlocksDoesNotHoldUpTheOthers) {
  change("DELETE FROM pyramid WHERE series = 2 AND tier = 1");
  ASSERT_TRUE(db_->script("UPDATE series SET blocks = 4611686018427387904 WHERE id = 1"));
  const BootTime begun = sys::boot_now();
  repair();
  EXPECT_LT(sys::boot_now() - begun, std::chrono::seconds(20));
  EXPECT_EQ(*db_->number("SELECT count(*) FROM pyramid WHERE series = 2 AND tier = 1"), 1);
}

TEST_P(Repairs, StatisticsThatCanBeReadAreNeverWritten) {
  SliceStatistics other;
  other[SeriesId{1}].points = 7;
  const std::string readable = encode_statistics(other);
  const auto set = [&](std::int64_t session, const std::string& bytes) {
    ASSERT_TRUE(
        db_->exec("UPDATE slices SET statistics = ?2 WHERE session = ?1", session,
                  sql::Blob(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size())));
  };
  set(1, readable);
  set(2, "damaged");
  repair();
  EXPECT_EQ(dump(*db_, std::string(kStatistics) + " WHERE session = 1"), readable);
  auto row = db_->query(std::string(kStatistics) + " WHERE session = 2");
  ASSERT_TRUE(row && *row->step());
  const auto made = decode_statistics(row->blob(0));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->at(SeriesId{1}).points, 85'000);
}

// ---- beside another server
class BesideAnother : public Repairs {
 protected:
  // `mine` waits for a row that `other` holds until the first is seen to wait.
  void meanwhile(Connection& other, const std::function<void()>& mine) {
    const auto outside = connect(*place_);
    // The commit of `other` may take long.
    EXPECT_TRUE(db_->script("SET lock_timeout = '60s'"));
    std::thread thread(mine);
    const BootTime until = sys::boot_now() + std::chrono::seconds(20);
    while (*outside->number("SELECT count(*) FROM pg_locks WHERE NOT granted") == 0 &&
           sys::boot_now() < until)
      std::this_thread::yield();
    EXPECT_TRUE(other.script("COMMIT"));
    thread.join();
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, BesideAnother, ::testing::Values(Engine::kPostgres));

TEST_P(BesideAnother, NewerStatisticsAreNotWrittenOver) {
  ASSERT_TRUE(db_->script("UPDATE slices SET statistics = 'damaged' WHERE session = 1"));
  const auto other = connect(*place_);
  ASSERT_TRUE(other->script("BEGIN; UPDATE slices SET statistics = 'newer' WHERE session = 1"));
  Result<> done;
  meanwhile(*other, [&] {
    done = in_transaction(*db_, [&]() -> Result<> {
      Findings findings(*db_);
      TRY(rebuild_slices(*db_, findings, 1));
      return {};
    });
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kConflict) << done.error().message;
  EXPECT_EQ(dump(*db_, std::string(kStatistics) + " WHERE session = 1"), "newer");
}

TEST_P(BesideAnother, TwoRepairOneAfterTheOther) {
  change("DELETE FROM pyramid WHERE tier = 1");
  const auto other = connect(*place_);
  ASSERT_TRUE(other->script("BEGIN"));
  ASSERT_TRUE(repair_session(*other, 1));
  meanwhile(*other, [&] { repair(); });
  EXPECT_TRUE(dump(*db_, kPyramid) == pyramid_);
}

TEST_P(BesideAnother, WhatAnotherFinishedCleaningIsNotTheEnd) {
  ASSERT_TRUE(db_->script("INSERT INTO removals (owner_kind, owner, workload) VALUES (0, 97, 99)"));
  const auto other = connect(*place_);
  ASSERT_TRUE(
      other->script("BEGIN; DELETE FROM removals; INSERT INTO removals (owner_kind, owner, "
                    "workload) VALUES (0, 98, 99)"));
  bool more = false;
  meanwhile(*other, [&] {
    const auto done = in_transaction(*db_, [&]() -> Result<> {
      more = TRY(sql::clean_removed(*db_, sys::boot_now() + std::chrono::seconds(60)));
      return {};
    });
    EXPECT_TRUE(done) << done.error().message;
  });
  EXPECT_TRUE(more);
  EXPECT_EQ(*db_->number("SELECT owner FROM removals"), 98);
}

// ---- retention
TEST_P(Repairs, ARunThatRunsAgainIsSkippedAndTheOthersGo) {
  const auto id = [&] {
    auto row = db_->query("SELECT id FROM runs");
    EXPECT_TRUE(row && *row->step());
    return row->id128<RunId>(0);
  }();
  const std::array ids = {id};
  const auto size = [&](sql::IfRunning running) {
    return sql::size_of_removal(*db_, ids, running);
  };
  EXPECT_EQ(size(sql::IfRunning::kRefuse).error().code, Code::kConflict);
  EXPECT_TRUE(size(sql::IfRunning::kSkip)->runs.empty());
  const auto done = in_transaction(*db_, [&]() -> Result<> {
    EXPECT_FALSE(TRY(sql::mark_removed(*db_, id, sql::IfRunning::kSkip)));
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_EQ(*db_->number("SELECT count(*) FROM runs"), 1);
}

TEST_P(Repairs, ARunThatIsRestoredMeanwhileStays) {
  const auto id = [&] {
    auto row = db_->query("SELECT id FROM runs");
    EXPECT_TRUE(row && *row->step());
    return row->id128<RunId>(0);
  }();
  const auto removed = [&](sql::IfRunning running, UtcTime before) -> Result<bool> {
    bool done = false;
    const auto mark = [&]() -> Result<> {
      done = TRY(sql::mark_removed(*db_, id, running, before));
      return {};
    };
    TRY(in_transaction(*db_, mark));
    return done;
  };
  const auto set = [&](const char* state) {
    ASSERT_TRUE(db_->script(std::string("UPDATE runs SET status = 1, ended = key, ") + state));
  };
  set("lifecycle = 0, trashed = NULL");
  EXPECT_EQ(removed(sql::IfRunning::kRefuse, UtcTime::max()).error().code, Code::kNotFound);
  EXPECT_EQ(removed(sql::IfRunning::kRemove, UtcTime::max()).error().code, Code::kNotFound);
  EXPECT_FALSE(*removed(sql::IfRunning::kSkip, UtcTime::max()));
  set("lifecycle = 1, trashed = 10");
  EXPECT_FALSE(*removed(sql::IfRunning::kSkip, utc_time(10))) << "moved there again";
  set("lifecycle = -1, trashed = NULL");
  EXPECT_FALSE(*removed(sql::IfRunning::kSkip, UtcTime::max()));
  set("lifecycle = 1, trashed = 10");
  EXPECT_TRUE(*removed(sql::IfRunning::kSkip, utc_time(11)));
  EXPECT_EQ(*db_->number("SELECT count(*) FROM runs"), 0);
}

TEST_P(Repairs, ArchivedRunsOutliveRetention) {
  ASSERT_TRUE(db_->script("UPDATE runs SET status = 1, ended = key"));
  const auto outlived = [&] {
    return sql::runs_beyond_retention(*db_, {.age = Nanos(1), .bytes = {}},
                                      utc_time(std::int64_t{9'000'000'000'000'000'000}))
        ->size();
  };
  EXPECT_EQ(outlived(), 1U);
  ASSERT_TRUE(db_->script("UPDATE runs SET lifecycle = -1"));
  EXPECT_EQ(outlived(), 0U);
}

// Its bytes are there until they are deleted; nothing else has to go for them.
TEST_P(Repairs, WhatIsBeingRemovedTakesNoRoom) {
  RunId other;
  {
    other = fill(*place_);
    ASSERT_TRUE(db_->script("UPDATE runs SET status = 1, ended = key"));
  }
  const auto size = sql::size_of_removal(*db_, std::array{other}, sql::IfRunning::kRefuse);
  ASSERT_TRUE(size);
  const auto outlived = [&] {
    return *sql::runs_beyond_retention(*db_, {.age = {}, .bytes = size->bytes + 1000}, utc_time(0));
  };
  ASSERT_EQ(outlived().size(), 1U);
  const RunId first = outlived().at(0);
  ASSERT_NE(first, other);
  const auto done = in_transaction(*db_, [&]() -> Result<> {
    EXPECT_TRUE(TRY(sql::mark_removed(*db_, first, sql::IfRunning::kSkip)));
    return {};
  });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(outlived().empty());
}

}  // namespace
}  // namespace corral::store::maintain
