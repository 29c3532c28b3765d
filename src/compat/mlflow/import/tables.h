// What an MLflow database holds beside runs and points, row by row into the store's tables:
// experiments with their tags, the registry, logged models, what is known of traces.
//
// Rows that the store has already stay as they are, so that a second import adds nothing. Rows go
// in a few hundred per transaction. Spans are in spans.h, but counted here.
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

// The source's id -> the store's: the same unless another experiment has it here.
using Experiments = std::map<std::int64_t, ExperimentId>;

// An experiment that has a name of the source's is that experiment. `default_locations`: new ones
// get the store's own place for artifacts instead of the source's.
Result<Experiments> copy_experiments(Source& source, Store& store, bool default_locations);

struct Copied {
  std::string what;
  std::int64_t added = 0;
};
Result<std::vector<Copied>> copy_tables(Source& source, Store& store,
                                        const Experiments& experiments,
                                        const maintain::Watch& watch);

// Afterwards: how much of what the source has the store has. Rows are looked for by their keys.
Result<std::vector<Count>> count_tables(Source& source, const Reader& store,
                                        const Experiments& experiments,
                                        const maintain::Watch& watch);
Result<Count> count_experiments(const Reader& store, const Experiments& experiments);

}  // namespace corral::store::importing
