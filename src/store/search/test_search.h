// A store for the tests of searches, on both engines, with helpers to fill and read it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "compat/mlflow/wire/filter.h"
#include "store/conformance/conformance.h"
#include "store/read/latest_metrics.h"
#include "store/store.h"
#include "store/test_reader.h"

namespace corral::store::tracking {

class SearchTest : public ::testing::TestWithParam<MakePlace> {
 protected:
  void SetUp() override {
    place_ = GetParam()();
    if (!place_) GTEST_SKIP() << "PostgreSQL is not installed";
    auto store = place_->open();
    ASSERT_TRUE(store) << store.error().message;
    store_ = *std::move(store);
  }
  // The value of `work` in a transaction that is kept.
  template <class Work>
  auto write(const Work& work) {
    using Value = typename decltype(work(std::declval<Writing&>()))::value_type;
    if constexpr (std::is_void_v<Value>) {
      const auto done = store_->change(work);
      EXPECT_TRUE(done) << done.error().message;
    } else {
      Value value{};
      const auto done = store_->change([&](Writing& db) -> Result<> {
        value = TRY(work(db));
        return {};
      });
      EXPECT_TRUE(done) << done.error().message;
      return value;
    }
  }
  // In a snapshot.
  template <class Work>
  auto read(const Work& work) {
    using Value = typename decltype(work(std::declval<Reading&>()))::value_type;
    Value value{};
    const auto done = reader_of(*store_).inspect([&](Reading& reading) -> Result<> {
      value = TRY(work(reading));
      return {};
    });
    EXPECT_TRUE(done) << done.error().message;
    return value;
  }

  std::unique_ptr<StorePlace> place_;
  std::unique_ptr<Store> store_;
};

std::unique_ptr<StorePlace> sqlite_place();
// Null: PostgreSQL is not installed.
std::unique_ptr<StorePlace> postgres_place();

inline auto both_engines() { return ::testing::Values(&sqlite_place, &postgres_place); }
inline std::string engine_name(const ::testing::TestParamInfo<MakePlace>& info) {
  return info.index == 0 ? "Sqlite" : "Postgres";
}

// Filter and order_by as they would come.
inline std::vector<mlflow::Comparison> filter_of(mlflow::SearchKind kind, std::string_view text) {
  auto filter = mlflow::parse_filter(kind, text);
  EXPECT_TRUE(filter) << text << ": " << filter.error().message;
  return filter ? *std::move(filter) : std::vector<mlflow::Comparison>();
}
inline std::vector<mlflow::Order> orders_of(mlflow::SearchKind kind,
                                            const std::vector<std::string>& clauses) {
  auto orders = mlflow::parse_order_by(kind, clauses);
  EXPECT_TRUE(orders) << orders.error().message;
  return orders ? *std::move(orders) : std::vector<mlflow::Order>();
}

}  // namespace corral::store::tracking
