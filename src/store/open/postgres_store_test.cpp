#include "store/open/postgres_store.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "store/conformance/conformance_hosts.h"
#include "store/conformance/conformance_members.h"
#include "store/conformance/conformance_remove.h"
#include "store/engine/postgres/database.h"
#include "store/engine/postgres/sqlstate.h"
#include "store/engine/schema.h"
#include "store/engine/views.h"
#include "store/open/test_postgres.h"

namespace corral::store {
namespace {

using testing::PostgresServer;

class PostgresPlace final : public StorePlace {
 public:
  explicit PostgresPlace(std::string url) : url_(std::move(url)) {}
  Result<std::unique_ptr<Store>> open() override { return open_postgres_store({.url = url_}); }

 private:
  const std::string url_;
};

std::unique_ptr<StorePlace> postgres_place() {
  const auto server = PostgresServer::shared();
  EXPECT_TRUE(server) << server.error().message;
  const auto url = (*server)->new_schema();
  EXPECT_TRUE(url) << url.error().message;
  return std::make_unique<PostgresPlace>(*url);
}

INSTANTIATE_TEST_SUITE_P(Postgres, StoreConformance, all_sealings(&postgres_place));
INSTANTIATE_TEST_SUITE_P(Postgres, StoreLevels, all_sealings(&postgres_place));
INSTANTIATE_TEST_SUITE_P(Postgres, StoreRemoval, all_sealings(&postgres_place));
INSTANTIATE_TEST_SUITE_P(Postgres, StoreHosts, all_sealings(&postgres_place));
INSTANTIATE_TEST_SUITE_P(Postgres, StoreMembers, all_sealings(&postgres_place));

Error open_error(const std::string& url) {
  PostgresOptions options;
  options.url = url;
  const auto store = open_postgres_store(options);
  EXPECT_FALSE(store);
  return store ? Error{} : store.error();
}

class PostgresStore : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto server = PostgresServer::shared();
    if (!server && server.error().code == Code::kNotFound) GTEST_SKIP() << server.error().message;
    ASSERT_TRUE(server) << server.error().message;
    server_ = *server;
    auto opened = postgres::open_database(server_->admin_url(), postgres::Mode::kReadWrite);
    ASSERT_TRUE(opened) << opened.error().message;
    admin_ = *std::move(opened);
  }
  void sql(const std::string& text) {
    const auto done = admin_->script(text);
    ASSERT_TRUE(done) << done.error().message;
  }

  PostgresServer* server_ = nullptr;
  std::unique_ptr<sql::Connection> admin_;
};

TEST_F(PostgresStore, NamesAWrongPasswordAndDoesNotRepeatIt) {
  sql("CREATE ROLE guarded LOGIN PASSWORD 'right'");
  const std::string place = "/postgres?host=" + server_->directory().string();
  const Error wrong = open_error("postgresql://guarded:wr0ng-secret@" + place);
  EXPECT_EQ(wrong.code, Code::kUnauthenticated);
  EXPECT_NE(wrong.message.find("password authentication failed"), std::string::npos)
      << wrong.message;
  EXPECT_NE(wrong.message.find("postgresql://guarded@"), std::string::npos) << wrong.message;
  EXPECT_EQ(wrong.message.find("secret"), std::string::npos) << wrong.message;
  EXPECT_EQ(open_error("postgresql://guarded@" + place).code, Code::kUnauthenticated);
  EXPECT_TRUE(
      postgres::open_database("postgresql://guarded:right@" + place, postgres::Mode::kReadOnly));
  ::setenv("PGPASSWORD", "right", 1);
  EXPECT_TRUE(postgres::open_database("postgresql://guarded@" + place, postgres::Mode::kReadOnly));
  ::unsetenv("PGPASSWORD");
}

TEST_F(PostgresStore, NamesAMissingDatabaseServerOrAddress) {
  const Error database = open_error(server_->url("postgres", "nowhere", "x"));
  EXPECT_EQ(database.code, Code::kNotFound);
  EXPECT_NE(database.message.find("\"nowhere\" does not exist"), std::string::npos)
      << database.message;
  EXPECT_EQ(open_error("postgresql://u@/db?host=/nowhere").code, Code::kUnavailable);
  for (const char* text : {"postgresql://u:secret@h:x:y/db?a", "mysql://u:secret@h/db", ""}) {
    const Error address = open_error(text);
    EXPECT_EQ(address.code, Code::kInvalidArgument) << text;
    EXPECT_EQ(address.message.find("secret"), std::string::npos) << address.message;
  }
}

TEST_F(PostgresStore, SaysWhatARoleWithoutRightsLacks) {
  sql("CREATE ROLE nobody_much LOGIN");
  const Error error = open_error(server_->url("nobody_much", "postgres", "public"));
  EXPECT_EQ(error.code, Code::kPermission) << error.message;
  EXPECT_NE(error.message.find("CREATE SCHEMA"), std::string::npos) << error.message;
}

TEST_F(PostgresStore, LeavesAnotherProgramsTablesAlone) {
  const auto url = server_->new_schema();
  ASSERT_TRUE(url);
  auto theirs = postgres::open_database(*url, postgres::Mode::kReadWrite);
  ASSERT_TRUE(theirs) << theirs.error().message;
  ASSERT_TRUE((*theirs)->script("CREATE TABLE runs (run_uuid text)"));
  EXPECT_EQ(open_error(*url).code, Code::kUnsupported);
  EXPECT_TRUE((*theirs)->script("INSERT INTO runs VALUES ('theirs')"));
}

TEST_F(PostgresStore, RefusesANewerSchemaAndAnotherEncoding) {
  const auto url = server_->new_schema();
  ASSERT_TRUE(url);
  PostgresOptions options;
  options.url = *url;
  ASSERT_TRUE(open_postgres_store(options));
  auto database = postgres::open_database(*url, postgres::Mode::kReadWrite);
  ASSERT_TRUE((*database)->exec("UPDATE meta SET value = 77 WHERE key = 'schema_version'"));
  EXPECT_NE(open_error(*url).message.find("newer Corral (schema 77"), std::string::npos);
  sql("CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
  const Error error = open_error(server_->url("postgres", "latin", "public"));
  EXPECT_EQ(error.code, Code::kUnsupported);
  EXPECT_NE(error.message.find("LATIN1"), std::string::npos) << error.message;
}

TEST_F(PostgresStore, AcknowledgedIsOnTheDiskWhateverTheRoleSays) {
  const auto url = server_->new_schema();
  ASSERT_TRUE(url);
  const std::string role = url->substr(13, url->find('@') - 13);
  sql("ALTER ROLE " + role + " SET synchronous_commit = off");
  auto database = postgres::open_database(*url, postgres::Mode::kReadWrite);
  ASSERT_TRUE(database) << database.error().message;
  auto row = (*database)->query("SELECT current_setting('synchronous_commit')");
  ASSERT_TRUE(*row->step());
  EXPECT_EQ(row->text(0), "on");
}

TEST_F(PostgresStore, ValuesOfEveryTypeComeBack) {
  auto row = admin_->query(
      "SELECT ?1, ?2, ?3, ?4, CAST(?5 AS BIGINT), sum(n), true, CAST(7 AS int2), CAST(-7 AS int4), "
      "CAST(0.5 AS float4), '?1' FROM generate_series(1, 100000) n",
      std::int64_t{-5}, -0.0, "zwölf", RunId::parse("abcd0000000000000000000000000001").value(),
      std::optional<std::int64_t>());
  ASSERT_TRUE(row) << row.error().message;
  const auto there = row->step();
  ASSERT_TRUE(there) << there.error().message;
  EXPECT_EQ(row->integer(0), -5);
  EXPECT_TRUE(std::signbit(row->real(1)));
  EXPECT_EQ(row->text(2), "zwölf");
  EXPECT_EQ(row->id128<RunId>(3).hex(), "abcd0000000000000000000000000001");
  EXPECT_TRUE(row->is_null(4));
  EXPECT_EQ(row->integer(5), 5000050000);
  EXPECT_EQ(row->integer(6), 1);
  EXPECT_EQ(row->integer(7), 7);
  EXPECT_EQ(row->integer(8), -7);
  EXPECT_EQ(row->real(9), 0.5);
  EXPECT_EQ(row->text(10), "?1");
  EXPECT_FALSE(*row->step());
}

TEST_F(PostgresStore, WhatWasDeferredIsDoneInOrderAndItsErrorIsTold) {
  const auto url = server_->new_schema();
  ASSERT_TRUE(url);
  auto database = postgres::open_database(*url, postgres::Mode::kReadWrite);
  ASSERT_TRUE(database) << database.error().message;
  sql::Connection& db = **database;
  ASSERT_TRUE(db.script("CREATE TABLE t (k BIGINT PRIMARY KEY, v BIGINT)"));
  ASSERT_TRUE(db.script("BEGIN"));
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(db.defer("INSERT INTO t VALUES (?1, ?1)", i));
  EXPECT_EQ(*db.number("SELECT count(*) FROM t"), 3000);
  ASSERT_TRUE(db.defer("UPDATE t SET v = 0 WHERE k = ?1", 5));
  ASSERT_TRUE(db.script("COMMIT"));
  ASSERT_TRUE(db.script("BEGIN"));
  ASSERT_TRUE(db.defer("INSERT INTO t VALUES (?1, ?1)", 5000));
  ASSERT_TRUE(db.defer("INSERT INTO t VALUES (?1, ?1)", 5));
  ASSERT_TRUE(db.defer("INSERT INTO t VALUES (?1, ?1)", 5001));
  const auto flushed = db.flush();
  ASSERT_FALSE(flushed);
  EXPECT_EQ(flushed.error().code, Code::kConflict) << flushed.error().message;
  EXPECT_TRUE(db.in_transaction());
  ASSERT_TRUE(db.script("ROLLBACK"));
  EXPECT_EQ(*db.number("SELECT count(*) FROM t"), 3000);
  EXPECT_EQ(*db.number("SELECT v FROM t WHERE k = 5"), 0);
}

TEST_F(PostgresStore, ACommitOfWhatFailedIsNoSuccess) {
  const auto url = server_->new_schema();
  ASSERT_TRUE(url);
  auto database = postgres::open_database(*url, postgres::Mode::kReadWrite);
  ASSERT_TRUE(database) << database.error().message;
  sql::Connection& db = **database;
  ASSERT_TRUE(db.script("CREATE TABLE t (k BIGINT PRIMARY KEY)"));
  ASSERT_TRUE(db.script("BEGIN"));
  ASSERT_TRUE(db.exec("INSERT INTO t VALUES (?1)", 1));
  EXPECT_FALSE(db.exec("INSERT INTO t VALUES (?1)", 1));
  const auto committed = db.script("COMMIT");
  ASSERT_FALSE(committed) << "the server answers ROLLBACK";
  EXPECT_EQ(committed.error().code, Code::kUnavailable);
  EXPECT_FALSE(db.in_transaction());
  ASSERT_TRUE(db.script("BEGIN"));
  ASSERT_TRUE(db.exec("INSERT INTO t VALUES (?1)", 2));
  ASSERT_TRUE(db.script("SAVEPOINT one"));
  ASSERT_TRUE(db.defer("INSERT INTO t VALUES (?1)", 2));
  ASSERT_TRUE(db.script("ROLLBACK TO one; RELEASE one")) << "a deferred error is undone, too";
  ASSERT_TRUE(db.script("COMMIT"));
  ASSERT_TRUE(db.script("BEGIN"));
  ASSERT_TRUE(db.defer("INSERT INTO t VALUES (?1)", 2));
  ASSERT_TRUE(db.script("ROLLBACK"));
  EXPECT_FALSE(db.in_transaction());
  EXPECT_EQ(*db.number("SELECT count(*) FROM t"), 1);
}

TEST_F(PostgresStore, AWriterThatStandsStillLosesItsLocks) {
  const auto url = server_->new_schema();
  ASSERT_TRUE(url);
  for (const auto mode : {postgres::Mode::kReadWrite, postgres::Mode::kRelaxed}) {
    auto database = postgres::open_database(*url, mode);
    ASSERT_TRUE(database) << database.error().message;
    EXPECT_EQ(*(*database)->number("SELECT setting::int FROM pg_settings WHERE name = "
                                   "'idle_in_transaction_session_timeout'"),
              15'000);
    EXPECT_EQ(
        *(*database)->number("SELECT setting::int FROM pg_settings WHERE name = 'lock_timeout'"),
        1'000);
  }
  auto reader = postgres::open_database(*url, postgres::Mode::kReadOnly);
  EXPECT_EQ(*(*reader)->number("SELECT setting::int FROM pg_settings WHERE name = "
                               "'idle_in_transaction_session_timeout'"),
            0);
}

TEST_F(PostgresStore, WhatIsHiddenStaysSoOnANewConnection) {
  const auto url = server_->new_schema();
  ASSERT_TRUE(url);
  auto database = postgres::open_database(*url, postgres::Mode::kReadWrite);
  ASSERT_TRUE(database) << database.error().message;
  ASSERT_TRUE(sql::migrate(**database));
  ASSERT_TRUE((*database)->exec("INSERT INTO experiments (name, created) VALUES ('vision/a', 1)"));
  auto opened = postgres::open_database(*url, postgres::Mode::kReadOnly);
  ASSERT_TRUE(opened) << opened.error().message;
  sql::Connection& reader = **opened;
  ASSERT_TRUE(sql::put_views_before_tables(reader));
  const auto seen = [&](const std::vector<std::string>& hidden) {
    EXPECT_TRUE(reader.script(std::string(reader.dialect().begin_read)));
    const auto hides = reader.hide(hidden);
    EXPECT_TRUE(hides) << hides.error().message;
    const auto count = reader.number("SELECT count(*) FROM experiments");
    EXPECT_TRUE(reader.script("COMMIT"));
    return count ? count->value_or(-1) : -2;
  };
  EXPECT_EQ(seen({"vision"}), 1) << "the default one";
  EXPECT_EQ(seen({"speech", "robots"}), 2);
  sql("SELECT pg_terminate_backend(" + std::to_string(**reader.number("SELECT pg_backend_pid()")) +
      ")");
  EXPECT_FALSE(reader.number("SELECT 1")) << "the connection is lost";
  ASSERT_TRUE(reader.revive());
  EXPECT_EQ(seen({"vision"}), 1);
  EXPECT_EQ(**reader.number("SELECT count(*) FROM experiments"), 0) << "without hide()";
}

TEST_F(PostgresStore, ASearchPathThatFindsTablesFirstIsRefused) {
  const auto url = server_->new_schema();
  ASSERT_TRUE(url);
  auto database = postgres::open_database(*url, postgres::Mode::kReadWrite);
  ASSERT_TRUE(database) << database.error().message;
  ASSERT_TRUE(sql::migrate(**database));
  sql::Connection& db = **database;
  ASSERT_TRUE(sql::put_views_before_tables(db));
  ASSERT_TRUE(db.hide({"vision"}));
  ASSERT_TRUE(db.exec("SELECT set_config('search_path', current_schema() || ', pg_temp', false)"));
  const auto refused = db.hide({"vision"});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("pg_temp"), std::string::npos) << refused.error().message;
}

TEST(Placeholders, BecomeDollarsOutsideOfQuotesAndComments) {
  EXPECT_EQ(postgres::with_dollars("SELECT ?1, '?2', \"?3\" -- ?4\n, ?12 FROM t WHERE a ? b"),
            "SELECT $1, '?2', \"?3\" -- ?4\n, $12 FROM t WHERE a ? b");
}

TEST(Sqlstate, SaysWhatToDo) {
  EXPECT_EQ(postgres::code_of_sqlstate("40001"), Code::kUnavailable);
  EXPECT_EQ(postgres::code_of_sqlstate("57P03"), Code::kUnavailable);
  EXPECT_EQ(postgres::code_of_sqlstate("53100"), Code::kNoSpace);
  EXPECT_EQ(postgres::code_of_sqlstate("53300"), Code::kUnavailable);
  EXPECT_EQ(postgres::code_of_sqlstate("22P05"), Code::kUnprocessable);
  EXPECT_EQ(postgres::code_of_sqlstate("XX001"), Code::kCorruption);
  EXPECT_EQ(postgres::code_of_sqlstate("42601"), Code::kInternal);
}

}  // namespace
}  // namespace corral::store
