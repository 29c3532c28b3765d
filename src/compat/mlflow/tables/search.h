// Searches of MLflow's experiments, registered models, model versions, logged models and traces.
//
// store/search/search.h describes a search.
#pragma once

#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "store/search/experiments.h"
#include "store/search/search.h"

namespace corral::store::tracking {

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
