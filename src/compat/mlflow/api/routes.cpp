#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "compat/mlflow/api/handlers.h"
#include "core/text.h"
#include "server/core/router.h"

namespace corral::server::mlflow {
namespace {

constexpr std::array<std::string_view, 2> kPrefixes = {"/api", "/ajax-api"};

// ---- the server's version and features, as clients ask for them

// The MLflow release of the emulated interface. Clients compare it: from 3.4 they send OTLP spans.
constexpr std::string_view kMlflowVersion = "3.17.2";

Body server_info(Message&, Context&) {
  return std::string(R"({"store_type":"SqlStore","workspaces_enabled":false,)"
                     R"("trace_archival_enabled":false,"multipart_uploads_enabled":false,)"
                     R"("multipart_downloads_enabled":false})");
}

// That there is an answer tells radT's client to send its spans in batches (radt.cpp).
Body radt_config(Message&, Context&) { return std::string("{}"); }

constexpr std::array kAboutRpcs = {
    Rpc{Method::kGet, "/3.0/mlflow/server-info", server_info},
    Rpc{Method::kGet, "/2.0/mlflow/radt-config", radt_config},
};
std::span<const Rpc> about_rpcs() { return kAboutRpcs; }

// ---- routes

// All tables; of two paths that match, the first one counts.
constexpr std::array kTables = {
    about_rpcs,    experiment_rpcs,   run_rpcs,   metric_rpcs,     artifact_rpcs,
    registry_rpcs, logged_model_rpcs, trace_rpcs, assessment_rpcs, evaluation_dataset_rpcs};

std::string_view behind_prefix(std::string_view path) {
  for (const std::string_view prefix : kPrefixes) {
    if (path.starts_with(prefix)) return path.substr(prefix.size());
  }
  return {};
}

Answer<Json> read_message(const Request& request) {
  const bool read = request.method == Method::kGet || request.method == Method::kHead;
  if (read && (!request.query.empty() || request.body.empty()))
    return wire::query_object(request.query);
  TRY_API(check_content_type(request));
  return wire::parse_body(request.body);
}

Answer<Response> run(const Rpc& rpc, const Request& request, Context& context) {
  if (rpc.raw != nullptr) return rpc.raw(request, context);
  Json json = TRY_API(read_message(request));
  for (const auto& [name, value] : request.params) json.set(name, value);
  Message in(json);
  if (rpc.stream != nullptr) return rpc.stream(in, context);
  return json_response(TRY_API(rpc.call(in, context)));
}

Response unknown_endpoint(std::string_view method, std::string_view path,
                          const std::string& allowed) {
  Response response = answer(
      ApiError{ErrorCode::kEndpointNotFound,
               allowed.empty()
                   ? fmt::format("{} {} is not an endpoint of this server", method, to_utf8(path))
                   : fmt::format("{} takes {}, not {}", to_utf8(path), allowed, method)});
  if (allowed.empty()) return response;
  response.status = 405;
  response.set_header("Allow", allowed);
  return response;
}

struct Found {
  const Rpc* rpc;
  Pairs params;
};

// Returns the call, or the answer with the reason why there is none.
tl::expected<Found, Response> find_rpc(const Request& request) {
  const Method wanted = request.method == Method::kHead ? Method::kGet : request.method;
  const std::string_view path = behind_prefix(request.path);
  std::string allowed;
  for (const auto& table : kTables) {
    for (const Rpc& rpc : table()) {
      Pairs params;
      const Result<bool> matches = match(rpc.path, path, params);
      if (!matches) return tl::unexpected(answer(matches.error()));
      if (!*matches) continue;
      if (rpc.method == wanted) return Found{.rpc = &rpc, .params = std::move(params)};
      allowed += (allowed.empty() ? "" : ", ") + std::string(method_name(rpc.method));
    }
  }
  return tl::unexpected(unknown_endpoint(method_name(request.method), request.path, allowed));
}

}  // namespace

Response mlflow_version(const Request&, Context&) {
  Response response = text_response(std::string(kMlflowVersion));
  response.set_header("Cache-Control", "no-store");
  return response;
}

std::optional<Response> no_rpc(const Request& request) {
  auto found = find_rpc(request);
  return found ? std::nullopt : std::optional(std::move(found.error()));
}

std::optional<Role> role_for(const Request& request) {
  const auto found = find_rpc(request);
  return found ? std::optional(server::role_for(*found->rpc)) : std::nullopt;
}

bool takes_file(const Request& request) {
  const auto found = find_rpc(request);
  return found && found->rpc->takes_file;
}

Response dispatch(Request request, Context& context) {
  auto found = find_rpc(request);
  if (!found) return std::move(found.error());
  request.params = std::move(found->params);
  Response response = answer(run(*found->rpc, request, context));
  response.route = found->rpc->path;
  return response;
}

}  // namespace corral::server::mlflow
