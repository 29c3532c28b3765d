// Runs as MLflow's interface sees them: rows of `runs` and `facts`, datasets and models that they
// used or made.
//
// Free functions over a connection, in the caller's transaction or snapshot. A run that a
// supervisor records has two ends: the one that the client reported (client_status, client_end),
// and the end of its process. MLflow's interface reports the client's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "store/engine/database.h"
#include "store/model/records.h"
#include "store/search/experiments.h"

namespace corral::store::tracking {

// The numbers of MLflow's enum.
enum class ClientStatus : std::uint8_t {
  kRunning = 1,
  kScheduled = 2,
  kFinished = 3,
  kFailed = 4,
  kKilled = 5
};

struct RunRow {
  std::int64_t key = 0;
  RunId id;
  std::string name;
  ExperimentId experiment;
  std::string experiment_location;
  std::string user_id;
  ClientStatus status = ClientStatus::kRunning;
  UtcTime start;
  std::optional<UtcTime> end;
  Lifecycle lifecycle = Lifecycle::kActive;
  std::string creator;         // as Run::creator has it
  std::string artifact_uri;    // <experiment's location>/<run id>/artifacts unless it is another
  bool place_is_kept = false;  // artifact_uri stays when the run or its experiment changes
};
struct RunInput {
  std::string name, digest, source_type, source, schema, profile;
  Tags tags;
};
struct RunModel {
  std::string model;
  std::int64_t step = 0;
};
// Everything of a run beside its row and metrics.
struct RunDetails {
  Tags params, tags;  // by key
  std::vector<RunInput> inputs;
  std::vector<RunModel> model_inputs, model_outputs;
};

struct NewRun {
  RunId id;
  ExperimentId experiment;
  std::string name, user_id, host;
  std::string creator = {};  // as Run::creator has it
  UtcTime start;
  Tags tags;
};
// Makes a run without a supervisor, in a workload of its own. kNotFound: there is no such
// experiment.
Result<std::int64_t> create_run(sql::Connection& db, const NewRun& run);
Result<std::optional<RunRow>> run(sql::Connection& db, RunId id);
// The same with its row locked until the transaction ends, where others write, too.
Result<std::optional<RunRow>> lock_run(sql::Connection& db, RunId id);
Result<std::vector<RunRow>> runs(sql::Connection& db, std::span<const std::int64_t> keys);
// All of the experiments from the first to the last.
Result<std::vector<RunRow>> runs_between(sql::Connection& db, ExperimentId first,
                                         ExperimentId last);
// In the order of the keys; unknown runs are omitted.
Result<std::vector<RunDetails>> details(sql::Connection& db, std::span<const std::int64_t> keys);

struct RunUpdate {
  std::optional<ClientStatus> status;
  std::optional<UtcTime> end;
  std::optional<std::string> name;
};
Result<> update_run(sql::Connection& db, const RunRow& run, const RunUpdate& update);
// Fixes the place of its artifacts for good, because some are there.
Result<> keep_artifact_uri(sql::Connection& db, const RunRow& run);
// It was there once.
Result<bool> was_removed(sql::Connection& db, RunId id);
// A run that is in the trash keeps the time since when it is.
Result<> set_run_lifecycle(sql::Connection& db, std::int64_t run, Lifecycle lifecycle, UtcTime now);
// Moves the run to another experiment, with its workload if that has no other run.
Result<> move_run(sql::Connection& db, std::int64_t run, ExperimentId experiment);

enum class Fact : std::uint8_t { kParam = 0, kTag = 1 };
Result<std::optional<std::string>> fact(sql::Connection& db, std::int64_t run, Fact kind,
                                        std::string_view key);
Result<> set_fact(sql::Connection& db, std::int64_t run, Fact kind, std::string_view key,
                  std::string_view value);
// False: it is not there.
Result<bool> delete_fact(sql::Connection& db, std::int64_t run, Fact kind, std::string_view key);

// A dataset belongs to the experiment and is identified by name and digest; a known one stays
// unchanged.
Result<> add_input(sql::Connection& db, const RunRow& run, const RunInput& input);
enum class Direction : std::uint8_t { kInput = 0, kOutput = 1 };
Result<> add_model(sql::Connection& db, std::int64_t run, Direction direction,
                   const RunModel& model);

struct DatasetSummary {
  ExperimentId experiment;
  std::string name, digest, context;
};
// At most `limit`.
Result<std::vector<DatasetSummary>> datasets_of(sql::Connection& db,
                                                std::span<const ExperimentId> experiments,
                                                std::size_t limit);

// ---- workloads of runs that no supervisor records: a client said which were launched together
// Puts the run into the named workload of its experiment, which is made when it is missing and is
// the one that `corral run --workload NAME` means there. The run's previous workload is removed if
// this was its last run. A run that a supervisor records stays in its workload, because its host's
// series belong to that.
Result<> assign_workload(sql::Connection& db, std::int64_t run, std::string_view name);

}  // namespace corral::store::tracking
