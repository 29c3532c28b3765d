// Fixture for tests of the rows that removing runs must delete or keep (conformance_remove.cpp).
#pragma once

#include <utility>
#include <vector>

#include "store/conformance/conformance_levels.h"

namespace corral::store {

class StoreRemoval : public StoreLevels {
 protected:
  // A run with a series "loss" of `count` points.
  void record(testing::SessionWriter& writer, RunId id, int count = 3) {
    begin(writer, id);
    append({writer.frame(codec::SchemaBody{.series = {testing::series_def(1, "loss")}})});
    std::vector<std::pair<std::int64_t, double>> points;
    for (int i = 0; i < count; ++i) points.emplace_back(2000 + i, i);
    append({writer.frame(testing::samples(1, points))});
  }
  void end(testing::SessionWriter& writer, std::int64_t time = 9000) {
    append({writer.frame(codec::RunEndBody{.time = boot_time(time),
                                           .reason = codec::EndReason::kExit,
                                           .exit_code = 0,
                                           .exit_signal = {}})});
  }
  Removal remove(const std::vector<RunId>& runs, const RemoveOptions& options = {}) {
    const auto removal = store_->remove_runs(runs, options);
    EXPECT_TRUE(removal) << removal.error().message;
    return removal ? *removal : Removal{};
  }
  void expect_gone(RunId id) {
    EXPECT_FALSE(*reader_of(*store_).run(id));
    EXPECT_TRUE(reader_of(*store_).find_runs(id.hex())->empty());
    EXPECT_TRUE(reader_of(*store_).series_of(id)->empty());
    EXPECT_TRUE(reader_of(*store_).phases(id)->empty());
    EXPECT_TRUE(reader_of(*store_).events(id)->empty());
    EXPECT_TRUE(reader_of(*store_).logs({.run = id, .stream = {}})->empty());
  }
  // In the tables, too.
  void clean() { EXPECT_TRUE(store_->seal(false)); }
};

}  // namespace corral::store
