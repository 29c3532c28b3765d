// Stored spans become phases of the runs that their traces belong to.
#include "compat/mlflow/tables/span_phases.h"

#include "compat/mlflow/api/trace_rows.h"

namespace corral::server::mlflow {
namespace {

tracking::TellAppend note_in(Context& context) {
  return [&events = context.events](const store::AppendResult& stored) {
    events.note(stored.changed_runs, stored.data_runs);
  };
}

}  // namespace

Answer<> show_stored_spans(Context& context, std::span<const std::string> traces) {
  TRY_API(tracking::show_stored_spans(context.store, context.reader, traces, note_in(context)));
  return {};
}

Answer<> show_spans(Context& context, std::span<const corral::mlflow::TraceOfSpans> traces) {
  std::vector<tracking::SpansOfTrace> given;
  for (const auto& trace : traces) given.push_back({.trace = trace.id, .spans = trace.spans});
  TRY_API(tracking::show_spans(context.store, context.reader, given, note_in(context)));
  return {};
}

}  // namespace corral::server::mlflow
