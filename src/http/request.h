// Request: one HTTP request as handlers see it, free of the transport's types.
//
// Made by the transport (method, target, headers, body) and completed by the router (params). Names
// of headers are lower-case; the path stays percent-encoded until the router has split it, so that
// "%2F" is never a separator.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace corral::http {

enum class Method : std::uint8_t { kGet, kHead, kPost, kPut, kPatch, kDelete, kOther };
std::string_view method_name(Method method);

using Pairs = std::vector<std::pair<std::string, std::string>>;

class BodyRoom;

struct Request {
  Method method = Method::kGet;
  std::string path;  // "/api/corral/v1/runs/%401", encoded as sent
  Pairs query;       // decoded, in the order sent
  Pairs headers;     // names in lower case
  Pairs params;      // parameters of the route's pattern, decoded: {"run", "@1"}
  std::string body;
  // the transport's memory for `body`, held until the request is destroyed
  std::shared_ptr<BodyRoom> body_room{};
  bool streamed = false;  // the body is still to come, and goes to the answer's taker
  std::optional<std::uint64_t> stream_length = {};  // as the client said; none when it sends chunks
  bool over_unix = false;                           // came through the 0600 Unix socket: this user
  bool over_tls = false;                            // by HTTPS, here or at a proxy in front
  std::uint64_t connection = 0;  // the same for all requests of one, unlike any other's
  std::uint16_t peer_port = 0;   // port of a client over TCP
  // The client's IP address, also behind a proxy; "unix" for the Unix socket; empty: not known.
  std::string peer;
  std::string id;  // names the request in answers and logs: the client's own, or made here

  // Empty when absent.
  [[nodiscard]] std::string_view header(std::string_view lower_case_name) const;
  [[nodiscard]] std::string_view param(std::string_view name) const;
  // The first value of that name.
  [[nodiscard]] std::optional<std::string_view> query_value(std::string_view name) const;
  // Empty also if there are several of that name that differ: a neighbour of this host's domain can
  // add one.
  [[nodiscard]] std::string_view cookie(std::string_view name) const;

  // Returns the length of the body, streamed or not; nothing if only its end will tell.
  [[nodiscard]] std::optional<std::uint64_t> body_length() const;
};

// "%41b" -> "Ab"; `plus_is_space` as in query strings. kInvalidArgument for a broken escape or an
// encoded NUL.
Result<std::string> percent_decode(std::string_view text, bool plus_is_space = false);

// "LOCALHOST:5000" -> "localhost"; "[::1]:5000" -> "::1"; empty if it is not a host and port.
std::string host_without_port(std::string_view host);

// Sets path and query from a request target ("/a/b?c=d", or absolute "http://host/a/b").
Result<> parse_target(std::string_view target, Request& request);

}  // namespace corral::http
