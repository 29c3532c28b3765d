#include "server/api/read_request.h"

#include <fmt/core.h>

#include "core/limits.h"

namespace corral::server::api {
namespace {

// A glob may be longer than the names it is for.
constexpr std::size_t kTextBytes = 4 * limits::kNameBytes;

}  // namespace

Parsed<PointsRequest> parse_points_request(std::string_view text) {
  const Parsed<Json> json = parse_body(text);
  if (!json) return tl::unexpected(json.error());
  RequestFields fields(text, *json);
  fields.only({"runs", "metrics", "origin", "from_ns", "to_ns", "points"});
  PointsRequest request;
  query::ReadRequest& read = request.read;
  request.runs = fields.texts("runs", kMostReadRuns, kTextBytes);
  if (fields.has("metrics")) read.metrics = fields.texts("metrics", kMostReadMetrics, kTextBytes);
  read.since_start = fields.choice<bool>("origin", {{"utc", false}, {"run", true}}).value_or(false);
  read.from = fields.integer("from_ns", "nanoseconds");
  read.to = fields.integer("to_ns", "nanoseconds");
  if (read.from && read.to && *read.from >= *read.to) fields.wrong("to_ns", "later than from_ns");
  if (fields.has("points"))
    read.points = fields.count("points", query::kLeastReducedPoints, query::kMostReducedPoints);
  if (fields.error()) return tl::unexpected(*fields.error());
  return request;
}

}  // namespace corral::server::api
