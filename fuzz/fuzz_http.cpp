// The first code that sees a request: its head, its framing by the parser behind, compressed
// bodies, and the gate's headers.
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdlib>
#include <string>

#include "core/text.h"
#include "http/gzip.h"
#include "http/head.h"
#include "http/request.h"
#include "server/core/gate.h"

namespace {

namespace beast_http = boost::beast::http;
constexpr std::size_t kBodyLimit = 1u << 16;

void check(bool holds) {
  if (!holds) std::abort();
}

// A head that passes the check means the same to the parser: it never finds a second length, and
// the next request begins at the first one's end.
void fuzz_head(std::string_view bytes) {
  const std::size_t length = corral::http::head_length(bytes, 0);
  check(length <= bytes.size());
  check(length == 0 || length == corral::http::head_length(bytes.substr(0, length), length - 1));
  const std::string_view head = bytes.substr(0, length);
  if (const auto fault = corral::http::check_head(length == 0 ? bytes : head)) {
    check(!fault->message.empty() && fault->status >= 400);
    return;
  }
  check(length > 0 && head.ends_with("\r\n\r\n"));
  beast_http::request_parser<beast_http::string_body> parser;
  parser.header_limit(corral::http::kHeadBytes + 1);
  parser.body_limit(kBodyLimit);
  boost::system::error_code error;
  const std::size_t taken = parser.put(boost::asio::buffer(head), error);
  if (error) return;  // stricter still
  check(parser.is_header_done() && taken == length);
  const bool chunked = parser.get().has_content_length() ? false : parser.chunked();
  check(!(parser.chunked() && parser.content_length().has_value()));
  parser.eager(true);
  std::string_view rest = bytes.substr(length);
  while (!rest.empty() && !parser.is_done()) {
    const std::size_t n = parser.put(boost::asio::buffer(rest), error);
    if (error || n == 0) break;
    rest.remove_prefix(n);
  }
  check(parser.get().body().size() <= kBodyLimit);
  if (parser.is_done() && !error && !chunked)
    check(parser.get().body().size() == bytes.size() - length - rest.size());
}

// A line each: Host, Origin, Authorization, Cookie, Sec-Fetch-Site, Content-Type, path. Without the
// token nothing but /health passes, whatever the rest says, and no name but the server's own.
void fuzz_gate(std::string_view text) {
  static const corral::server::GateRules kRules{
      .hosts = {"node7.lab"}, .wildcard = false, .token = "0123456789abcdef-0123456789abcdef"};
  static constexpr std::string_view kNames[] = {"host",   "origin",         "authorization",
                                                "cookie", "sec-fetch-site", "content-type"};
  corral::server::Request request;
  request.method = text.size() % 2 == 0 ? corral::http::Method::kPost : corral::http::Method::kGet;
  std::size_t i = 0;
  for (const std::string_view line : corral::split(text, '\n')) {
    if (i < std::size(kNames)) {
      if (!line.empty()) request.headers.emplace_back(kNames[i], line);
    } else if (!corral::http::parse_target(line, request)) {
      return;
    }
    ++i;
  }
  const corral::server::Decision decision = corral::server::decide(request, kRules);
  const bool knows = text.find(kRules.token) != std::string_view::npos ||
                     !request.header("authorization").empty();  // it may be in base64
  check(knows || !decision.allowed() || request.path == "/health");
  const std::string host = corral::lower_ascii(request.header("host"));
  const bool own = host.starts_with("localhost") || host.find(".localhost") != std::string::npos ||
                   host.starts_with("127.") || host.starts_with("[") ||
                   host.starts_with("node7.lab");
  check(own || !decision.allowed());
  check(decision.allowed() || decision.answer->status >= 300);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 3) {
    case 0:
      fuzz_head(text);
      break;
    case 1:
      fuzz_gate(text);
      break;
    default:
      if (const auto out = corral::http::gunzip(text, kBodyLimit)) check(out->size() <= kBodyLimit);
  }
  return 0;
}
