// The searches of MLflow's interface: which rows a filter and an order_by mean, a page at a time.
//
// Free functions over a connection, in the caller's snapshot. Rows of the experiments asked for are
// read compactly, with few statements whose text does not depend on the filter; what the filter and
// the order ask for is read by column and decided in memory (search_rows.h). Filters and orders
// come from mlflow/filter.h, of the matching kind. What is found comes as keys and ids, whose rows
// are then read whole. Times compare as Unix milliseconds, as the interface tells them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compat/mlflow/tables/traces.h"
#include "compat/mlflow/wire/filter.h"
#include "core/ids.h"
#include "core/result.h"
#include "store/engine/database.h"
#include "store/model/records.h"
#include "store/model/transaction.h"
#include "store/search/experiments.h"
#include "store/search/many.h"
#include "store/search/search_rows.h"

namespace corral::store::tracking {

enum class View : std::uint8_t { kActive, kDeleted, kAll };

// What all searches are asked.
struct Search {
  std::vector<mlflow::Comparison> filter;
  std::vector<mlflow::Order> orders;
  Paging paging;
};

template <class Key>
struct Found {
  std::vector<Key> rows;
  bool more = false;  // there are rows behind these
};

struct RunSearch {
  std::vector<ExperimentId> experiments;  // none: no runs
  View view = View::kActive;
  Search search;
};
// Keys of runs. Without orders, and where these leave it open: the newest first, then by id.
Result<Found<std::int64_t>> search_runs(sql::Reading& reading, const RunSearch& search);

struct ExperimentSearch {
  View view = View::kActive;
  Search search;
};
// Whole, with tags. Without orders the newest first, then by id; with them, by id from the greatest
// where they leave it open.
Result<Found<ExperimentRow>> search_experiments(sql::Connection& db,
                                                const ExperimentSearch& search);

// Names of registered models, by name where orders leave it open. Prompts are registered models
// with the tag mlflow.prompt.is_prompt; they are found only when the filter asks for that tag to be
// 'true' (or not 'false').
Result<Found<std::string>> search_registered_models(sql::Connection& db, const Search& search);

// Prompts as above. Without orders the last changed first; then by name, the newest version first.
Result<Found<VersionKey>> search_model_versions(sql::Connection& db, const Search& search);

struct DatasetFilter {
  std::string name;
  std::string digest;  // empty: any
};
struct LoggedModelSearch {
  std::vector<ExperimentId> experiments;
  Search search;
  // Metrics count only if they were logged for one of these; without metrics in the filter, models
  // with any such metric. None: all metrics count.
  std::vector<DatasetFilter> datasets;
  // Beside each order, by its place: the dataset whose metrics it goes by; an empty name: any.
  std::vector<DatasetFilter> order_datasets;
};
// Ids. The newest first, then by id, where orders leave it open.
Result<Found<std::string>> search_logged_models(sql::Connection& db,
                                                const LoggedModelSearch& search);

struct TraceSearch {
  std::vector<ExperimentId> experiments;
  Search search;
};
// Ids. The newest first, then by id, where orders leave it open.
Result<Found<std::string>> search_traces(sql::Connection& db, const TraceSearch& search);

}  // namespace corral::store::tracking
