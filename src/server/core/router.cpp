#include "server/core/router.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/json.h"
#include "core/text.h"
#include "server/core/door.h"
#include "server/core/unseen.h"

namespace corral::server {
namespace {

constexpr std::string_view kFramesPath = "/api/corral/v1/frames";
constexpr std::string_view kRemoteReadPath = "/prom/api/v1/read";
constexpr std::string_view kFilePattern = "/api/corral/v1/runs/{run}/artifacts/{path...}";
constexpr std::string_view kSpansPath = "/v1/traces";

constexpr std::string_view kRest = "...}";

std::string_view parameter_name(std::string_view segment) {
  if (!segment.starts_with('{')) return {};
  return segment.substr(1, segment.size() - (segment.ends_with(kRest) ? 1 + kRest.size() : 2));
}

std::string lower_name(Method method) {
  std::string name(method_name(method));
  for (char& c : name) c = static_cast<char>(c - 'A' + 'a');
  return name;
}

Response method_not_allowed(const std::string& allowed, std::string_view path) {
  Response response =
      error_response({Code::kInvalidArgument, fmt::format("{} takes {}", to_utf8(path), allowed)});
  response.status = 405;
  response.set_header("Allow", allowed);
  return response;
}

void write_operation(JsonWriter& json, const Route& route) {
  json.key(lower_name(route.method)).begin_object().member("summary", route.summary);
  json.key("parameters").begin_array();
  for (const std::string_view segment : split(route.pattern, '/')) {
    const std::string_view name = parameter_name(segment);
    if (name.empty()) continue;
    json.begin_object().member("name", name).member("in", "path").member("required", true);
    json.key("schema").begin_object().member("type", "string").end_object().end_object();
  }
  json.end_array().key("responses").begin_object();
  json.key("200").begin_object().member("description", "see docs/api.md").end_object();
  json.key("default")
      .begin_object()
      .member("description", "{\"error\": {\"code\", \"message\"}}")
      .end_object();
  json.end_object().end_object();
}

struct RouteMatch {
  const Route* route;
  Pairs params;
};

// Or the answer that says why there is none.
tl::expected<RouteMatch, Response> find_route(const Request& request,
                                              std::span<const Route> table) {
  const Method wanted = request.method == Method::kHead ? Method::kGet : request.method;
  std::string allowed;
  for (const Route& candidate : table) {
    Pairs params;
    const Result<bool> matches = match(candidate.pattern, request.path, params);
    if (!matches) {
      return tl::unexpected(
          error_response(matches.error(), {.field = "path", .position = std::nullopt}));
    }
    if (!*matches) continue;
    const bool of_the_page = candidate.summary.empty();
    if (candidate.method != wanted) {
      if (of_the_page) continue;
      if (!allowed.empty()) allowed += ", ";
      allowed += method_name(candidate.method);
      continue;
    }
    // The page's catch-all must not hide that a path of the API takes other methods.
    if (of_the_page && !allowed.empty()) break;
    return RouteMatch{.route = &candidate, .params = std::move(params)};
  }
  if (!allowed.empty()) return tl::unexpected(method_not_allowed(allowed, request.path));
  return tl::unexpected(
      error_response({Code::kNotFound, fmt::format("no route {}", to_utf8(request.path))}));
}

}  // namespace

Response too_many(const Request& request, std::string_view what, std::chrono::seconds wait) {
  Response response = refusal(
      request,
      {Code::kUnavailable, fmt::format("too many {}: try again in {} s", what, wait.count())});
  response.status = 429;
  response.set_header("Retry-After", std::to_string(wait.count()));
  return response;
}

Result<bool> match(std::string_view pattern, std::string_view path, Pairs& params) {
  params.clear();
  // Nearly all patterns differ from the path before their first parameter.
  const auto [wants, has] = std::ranges::mismatch(pattern, path);
  if (wants != pattern.end() && has != path.end() && *wants != '{' &&
      std::find(pattern.begin(), wants, '{') == wants)
    return false;
  while (!pattern.empty()) {
    const std::size_t pattern_end = std::min(pattern.find('/', 1), pattern.size());
    const std::string_view wanted = pattern.substr(1, pattern_end - 1);
    const std::string_view name = parameter_name(wanted);
    if (wanted.ends_with(kRest)) {
      params.emplace_back(name,
                          TRY(percent_decode(path.substr(std::min<std::size_t>(1, path.size())))));
      return true;
    }
    if (!path.starts_with('/')) return false;
    const std::size_t path_end = std::min(path.find('/', 1), path.size());
    const std::string_view segment = path.substr(1, path_end - 1);
    if (name.empty() && segment != wanted) return false;
    if (!name.empty() && segment.empty()) return false;
    if (!name.empty()) params.emplace_back(name, TRY(percent_decode(segment)));
    pattern.remove_prefix(pattern_end);
    path.remove_prefix(path_end);
  }
  return path.empty();
}

std::optional<Role> role_for(const Request& request, std::span<const Route> table) {
  if (door::owns(request.path)) return door::role_for(request);
  const auto found = find_route(request, table);
  return found ? std::optional(role_for(*found->route)) : std::nullopt;
}

std::optional<Response> no_route(const Request& request, std::span<const Route> table) {
  if (door::owns(request.path)) return door::no_route(request);
  auto found = find_route(request, table);
  return found ? std::nullopt : std::optional(std::move(found.error()));
}

Response route(Request request, Context& context, std::span<const Route> table) {
  if (const auto seen = check_names(request, context); !seen) return refusal(request, seen.error());
  if (door::owns(request.path)) return door::dispatch(std::move(request), context);
  auto found = find_route(request, table);
  if (!found) return std::move(found.error());
  request.params = std::move(found->params);
  Response response = found->route->handle(request, context);
  response.route = found->route->pattern;
  return response;
}

bool reads_json(const Request& request) {
  if (door::owns(request.path)) return !door::takes_file(request);
  const std::string_view type = request.header("content-type");
  Pairs params;
  const bool is_file =
      request.method == Method::kPut && match(kFilePattern, request.path, params).value_or(false);
  const bool is_protobuf = request.path == kSpansPath &&
                           trim(type.substr(0, type.find(';'))) == "application/x-protobuf";
  return !is_file && !is_protobuf && request.path != kFramesPath && request.path != kRemoteReadPath;
}

bool unpacks(const Request& request) {
  return request.path == kRemoteReadPath && request.header("content-encoding") == "snappy";
}

Response refusal(const Request& request, const Error& error, std::string_view field) {
  if (door::owns(request.path)) return door::refusal(request, error);
  return error_response(error, {.field = field, .position = std::nullopt});
}

std::string openapi(std::span<const Route> table, std::string_view version) {
  std::map<std::string_view, std::vector<const Route*>> by_path;
  for (const Route& entry : table) {
    if (!entry.summary.empty()) by_path[entry.pattern].push_back(&entry);
  }
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("openapi", "3.1.0");
  json.key("info").begin_object().member("title", "Corral").member("version", version).end_object();
  json.key("paths").begin_object();
  for (const auto& [path, entries] : by_path) {
    json.key(path).begin_object();
    for (const Route* entry : entries) write_operation(json, *entry);
    json.end_object();
  }
  json.end_object().end_object();
  return out;
}

}  // namespace corral::server
