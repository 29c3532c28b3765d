// Changes that people make to runs in a list: name, tags, archive and trash.
//
// In the caller's transaction: all of it happens, or nothing. Each changed run comes with the
// change that takes it back. A run in the trash still stores what its supervisor sends; remove/
// removes it for good 30 days later.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "store/engine/database.h"
#include "store/model/records.h"

namespace corral::store::tracking {

// A run's name for MLflow's clients, beside its column. It follows a change of the name.
inline constexpr std::string_view kRunNameTag = "mlflow.runName";

struct RunChange {
  std::optional<std::string> name = {};
  std::vector<std::pair<std::string, std::optional<std::string>>> tags = {};  // nullopt: removed
  std::optional<Lifecycle> lifecycle = {};

  [[nodiscard]] bool empty() const { return !name && tags.empty() && !lifecycle; }
  bool operator==(const RunChange&) const = default;
};
struct RunToChange {
  RunId id;
  RunChange change;
};
struct ChangedRun {
  RunId id;
  std::string name;     // from now on
  Lifecycle lifecycle;  // from now on
  RunChange undo;       // empty: the run was so already
  bool operator==(const ChangedRun&) const = default;
};
struct ChangeOptions {
  UtcTime now = {};
  bool force = false;  // moves running runs to the trash, too
  // Nobody else's runs go to the trash; nothing: anybody's do.
  std::optional<std::string> own_of = {};
};

struct ChangedRuns {
  std::vector<ChangedRun> runs;  // one per change, in their order
  // A running run, or one of somebody else, would go to the trash: nothing was changed. No error of
  // the transaction, which a writer would try again.
  std::optional<Error> refused = {};
};

// Why a user must not move a run into the trash that `creator` recorded, nullopt if nothing is
// against it: who is no owner trashes own runs alone, and those of nobody known. `own_of` as above.
std::optional<Error> not_own(std::string_view name, std::string_view creator,
                             const std::optional<std::string>& own_of);
// kPermission: the user must not move all runs of the experiment into the trash.
Result<> check_own(sql::Connection& db, ExperimentId experiment,
                   const std::optional<std::string>& own_of);

// kNotFound: there is no such run.
Result<ChangedRuns> change_runs(sql::Connection& db, std::span<const RunToChange> changes,
                                const ChangeOptions& options);

}  // namespace corral::store::tracking
