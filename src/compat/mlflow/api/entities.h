// Experiments and runs as handlers need them: lookup by id, checks, facts, and their JSON forms.
#pragma once

#include <string>
#include <string_view>

#include "compat/mlflow/api/call.h"
#include "core/json.h"
#include "store/read/latest_metrics.h"
#include "store/search/experiments.h"
#include "store/search/runs.h"

namespace corral::server::mlflow {

Answer<ExperimentId> parse_experiment_id(std::string_view text);
// RESOURCE_DOES_NOT_EXIST (404) unless the experiment exists.
Answer<tracking::ExperimentRow> find_experiment(Connection& db, std::string_view id);
Answer<> check_active(const tracking::ExperimentRow& experiment);
// For creating something in the experiment: it cannot be deleted before the transaction ends.
Answer<tracking::ExperimentRow> hold_active_experiment(Connection& db, std::string_view id);

// Reads run_id or, from old clients, run_uuid.
std::string read_run_id(Message& in);
// kRow locks the run's row (PostgreSQL) for comparing or writing params and tags; points need no
// lock, since their sessions have one.
enum class RowLock : unsigned char { kRow, kNone };
Answer<tracking::RunRow> find_run(Connection& db, std::string_view id,
                                  RowLock lock = RowLock::kNone);
// INVALID_PARAMETER_VALUE (400) if the run is deleted.
Answer<tracking::RunRow> find_active_run(Connection& db, std::string_view id,
                                         RowLock lock = RowLock::kRow);

// Reads and checks [{"key", "value"}], values cut to `length`; `twice` is the error code of a
// duplicate key.
Answer<tracking::Tags> read_tags(Message& in, std::string_view name, std::size_t length,
                                 ErrorCode twice = ErrorCode::kBadRequest);

void write_ms(JsonWriter& json, std::string_view name, UtcTime time);
// Writes nothing if `text` is empty.
void write_unless_empty(JsonWriter& json, std::string_view name, const std::string& text);
// Writes nothing if there are no tags.
void write_tags(JsonWriter& json, std::string_view name, const tracking::Tags& tags);
void write_experiment(JsonWriter& json, const tracking::ExperimentRow& experiment);
void write_run_info(JsonWriter& json, const tracking::RunRow& run);
void write_run(JsonWriter& json, const tracking::RunRow& run, const tracking::RunDetails& details,
               const store::sql::RunMetrics& metrics);

// ---- params and tags of a run, written in the caller's transaction

using KeyValues = std::span<const std::pair<std::string, std::string>>;

// A param never changes its value: one conflict refuses all of `params`. The params that radT gives
// its runs also set the workload.
enum class Params : std::uint8_t { kOne, kBatch };  // decides the wording of the refusal
Answer<> set_params(Connection& db, const tracking::RunRow& run, KeyValues params, Params form);
// The tag mlflow.runName and the run's name are kept equal.
Answer<> set_tags(Connection& db, const tracking::RunRow& run, KeyValues tags);

// Returns a name for what nobody named: "calm-heron-412", at most 20 characters; the same for the
// same id.
std::string default_name(RunId id);

}  // namespace corral::server::mlflow
