// Stores for the tests of upkeep, on both engines: empty, filled on every level, damaged.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "store/engine/postgres/database.h"
#include "store/engine/sqlite/database.h"
#include "store/maintain/tables.h"
#include "store/open/postgres_store.h"
#include "store/open/sqlite_store.h"
#include "store/open/test_postgres.h"
#include "store/test_frames.h"

namespace corral::store::maintain {

namespace fs = std::filesystem;
using sql::Connection;
using store::testing::PostgresServer;
using store::testing::SessionWriter;

// A store's place, empty at first.
class Place {
 public:
  virtual ~Place() = default;
  virtual Result<std::unique_ptr<Store>> open() = 0;
  virtual Result<std::unique_ptr<Connection>> connect() = 0;
};

class SqlitePlace final : public Place {
 public:
  SqlitePlace() { fs::create_directory(path_); }
  ~SqlitePlace() override {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  Result<std::unique_ptr<Store>> open() override { return open_sqlite_store({.directory = path_}); }
  Result<std::unique_ptr<Connection>> connect() override {
    return sqlite::open_database(path_ / "corral.db", sqlite::Mode::kReadWrite);
  }

 private:
  const fs::path path_ = fs::temp_directory_path() / ("corral-upkeep-" + RunId::random().hex());
};

class PostgresPlace final : public Place {
 public:
  explicit PostgresPlace(std::string url) : url_(std::move(url)) {}
  Result<std::unique_ptr<Store>> open() override { return open_postgres_store({.url = url_}); }
  Result<std::unique_ptr<Connection>> connect() override {
    return postgres::open_database(url_, postgres::Mode::kReadWrite);
  }

 private:
  const std::string url_;
};

enum class Engine { kSqlite, kPostgres };

inline std::unique_ptr<Place> make_place(Engine engine) {
  if (engine == Engine::kSqlite) return std::make_unique<SqlitePlace>();
  const auto server = PostgresServer::shared();
  EXPECT_TRUE(server) << server.error().message;
  return std::make_unique<PostgresPlace>(*(*server)->new_schema());
}

inline constexpr std::int64_t kRows = 70'000;  // 8 blocks, a full pyramid row, and a rest
inline constexpr std::int64_t kLater = 500;    // stay in a batch row

inline codec::SamplesBody rows(std::int64_t first, std::int64_t count) {
  codec::SampleGroup group;
  codec::Column loss{.series = 1, .present = {}, .values = {}};
  codec::Column bytes{.series = 2, .present = {}, .values = {}};
  for (std::int64_t i = first; i < first + count; ++i) {
    group.times.push_back(boot_time(1'000'000 + i * 1'000'000));
    group.steps.push_back(i);
    loss.values.push_back(i % 997 == 0 ? std::nan("") : std::sin(static_cast<double>(i)));
    bytes.values.push_back(static_cast<double>(i) * 3);
  }
  group.columns = {loss, bytes};
  return {.groups = {std::move(group)}};
}

// Fills the store: a run with a gauge and a counter, points on every level, output.
inline RunId fill(Place& place) {
  auto store = place.open();
  EXPECT_TRUE(store) << store.error().message;
  const RunId run = RunId::random();
  SessionWriter writer;
  auto counter = store::testing::series_def(2, "bytes");
  counter.kind = metric::Kind::kCounter;
  const auto append = [&](const auto& body) {
    const auto done = (*store)->append(std::vector{writer.frame(body)});
    EXPECT_TRUE(done && done->refusals.empty());
  };
  append(store::testing::session_body(run));
  append(codec::SchemaBody{.series = {store::testing::series_def(1, "loss"), counter}});
  for (std::int64_t first = 0; first < kRows; first += 5000) append(rows(first, 5000));
  EXPECT_TRUE((*store)->seal(true));
  append(rows(kRows, kLater));
  return run;
}

inline std::unique_ptr<Connection> connect(Place& place) {
  auto db = place.connect();
  EXPECT_TRUE(db) << db.error().message;
  return *std::move(db);
}

// Flips one bit of a blob of the table's first row.
inline void flip(Connection& db, const std::string& table, const std::string& column) {
  const auto info = std::ranges::find(tables(), table, &Table::name);
  const auto columns = parse_columns(*info);
  std::string order, where;
  for (std::size_t i = 0; i < info->keys; ++i) {
    order += (i == 0 ? "" : ", ") + columns[i].name;
    where += fmt::format("{}{} = ?{}", i == 0 ? "" : " AND ", columns[i].name, i + 2);
  }
  std::vector<std::uint8_t> bytes;
  std::vector<std::int64_t> key;
  {
    auto row = db.query(
        fmt::format("SELECT {}, {} FROM {} ORDER BY {} LIMIT 1", column, order, table, order));
    ASSERT_TRUE(row && *row->step());
    const sql::Blob blob = row->blob(0);
    bytes.assign(blob.begin(), blob.end());
    for (std::size_t i = 0; i < info->keys; ++i)
      key.push_back(row->integer(static_cast<int>(i + 1)));
  }
  bytes.at(bytes.size() / 2) ^= 16;
  auto update = db.query(fmt::format("UPDATE {} SET {} = ?1 WHERE {}", table, column, where));
  ASSERT_TRUE(update);
  update->set(1, sql::Blob(bytes));
  for (std::size_t i = 0; i < key.size(); ++i) update->set(static_cast<int>(i + 2), key[i]);
  ASSERT_TRUE(update->defer() && db.flush());
}

inline std::string dump(Connection& db, const std::string& sql) {
  std::string all;
  auto row = db.query(sql);
  EXPECT_TRUE(row);
  while (*row->step()) {
    const sql::Blob blob = row->blob(0);
    all.append(blob.begin(), blob.end());
  }
  return all;
}
inline constexpr const char* kPyramid =
    "SELECT data FROM pyramid ORDER BY series, channel, tier, no";

}  // namespace corral::store::maintain
