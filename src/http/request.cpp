#include "http/request.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"

namespace corral::http {
namespace {

std::string_view find_in(const Pairs& pairs, std::string_view name) {
  const auto found =
      std::ranges::find_if(pairs, [&](const auto& pair) { return pair.first == name; });
  return found != pairs.end() ? std::string_view(found->second) : std::string_view();
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_port(std::string_view text) {
  return text.size() <= 5 && std::ranges::all_of(text, is_digit);
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<Pairs> parse_query(std::string_view text) {
  Pairs query;
  if (text.empty()) return query;
  for (const std::string_view part : split(text, '&')) {
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    std::string name = TRY(percent_decode(part.substr(0, equals), true));
    const bool has_value = equals != std::string_view::npos;
    std::string value = TRY(percent_decode(has_value ? part.substr(equals + 1) : "", true));
    query.emplace_back(std::move(name), std::move(value));
  }
  return query;
}

}  // namespace

std::string_view method_name(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kHead:
      return "HEAD";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kPatch:
      return "PATCH";
    case Method::kDelete:
      return "DELETE";
    case Method::kOther:
      return "OTHER";
  }
  return "OTHER";
}

std::string_view Request::header(std::string_view lower_case_name) const {
  return find_in(headers, lower_case_name);
}

std::string_view Request::param(std::string_view name) const { return find_in(params, name); }

std::optional<std::string_view> Request::query_value(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::string_view Request::cookie(std::string_view name) const {
  std::optional<std::string_view> found;
  for (const auto& [key, value] : headers) {
    if (key != "cookie") continue;
    for (const std::string_view part : split(value, ';')) {
      const std::string_view item = trim(part);
      if (item.size() <= name.size() || !item.starts_with(name) || item[name.size()] != '=')
        continue;
      const std::string_view one = item.substr(name.size() + 1);
      if (found.value_or(one) != one) return {};
      found = one;
    }
  }
  return found.value_or("");
}

std::optional<std::uint64_t> Request::body_length() const {
  return streamed ? stream_length : body.size();
}

Result<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out.push_back(' ');
      continue;
    }
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    const int high = text.size() - i > 2 ? hex_digit(text[i + 1]) : -1;
    const int low = text.size() - i > 2 ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0 || (high == 0 && low == 0)) {
      return fail(Code::kInvalidArgument,
                  fmt::format("broken percent escape in '{}'", to_utf8(text)));
    }
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  if (!is_utf8(out))
    return fail(Code::kInvalidArgument, fmt::format("'{}' is not UTF-8", to_utf8(text)));
  return out;
}

std::string host_without_port(std::string_view host) {
  const bool literal = host.starts_with('[');
  const std::size_t end = literal ? host.find(']') : std::min(host.find(':'), host.size());
  if (end == std::string_view::npos) return {};
  const std::string_view rest = host.substr(end + (literal ? 1 : 0));
  if (!rest.empty() && (rest[0] != ':' || !is_port(rest.substr(1)))) return {};
  std::string name = lower_ascii(literal ? host.substr(1, end - 1) : host.substr(0, end));
  const auto is_part = [&](char c) {
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '.' ||
           (literal ? c == ':' : c == '-' || c == '_');
  };
  if (!std::ranges::all_of(name, is_part)) return {};
  if (name.ends_with('.')) name.pop_back();
  return name;
}

Result<> parse_target(std::string_view target, Request& request) {
  if (target.starts_with("http://")) {
    const std::size_t slash = target.find('/', 7);
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  if (!target.starts_with('/'))
    return fail(Code::kInvalidArgument, "the request target must be a path");
  target = target.substr(0, target.find('#'));
  const std::size_t question = target.find('?');
  request.path = std::string(target.substr(0, question));
  TRY(percent_decode(request.path));
  request.query =
      TRY(parse_query(question == std::string_view::npos ? "" : target.substr(question + 1)));
  return {};
}

}  // namespace corral::http
