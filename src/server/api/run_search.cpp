// The search behind the page's list of runs.
#include <unordered_map>

#include "core/json.h"
#include "query/summary.h"
#include "server/api/handlers.h"
#include "server/api/run_json.h"
#include "server/api/run_request.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

using store::tracking::ColumnValue;
using store::tracking::Facet;
using store::tracking::FoundRuns;

void write_value(JsonWriter& json, const ColumnValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (const auto* number = std::get_if<double>(&value)) {
    json.value(*number);
  } else if (text != nullptr && !text->empty()) {
    json.value(*text);
  } else {
    json.null();
  }
}

void write_values(JsonWriter& json, const std::vector<Facet::Value>& values) {
  json.begin_array();
  for (const Facet::Value& value : values)
    json.begin_object().member("value", value.value).member("count", value.count).end_object();
  json.end_array();
}

void write_keys(JsonWriter& json, std::string_view name, const std::vector<Facet>& facets) {
  json.key(name).begin_array();
  for (const Facet& facet : facets) {
    json.begin_object().member("key", facet.field.key).key("values");
    write_values(json, facet.values);
    json.member("distinct", facet.distinct).end_object();
  }
  json.end_array();
}

void write_facets(JsonWriter& json, const RunSearchRequest& request, const FoundRuns& found) {
  json.key("facets").begin_object();
  for (std::size_t i = 0; i < found.facets.size(); ++i) {
    json.key(request.facets[i]);
    write_values(json, found.facets[i].values);
  }
  if (request.question.param_facets) write_keys(json, "params", found.params);
  if (request.question.tag_facets) write_keys(json, "tags", found.tags);
  json.end_object().member("truncated_facets", found.facets_cut);
}

Result<std::string> search_json(const RunSearchRequest& request, const store::Reader& store) {
  FoundRuns found;
  const auto find = [&](store::Reading& reading) -> Result<> {
    found = TRY(store::tracking::find_runs(reading, request.question));
    return {};
  };
  TRY(store.inspect(find));
  std::vector<RunId> ids;
  for (const store::Run& run : found.runs) ids.push_back(run.id);
  const auto losses = TRY(query::losses_of(store, ids));
  const auto problems = TRY(health_problems(store, ids));
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("runs").begin_array();
  for (std::size_t i = 0; i < found.runs.size(); ++i) {
    const auto loss = losses.find(found.runs[i].id);
    json.begin_object();
    write_run(json, found.runs[i], loss != losses.end() ? &loss->second : nullptr);
    json.member("health_problems", problems[i]).key("values").begin_object();
    for (std::size_t c = 0; c < request.columns.size(); ++c) {
      json.key(request.columns[c]);
      write_value(json, found.values[i][c]);
    }
    json.end_object().end_object();
  }
  json.end_array().member("total", found.total);
  json.member("offset", request.question.paging.offset);
  write_facets(json, request, found);
  json.end_object();
  return body;
}

}  // namespace

Response search_runs(const Request& request, Context& context) {
  const auto wanted = parse_run_search(request.body);
  if (!wanted) return bad_body(wanted.error());
  Result<std::string> body = search_json(*wanted, context.reader);
  return body ? json_response(*std::move(body)) : error_response(body.error());
}

}  // namespace corral::server::api
