// LatestMetrics: the latest value of each metric of runs, as MLflow means it: the point with the
// greatest (step, time, value), and the least, greatest and mean value beside it.
//
// Worked out of the statistics of a run's own series that have no source, and remembered for as
// long as no session of the run has moved on; what another server stored is seen, because the
// sessions' numbers are looked at every time. Any thread, each with its own connection.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/mutex.h"
#include "store/engine/database.h"
#include "store/read/view.h"

namespace corral::store::sql {

struct LatestMetric {
  std::string key;
  double value = 0;
  std::int64_t step = 0;
  UtcTime time;
  // Over finite values; none without any. `last`: the newest of them.
  std::optional<double> last = {}, min = {}, max = {}, mean = {};
};
// Null: it is not among them. They ascend by key.
const LatestMetric* find_metric(const std::vector<LatestMetric>& metrics, std::string_view name);
using RunMetrics = std::shared_ptr<const std::vector<LatestMetric>>;  // by key, ascending

class LatestMetrics {
 public:
  explicit LatestMetrics(Caches& caches) : caches_(caches) {}
  // In the order of the runs' keys given; never null.
  Result<std::vector<RunMetrics>> of(Connection& db, std::span<const std::int64_t> runs);
  // The metric of that name (its key may be left out), for each run that has it. For many runs
  // other metrics are not read.
  Result<std::vector<std::optional<LatestMetric>>> named(Connection& db,
                                                         std::span<const std::int64_t> runs,
                                                         const std::string& name);
  // For other readers of statistics.
  [[nodiscard]] Caches& caches() const { return caches_; }

 private:
  // Changes whenever a session of the run stores something.
  struct Stamp {
    std::int64_t sessions = 0;
    std::int64_t numbers = 0;
    bool operator==(const Stamp&) const = default;
  };
  struct Known {
    Stamp stamp;
    RunMetrics metrics;
  };
  struct KnownOne {
    Stamp stamp;
    std::optional<LatestMetric> metric;
  };
  using Stamps = std::unordered_map<std::int64_t, Stamp>;
  using Column = std::unordered_map<std::int64_t, KnownOne>;  // by run
  static Result<Stamps> read_stamps(Connection& db, std::span<const std::int64_t> runs);
  using Read = std::unordered_map<std::int64_t, std::shared_ptr<std::vector<LatestMetric>>>;
  // For up to kKeysAtOnce runs; all metrics, or the one of that name.
  Result<Read> read(Connection& db, std::span<const std::int64_t> runs, const std::string* name);
  void remember(std::int64_t run, const Known& known);
  void remember(const std::string& name, std::int64_t run, const KnownOne& known);
  void make_room() REQUIRES(mutex_);

  // Constant after construction.
  Caches& caches_;

  Mutex mutex_;
  // Guarded by mutex_.
  std::unordered_map<std::int64_t, Known> known_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, Column> columns_ GUARDED_BY(mutex_);
  std::size_t bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace corral::store::sql
