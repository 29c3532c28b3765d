// The output of a run, chunk by chunk in the order in which it was stored: forwards or backwards
// from a cursor, the last chunks, or those from a time on.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/json.h"
#include "core/text.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/log_cursor.h"
#include "server/api/write.h"
#include "store/tables/logs.h"

namespace corral::server::api {
namespace {

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

}  // namespace corral::server::api
