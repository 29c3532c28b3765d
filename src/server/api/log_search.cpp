// Searches a run's output. An answer covers as much of it as time and bytes allow, and contains the
// place to continue from.
#include <re2/re2.h>

#include "core/json.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/log_cursor.h"
#include "server/api/log_lines.h"
#include "server/api/write.h"
#include "store/tables/logs.h"
#include "sys/clock.h"

namespace corral::server::api {
namespace {

namespace page = store::page;

constexpr std::int64_t kMostBytes = 64ll << 20;
constexpr Nanos kMostTime = std::chrono::milliseconds(300);
constexpr std::size_t kChunksAtOnce = 64;  // 4 MiB
constexpr std::size_t kMostText = 1000;    // bytes
constexpr std::int64_t kMostMatches = 1000;

struct Question {
  RunId run;
  std::optional<codec::LogStream> stream;
  LogCursor from;
  LogPattern pattern;
  std::size_t limit = 100;
};

struct Found {
  std::vector<LogMatch> matches;
  std::optional<LogCursor> next;  // nothing: all was searched
  std::int64_t bytes = 0;
};

// Lines that were begun before the place: their streams' chunks, from their begin on. False: the
// limit was reached.
Result<bool> take_begun(store::Reading& reading, const Question& question, LogSearch& search) {
  const page::PerStream searched = search.searched();
  for (const auto stream : page::kLogStreams) {
    if (question.stream && question.stream != stream) continue;
    const page::LogBytesQuery begun{.run = question.run,
                                    .stream = stream,
                                    .offset = searched[stream],
                                    .row = question.from.row};
    for (const store::LogChunk& chunk : TRY(page::log_bytes(reading, begun)))
      if (!search.take(chunk)) return false;
  }
  return true;
}

Result<Found> find_in(store::Reading& reading, const Question& question, const RE2& pattern) {
  const BootTime until = sys::boot_now() + kMostTime;
  const page::PerStream searched =
      question.from.ends ? *question.from.ends
                         : TRY(page::log_place(reading, question.run, question.from.row)).ends;
  LogSearch search(pattern, searched, question.limit);
  const bool begun = TRY(take_begun(reading, question, search));
  page::LogPageQuery query{.run = question.run,
                           .stream = question.stream,
                           .row = question.from.row,
                           .time = {},
                           .limit = kChunksAtOnce};
  Found found;
  if (!begun) found.next = LogCursor{.row = query.row, .ends = search.searched()};
  for (bool more = true; more && !found.next;) {
    const page::LogPage chunks = TRY(page::log_page(reading, query));
    more = chunks.chunks.size() == kChunksAtOnce;
    for (const store::LogChunk& chunk : chunks.chunks) {
      const bool whole = search.take(chunk);
      if (whole) query.row = chunk.row;
      found.bytes += static_cast<std::int64_t>(chunk.bytes.size());
      if (whole && sys::boot_now() < until && found.bytes < kMostBytes) continue;
      found.next = LogCursor{.row = query.row, .ends = search.searched()};
      break;
    }
  }
  if (!found.next) search.finish();
  found.matches = search.matches();
  return found;
}

void write_match(JsonWriter& json, const LogMatch& match) {
  json.begin_object().member("stream", log_stream_name(match.stream)).key("offset");
  write_integer(json, match.offset);
  json.member("line", match.line)
      .member("column", static_cast<std::int64_t>(match.column))
      .member("length", static_cast<std::int64_t>(match.length))
      .member("cursor", text_of(LogCursor{.row = match.row, .ends = std::nullopt}))
      .key("time_ns");
  write_time(json, match.time);
  json.end_object();
}

std::string json_of(const Found& found) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("matches").begin_array();
  for (const LogMatch& match : found.matches) write_match(json, match);
  json.end_array().key("next");
  if (found.next) {
    json.value(text_of(*found.next));
  } else {
    json.null();
  }
  json.key("searched_bytes");
  write_integer(json, found.bytes);
  json.member("done", !found.next).end_object();
  return body;
}

tl::unexpected<Response> wrong(const Request& request, std::string_view name,
                               std::string_view expected) {
  return tl::unexpected<Response>(
      bad_query(name, expected, request.query_value(name).value_or("")));
}

tl::expected<LogPattern, Response> read_pattern(const Request& request) {
  LogPattern pattern;
  pattern.text = request.query_value("text").value_or("");
  if (pattern.text.empty() || pattern.text.size() > kMostText)
    return wrong(request, "text", "1 to 1000 bytes");
  const auto regex = query_int(request, "regex", {0, 1, 0});
  if (!regex) return wrong(request, "regex", "0 or 1");
  const auto exact = query_int(request, "case", {0, 1, 0});
  if (!exact) return wrong(request, "case", "0 or 1");
  pattern.regex = *regex == 1;
  pattern.case_sensitive = *exact == 1;
  return pattern;
}

tl::expected<Question, Response> read_question(const Request& request) {
  Question question;
  auto pattern = read_pattern(request);
  if (!pattern) return tl::unexpected(std::move(pattern).error());
  question.pattern = *std::move(pattern);
  const std::string_view stream = request.query_value("stream").value_or("");
  question.stream = parse_log_stream(stream);
  if (!question.stream && !stream.empty()) return wrong(request, "stream", "stdout, stderr or tty");
  const auto from = parse_log_cursor(request.query_value("from").value_or(""));
  if (!from) return wrong(request, "from", "a cursor of an earlier answer");
  question.from = *from;
  const auto limit = query_int(request, "limit", {1, kMostMatches, 100});
  if (!limit) return wrong(request, "limit", "between 1 and 1000");
  question.limit = static_cast<std::size_t>(*limit);
  return question;
}

}  // namespace

Response search_logs(const Request& request, Context& context) {
  auto question = read_question(request);
  if (!question) return std::move(question).error();
  const auto pattern = compile(question->pattern);
  if (!pattern) return error_response(pattern.error(), {.field = "text", .position = {}});
  const Result<RunId> run = query::select_run(context.reader, request.param("run"));
  if (!run) return error_response(run.error());
  question->run = *run;
  Found found;
  const auto done = context.reader.inspect([&](store::Reading& reading) -> Result<> {
    found = TRY(find_in(reading, *question, **pattern));
    return {};
  });
  return done ? json_response(json_of(found)) : error_response(done.error());
}

}  // namespace corral::server::api
