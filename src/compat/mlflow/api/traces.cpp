// Traces, version 3 of the interface: records, reading with spans, search, tags, removal, runs.
#include "compat/mlflow/api/trace_rows.h"

#include <fmt/core.h>

#include <array>

#include "compat/mlflow/api/assessments.h"
#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/api/searching.h"
#include "compat/mlflow/tables/search.h"
#include "compat/mlflow/wire/names.h"
#include "core/text.h"

namespace corral::server::mlflow {
namespace {

using store::sql::Connection;
using tracking::TraceFact;
using tracking::TraceRow;

// Tags that say where spans are: the server's own.
constexpr std::array<std::string_view, 3> kServersTags = {
    kSpansLocationTag, "mlflow.trace.archiveLocation", "mlflow.trace.archivalFailure"};
constexpr std::size_t kMostLinks = 100;
constexpr std::size_t kMostTraces = 1000;  // of one answer
constexpr std::int64_t kMostFound = 500;
constexpr std::int64_t kUsuallyFound = 100;
constexpr std::array<std::string_view, 4> kStates = {"STATE_UNSPECIFIED", "OK", "ERROR",
                                                     "IN_PROGRESS"};

// {"key": "value", ...}, cut to the length of a tag.
tracking::Tags read_map(Message& in, std::string_view name) {
  tracking::Tags pairs;
  const Json* map = in.find(name);
  if (map == nullptr) return pairs;
  if (map->as_object() == nullptr) {
    in.wrong_value(name);
    return pairs;
  }
  for (const auto& [key, value] : *map->as_object()) {
    const auto* text = value.as_string();
    if (text == nullptr) {
      in.wrong_value(name);
      return {};
    }
    pairs.emplace_back(corral::mlflow::cut(key, corral::mlflow::kKeyLength),
                       corral::mlflow::cut(*text, corral::mlflow::kTagLength));
  }
  return pairs;
}

// The experiment that a location names; nothing for one that is no experiment.
std::optional<std::string> experiment_of(Message& location) {
  auto experiment = location.message("mlflow_experiment");
  if (!experiment) return std::nullopt;
  return experiment->need_text("experiment_id");
}

struct Started {
  TraceRow trace;
  std::string experiment;
};

Answer<Started> read_trace_info(Message& in) {
  Started out;
  auto location = in.message("trace_location");
  if (!location) in.missing("trace_location");
  const auto experiment = location ? experiment_of(*location) : std::nullopt;
  if (location && !experiment) location->missing("mlflow_experiment");
  TraceRow& trace = out.trace;
  trace.id = in.need_text("trace_id");
  trace.client_request_id = in.text("client_request_id");
  trace.request_preview = in.text("request_preview");
  trace.response_preview = in.text("response_preview");
  trace.state = static_cast<tracking::TraceState>(in.maybe_enum("state", kStates).value_or(0));
  trace.metadata = read_map(in, "trace_metadata");
  trace.tags = read_map(in, "tags");
  const std::string time = in.need_text("request_time");
  const auto duration = in.maybe_text("execution_duration");
  TRY_API(all_read(in));
  TRY_API(check_trace_id(trace.id));
  TRY_API(check_source_run(trace.metadata));
  trace.start = TRY_API(parse_timestamp(time, in.path_of("request_time")));
  if (duration) {
    trace.duration = TRY_API(parse_span_of_time(*duration, in.path_of("execution_duration")));
  }
  trace.assessments = TRY_API(read_assessments(in, trace.id));
  out.experiment = *experiment;
  return out;
}

std::string info_answer(const TraceRow& trace) {
  return object_with("trace", [&](JsonWriter& json) {
    json.begin_object().key("trace_info");
    write_trace_info(json, trace);
    json.end_object();
  });
}

// What the client said its spans are; 0 when it did not.
std::size_t spans_said(const TraceRow& trace) {
  for (const auto& [key, value] : trace.metadata) {
    if (key != "mlflow.trace.sizeStats") continue;
    const auto stats = Json::parse(value);
    return stats ? static_cast<std::size_t>(std::max<std::int64_t>(stats->get_int("num_spans"), 0))
                 : 0;
  }
  return 0;
}

// Spans of a trace that has all of its spans; nothing otherwise.
Answer<std::optional<std::vector<std::string>>> whole_spans(Connection& db, const TraceRow& trace) {
  auto spans = TRY_API(tracking::spans_of(db, trace.id));
  if (spans.empty() || spans.size() < spans_said(trace)) return std::nullopt;
  return spans;
}

Answer<> check_tag_is_free(std::string_view key, std::string_view operation) {
  if (std::ranges::find(kServersTags, key) == kServersTags.end()) return {};
  return invalid(fmt::format("Tag '{}' is immutable and cannot be {} on a trace.", key, operation));
}

// Version 2 calls it request_id.
std::string trace_id_of(Message& in) {
  const auto id = in.maybe_text("trace_id");
  return id ? *id : in.need_text("request_id");
}

}  // namespace

Body start_trace(Message& in, Context& context) {
  auto trace = in.message("trace");
  auto info = trace ? trace->message("trace_info") : std::nullopt;
  if (!trace) in.missing("trace");
  if (trace && !info) trace->missing("trace_info");
  TRY_API(all_read(in));
  Started started = TRY_API(read_trace_info(*info));
  started.trace.metadata.emplace_back(kFinalizedMetadata, "true");
  const auto put = [&](Connection& db) -> Answer<TraceRow> {
    const auto experiment = TRY_API(hold_active_experiment(db, started.experiment));
    TraceRow row = started.trace;
    row.experiment = experiment.id;
    for (auto& tag : first_tags(experiment, row.id)) row.tags.push_back(std::move(tag));
    TRY_API(tracking::put_trace(db, row));
    return find_trace(db, row.id);
  };
  const TraceRow stored = TRY_API(change(context, put));
  TRY_API(show_stored_spans(context, std::array{stored.id}));
  return info_answer(stored);
}

Body get_trace_info(Message& in, Context& context) {
  const std::string id = in.need_text("trace_id");
  TRY_API(all_read(in));
  return inspect(context, [&](store::sql::Reading& reading) -> Body {
    return info_answer(TRY_API(find_trace(reading.db, id)));
  });
}

Body get_trace(Message& in, Context& context) {
  const std::string id = in.need_text("trace_id");
  const bool partial = in.maybe_bool("allow_partial").value_or(false);
  TRY_API(all_read(in));
  return inspect(context, [&](store::sql::Reading& reading) -> Body {
    const TraceRow trace = TRY_API(find_trace(reading.db, id));
    auto spans = TRY_API(whole_spans(reading.db, trace));
    if (!spans && !partial) {
      return refuse(
          ErrorCode::kResourceDoesNotExist,
          fmt::format("Trace with ID {} is not fully exported yet, please try again later.", id));
    }
    if (!spans) spans = TRY_API(tracking::spans_of(reading.db, id));
    return object_with("trace", [&](JsonWriter& json) { write_trace(json, trace, *spans); });
  });
}

namespace {

Answer<std::vector<std::string>> read_trace_ids(Message& in) {
  auto ids = in.texts("trace_ids");
  if (ids.empty()) in.missing("trace_ids");
  TRY_API(all_read(in));
  if (ids.size() > kMostTraces)
    return invalid(fmt::format("at most {} trace_ids in one request", kMostTraces));
  return ids;
}

}  // namespace

// Whole ones only: a search that reads its spans so is to find those that are there.
Body batch_get_traces(Message& in, Context& context) {
  const auto ids = TRY_API(read_trace_ids(in));
  return inspect(context, [&](store::sql::Reading& reading) -> Body {
    std::string list;
    JsonWriter json(list);
    json.begin_object();
    bool any = false;
    for (const TraceRow& trace : TRY_API(tracking::traces(reading.db, ids))) {
      const auto spans = TRY_API(whole_spans(reading.db, trace));
      if (!spans) continue;
      if (!any) json.key("traces").begin_array();
      any = true;
      write_trace(json, trace, *spans);
    }
    if (any) json.end_array();
    json.end_object();
    return list;
  });
}

Body batch_get_trace_infos(Message& in, Context& context) {
  const auto ids = TRY_API(read_trace_ids(in));
  return inspect(context, [&](store::sql::Reading& reading) -> Body {
    const auto traces = TRY_API(tracking::traces(reading.db, ids));
    return object_with("trace_infos", [&](JsonWriter& json) {
      json.begin_array();
      for (const TraceRow& trace : traces) write_trace_info(json, trace);
      json.end_array();
    });
  });
}

namespace {

using WriteTrace = void (*)(JsonWriter&, const TraceRow&);

Body found_traces(const tracking::TraceSearch& search, Context& context, WriteTrace write) {
  return inspect(context, [&](store::sql::Reading& reading) -> Body {
    const auto found = TRY_API(tracking::search_traces(reading.db, search));
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    if (!found.rows.empty()) {
      json.key("traces").begin_array();
      for (const TraceRow& trace : TRY_API(tracking::traces(reading.db, found.rows)))
        write(json, trace);
      json.end_array();
    }
    write_next_page(json, search.search.paging, found.more, found.rows.size());
    json.end_object();
    return out;
  });
}

constexpr SearchForm kTraceForm{
    .kind = corral::mlflow::SearchKind::kTraces, .fallback = kUsuallyFound, .most = kMostFound};

}  // namespace

Body search_traces(Message& in, Context& context) {
  tracking::TraceSearch search;
  if (!in.has("locations")) in.missing("locations");
  for (Message& location : in.messages("locations")) {
    if (const auto id = experiment_of(location); id && !in.error())
      search.experiments.push_back(TRY_API(parse_experiment_id(*id)));
  }
  TRY_API(all_read(in));
  search.search = TRY_API(read_search(in, kTraceForm));
  return found_traces(search, context, write_trace_info);
}

Body search_traces_v2(Message& in, Context& context) {
  tracking::TraceSearch search;
  const auto experiments = in.texts("experiment_ids");
  if (experiments.empty()) in.missing("experiment_ids");
  TRY_API(all_read(in));
  for (const std::string& id : experiments)
    search.experiments.push_back(TRY_API(parse_experiment_id(id)));
  search.search = TRY_API(read_search(in, kTraceForm));
  return found_traces(search, context, write_trace_info_v2);
}

namespace {

Answer<> check_removal(const tracking::TraceRemoval& removal, std::optional<std::int64_t> most) {
  if (!removal.no_later && removal.ids.empty())
    return invalid("Either `max_timestamp_millis` or `trace_ids` must be specified.");
  if (removal.no_later && !removal.ids.empty())
    return invalid("Only one of `max_timestamp_millis` and `trace_ids` can be specified.");
  if (!removal.ids.empty() && most)
    return invalid("`max_traces` can't be specified if `trace_ids` is specified.");
  if (most && *most <= 0)
    return invalid(fmt::format("`max_traces` must be a positive integer, received {}.", *most));
  return {};
}

}  // namespace

Body delete_traces(Message& in, Context& context) {
  tracking::TraceRemoval removal;
  const std::string experiment = in.need_text("experiment_id");
  const auto until = in.maybe_integer("max_timestamp_millis");
  const auto most = in.maybe_integer("max_traces");
  removal.ids = in.texts("request_ids");
  TRY_API(all_read(in));
  removal.experiment = TRY_API(parse_experiment_id(experiment));
  removal.limit = most.value_or(0);
  if (until) {
    // Of any year: nanoseconds end in 2262.
    constexpr std::int64_t kGreatest = 9'000'000'000'000;
    const std::int64_t ms = std::clamp(*until, -kGreatest, kGreatest);
    removal.no_later = utc_time(ms * 1'000'000 + 999'999);
  }
  TRY_API(check_removal(removal, most));
  return change(context, [&](Connection& db) -> Body {
    const std::int64_t gone = TRY_API(tracking::delete_traces(db, removal));
    return fmt::format(R"({{"traces_deleted":{}}})", gone);
  });
}

Body set_trace_tag(Message& in, Context& context) {
  const std::string id = trace_id_of(in);
  const std::string key = in.need_text("key");
  const std::string value = in.text("value");
  TRY_API(all_read(in));
  TRY_API(check_tag_is_free(key, "set"));
  TRY_API(corral::mlflow::check_key(key, "key"));
  return change(context, [&](Connection& db) -> Body {
    static_cast<void>(TRY_API(find_trace(db, id)));
    TRY_API(tracking::set_trace_fact(db, id, TraceFact::kTag, key,
                                     corral::mlflow::cut(value, corral::mlflow::kTagLength)));
    return empty_answer();
  });
}

Body delete_trace_tag(Message& in, Context& context) {
  const std::string id = trace_id_of(in);
  const std::string key = in.need_text("key");
  TRY_API(all_read(in));
  TRY_API(check_tag_is_free(key, "deleted"));
  return change(context, [&](Connection& db) -> Body {
    if (TRY_API(tracking::delete_trace_fact(db, id, TraceFact::kTag, key))) return empty_answer();
    return refuse(ErrorCode::kResourceDoesNotExist,
                  fmt::format("No trace tag with key '{}' for trace with ID '{}'", to_utf8(key),
                              to_utf8(id)));
  });
}

Body link_traces_to_run(Message& in, Context& context) {
  const auto ids = in.texts("trace_ids");
  if (!in.has("trace_ids")) in.missing("trace_ids");
  const std::string run = in.need_text("run_id");
  TRY_API(all_read(in));
  if (ids.size() > kMostLinks) {
    return invalid(fmt::format(
        "Cannot link more than {} traces to a run in a single request. Provided {} traces.",
        kMostLinks, ids.size()));
  }
  const auto link = [&](Connection& db) -> Answer<> {
    const auto row = TRY_API(find_run(db, run));
    for (const std::string& id : ids) {
      if (TRY_API(tracking::has_trace(db, id)))
        TRY_API(tracking::set_trace_fact(db, id, TraceFact::kRun, row.id.hex(), ""));
    }
    return {};
  };
  TRY_API(change(context, link));
  TRY_API(show_stored_spans(context, ids));
  return empty_answer();
}

}  // namespace corral::server::mlflow
