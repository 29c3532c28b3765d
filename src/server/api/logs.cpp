// The output of a run: pages of its chunks in the order in which they were stored, and the search
// of its lines.
#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>

#include "core/json.h"
#include "core/text.h"
#include "server/api/handlers.h"
#include "server/api/log_lines.h"
#include "server/api/write.h"
#include "store/tables/logs.h"
#include "store/tables/members.h"
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

std::string to_string(const LogCursor& cursor) {
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

// A page of chunks; `ends`: offsets of the streams before it, if the cursor has them.
struct LogsRequest {
  page::LogPageQuery query;
  std::optional<page::PerStream> ends = {};
};

struct Chunks {
  page::LogPage page;
  page::PerStream ends;  // before its first chunk
};

struct Gap {
  LogStream stream;
  std::int64_t from;
  std::int64_t to;
};

Parsed<LogCursor> query_cursor(const Request& request, std::string_view name) {
  const auto cursor = parse_log_cursor(request.query_value(name).value_or(""));
  if (!cursor) return bad_query(request, name, "a cursor of an earlier answer");
  return *cursor;
}

Parsed<std::optional<LogStream>> query_stream(const Request& request) {
  const std::string_view name = request.query_value("stream").value_or("");
  const auto stream = parse_log_stream(name);
  if (!stream && !name.empty()) return bad_query(request, "stream", "stdout, stderr or tty");
  return stream;
}

// Reads the parameter that says where to begin.
Parsed<LogsRequest> read_begin(const Request& request, std::string_view name, LogsRequest wanted) {
  page::LogPageQuery& query = wanted.query;
  if (name == "tail") {
    query.which = Which::kLast;
    query.limit =
        static_cast<std::size_t>(TRY_PARSED(query_int(request, name, {1, kMaxChunks, kMaxChunks})));
  } else if (name == "at_ns") {
    const auto time = parse_int(request.query_value(name).value_or(""));
    if (!time) return bad_query(request, name, "nanoseconds of UTC");
    query.which = Which::kFromTime;
    query.time = utc_time(*time);
  } else {
    const LogCursor cursor = TRY_PARSED(query_cursor(request, name));
    query.which = name == "before" ? Which::kBefore : Which::kAfter;
    query.row = cursor.row;
    if (query.which == Which::kAfter) wanted.ends = cursor.ends;
  }
  return wanted;
}

constexpr std::int64_t kMostMembers = 1'000'000;

// The supervisor whose output is asked for; without one, the first of the newest attempt.
Parsed<std::optional<std::int64_t>> query_member(const Request& request) {
  if (!request.query_value("member")) return std::optional<std::int64_t>();
  return std::optional(TRY_PARSED(query_int(request, "member", {0, kMostMembers, 0})));
}

Result<std::int64_t> find_member(const store::Reader& store, RunId run,
                                 std::optional<std::int64_t> asked) {
  if (asked) return *asked;
  const auto members = TRY(
      in_snapshot(store, [&](store::Reading& reading) { return page::run_members(reading, run); }));
  return members.empty() ? 0 : members.front().no;
}

Parsed<LogsRequest> read_logs_request(const Request& request) {
  LogsRequest wanted;
  wanted.query.stream = TRY_PARSED(query_stream(request));
  wanted.query.limit = static_cast<std::size_t>(
      TRY_PARSED(query_int(request, "limit", {1, kMaxChunks, kMaxChunks})));
  std::string_view begin;
  for (const std::string_view name : {"from", "before", "tail", "at_ns"}) {
    if (!request.query_value(name)) continue;
    if (!begin.empty()) return bad_query(request, name, fmt::format("absent: {} is there", begin));
    begin = name;
  }
  return read_begin(request, begin.empty() ? "from" : begin, wanted);
}

Result<Chunks> read_chunks(const store::Reader& store, const LogsRequest& wanted) {
  return in_snapshot(store, [&](store::Reading& reading) -> Result<Chunks> {
    Chunks chunks{.page = TRY(page::log_page(reading, wanted.query)), .ends = {}};
    chunks.ends =
        wanted.ends
            ? *wanted.ends
            : TRY(page::log_place(reading, wanted.query.run, wanted.query.member, chunks.page.row))
                  .ends;
    return chunks;
  });
}

void write_chunk(JsonWriter& json, const store::LogChunk& chunk) {
  json.begin_object().member("stream", log_stream_name(chunk.stream));
  write_integer(json, "offset", chunk.offset);
  write_time(json, "time_ns", chunk.time);
  json.member("text", chunk.bytes).end_object();
}

// The place before the first chunk; null when nothing comes before it.
void write_prev(JsonWriter& json, const Chunks& answer, std::optional<LogStream> stream) {
  const bool something = std::ranges::any_of(page::kLogStreams, [&](LogStream each) {
    return (!stream || stream == each) && answer.ends[each] > 0;
  });
  const LogCursor prev{.row = answer.page.row, .ends = answer.ends};
  write_text(json, "prev", something ? to_string(prev) : "");
}

void write_ends(JsonWriter& json, const page::PerStream& ends) {
  json.key("end").begin_object();
  for (const auto stream : page::kLogStreams) {
    if (stream == LogStream::kTty && ends[stream] == 0) continue;
    write_integer(json, log_stream_name(stream), ends[stream]);
  }
  json.end_object();
}

void write_gap(JsonWriter& json, const Gap& gap) {
  json.begin_object().member("stream", log_stream_name(gap.stream));
  write_integer(json, "from", gap.from);
  write_integer(json, "to", gap.to);
  json.end_object();
}

std::string logs_json(const Chunks& answer, std::optional<LogStream> stream) {
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
  json.member("next", to_string(next));
  write_ends(json, *next.ends);
  write_array(json, "gaps", gaps, write_gap);
  json.end_object();
  return body;
}

}  // namespace

Answer logs(const Request& request, Context& context) {
  LogsRequest wanted = TRY_PARSED(read_logs_request(request));
  const auto member = TRY_PARSED(query_member(request));
  wanted.query.run = TRY(requested_run(request, context));
  wanted.query.member = TRY(find_member(context.reader, wanted.query.run, member));
  const Chunks chunks = TRY(read_chunks(context.reader, wanted));
  return json_response(logs_json(chunks, wanted.query.stream));
}

namespace {

// ---- the search of lines
constexpr std::int64_t kMostBytes = 64ll << 20;
constexpr Nanos kMostTime = std::chrono::milliseconds(300);
constexpr std::size_t kChunksAtOnce = 64;  // 4 MiB
constexpr std::size_t kMostText = 1000;    // bytes
constexpr std::int64_t kMostMatches = 1000;

struct LogSearchRequest {
  RunId run;
  std::int64_t member = 0;
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
Result<bool> search_begun(store::Reading& reading, const LogSearchRequest& question,
                          LogSearch& search) {
  const page::PerStream searched = search.searched();
  for (const auto stream : page::kLogStreams) {
    if (question.stream && question.stream != stream) continue;
    const page::LogBytesQuery begun{.run = question.run,
                                    .member = question.member,
                                    .stream = stream,
                                    .offset = searched[stream],
                                    .row = question.from.row};
    for (const store::LogChunk& chunk : TRY(page::log_bytes(reading, begun)))
      if (!search.add(chunk)) return false;
  }
  return true;
}

Result<FoundLines> find_lines(store::Reading& reading, const LogSearchRequest& question,
                              const RE2& pattern) {
  const BootTime until = sys::boot_now() + kMostTime;
  const page::PerStream searched =
      question.from.ends
          ? *question.from.ends
          : TRY(page::log_place(reading, question.run, question.member, question.from.row)).ends;
  LogSearch search(pattern, searched, question.limit);
  const bool begun = TRY(search_begun(reading, question, search));
  page::LogPageQuery query{.run = question.run,
                           .member = question.member,
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
      const bool whole = search.add(chunk);
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
  json.begin_object().member("stream", log_stream_name(match.stream));
  write_integer(json, "offset", match.offset);
  json.member("line", match.line)
      .member("column", static_cast<std::int64_t>(match.column))
      .member("length", static_cast<std::int64_t>(match.length))
      .member("cursor", to_string(LogCursor{.row = match.row, .ends = std::nullopt}));
  write_time(json, "time_ns", match.time);
  json.end_object();
}

Parsed<LogPattern> read_pattern(const Request& request) {
  LogPattern pattern;
  pattern.text = request.query_value("text").value_or("");
  if (pattern.text.empty() || pattern.text.size() > kMostText)
    return bad_query(request, "text", "1 to 1000 bytes");
  pattern.regex = TRY_PARSED(query_int(request, "regex", {0, 1, 0})) == 1;
  pattern.case_sensitive = TRY_PARSED(query_int(request, "case", {0, 1, 0})) == 1;
  return pattern;
}

Parsed<LogSearchRequest> read_search(const Request& request) {
  LogSearchRequest search;
  search.pattern = TRY_PARSED(read_pattern(request));
  search.stream = TRY_PARSED(query_stream(request));
  search.from = TRY_PARSED(query_cursor(request, "from"));
  search.limit =
      static_cast<std::size_t>(TRY_PARSED(query_int(request, "limit", {1, kMostMatches, 100})));
  return search;
}

}  // namespace

Answer search_logs(const Request& request, Context& context) {
  LogSearchRequest search = TRY_PARSED(read_search(request));
  const auto pattern = TRY_PARSED(about("text", compile(search.pattern)));
  const auto member = TRY_PARSED(query_member(request));
  search.run = TRY(requested_run(request, context));
  search.member = TRY(find_member(context.reader, search.run, member));
  const FoundLines found = TRY(in_snapshot(context.reader, [&](store::Reading& reading) {
    return find_lines(reading, search, *pattern);
  }));
  return object_response([&](JsonWriter& json) {
    write_array(json, "matches", found.matches, write_match);
    write_text(json, "next", found.next ? to_string(*found.next) : "");
    write_integer(json, "searched_bytes", found.bytes);
    json.member("done", !found.next);
  });
}

}  // namespace corral::server::api
