// Experiments as MLflow's interface sees them: rows of `experiments` and `experiment_tags`.
//
// Free functions over a connection, in the caller's transaction or snapshot. Ids are the store's
// numbers; 0 exists from the start. Deleted experiments (lifecycle 1) keep their name and can be
// restored; their runs are moved to the trash and restored with them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "store/engine/database.h"
#include "store/model/records.h"
#include "store/remove/remove.h"

namespace corral::store::tracking {

using store::Lifecycle;
using Tags = std::vector<std::pair<std::string, std::string>>;

struct ExperimentRow {
  ExperimentId id;
  std::string name;
  UtcTime created, updated;
  Lifecycle lifecycle = Lifecycle::kActive;
  std::string artifact_location;  // "mlflow-artifacts:/<id>" unless somebody chose another
  Tags tags;                      // by key
};

struct NewExperiment {
  std::string name;
  std::string artifact_location;  // empty: the default one
  Tags tags;
};
// kAlreadyExists: the name is taken, if only by a deleted one.
Result<ExperimentId> create_experiment(sql::Connection& db, const NewExperiment& experiment,
                                       UtcTime now);
Result<std::optional<ExperimentRow>> experiment(sql::Connection& db, ExperimentId id);
Result<std::optional<ExperimentRow>> experiment_named(sql::Connection& db, std::string_view name);
// All from one lifecycle to the other, the newest first, then by id; without their tags.
Result<std::vector<ExperimentRow>> experiments(sql::Connection& db, Lifecycle first,
                                               Lifecycle last);
// kAlreadyExists.
Result<> rename_experiment(sql::Connection& db, ExperimentId id, std::string_view name,
                           UtcTime now);
// Locks the row of the experiment until the transaction ends, also against set_lifecycle(). A run
// or model made in an active experiment is therefore made before a deletion, which then includes
// it.
Result<> hold_experiment(sql::Connection& db, ExperimentId id);
// All its runs, too.
Result<> set_lifecycle(sql::Connection& db, ExperimentId id, Lifecycle lifecycle, UtcTime now);
Result<> set_experiment_tag(sql::Connection& db, ExperimentId id, std::string_view key,
                            std::string_view value);
// False: it is not there.
Result<bool> delete_experiment_tag(sql::Connection& db, ExperimentId id, std::string_view key);

using sql::default_artifact_location;

}  // namespace corral::store::tracking
