// What the answers about experiments and runs share: finding them, refusing, writing them as JSON.
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
// 404 unless it is there.
Answer<tracking::ExperimentRow> find_experiment(store::sql::Connection& db, std::string_view id);
Answer<> check_active(const tracking::ExperimentRow& experiment);
// For what is made in it: nobody deletes it before the transaction ends.
Answer<tracking::ExperimentRow> hold_active_experiment(store::sql::Connection& db,
                                                       std::string_view id);

// The id of run_id or, from old clients, run_uuid.
std::string run_id_of(Message& in);
Answer<tracking::RunRow> find_run(store::sql::Connection& db, std::string_view id);
// 400 when it is deleted. kRow: its row is locked where others write, too, for facts are compared
// or written; points need no such lock, their sessions have theirs.
enum class Lock : unsigned char { kRow, kNone };
Answer<tracking::RunRow> find_active_run(store::sql::Connection& db, std::string_view id,
                                         Lock lock = Lock::kRow);

// [{"key", "value"}] of a message, checked and cut to `length`; `twice`: what a key that comes
// again is.
Answer<tracking::Tags> read_tags(Message& in, std::string_view name, std::size_t length,
                                 ErrorCode twice = ErrorCode::kBadRequest);

void write_ms(JsonWriter& json, std::string_view name, UtcTime time);
// Nothing when there are none.
void write_tags(JsonWriter& json, std::string_view name, const tracking::Tags& tags);
void write_experiment(JsonWriter& json, const tracking::ExperimentRow& experiment);
void write_run_info(JsonWriter& json, const tracking::RunRow& run);
void write_run(JsonWriter& json, const tracking::RunRow& run, const tracking::RunDetails& details,
               const store::sql::RunMetrics& metrics);

// {}.
Body empty_answer();

}  // namespace corral::server::mlflow
