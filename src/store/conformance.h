// What every implementation of store.h must do, as one parametrised test suite (conformance.cpp).
//
// A test binary of an implementation compiles conformance.cpp and says
//   INSTANTIATE_TEST_SUITE_P(Sqlite, StoreConformance, ::testing::Values(&make_place));
// where make_place gives an empty store's place, which goes away with the object.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "store/store.h"
#include "store/test_frames.h"

namespace corral::store {

class StorePlace {
 public:
  virtual ~StorePlace() = default;
  // Opens what is there; at most one at a time.
  virtual Result<std::unique_ptr<Store>> open() = 0;
};

class StoreConformance : public ::testing::TestWithParam<std::unique_ptr<StorePlace> (*)()> {
 protected:
  void SetUp() override {
    place_ = GetParam()();
    reopen();
  }
  void reopen() {
    store_.reset();
    auto store = place_->open();
    ASSERT_TRUE(store) << store.error().message;
    store_ = *std::move(store);
  }
  AppendResult append(const std::vector<codec::Frame>& frames) {
    auto result = store_->append(frames);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *std::move(result) : AppendResult{};
  }
  // A session of a new or given run, already begun.
  void begin(testing::SessionWriter& writer, RunId run, std::string role = "process") {
    EXPECT_TRUE(
        append({writer.frame(testing::session_body(run, std::move(role)))}).refusals.empty());
  }
  store::Run run(RunId id) {
    auto found = store_->run(id);
    EXPECT_TRUE(found && *found);
    return found && *found ? **found : store::Run{};
  }
  Series only_series(RunId id, std::string_view name);
  // (UTC time, value) of every point of a series, in order of arrival.
  std::vector<std::pair<std::int64_t, double>> points(SeriesId series,
                                                      UtcTime from = UtcTime::min(),
                                                      UtcTime to = UtcTime::max());

  std::unique_ptr<StorePlace> place_;
  std::unique_ptr<Store> store_;
};

}  // namespace corral::store
