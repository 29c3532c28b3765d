#include "http/response.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "core/json.h"
#include "core/text.h"
#include "http/gzip.h"

namespace corral::http {
namespace {

struct Reason {
  int status;
  std::string_view phrase;
};
constexpr std::array kReasons = {
    Reason{200, "OK"},
    Reason{204, "No Content"},
    Reason{206, "Partial Content"},
    Reason{303, "See Other"},
    Reason{304, "Not Modified"},
    Reason{307, "Temporary Redirect"},
    Reason{400, "Bad Request"},
    Reason{401, "Unauthorized"},
    Reason{403, "Forbidden"},
    Reason{404, "Not Found"},
    Reason{405, "Method Not Allowed"},
    Reason{408, "Request Timeout"},
    Reason{409, "Conflict"},
    Reason{413, "Content Too Large"},
    Reason{414, "URI Too Long"},
    Reason{415, "Unsupported Media Type"},
    Reason{416, "Range Not Satisfiable"},
    Reason{422, "Unprocessable Content"},
    Reason{431, "Request Header Fields Too Large"},
    Reason{500, "Internal Server Error"},
    Reason{501, "Not Implemented"},
    Reason{503, "Service Unavailable"},
    Reason{507, "Insufficient Storage"},
};

void append_header(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ");
  std::ranges::copy_if(value, std::back_inserter(head),
                       [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
  head.append("\r\n");
}

std::string http_date() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 40> text;
  const std::size_t n = std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &utc);
  return {text.data(), n};
}

}  // namespace

void Response::set_header(std::string_view name, std::string_view value) {
  for (auto& [key, old] : headers) {
    if (key == name) {
      old = value;
      return;
    }
  }
  headers.emplace_back(name, value);
}

bool Response::has_header(std::string_view name) const {
  return std::ranges::find(headers, name, &Pairs::value_type::first) != headers.end();
}

bool takes_gzip(const Request& request) {
  for (const std::string_view part : split(request.header("accept-encoding"), ',')) {
    const std::vector<std::string_view> words = split(part, ';');
    if (!equal_ignoring_case(trim(words[0]), "gzip")) continue;
    const std::string_view quality = words.size() < 2 ? "" : trim(words[1]);
    const std::size_t value = quality.find('=');
    if (value == std::string_view::npos) return true;
    return parse_double(trim(quality.substr(value + 1))).value_or(0) > 0;
  }
  return false;
}

void compress_json(Response& response) {
  constexpr std::size_t kWorthIt = 1024;
  if (response.status != 200 || response.body.size() < kWorthIt) return;
  const bool json = std::ranges::any_of(response.headers, [](const auto& header) {
    return header.first == "Content-Type" && header.second.starts_with("application/json");
  });
  if (!json || response.has_header("Content-Encoding") || response.has_header("ETag")) return;
  std::optional<std::string> packed = gzip(response.body);
  if (!packed || packed->size() >= response.body.size()) return;
  response.body = std::move(*packed);
  response.set_header("Content-Encoding", "gzip");
  response.set_header("Vary", "Accept-Encoding");
}

Response take_body(const Request& request, BodyTaker taker) {
  if (!request.streamed) {
    const Result<> taken = request.body.empty() ? Result<>() : taker.take(request.body);
    return taker.end(taken);
  }
  Response response;
  response.taker = std::make_shared<BodyTaker>(std::move(taker));
  return response;
}

int http_status(Code code) {
  switch (code) {
    case Code::kNotFound:
      return 404;
    case Code::kInvalidArgument:
      return 400;
    case Code::kUnprocessable:
      return 422;
    case Code::kAlreadyExists:
    case Code::kConflict:
      return 409;
    case Code::kTooLarge:
      return 413;
    case Code::kPermission:
      return 403;
    case Code::kUnauthenticated:
      return 401;
    case Code::kUnavailable:
      return 503;
    case Code::kNoSpace:
      return 507;
    case Code::kUnsupported:
      return 501;
    case Code::kCorruption:
    case Code::kIo:
    case Code::kInternal:
      return 500;
  }
  return 500;
}

std::string_view reason_phrase(int status) {
  const auto found = std::ranges::find(kReasons, status, &Reason::status);
  return found != kReasons.end() ? found->phrase : "Unknown";
}

Response json_response(std::string body, int status) {
  Response response;
  response.status = status;
  response.body = std::move(body);
  response.headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}};
  return response;
}

Response text_response(std::string body, int status) {
  Response response;
  response.status = status;
  response.body = std::move(body);
  response.headers = {{"Content-Type", "text/plain; charset=utf-8"}, {"Cache-Control", "no-store"}};
  return response;
}

Response error_response(const Error& error, const ErrorPlace& place) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("error").begin_object();
  json.member("code", code_name(error.code)).member("message", error.message);
  if (!place.field.empty()) json.member("field", place.field);
  if (place.position) json.member("position", static_cast<std::int64_t>(*place.position));
  json.end_object().end_object();
  return json_response(std::move(body), http_status(error.code));
}

std::string response_head(const Response& response, Framing framing, bool keep_alive) {
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_phrase(response.status));
  for (const auto& [name, value] : response.headers) append_header(head, name, value);
  append_header(head, "Date", http_date());
  append_header(head, "X-Content-Type-Options", "nosniff");
  append_header(head, "Referrer-Policy", "no-referrer");
  append_header(head, "X-Frame-Options", "DENY");
  append_header(head, "Cross-Origin-Resource-Policy", "same-origin");
  append_header(head, "Cross-Origin-Opener-Policy", "same-origin");
  if (!response.has_header("Content-Security-Policy"))
    append_header(head, "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
  const bool bodyless = response.status == 204 || response.status == 304;
  if (framing == Framing::kChunked) append_header(head, "Transfer-Encoding", "chunked");
  if (framing == Framing::kLength && !bodyless) {
    const std::uint64_t length = response.stream_length.value_or(response.bytes().size());
    append_header(head, "Content-Length", std::to_string(length));
  }
  append_header(head, "Connection", keep_alive ? "keep-alive" : "close");
  head.append("\r\n");
  return head;
}

}  // namespace corral::http
