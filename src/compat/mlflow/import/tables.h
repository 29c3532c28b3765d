// Copies the tables of an MLflow database other than runs and points: experiments with their tags,
// the registry, logged models, and traces.
//
// Rows that the store already has stay as they are, so a second import adds nothing. A transaction
// holds a few hundred rows. Spans are copied by spans.h, but counted here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compat/mlflow/import/count.h"
#include "compat/mlflow/import/source.h"
#include "core/ids.h"
#include "store/maintain/watch.h"
#include "store/reader.h"
#include "store/store.h"

namespace corral::store::importing {

// Maps the source's ids to the store's: equal unless another experiment has the id here.
using Experiments = std::map<std::int64_t, ExperimentId>;

// Experiments are matched by name. With `default_locations` new ones get the store's default
// artifact location instead of the source's.
Result<Experiments> copy_experiments(Source& source, Store& store, bool default_locations);

struct Copied {
  std::string what;
  std::int64_t added = 0;
};
Result<std::vector<Copied>> copy_tables(Source& source, Store& store,
                                        const Experiments& experiments,
                                        const maintain::Watch& watch);

// Counts afterwards the source's rows that the store has. Rows are looked up by their keys.
Result<std::vector<Count>> count_tables(Source& source, const Reader& store,
                                        const Experiments& experiments,
                                        const maintain::Watch& watch);
Result<Count> count_experiments(const Reader& store, const Experiments& experiments);

}  // namespace corral::store::importing
