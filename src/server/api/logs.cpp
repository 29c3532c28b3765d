// The output of a run: pages of its chunks in the order in which they were stored, and the search
// of its lines.
#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "core/json.h"
#include "core/text.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/log_lines.h"
#include "server/api/write.h"
#include "store/tables/logs.h"
#include "sys/clock.h"

namespace corral::server::api {
namespace {

// A place between the chunks of a run's output.
//
// "ROW.STDOUT.STDERR.TTY" also holds the offset of each stream at the place, so that a gap between
// two answers is detected; for "ROW" alone the offsets are looked up. Clients return cursors
// unchanged.
struct LogCursor {
  std::int64_t row = 0;
  std::optional<store::page::PerStream> ends;
};

std::string text_of(const LogCursor& cursor) {
  std::string text = fmt::format("{}", cursor.row);
  if (!cursor.ends) return text;
  for (const auto stream : store::page::kLogStreams)
    text += fmt::format(".{}", (*cursor.ends)[stream]);
  return text;
}

// Empty text is the beginning.
std::optional<LogCursor> parse_log_cursor(std::string_view text) {
  if (text.empty()) return LogCursor{.row = 0, .ends = store::page::PerStream()};
  std::vector<std::int64_t> numbers;
  for (const std::string_view part : split(text, '.')) {
    const auto number = parse_int(part);
    if (!number || *number < 0) return std::nullopt;
    numbers.push_back(*number);
  }
  LogCursor cursor{.row = numbers.front(), .ends = std::nullopt};
  if (numbers.size() == 1) return cursor;
  if (numbers.size() != 1 + store::page::kLogStreams.size()) return std::nullopt;
  cursor.ends.emplace();
  std::size_t at = 0;
  for (const auto stream : store::page::kLogStreams) (*cursor.ends)[stream] = numbers[++at];
  return cursor;
}

namespace page = store::page;
using codec::LogStream;
using Which = page::LogPageQuery::Which;

constexpr std::int64_t kMaxChunks = 256;  // 16 MiB at limits::kLogChunkBytes each

// The request; `ends`: offsets of the streams, if the cursor has them.
struct Question {
  page::LogPageQuery query;
  std::optional<page::PerStream> ends;
};
using Asked = tl::expected<Question, Response>;

struct Answer {
  page::LogPage page;
  page::PerStream ends;  // before its first chunk
};

struct Gap {
  LogStream stream;
  std::int64_t from;
  std::int64_t to;
};

tl::unexpected<Response> wrong(const Request& request, std::string_view name,
                               std::string_view expected) {
  return tl::unexpected<Response>(
      bad_query(name, expected, request.query_value(name).value_or("")));
}

// Parameters that say where to begin; each is read into a question that has the rest.
Asked read_from(const Request& request, Question question) {
  const auto cursor = parse_log_cursor(request.query_value("from").value_or(""));
  if (!cursor) return wrong(request, "from", "a cursor of an earlier answer");
  question.query.which = Which::kAfter;
  question.query.row = cursor->row;
  question.ends = cursor->ends;
  return question;
}

Asked read_before(const Request& request, Question question) {
  const auto cursor = parse_log_cursor(request.query_value("before").value_or(""));
  if (!cursor) return wrong(request, "before", "a cursor of an earlier answer");
  question.query.which = Which::kBefore;
  question.query.row = cursor->row;
  return question;
}

Asked read_tail(const Request& request, Question question) {
  const auto chunks = query_int(request, "tail", {1, kMaxChunks, kMaxChunks});
  if (!chunks) return wrong(request, "tail", "between 1 and 256");
  question.query.which = Which::kLast;
  question.query.limit = static_cast<std::size_t>(*chunks);
  return question;
}

Asked read_time(const Request& request, Question question) {
  const auto time = parse_int(request.query_value("at_ns").value_or(""));
  if (!time) return wrong(request, "at_ns", "nanoseconds of UTC");
  question.query.which = Which::kFromTime;
  question.query.time = utc_time(*time);
  return question;
}

constexpr std::array<std::pair<std::string_view, Asked (*)(const Request&, Question)>, 4> kWays = {
    {{"from", read_from}, {"before", read_before}, {"tail", read_tail}, {"at_ns", read_time}}};

Asked read_question(const Request& request) {
  Question question;
  const std::string_view stream = request.query_value("stream").value_or("");
  question.query.stream = parse_log_stream(stream);
  if (!question.query.stream && !stream.empty())
    return wrong(request, "stream", "stdout, stderr or tty");
  const auto limit = query_int(request, "limit", {1, kMaxChunks, kMaxChunks});
  if (!limit) return wrong(request, "limit", "between 1 and 256");
  question.query.limit = static_cast<std::size_t>(*limit);
  const auto* way = kWays.begin();  // without any: from the beginning
  std::string_view first;
  for (const auto& candidate : kWays) {
    if (!request.query_value(candidate.first)) continue;
    if (!first.empty())
      return wrong(request, candidate.first, fmt::format("absent: {} is there", first));
    first = candidate.first;
    way = &candidate;
  }
  return way->second(request, question);
}

Result<Answer> read_answer(const store::Reader& store, const Question& question) {
  Answer answer;
  const auto read = [&](store::Reading& reading) -> Result<> {
    answer.page = TRY(page::log_page(reading, question.query));
    if (question.ends) {
      answer.ends = *question.ends;
    } else {
      answer.ends = TRY(page::log_place(reading, question.query.run, answer.page.row)).ends;
    }
    return {};
  };
  TRY(store.inspect(read));
  return answer;
}

void write_chunk(JsonWriter& json, const store::LogChunk& chunk) {
  json.begin_object()
      .member("stream", log_stream_name(chunk.stream))
      .key("offset")
      .value_string(chunk.offset);
  json.key("time_ns");
  write_time(json, chunk.time);
  json.member("text", chunk.bytes).end_object();
}

// The place before the first chunk; null when nothing comes before it.
void write_prev(JsonWriter& json, const Answer& answer, std::optional<LogStream> stream) {
  const bool something = std::ranges::any_of(page::kLogStreams, [&](LogStream each) {
    return (!stream || stream == each) && answer.ends[each] > 0;
  });
  json.key("prev");
  if (something) {
    json.value(text_of(LogCursor{.row = answer.page.row, .ends = answer.ends}));
  } else {
    json.null();
  }
}

void write_ends(JsonWriter& json, const page::PerStream& ends) {
  json.key("end").begin_object();
  for (const auto stream : page::kLogStreams) {
    if (stream == LogStream::kTty && ends[stream] == 0) continue;
    json.key(log_stream_name(stream)).value_string(ends[stream]);
  }
  json.end_object();
}

void write_gaps(JsonWriter& json, const std::vector<Gap>& gaps) {
  json.key("gaps").begin_array();
  for (const Gap& gap : gaps) {
    json.begin_object()
        .member("stream", log_stream_name(gap.stream))
        .key("from")
        .value_string(gap.from);
    json.key("to").value_string(gap.to).end_object();
  }
  json.end_array();
}

std::string logs_json(const Answer& answer, std::optional<LogStream> stream) {
  std::string body;
  JsonWriter json(body);
  std::vector<Gap> gaps;
  LogCursor next{.row = answer.page.row, .ends = answer.ends};
  json.begin_object().key("chunks").begin_array();
  for (const store::LogChunk& chunk : answer.page.chunks) {
    std::int64_t& end = (*next.ends)[chunk.stream];
    if (chunk.offset > end) gaps.push_back({chunk.stream, end, chunk.offset});
    end = std::max(end, chunk.offset + static_cast<std::int64_t>(chunk.bytes.size()));
    next.row = chunk.row;
    write_chunk(json, chunk);
  }
  json.end_array();
  write_prev(json, answer, stream);
  json.member("next", text_of(next));
  write_ends(json, *next.ends);
  write_gaps(json, gaps);
  json.end_object();
  return body;
}

}  // namespace

Response logs(const Request& request, Context& context) {
  Asked question = read_question(request);
  if (!question) return question.error();
  const Result<RunId> run = query::select_run(context.reader, request.param("run"));
  if (!run) return error_response(run.error());
  question->query.run = *run;
  const auto answer = read_answer(context.reader, *question);
  if (!answer) return error_response(answer.error());
  return json_response(logs_json(*answer, question->query.stream));
}

namespace {

constexpr std::int64_t kMostBytes = 64ll << 20;
constexpr Nanos kMostTime = std::chrono::milliseconds(300);
constexpr std::size_t kChunksAtOnce = 64;  // 4 MiB
constexpr std::size_t kMostText = 1000;    // bytes
constexpr std::int64_t kMostMatches = 1000;

struct LogSearchRequest {
  RunId run;
  std::optional<codec::LogStream> stream;
  LogCursor from;
  LogPattern pattern;
  std::size_t limit = 100;
};

struct FoundLines {
  std::vector<LogMatch> matches;
  std::optional<LogCursor> next;  // nothing: all was searched
  std::int64_t bytes = 0;
};

// Lines that were begun before the place: their streams' chunks, from their begin on. False: the
// limit was reached.
Result<bool> take_begun(store::Reading& reading, const LogSearchRequest& question,
                        LogSearch& search) {
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

Result<FoundLines> find_in(store::Reading& reading, const LogSearchRequest& question,
                           const RE2& pattern) {
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
  FoundLines found;
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

std::string json_of(const FoundLines& found) {
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

tl::expected<LogSearchRequest, Response> read_search(const Request& request) {
  LogSearchRequest question;
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
  auto question = read_search(request);
  if (!question) return std::move(question).error();
  const auto pattern = compile(question->pattern);
  if (!pattern) return error_response(pattern.error(), {.field = "text", .position = {}});
  const Result<RunId> run = query::select_run(context.reader, request.param("run"));
  if (!run) return error_response(run.error());
  question->run = *run;
  FoundLines found;
  const auto done = context.reader.inspect([&](store::Reading& reading) -> Result<> {
    found = TRY(find_in(reading, *question, **pattern));
    return {};
  });
  return done ? json_response(json_of(found)) : error_response(done.error());
}

}  // namespace corral::server::api
