// Fixture for tests of a host's series as seen by the runs on it (conformance_hosts.cpp).
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/conformance/conformance_remove.h"
#include "store/engine/database.h"

namespace corral::store {

inline constexpr std::int64_t kSecond = 1'000'000'000;
using Points = std::vector<std::pair<std::int64_t, double>>;

struct HostPlace {
  std::string host = "node7";
  std::string machine = "m7";
  std::string workload{};  // empty: the run's own
  std::int64_t started = 0;
  // If several supervisors record the run.
  std::optional<RunId> run{};
  std::optional<std::uint32_t> attempt{};
  std::optional<std::int64_t> rank{};
};

inline codec::SeriesDef host_def() {
  auto def = testing::series_def(1, "host.load.1m");
  def.owner = metric::Owner::kHost;
  return def;
}

class StoreHosts : public StoreRemoval {
 protected:
  RunId start(testing::SessionWriter& writer, const HostPlace& place) {
    const RunId id = place.run.value_or(RunId::random());
    auto body = testing::session_body(id, "supervisor");
    body.attempt = place.attempt;
    body.rank = place.rank;
    body.host = place.host;
    body.machine = place.machine;
    body.started = boot_time(place.started);
    if (!place.workload.empty()) {
      body.workload = workload_id_of(body.experiment, place.workload);
      body.workload_name = place.workload;
    }
    EXPECT_TRUE(append({writer.frame(body)}).refusals.empty());
    return id;
  }
  void declare(testing::SessionWriter& writer) {
    EXPECT_TRUE(append({writer.frame(codec::SchemaBody{.series = {host_def()}})}).refusals.empty());
  }
  AppendResult measure(testing::SessionWriter& writer, const Points& some) {
    return append({writer.frame(testing::samples(1, some))});
  }
  // The run's view of its host's load.
  Points shown(RunId id) {
    Points found;
    const std::vector<Series> all = *reader_of(*store_).series_of(id);
    for (const Series& series : all) {
      if (series.name != "host.load.1m") continue;
      EXPECT_TRUE(found.empty()) << "twice";
      EXPECT_EQ(series.owner, metric::Owner::kHost);
      found = points(series.id);
      expect_statistics(series, found);
    }
    return found;
  }
  void expect_statistics(const Series& series, const Points& found) {
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(series.points, std::ssize(found));
    EXPECT_EQ(ns_of(series.first), found.front().first);
    EXPECT_EQ(ns_of(series.last_time), found.back().first);
    EXPECT_EQ(series.last, found.back().second);
    double least = found.front().second, greatest = least, sum = 0;
    for (const auto& [time, value] : found) {
      least = std::min(least, value);
      greatest = std::max(greatest, value);
      sum += value;
    }
    EXPECT_EQ(series.min, least);
    EXPECT_EQ(series.max, greatest);
    EXPECT_DOUBLE_EQ(series.sum, sum);
    const auto again = *reader_of(*store_).series(std::array{series.id});
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].points, series.points);
    EXPECT_EQ(again[0].owner_id, series.owner_id);
    EXPECT_EQ(again[0].host, series.host);
  }
  std::int64_t count(const std::string& sql) {
    std::int64_t found = -1;
    EXPECT_TRUE(reader_of(*store_).inspect([&](sql::Reading& reading) -> Result<> {
      found = TRY(reading.db.number(sql)).value_or(-1);
      return {};
    }));
    return found;
  }
};

}  // namespace corral::store
