// The contract of store.h over every engine, as one parametrised test suite (conformance.cpp).
//
// A test binary of an implementation compiles conformance.cpp and says
//   INSTANTIATE_TEST_SUITE_P(Sqlite, StoreConformance, all_sealings(&make_place));
// where make_place gives an empty store's place, which goes away with the object.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <tuple>

#include "store/store.h"
#include "store/test_frames.h"
#include "store/test_reader.h"

namespace corral::store {

class StorePlace {
 public:
  virtual ~StorePlace() = default;
  // Opens the existing store; at most one at a time.
  virtual Result<std::unique_ptr<Store>> open() = 0;
};

using MakePlace = std::unique_ptr<StorePlace> (*)();
// The fate of every point after it was appended: nothing yet, row groups and blocks, or those
// of a session that has ended. The answers must be the same.
enum class Sealing { kLater, kAtOnce, kSettled };

class StoreConformance : public ::testing::TestWithParam<std::tuple<MakePlace, Sealing>> {
 protected:
  void SetUp() override {
    place_ = std::get<0>(GetParam())();
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
    const Sealing sealing = std::get<1>(GetParam());
    if (sealing != Sealing::kLater) {
      EXPECT_TRUE(store_->seal(sealing == Sealing::kSettled));
    }
    return result ? *std::move(result) : AppendResult{};
  }
  // A session of a new or given run, already begun.
  void begin(testing::SessionWriter& writer, RunId run, std::string role = "process") {
    EXPECT_TRUE(
        append({writer.frame(testing::session_body(run, std::move(role)))}).refusals.empty());
  }
  store::Run run(RunId id) {
    auto found = reader_of(*store_).run(id);
    EXPECT_TRUE(found && *found);
    return found && *found ? **found : store::Run{};
  }
  Series only_series(RunId id, std::string_view name);
  // (UTC time, value) of every point of a series, by time.
  std::vector<std::pair<std::int64_t, double>> points(SeriesId series,
                                                      UtcTime from = UtcTime::min(),
                                                      UtcTime to = UtcTime::max());

  std::unique_ptr<StorePlace> place_;
  std::unique_ptr<Store> store_;
};

inline auto all_sealings(MakePlace place) {
  return ::testing::Combine(
      ::testing::Values(place),
      ::testing::Values(Sealing::kLater, Sealing::kAtOnce, Sealing::kSettled));
}

}  // namespace corral::store
