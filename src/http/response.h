// Response: the answer of a handler, in one of three forms: bytes, a stream that a producer makes,
// or a push stream. Instead of one, a handler may answer with what makes it later, or, to a
// streamed body, with what takes that.
//
// The transport adds Content-Length or chunking, Connection, Date, X-Request-Id and the headers
// that every answer carries: by default a browser may do nothing with it (Content-Security-Policy),
// and no page of another site may embed it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "http/push_stream.h"
#include "http/request.h"

namespace corral::http {

// Appends the next part of an answer, some 64 KiB to 512 KiB; true: there is more. Called on a
// thread of its own pool, each time when the client has taken the part before: a slow reader holds
// no thread, but the state that the producer keeps between two calls and a part, whose rest waits
// in a file if it is longer. An error ends the connection without the last chunk, so that the
// client notices. Destroyed when the client has gone.
using StreamProducer = std::function<Result<bool>(std::string& part)>;

struct Response;

// Makes the answer on a thread for slow work, which has a low priority: for answers that take a
// second of CPU. They wait for each other, those of a kind (Response::late_kind), and no other
// request waits for them. `left` may be called from any thread while the call lasts; true:
// nobody waits for the answer any more, and any will do. Not called if the client left before its
// turn.
using LateAnswer = std::function<Response(const std::function<bool()>& left)>;

// Takes a body that the client is still sending. Both functions are called on threads of a pool of
// their own, one at a time; between two calls a slow client holds no thread, only their state.
// Destroyed after end(), or with the server.
struct BodyTaker {
  // The next bytes, 64 KiB at most of a streamed body; an error ends the body.
  std::function<Result<>(std::string_view)> take;
  // Once, after the last byte or the first error: that of take(), kTooLarge beyond the server's
  // limit, kUnavailable when the client has gone or is too slow.
  std::function<Response(const Result<>& taken)> end;
};

struct Response {
  int status = 200;
  Pairs headers;  // names as they are sent
  std::string body;
  // Instead of `body`: bytes that live for ever (embedded assets).
  std::string_view static_body;
  StreamProducer stream;  // instead of a body, when set
  // Bytes that `stream` makes in all, if known: they become the Content-Length, and an answer that
  // turns out shorter or longer ends the connection.
  std::optional<std::uint64_t> stream_length = {};
  std::shared_ptr<PushStream> events;  // instead of a body, when set
  LateAnswer late = {};                // instead of an answer, when set
  // Answers of a kind wait for each other alone. kElsewhere: another server is asked.
  enum class Late : std::uint8_t { kComputed, kPicture, kElsewhere } late_kind = Late::kComputed;
  // Instead of an answer, to a request whose body is streamed: it makes the answer (take_body).
  std::shared_ptr<BodyTaker> taker = {};
  std::string_view route = {};  // pattern that answered, for figures; lives for ever

  [[nodiscard]] std::string_view bytes() const { return static_body.empty() ? body : static_body; }
  void set_header(std::string_view name, std::string_view value);
  [[nodiscard]] bool has_header(std::string_view name) const;
};

// Returns true if the client takes an answer with Content-Encoding: gzip.
bool takes_gzip(const Request& request);
// Compresses a successful answer in JSON, if that makes it shorter; for a client that
// takes_gzip(). Streams and answers with an ETag stay as they are, and so do numbers in binary:
// they shrink little and take long.
void compress_json(Response& response);

// The answer to a request whose body `taker` takes: its own, when the body is there already.
Response take_body(const Request& request, BodyTaker taker);

// HTTP status of an error, as docs/api.md lists them.
int http_status(Code code);
std::string_view reason_phrase(int status);

Response json_response(std::string body, int status = 200);
Response text_response(std::string body, int status = 200);

// {"error": {"code", "message", "field", "position"}}; field and position when known.
struct ErrorPlace {
  std::string_view field;
  std::optional<std::size_t> position;  // byte offset in the body
};
Response error_response(const Error& error, const ErrorPlace& place = {});

// Status line and headers with the closing empty line. Control characters in values are dropped: no
// header can be smuggled in.
enum class Framing { kLength, kChunked, kUntilClose };
std::string response_head(const Response& response, Framing framing, bool keep_alive);

}  // namespace corral::http
