// Searches of MLflow's experiments. store/search/search.h describes a search.
#pragma once

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

}  // namespace corral::store::tracking
