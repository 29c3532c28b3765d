// Traces, version 2 of the interface (clients before 3.0): a record begins and ends by a call of
// its own; spans are an artifact, traces.json.
#include <array>

#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/api/trace_rows.h"
#include "compat/mlflow/wire/names.h"

namespace corral::server::mlflow {
namespace {

using store::sql::Connection;
using tracking::TraceRow;

constexpr std::array<std::string_view, 4> kStatuses = {"", "OK", "ERROR", "IN_PROGRESS"};
// Of any year that nanoseconds can tell.
constexpr std::int64_t kGreatestMs = 9'000'000'000'000;

Answer<UtcTime> time_of(Message& in, std::string_view name) {
  const std::int64_t ms = in.need_integer(name);
  TRY_API(all_read(in));
  if (ms < -kGreatestMs || ms > kGreatestMs) {
    in.wrong_value(name);
    TRY_API(all_read(in));
  }
  return utc_time(ms * 1'000'000);
}

std::string answer_of(const TraceRow& trace) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("trace_info");
  write_trace_info_v2(json, trace);
  json.end_object();
  return out;
}

}  // namespace

Body start_trace_v2(Message& in, Context& context) {
  TraceRow trace;
  const std::string id = in.need_text("experiment_id");
  trace.start = TRY_API(time_of(in, "timestamp_ms"));
  trace.metadata = TRY_API(read_tags(in, "request_metadata", corral::mlflow::kTagLength));
  TRY_API(check_source_run(trace.metadata));
  trace.tags = TRY_API(read_tags(in, "tags", corral::mlflow::kTagLength));
  trace.state = tracking::TraceState::kInProgress;
  trace.id = RunId::random().hex();
  return change(context, [&](Connection& db) -> Body {
    const auto experiment = TRY_API(hold_active_experiment(db, id));
    TraceRow row = trace;
    row.experiment = experiment.id;
    for (auto& tag : first_tags(experiment, row.id)) row.tags.push_back(std::move(tag));
    TRY_API(tracking::put_trace(db, row));
    return answer_of(TRY_API(find_trace(db, row.id)));
  });
}

Body end_trace_v2(Message& in, Context& context) {
  const std::string id = in.need_text("request_id");
  const UtcTime end = TRY_API(time_of(in, "timestamp_ms"));
  const auto status = in.maybe_enum("status", kStatuses).value_or(0);
  const auto metadata = TRY_API(read_tags(in, "request_metadata", corral::mlflow::kTagLength));
  TRY_API(check_source_run(metadata));
  const auto tags = TRY_API(read_tags(in, "tags", corral::mlflow::kTagLength));
  return change(context, [&](Connection& db) -> Body {
    TraceRow trace = TRY_API(find_trace(db, id));
    trace.duration = end - trace.start;
    trace.state = static_cast<tracking::TraceState>(status);
    trace.metadata = metadata;
    trace.tags = tags;
    TRY_API(tracking::put_trace(db, trace));
    return answer_of(TRY_API(find_trace(db, id)));
  });
}

Body get_trace_info_v2(Message& in, Context& context) {
  const std::string id = in.need_text("request_id");
  TRY_API(all_read(in));
  return inspect(context, [&](store::sql::Reading& reading) -> Body {
    return answer_of(TRY_API(find_trace(reading.db, id)));
  });
}

}  // namespace corral::server::mlflow
