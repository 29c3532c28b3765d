// A metric of each of many runs, in a few points.
#include "query/sparkline.h"

#include "core/json.h"
#include "server/api/handlers.h"
#include "server/api/requests.h"
#include "server/api/write.h"

namespace corral::server::api {
namespace {

constexpr std::size_t kMostSparklines = 200;
constexpr std::int64_t kLeastPoints = 2, kMostPoints = 256;

}  // namespace

Parsed<query::SparklineRequest> parse_sparklines(std::string_view text) {
  const Parsed<Json> json = parse_body(text);
  if (!json) return tl::unexpected(json.error());
  RequestFields fields(text, *json);
  fields.only({"runs", "metric", "points"});
  query::SparklineRequest request;
  request.runs = read_run_ids(fields, *json, kMostSparklines);
  request.metric = fields.metric_name("metric").value_or("");
  if (fields.has("points"))
    request.points = static_cast<std::uint32_t>(fields.count("points", kLeastPoints, kMostPoints));
  if (fields.error()) return tl::unexpected(*fields.error());
  return request;
}

Response sparklines(const Request& request, Context& context) {
  const auto wanted = parse_sparklines(request.body);
  if (!wanted) return bad_body(wanted.error());
  const auto found = query::sparklines(context.reader, *wanted);
  if (!found) return error_response(found.error());
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("sparklines").begin_object();
  for (std::size_t i = 0; i < found->size(); ++i) {
    json.key(wanted->runs[i].hex());
    const auto& line = (*found)[i];
    if (!line) {
      json.null();
      continue;
    }
    json.begin_object().member("metric", line->metric).member("rate", line->rate);
    json.key("y").begin_array();
    for (const auto& mean : line->means) write_number(json, mean);
    json.end_array().member("first", line->first).member("last", line->last);
    json.member("min", line->min).member("max", line->max).end_object();
  }
  json.end_object().end_object();
  return json_response(std::move(body));
}

}  // namespace corral::server::api
