#include "compat/mlflow/api/trace_rows.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "compat/mlflow/wire/names.h"
#include "compat/mlflow/wire/span.h"
#include "core/text.h"

namespace corral::server::mlflow {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kTraceIdLength = 250;
constexpr std::array<std::string_view, 4> kStates = {"STATE_UNSPECIFIED", "OK", "ERROR",
                                                     "IN_PROGRESS"};
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
bool take_number(std::string_view& text, std::size_t digits, std::int64_t& number) {
  const char* end = text.data() + std::min(digits, text.size());
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || number < 0 || text.front() == '-') return false;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return true;
}
bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}
// Digits behind a point, as milliseconds; none are 0.
bool take_fraction(std::string_view& text, std::int64_t& ms) {
  ms = 0;
  if (!take(text, '.')) return true;
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
bool take_zone(std::string_view& text, std::int64_t& minutes) {
  minutes = 0;
  if (take(text, 'Z')) return true;
  const bool west = text.starts_with('-');
  if (!west && !text.starts_with('+')) return false;
  text.remove_prefix(1);
  std::int64_t hours = 0;
  if (!take_number(text, 2, hours) || !take(text, ':') || !take_number(text, 2, minutes))
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

}  // namespace

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
    if (key == tracking::kSourceRun)
      TRY_API(corral::mlflow::check_length(key, value, corral::mlflow::kKeyLength));
  }
  return {};
}

tracking::Tags first_tags(const tracking::ExperimentRow& experiment, std::string_view trace) {
  return {{std::string(kArtifactLocationTag),
           fmt::format("{}/traces/{}/artifacts", experiment.artifact_location, trace)}};
}

Answer<tracking::TraceRow> find_trace(store::sql::Connection& db, const std::string& id) {
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
  const bool read = take_number(rest, 4, year) && take(rest, '-') && take_number(rest, 2, month) &&
                    take(rest, '-') && take_number(rest, 2, day) && take(rest, 'T') &&
                    take_number(rest, 2, hour) && take(rest, ':') && take_number(rest, 2, minute) &&
                    take(rest, ':') && take_number(rest, 2, second) && take_fraction(rest, ms) &&
                    take_zone(rest, east) && rest.empty();
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

Answer<Nanos> parse_span_of_time(std::string_view text, std::string_view path) {
  std::string_view rest = text;
  const bool negative = take(rest, '-');
  std::int64_t seconds = 0, ms = 0;
  constexpr std::size_t kDigits = 9;  // 31 years
  if (!take_number(rest, kDigits, seconds) || !take_fraction(rest, ms) || rest != "s")
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
  json.member("state", kStates.at(static_cast<std::size_t>(trace.state)));
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
  std::vector<corral::mlflow::Span> decoded;
  for (const std::string& content : spans) {
    if (auto span = corral::mlflow::decode_span(content)) decoded.push_back(*std::move(span));
  }
  std::ranges::stable_sort(decoded, {}, [](const corral::mlflow::Span& span) {
    return std::pair(span.parent != 0, span.start_ns);
  });
  json.begin_object().key("trace_info");
  write_trace_info(json, trace);
  json.key("spans").begin_array();
  for (const auto& span : decoded) corral::mlflow::write_span(json, span);
  json.end_array().end_object();
}

}  // namespace corral::server::mlflow
