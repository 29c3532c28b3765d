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

void write_sparkline(JsonWriter& json, const query::Sparkline& line) {
  json.begin_object().member("metric", line.metric).member("rate", line.rate);
  write_array(json, "y", line.means, [](JsonWriter& out, const std::optional<double>& mean) {
    mean ? out.value(*mean) : out.null();
  });
  json.member("first", line.first).member("last", line.last);
  json.member("min", line.min).member("max", line.max).end_object();
}

}  // namespace

Parsed<query::SparklineRequest> parse_sparklines(std::string_view text) {
  const Json json = TRY_PARSED(parse_body(text));
  RequestFields fields(text, json);
  fields.only({"runs", "metric", "points"});
  query::SparklineRequest request;
  request.runs = fields.run_ids(kMostSparklines);
  request.metric = fields.metric_name("metric").value_or("");
  if (fields.has("points"))
    request.points = static_cast<std::uint32_t>(fields.count("points", kLeastPoints, kMostPoints));
  return fields.finish(std::move(request));
}

Answer sparklines(const Request& request, Context& context) {
  const auto wanted = TRY_PARSED(parse_sparklines(request.body));
  const auto found = TRY(query::sparklines(context.reader, wanted));
  return object_response([&](JsonWriter& json) {
    json.key("sparklines").begin_object();
    for (std::size_t i = 0; i < found.size(); ++i) {
      json.key(wanted.runs[i].hex());
      found[i] ? write_sparkline(json, *found[i]) : static_cast<void>(json.null());
    }
    json.end_object();
  });
}

}  // namespace corral::server::api
