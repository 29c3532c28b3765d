// Two stores ("nodes") on one new PostgreSQL database, for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "store/engine/postgres/database.h"
#include "store/open/postgres_store.h"
#include "store/open/test_postgres.h"
#include "store/test_frames.h"
#include "store/test_reader.h"
#include "sys/clock.h"

namespace corral::store {

using Node = std::unique_ptr<Store>;

// Values of every point of the run's series of that name, ascending.
inline std::vector<double> values_of(Store& store, RunId run, std::string_view name) {
  std::vector<double> values;
  const auto all = reader_of(store).series_of(run);
  EXPECT_TRUE(all) << all.error().message;
  for (const Series& series : *all) {
    if (series.name != name) continue;
    const SeriesId ids[] = {series.id};
    const auto done = reader_of(store).view(ids, [&](PointView& view) -> Result<> {
      for (std::int64_t no = 0; no < view.block_count(series.id); ++no) {
        const auto block = TRY(view.block(series.id, no));
        std::vector<double> part(8192);
        TRY(block->values(0, part));
        values.insert(values.end(), part.begin(), part.end());
      }
      for (const Chunk& chunk : view.recent(series.id))
        values.insert(values.end(), chunk.values.begin(), chunk.values.end());
      return {};
    });
    EXPECT_TRUE(done) << done.error().message;
    // Read a moment earlier.
    EXPECT_LE(series.points, static_cast<std::int64_t>(values.size()));
  }
  std::ranges::sort(values);
  return values;
}

inline std::vector<double> numbers(std::size_t count, double first = 0) {
  std::vector<double> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

class PostgresNodes : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto server = testing::PostgresServer::shared();
    if (!server && server.error().code == Code::kNotFound) GTEST_SKIP() << server.error().message;
    ASSERT_TRUE(server) << server.error().message;
    server_ = *server;
    const auto url = server_->new_schema();
    ASSERT_TRUE(url) << url.error().message;
    url_ = *url;
    for (Node& node : nodes_) node = open();
  }
  Node open() const {
    PostgresOptions options;
    options.url = url_;
    auto store = open_postgres_store(options);
    EXPECT_TRUE(store) << store.error().message;
    return *std::move(store);
  }
  static void must(Store& store, const std::vector<codec::Frame>& frames) {
    const auto result = store.append(frames);
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_TRUE(result->refusals.empty()) << result->refusals.at(0).error.message;
  }
  // As a client does it: again until it is acknowledged.
  static void until_taken(Store& store, const codec::Frame& frame) {
    const BootTime until = sys::boot_now() + std::chrono::seconds(120);
    for (;;) {
      const auto result = store.append(std::vector{frame});
      if (result) {
        EXPECT_TRUE(result->refusals.empty()) << result->refusals.at(0).error.message;
        return;
      }
      ASSERT_EQ(result.error().code, Code::kUnavailable) << result.error().message;
      ASSERT_LT(sys::boot_now(), until) << result.error().message;
      sys::system_clock().sleep_until(sys::boot_now() + std::chrono::milliseconds(10));
    }
  }
  std::unique_ptr<sql::Connection> admin() const {
    auto connection = postgres::open_database(server_->admin_url(), postgres::Mode::kReadWrite);
    EXPECT_TRUE(connection) << connection.error().message;
    return *std::move(connection);
  }

  testing::PostgresServer* server_ = nullptr;
  std::string url_;
  Node nodes_[2];
};

}  // namespace corral::store
