// Tests two servers that change one experiment at the same time, on PostgreSQL.
#include "store/search/experiments.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "store/engine/postgres/database.h"
#include "store/open/postgres_store.h"
#include "store/open/test_postgres.h"
#include "store/search/runs.h"

namespace corral::store::tracking {
namespace {

using ConnectionPtr = std::unique_ptr<sql::Connection>;

class TwoServers : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto server = testing::PostgresServer::shared();
    if (!server) GTEST_SKIP() << server.error().message;
    url_ = *(*server)->new_schema();
    ASSERT_TRUE(open_postgres_store({.url = url_}));  // makes the tables
  }
  ConnectionPtr connect() {
    auto db = postgres::open_database(url_, postgres::Mode::kReadWrite);
    EXPECT_TRUE(db) << db.error().message;
    return *std::move(db);
  }
  static std::int64_t number(sql::Connection& db, std::string_view sql) {
    const auto found = db.number(sql);
    EXPECT_TRUE(found) << found.error().message;
    return found ? found->value_or(-1) : -1;
  }
  static void must(const Result<>& done) { ASSERT_TRUE(done) << done.error().message; }

  std::string url_;
};

TEST_F(TwoServers, ARunIsNeverActiveInADeletedExperiment) {
  const ConnectionPtr creator = connect(), deleter = connect(), watcher = connect();
  must(creator->script("BEGIN"));
  must(hold_experiment(*creator, ExperimentId{0}));
  const auto experiment = tracking::experiment(*creator, ExperimentId{0});
  ASSERT_TRUE(experiment && *experiment);
  ASSERT_EQ((*experiment)->lifecycle, Lifecycle::kActive);
  NewRun run;
  run.id = RunId::random();
  run.start = utc_time(1);
  ASSERT_TRUE(create_run(*creator, run));

  // The creator's commit may take long.
  must(deleter->script("SET lock_timeout = '60s'"));
  std::atomic<bool> deleted = false;
  std::thread other([&] {
    EXPECT_TRUE(deleter->script("BEGIN"));
    EXPECT_TRUE(set_lifecycle(*deleter, ExperimentId{0}, Lifecycle::kDeleted, utc_time(2)));
    EXPECT_TRUE(deleter->script("COMMIT"));
    deleted = true;
  });
  // It waits, or is through.
  while (!deleted && number(*watcher, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 0) {
  }
  EXPECT_FALSE(deleted);
  must(creator->script("COMMIT"));
  other.join();
  EXPECT_EQ(number(*watcher, "SELECT lifecycle FROM experiments WHERE id = 0"), 1);
  EXPECT_EQ(number(*watcher, "SELECT count(*) FROM runs WHERE lifecycle = 1"), 1);
}

}  // namespace
}  // namespace corral::store::tracking
