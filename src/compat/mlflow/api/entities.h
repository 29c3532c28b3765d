// Experiments and runs as handlers need them: lookup by id, checks, and their JSON forms.
#pragma once

#include <string>
#include <string_view>

#include "compat/mlflow/api/call.h"
#include "core/json.h"
#include "store/read/latest_metrics.h"
#include "store/search/experiments.h"
#include "store/search/runs.h"

namespace corral::server::mlflow {

namespace tracking = store::tracking;

Answer<ExperimentId> parse_experiment_id(std::string_view text);
// RESOURCE_DOES_NOT_EXIST (404) unless the experiment exists.
Answer<tracking::ExperimentRow> find_experiment(store::sql::Connection& db, std::string_view id);
Answer<> check_active(const tracking::ExperimentRow& experiment);
// For creating something in the experiment: it cannot be deleted before the transaction ends.
Answer<tracking::ExperimentRow> hold_active_experiment(store::sql::Connection& db,
                                                       std::string_view id);

// Reads run_id or, from old clients, run_uuid.
std::string run_id_of(Message& in);
Answer<tracking::RunRow> find_run(store::sql::Connection& db, std::string_view id);
// INVALID_PARAMETER_VALUE (400) if the run is deleted. kRow locks the run's row (PostgreSQL) for
// comparing or writing params and tags; points need no lock, since their sessions have one.
enum class Lock : unsigned char { kRow, kNone };
Answer<tracking::RunRow> find_active_run(store::sql::Connection& db, std::string_view id,
                                         Lock lock = Lock::kRow);

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

// {}.
Body empty_answer();

}  // namespace corral::server::mlflow
