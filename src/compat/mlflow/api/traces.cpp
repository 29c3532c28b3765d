
#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "compat/mlflow/api/handlers.h"
#include "compat/mlflow/tables/phase_writer.h"
#include "compat/mlflow/wire/names.h"
#include "compat/mlflow/wire/span.h"
#include "core/text.h"

namespace corral::server::mlflow {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kTraceIdLength = 250;
constexpr std::string_view kArtifactLocationTag = "mlflow.artifactLocation";
constexpr std::array<std::string_view, 4> kStatuses = {"TRACE_STATUS_UNSPECIFIED", "OK", "ERROR",
                                                       "IN_PROGRESS"};

std::int64_t ms_of(UtcTime time) {
  return std::chrono::floor<milliseconds>(time).time_since_epoch().count();
}

// ".5", ".606", nothing: the digits of proto3's times, as milliseconds.
std::string fraction(std::int64_t ms) { return ms == 0 ? "" : fmt::format(".{:03}", ms); }

std::string span_of_time(Nanos duration) {
  const std::int64_t ms = std::chrono::duration_cast<milliseconds>(duration).count();
  const std::int64_t rest = ms < 0 ? -ms : ms;
  return fmt::format("{}{}{}s", ms < 0 ? "-" : "", rest / 1000, fraction(rest % 1000));
}

// Takes a decimal number of at most `digits` digits from the front.
bool read_number(std::string_view& text, std::size_t digits, std::int64_t& number) {
  const char* end = text.data() + std::min(digits, text.size());
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || number < 0 || text.front() == '-') return false;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return true;
}
bool skip(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}
// Digits behind a point, as milliseconds; none are 0.
bool read_fraction(std::string_view& text, std::int64_t& ms) {
  ms = 0;
  if (!skip(text, '.')) return true;
  std::int64_t unit = 100;
  const std::size_t before = text.size();
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    ms += unit * (text.front() - '0');
    unit /= 10;
    text.remove_prefix(1);
  }
  return text.size() < before;
}
// "Z", "+02:00": minutes east of UTC.
bool read_zone(std::string_view& text, std::int64_t& minutes) {
  minutes = 0;
  if (skip(text, 'Z')) return true;
  const bool west = text.starts_with('-');
  if (!west && !text.starts_with('+')) return false;
  text.remove_prefix(1);
  std::int64_t hours = 0;
  if (!read_number(text, 2, hours) || !skip(text, ':') || !read_number(text, 2, minutes))
    return false;
  minutes = (hours * 60 + minutes) * (west ? -1 : 1);
  return true;
}

tl::unexpected<ApiError> bad_time(std::string_view text, std::string_view path,
                                  std::string_view like) {
  return invalid(fmt::format("Invalid value \"{}\" for parameter '{}' supplied: it is not like {}",
                             to_utf8(text), path, like));
}

void write_map(JsonWriter& json, std::string_view name, const tracking::Tags& pairs) {
  if (pairs.empty()) return;
  json.key(name).begin_object();
  for (const auto& [key, value] : pairs) json.member(key, value);
  json.end_object();
}

void write_assessments(JsonWriter& json, const tracking::Tags& assessments) {
  if (assessments.empty()) return;
  json.key("assessments").begin_array();
  for (const auto& [id, text] : assessments) {
    if (const auto assessment = Json::parse(text)) json.value(*assessment);
  }
  json.end_array();
}

tracking::TellAppend note_in(Context& context) {
  return [&events = context.events](const store::AppendResult& stored) {
    events.note(stored.changed_runs, stored.data_runs);
  };
}

Answer<> check_trace_id(std::string_view id) {
  const auto good = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_';
  };
  if (!id.empty() && id.size() <= kTraceIdLength && std::ranges::all_of(id, good)) return {};
  return invalid(
      fmt::format("Invalid trace ID '{}'. It must be 1 to {} letters, digits, '-' and '_'.",
                  to_utf8(id), kTraceIdLength));
}

Answer<> check_source_run(const tracking::Tags& metadata) {
  for (const auto& [key, value] : metadata) {
    if (key == tracking::kSourceRun) TRY_API(wire::check_length(key, value, wire::kKeyLength));
  }
  return {};
}

Answer<Nanos> parse_span_of_time(std::string_view text, std::string_view path) {
  std::string_view rest = text;
  const bool negative = skip(rest, '-');
  std::int64_t seconds = 0, ms = 0;
  constexpr std::size_t kDigits = 9;  // 31 years
  if (!read_number(rest, kDigits, seconds) || !read_fraction(rest, ms) || rest != "s")
    return bad_time(text, path, "\"0.106s\"");
  const Nanos duration = std::chrono::seconds(seconds) + milliseconds(ms);
  return negative ? -duration : duration;
}

void write_trace_info(JsonWriter& json, const tracking::TraceRow& trace) {
  json.begin_object().member("trace_id", trace.id);
  if (!trace.client_request_id.empty()) json.member("client_request_id", trace.client_request_id);
  json.key("trace_location").begin_object().member("type", "MLFLOW_EXPERIMENT");
  json.key("mlflow_experiment").begin_object();
  json.member("experiment_id", std::to_string(trace.experiment.value)).end_object().end_object();
  json.member("request_time", timestamp(trace.start));
  if (trace.duration) json.member("execution_duration", span_of_time(*trace.duration));
  json.member("state", tracking::kTraceStates.at(static_cast<std::size_t>(trace.state)));
  write_map(json, "trace_metadata", trace.metadata);
  write_map(json, "tags", trace.tags);
  write_assessments(json, trace.assessments);
  if (!trace.request_preview.empty()) json.member("request_preview", trace.request_preview);
  if (!trace.response_preview.empty()) json.member("response_preview", trace.response_preview);
  json.end_object();
}

void write_trace_info_v2(JsonWriter& json, const tracking::TraceRow& trace) {
  json.begin_object().member("request_id", trace.id);
  json.member("experiment_id", std::to_string(trace.experiment.value));
  json.member("timestamp_ms", ms_of(trace.start));
  json.member(
      "execution_time_ms",
      std::int64_t{
          std::chrono::duration_cast<milliseconds>(trace.duration.value_or(Nanos(0))).count()});
  json.member("status", kStatuses.at(static_cast<std::size_t>(trace.state)));
  write_tags(json, "request_metadata", trace.metadata);
  write_tags(json, "tags", trace.tags);
  json.end_object();
}

void write_trace(JsonWriter& json, const tracking::TraceRow& trace,
                 std::span<const std::string> spans) {
  std::vector<wire::Span> decoded;
  for (const std::string& content : spans) {
    if (auto span = wire::decode_span(content)) decoded.push_back(*std::move(span));
  }
  std::ranges::stable_sort(decoded, {}, [](const wire::Span& span) {
    return std::pair(span.parent != 0, span.start_ns);
  });
  json.begin_object().key("trace_info");
  write_trace_info(json, trace);
  json.key("spans").begin_array();
  for (const auto& span : decoded) wire::write_span(json, span);
  json.end_array().end_object();
}

Answer<> show_stored_spans(Context& context, std::span<const std::string> traces) {
  TRY_API(tracking::show_stored_spans(context.store, context.reader, traces, note_in(context)));
  return {};
}

using tracking::TraceFact;
using tracking::TraceRow;

// Tags that say where spans are: the server's own.
constexpr std::array<std::string_view, 3> kServersTags = {
    kSpansLocationTag, "mlflow.trace.archiveLocation", "mlflow.trace.archivalFailure"};
constexpr std::size_t kMostLinks = 100;
constexpr std::size_t kMostTraces = 1000;  // in one answer
constexpr std::int64_t kMostFound = 500;
constexpr std::int64_t kUsuallyFound = 100;

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
    pairs.emplace_back(wire::cut(key, wire::kKeyLength), wire::cut(*text, wire::kTagLength));
  }
  return pairs;
}

// The experiment that a location names; nothing for one that is no experiment.
std::optional<std::string> read_experiment_id(Message& location) {
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
  const auto experiment = location ? read_experiment_id(*location) : std::nullopt;
  if (location && !experiment) location->missing("mlflow_experiment");
  TraceRow& trace = out.trace;
  trace.id = in.need_text("trace_id");
  trace.client_request_id = in.text("client_request_id");
  trace.request_preview = in.text("request_preview");
  trace.response_preview = in.text("response_preview");
  trace.state =
      static_cast<tracking::TraceState>(in.maybe_enum("state", tracking::kTraceStates).value_or(0));
  trace.metadata = read_map(in, "trace_metadata");
  trace.tags = read_map(in, "tags");
  const std::string time = in.need_text("request_time");
  const auto duration = in.maybe_text("execution_duration");
  TRY_API(in.check());
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

// Returns the number of spans that the client announced, or 0.
std::size_t announced_spans(const TraceRow& trace) {
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
  auto spans = TRY_API(tracking::read_spans(db, trace.id));
  if (spans.empty() || spans.size() < announced_spans(trace)) return std::nullopt;
  return spans;
}

Answer<> check_tag_is_free(std::string_view key, std::string_view operation) {
  if (std::ranges::find(kServersTags, key) == kServersTags.end()) return {};
  return invalid(fmt::format("Tag '{}' is immutable and cannot be {} on a trace.", key, operation));
}

// Version 2 calls it request_id.
std::string read_trace_id(Message& in) {
  const auto id = in.maybe_text("trace_id");
  return id ? *id : in.need_text("request_id");
}

Answer<std::vector<std::string>> read_trace_ids(Message& in) {
  auto ids = in.texts("trace_ids");
  if (ids.empty()) in.missing("trace_ids");
  TRY_API(in.check());
  if (ids.size() > kMostTraces)
    return invalid(fmt::format("at most {} trace_ids in one request", kMostTraces));
  return ids;
}

using WriteTrace = void (*)(JsonWriter&, const TraceRow&);

Body found_traces(const tracking::TraceSearch& search, Context& context, WriteTrace write) {
  return inspect(context, [&](Reading& reading) -> Body {
    const auto found = TRY_API(tracking::search_traces(reading.db, search));
    return list_answer("traces", TRY_API(tracking::traces(reading.db, found.rows)), write,
                       next_page(search.search.paging, found));
  });
}

constexpr SearchForm kTraceForm{
    .kind = wire::SearchKind::kTraces, .fallback = kUsuallyFound, .most = kMostFound};

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

constexpr std::array<std::string_view, 4> kStatusesV2 = {"", "OK", "ERROR", "IN_PROGRESS"};
// Times are of years that nanoseconds can represent: those end in 2262.
constexpr std::int64_t kGreatestMs = 9'000'000'000'000;

Answer<UtcTime> read_time(Message& in, std::string_view name) {
  const std::int64_t ms = in.need_integer(name);
  TRY_API(in.check());
  if (ms < -kGreatestMs || ms > kGreatestMs) {
    in.wrong_value(name);
    TRY_API(in.check());
  }
  return utc_time(ms * 1'000'000);
}

std::string info_answer_v2(const TraceRow& trace) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("trace_info");
  write_trace_info_v2(json, trace);
  json.end_object();
  return out;
}

Body start_trace(Message& in, Context& context) {
  auto trace = in.message("trace");
  auto info = trace ? trace->message("trace_info") : std::nullopt;
  if (!trace) in.missing("trace");
  if (trace && !info) trace->missing("trace_info");
  TRY_API(in.check());
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
  return inspect(in, context, [&](Reading& reading) -> Body {
    return info_answer(TRY_API(find_trace(reading.db, id)));
  });
}

Body get_trace(Message& in, Context& context) {
  const std::string id = in.need_text("trace_id");
  const bool partial = in.maybe_bool("allow_partial").value_or(false);
  return inspect(in, context, [&](Reading& reading) -> Body {
    const TraceRow trace = TRY_API(find_trace(reading.db, id));
    auto spans = TRY_API(whole_spans(reading.db, trace));
    if (!spans && !partial) {
      return refuse(
          ErrorCode::kResourceDoesNotExist,
          fmt::format("Trace with ID {} is not fully exported yet, please try again later.", id));
    }
    if (!spans) spans = TRY_API(tracking::read_spans(reading.db, id));
    return object_with("trace", [&](JsonWriter& json) { write_trace(json, trace, *spans); });
  });
}

// Whole ones only: a search that reads its spans so is to find those that are there.
Body batch_get_traces(Message& in, Context& context) {
  const auto ids = TRY_API(read_trace_ids(in));
  return inspect(context, [&](Reading& reading) -> Body {
    std::string out;
    ListText list("traces");
    for (const TraceRow& trace : TRY_API(tracking::traces(reading.db, ids))) {
      const auto spans = TRY_API(whole_spans(reading.db, trace));
      if (!spans) continue;
      list.separate(out);
      JsonWriter json(out);
      write_trace(json, trace, *spans);
    }
    list.finish(out);
    return out;
  });
}

Body batch_get_trace_infos(Message& in, Context& context) {
  const auto ids = TRY_API(read_trace_ids(in));
  return inspect(context, [&](Reading& reading) -> Body {
    const auto traces = TRY_API(tracking::traces(reading.db, ids));
    return object_with("trace_infos", [&](JsonWriter& json) {
      json.begin_array();
      for (const TraceRow& trace : traces) write_trace_info(json, trace);
      json.end_array();
    });
  });
}

Body search_traces(Message& in, Context& context) {
  tracking::TraceSearch search;
  if (!in.has("locations")) in.missing("locations");
  for (Message& location : in.messages("locations")) {
    if (const auto id = read_experiment_id(location); id && !in.error())
      search.experiments.push_back(TRY_API(parse_experiment_id(*id)));
  }
  TRY_API(in.check());
  search.search = TRY_API(read_search(in, kTraceForm));
  return found_traces(search, context, write_trace_info);
}

Body search_traces_v2(Message& in, Context& context) {
  tracking::TraceSearch search;
  const auto experiments = in.texts("experiment_ids");
  if (experiments.empty()) in.missing("experiment_ids");
  TRY_API(in.check());
  for (const std::string& id : experiments)
    search.experiments.push_back(TRY_API(parse_experiment_id(id)));
  search.search = TRY_API(read_search(in, kTraceForm));
  return found_traces(search, context, write_trace_info_v2);
}

Body delete_traces(Message& in, Context& context) {
  tracking::TraceRemoval removal;
  const std::string experiment = in.need_text("experiment_id");
  const auto until = in.maybe_integer("max_timestamp_millis");
  const auto most = in.maybe_integer("max_traces");
  removal.ids = in.texts("request_ids");
  TRY_API(in.check());
  removal.experiment = TRY_API(parse_experiment_id(experiment));
  removal.limit = most.value_or(0);
  if (until) {
    const std::int64_t ms = std::clamp(*until, -kGreatestMs, kGreatestMs);
    removal.no_later = utc_time(ms * 1'000'000 + 999'999);
  }
  TRY_API(check_removal(removal, most));
  return change(context, [&](Connection& db) -> Body {
    const std::int64_t gone = TRY_API(tracking::delete_traces(db, removal));
    return fmt::format(R"({{"traces_deleted":{}}})", gone);
  });
}

Body set_trace_tag(Message& in, Context& context) {
  const std::string id = read_trace_id(in);
  const std::string key = in.need_text("key");
  const std::string value = in.text("value");
  TRY_API(in.check());
  TRY_API(check_tag_is_free(key, "set"));
  TRY_API(wire::check_key(key, "key"));
  return change(context, [&](Connection& db) -> Body {
    static_cast<void>(TRY_API(find_trace(db, id)));
    TRY_API(
        tracking::set_trace_fact(db, id, TraceFact::kTag, key, wire::cut(value, wire::kTagLength)));
    return empty_answer();
  });
}

Body delete_trace_tag(Message& in, Context& context) {
  const std::string id = read_trace_id(in);
  const std::string key = in.need_text("key");
  TRY_API(in.check());
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
  TRY_API(in.check());
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

Body start_trace_v2(Message& in, Context& context) {
  TraceRow trace;
  const std::string id = in.need_text("experiment_id");
  trace.start = TRY_API(read_time(in, "timestamp_ms"));
  trace.metadata = TRY_API(read_tags(in, "request_metadata", wire::kTagLength));
  TRY_API(check_source_run(trace.metadata));
  trace.tags = TRY_API(read_tags(in, "tags", wire::kTagLength));
  trace.state = tracking::TraceState::kInProgress;
  trace.id = RunId::random().hex();
  return change(context, [&](Connection& db) -> Body {
    const auto experiment = TRY_API(hold_active_experiment(db, id));
    TraceRow row = trace;
    row.experiment = experiment.id;
    for (auto& tag : first_tags(experiment, row.id)) row.tags.push_back(std::move(tag));
    TRY_API(tracking::put_trace(db, row));
    return info_answer_v2(TRY_API(find_trace(db, row.id)));
  });
}

Body end_trace_v2(Message& in, Context& context) {
  const std::string id = in.need_text("request_id");
  const UtcTime end = TRY_API(read_time(in, "timestamp_ms"));
  const auto status = in.maybe_enum("status", kStatusesV2).value_or(0);
  const auto metadata = TRY_API(read_tags(in, "request_metadata", wire::kTagLength));
  TRY_API(check_source_run(metadata));
  const auto tags = TRY_API(read_tags(in, "tags", wire::kTagLength));
  return change(context, [&](Connection& db) -> Body {
    TraceRow trace = TRY_API(find_trace(db, id));
    trace.duration = end - trace.start;
    trace.state = static_cast<tracking::TraceState>(status);
    trace.metadata = metadata;
    trace.tags = tags;
    TRY_API(tracking::put_trace(db, trace));
    return info_answer_v2(TRY_API(find_trace(db, id)));
  });
}

Body get_trace_info_v2(Message& in, Context& context) {
  const std::string id = in.need_text("request_id");
  return inspect(in, context, [&](Reading& reading) -> Body {
    return info_answer_v2(TRY_API(find_trace(reading.db, id)));
  });
}

}  // namespace

tracking::Tags first_tags(const tracking::ExperimentRow& experiment, std::string_view trace) {
  return {{std::string(kArtifactLocationTag),
           fmt::format("{}/traces/{}/artifacts", experiment.artifact_location, trace)}};
}

Answer<tracking::TraceRow> find_trace(Connection& db, const std::string& id) {
  auto found = TRY_API(tracking::trace(db, id));
  if (found) return *std::move(found);
  return refuse(ErrorCode::kResourceDoesNotExist,
                fmt::format("Trace with ID '{}' not found.", to_utf8(id)));
}

std::string timestamp(UtcTime time) {
  const std::int64_t ms = ms_of(time);
  const std::int64_t second = ms / 1000 - (ms % 1000 < 0 ? 1 : 0);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}{}Z", fmt::gmtime(static_cast<std::time_t>(second)),
                     fraction(ms - second * 1000));
}

Answer<UtcTime> parse_timestamp(std::string_view text, std::string_view path) {
  std::string_view rest = text;
  std::int64_t year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, ms = 0, east = 0;
  const bool read = read_number(rest, 4, year) && skip(rest, '-') && read_number(rest, 2, month) &&
                    skip(rest, '-') && read_number(rest, 2, day) && skip(rest, 'T') &&
                    read_number(rest, 2, hour) && skip(rest, ':') && read_number(rest, 2, minute) &&
                    skip(rest, ':') && read_number(rest, 2, second) && read_fraction(rest, ms) &&
                    read_zone(rest, east) && rest.empty();
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  // Nanoseconds since 1970 end in 2262.
  constexpr std::int64_t kLastYear = 2261;
  if (!read || !date.ok() || hour > 23 || minute > 59 || second > 60 || year > kLastYear ||
      year < 1700)
    return bad_time(text, path, "\"2026-11-21T19:10:20.606Z\"");
  return UtcTime(std::chrono::sys_days(date)) + std::chrono::hours(hour) +
         std::chrono::minutes(minute - east) + std::chrono::seconds(second) + milliseconds(ms);
}

Answer<> show_spans(Context& context, std::span<const wire::TraceOfSpans> traces) {
  std::vector<tracking::SpansOfTrace> given;
  for (const auto& trace : traces) given.push_back({.trace = trace.id, .spans = trace.spans});
  TRY_API(tracking::show_spans(context.store, context.reader, given, note_in(context)));
  return {};
}

std::span<const Rpc> trace_rpcs() {
  static constexpr std::array kRpcs = {
      Rpc{Method::kPost, "/3.0/mlflow/traces", start_trace},
      needing(Role::kReader, Rpc{Method::kPost, "/3.0/mlflow/traces/search", search_traces}),
      Rpc{Method::kGet, "/3.0/mlflow/traces/get", get_trace},
      Rpc{Method::kGet, "/3.0/mlflow/traces/batchGet", batch_get_traces},
      needing(Role::kReader,
              Rpc{Method::kPost, "/3.0/mlflow/traces/batchGetInfos", batch_get_trace_infos}),
      needing(Role::kOwner, Rpc{Method::kPost, "/3.0/mlflow/traces/delete-traces", delete_traces}),
      Rpc{Method::kGet, "/3.0/mlflow/traces/{trace_id}", get_trace_info},
      Rpc{Method::kPatch, "/3.0/mlflow/traces/{trace_id}/tags", set_trace_tag},
      Rpc{Method::kDelete, "/3.0/mlflow/traces/{trace_id}/tags", delete_trace_tag},
      Rpc{Method::kPost, "/2.0/mlflow/traces/link-to-run", link_traces_to_run},
      Rpc{Method::kPost, "/2.0/mlflow/traces", start_trace_v2},
      Rpc{Method::kGet, "/2.0/mlflow/traces", search_traces_v2},
      needing(Role::kOwner, Rpc{Method::kPost, "/2.0/mlflow/traces/delete-traces", delete_traces}),
      Rpc{Method::kPatch, "/2.0/mlflow/traces/{request_id}", end_trace_v2},
      Rpc{Method::kGet, "/2.0/mlflow/traces/{request_id}/info", get_trace_info_v2},
      Rpc{Method::kPatch, "/2.0/mlflow/traces/{request_id}/tags", set_trace_tag},
      Rpc{Method::kDelete, "/2.0/mlflow/traces/{request_id}/tags", delete_trace_tag},
  };
  return kRpcs;
}

}  // namespace corral::server::mlflow
