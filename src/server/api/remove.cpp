// Removing runs and experiments.
#include <fmt/core.h>

#include "core/json.h"
#include "core/text.h"
#include "query/select.h"
#include "server/api/handlers.h"
#include "server/api/write.h"
#include "server/core/artifact_removal.h"

namespace corral::server::api {
namespace {

// True or false of a query parameter; absent is false, empty is true.
std::optional<bool> query_flag(const Request& request, std::string_view name) {
  const auto text = request.query_value(name);
  if (!text || *text == "false" || *text == "0") return false;
  if (text->empty() || *text == "true" || *text == "1") return true;
  return std::nullopt;
}

tl::expected<store::RemoveOptions, Response> options_of(const Request& request) {
  store::RemoveOptions options;
  for (const auto& [name, value] :
       {std::pair("force", &options.force), std::pair("dry_run", &options.dry_run)}) {
    const auto flag = query_flag(request, name);
    if (!flag) {
      return tl::unexpected<Response>(
          bad_query(name, "true or false", request.query_value(name).value_or("")));
    }
    *value = *flag;
  }
  return options;
}

Response answer(const Result<store::Removal>& removal, const store::RemoveOptions& options,
                Context& context) {
  if (!removal) return error_response(removal.error());
  if (!options.dry_run) {
    context.events.note(removal->runs, {});
    if (context.artifact_removal != nullptr) context.artifact_removal->wake();
  }
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("runs").begin_array();
  for (const RunId& run : removal->runs) json.value(run.hex());
  json.end_array().key("points");
  write_integer(json, removal->points);
  json.key("bytes");
  write_integer(json, removal->bytes);
  json.member("dry_run", options.dry_run).end_object();
  return json_response(std::move(body));
}

}  // namespace

Response remove_run(const Request& request, Context& context) {
  const auto options = options_of(request);
  if (!options) return options.error();
  const auto id = query::select_run(context.reader, request.param("run"));
  if (!id) return error_response(id.error());
  return answer(context.store.remove_runs(std::span(&*id, 1), *options), *options, context);
}

Response remove_experiment(const Request& request, Context& context) {
  const auto options = options_of(request);
  if (!options) return options.error();
  const auto id = parse_int(request.param("experiment"));
  if (!id) {
    return error_response({Code::kInvalidArgument, fmt::format("'{}' is no id of an experiment",
                                                               request.param("experiment"))},
                          {.field = "experiment", .position = std::nullopt});
  }
  return answer(context.store.remove_experiment(ExperimentId{*id}, *options), *options, context);
}

}  // namespace corral::server::api
