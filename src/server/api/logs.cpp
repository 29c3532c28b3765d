// The output of a run, chunk by chunk in the order in which it was stored.
//
// The cursor carries where each stream ended, so that a hole between two answers is seen as well:
// "ROW.STDOUT.STDERR.TTY".
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/json.h"
#include "core/text.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

constexpr std::int64_t kMaxChunks = 256;  // of limits::kLogChunkBytes: 16 MiB

struct Cursor {
  std::int64_t row = 0;
  std::array<std::int64_t, 3> ends{};  // by LogStream - 1

  std::int64_t& end_of(codec::LogStream stream) {
    return ends.at(static_cast<std::size_t>(stream) - 1);
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("{}.{}.{}.{}", row, ends[0], ends[1], ends[2]);
  }

  static std::optional<Cursor> parse(std::string_view text) {
    Cursor cursor;
    if (text.empty()) return cursor;
    const std::vector<std::string_view> parts = split(text, '.');
    if (parts.size() != 4) return std::nullopt;
    std::array<std::int64_t, 4> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto number = parse_int(parts[i]);
      if (!number || *number < 0) return std::nullopt;
      numbers.at(i) = *number;
    }
    cursor.row = numbers[0];
    cursor.ends = {numbers[1], numbers[2], numbers[3]};
    return cursor;
  }
};

struct Gap {
  codec::LogStream stream;
  std::int64_t from;
  std::int64_t to;
};

void write_chunk(JsonWriter& json, const store::LogChunk& chunk) {
  json.begin_object()
      .member("stream", log_stream_name(chunk.stream))
      .key("offset")
      .value_string(chunk.offset);
  json.key("time_ns");
  write_time(json, chunk.time);
  json.member("text", chunk.bytes).end_object();
}

std::string logs_json(const std::vector<store::LogChunk>& chunks, Cursor cursor) {
  std::string body;
  JsonWriter json(body);
  std::vector<Gap> gaps;
  json.begin_object().key("chunks").begin_array();
  for (const store::LogChunk& chunk : chunks) {
    std::int64_t& end = cursor.end_of(chunk.stream);
    if (chunk.offset > end) gaps.push_back({chunk.stream, end, chunk.offset});
    end = std::max(end, chunk.offset + static_cast<std::int64_t>(chunk.bytes.size()));
    cursor.row = std::max(cursor.row, chunk.row);
    write_chunk(json, chunk);
  }
  json.end_array().member("next", cursor.text()).key("end").begin_object();
  for (const auto stream :
       {codec::LogStream::kStdout, codec::LogStream::kStderr, codec::LogStream::kTty}) {
    const std::int64_t end = cursor.end_of(stream);
    if (stream == codec::LogStream::kTty && end == 0) continue;
    json.key(log_stream_name(stream)).value_string(end);
  }
  json.end_object().key("gaps").begin_array();
  for (const Gap& gap : gaps) {
    json.begin_object()
        .member("stream", log_stream_name(gap.stream))
        .key("from")
        .value_string(gap.from);
    json.key("to").value_string(gap.to).end_object();
  }
  json.end_array().end_object();
  return body;
}

}  // namespace

Response logs(const Request& request, Context& context) {
  const std::string_view stream_name = request.query_value("stream").value_or("");
  const std::string_view from = request.query_value("from").value_or("");
  const std::optional<codec::LogStream> stream = parse_log_stream(stream_name);
  if (!stream && !stream_name.empty())
    return bad_query("stream", "stdout, stderr or tty", stream_name);
  const std::optional<Cursor> cursor = Cursor::parse(from);
  if (!cursor) return bad_query("from", "the 'next' of an earlier answer", from);
  const auto limit = query_int(request, "limit", {1, kMaxChunks, kMaxChunks});
  if (!limit)
    return bad_query("limit", "between 1 and 256", request.query_value("limit").value_or(""));
  const Result<RunId> run = query::select_run(context.store, request.param("run"));
  if (!run) return error_response(run.error());
  store::LogQuery query;
  query.run = *run;
  query.stream = stream;
  query.after_row = cursor->row;
  query.limit = static_cast<std::size_t>(*limit);
  const auto chunks = context.store.logs(query);
  if (!chunks) return error_response(chunks.error());
  return json_response(logs_json(*chunks, *cursor));
}

}  // namespace corral::server::api
