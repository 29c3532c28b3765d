#include "store/search/overview.h"

#include <algorithm>
#include <unordered_map>

namespace corral::store::tracking {
namespace {

using sql::Statement;
using Kind = RunField::Kind;

Result<std::unordered_map<std::int64_t, WorkloadId>> workload_ids(sql::Connection& db,
                                                                  ExperimentId experiment) {
  std::unordered_map<std::int64_t, WorkloadId> ids;
  Statement row = TRY(db.query(
      "SELECT DISTINCT w.key, w.id FROM runs r JOIN workloads w ON w.key = r.workload WHERE "
      "r.experiment = ?1",
      experiment));
  while (TRY(row.step())) ids.emplace(row.integer(0), row.id128<WorkloadId>(1));
  return ids;
}

}  // namespace

Result<std::vector<OverviewWorkload>> overview(Reading& reading, ExperimentId experiment,
                                               const std::string& metric) {
  RunTable table(reading);
  TRY(table.read({.experiments = {experiment}, .workloads = {}, .runs = {}}));
  const auto ids = TRY(workload_ids(reading, experiment));
  const auto& models = *TRY(table.texts({.kind = Kind::kModel, .key = ""}));
  const auto& names = *TRY(table.texts({.kind = Kind::kWorkload, .key = ""}));
  const auto& collocations = *TRY(table.texts({.kind = Kind::kCollocation, .key = ""}));
  RunSummaries values;
  if (!metric.empty())
    values = TRY(summarize(reading, table, {.metrics = {metric}, .source = std::nullopt}));
  std::vector<OverviewWorkload> all;
  std::unordered_map<std::int64_t, std::size_t> places;
  // The oldest run first.
  for (std::size_t i = table.rows().size(); i-- > 0;) {
    const RunTable::Row& run = table.rows()[i];
    const auto [place, fresh] = places.emplace(run.workload, all.size());
    if (fresh) {
      all.push_back({.id = ids.at(run.workload),
                     .name = names[i],
                     .collocation = collocations[i],
                     .runs = {}});
    }
    all[place->second].runs.push_back({.id = run.id,
                                       .name = run.name,
                                       .model = models[i],
                                       .status = run.status,
                                       .start = run.start,
                                       .end = run.end,
                                       .value = metric.empty() ? std::nullopt : values[i].front()});
  }
  std::ranges::reverse(all);
  return all;
}

}  // namespace corral::store::tracking
