// search_runs: the runs that a filter and an order_by of MLflow's mean, a page at a time; and the
// types of every such search.
//
// Free functions over a connection, in the caller's snapshot. Rows of the experiments asked for are
// read compactly, with few statements whose text does not depend on the filter; what the filter and
// the order ask for is read by column and decided in memory (search_rows.h). Filters and orders
// come from mlflow/filter.h, of the matching kind. The results are keys and ids; the complete rows
// are read afterwards. Times compare as Unix milliseconds, as the interface tells them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

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

// The parts that all searches have.
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

}  // namespace corral::store::tracking
