#include "server/api/read_request.h"

#include <fmt/core.h>

#include "core/limits.h"

namespace corral::server::api {
namespace {

// A glob may be longer than the names it is for.
constexpr std::size_t kTextBytes = 4 * limits::kNameBytes;

// 1 to `most` texts.
std::vector<std::string> read_texts(RequestFields& fields, const Json& json, std::string_view name,
                                    std::size_t most) {
  std::vector<std::string> texts;
  const Json* member = json.find(name);
  const Json::Array* all = member == nullptr ? nullptr : member->as_array();
  if (all != nullptr && all->size() <= most) {
    for (const Json& item : *all) {
      const std::string* text = item.as_string();
      if (text == nullptr || text->empty() || text->size() > kTextBytes) break;
      texts.push_back(*text);
    }
  }
  if (all == nullptr || all->empty() || texts.size() != all->size())
    fields.wrong(name, fmt::format("an array of 1 to {} texts", most));
  return texts;
}

}  // namespace

Parsed<PointsRequest> parse_points_request(std::string_view text) {
  const Parsed<Json> json = parse_body(text);
  if (!json) return tl::unexpected(json.error());
  RequestFields fields(text, *json);
  fields.only({"runs", "metrics", "origin", "from_ns", "to_ns", "points"});
  PointsRequest request;
  query::ReadRequest& read = request.read;
  request.runs = read_texts(fields, *json, "runs", kMostReadRuns);
  if (fields.has("metrics")) read.metrics = read_texts(fields, *json, "metrics", kMostReadMetrics);
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
