#include "server/api/chart_request.h"

#include <fmt/core.h>

#include "core/json.h"
#include "core/json_position.h"
#include "core/text.h"

namespace corral::server::api {
namespace {

using Failure = tl::unexpected<ChartRequestError>;

// Where the field stands in the text; a key of this flat object stands in quotes nowhere else but
// by malice.
std::optional<std::size_t> position_of(std::string_view text, std::string_view field) {
  const std::size_t found = text.find(fmt::format("\"{}\"", field));
  return found != std::string_view::npos ? std::optional(found) : std::nullopt;
}

Failure wrong(std::string_view text, std::string_view field, std::string_view expected) {
  return Failure(
      ChartRequestError{{Code::kInvalidArgument, fmt::format("{} must be {}", field, expected)},
                        std::string(field),
                        position_of(text, field)});
}

// A number, or a decimal string as 64-bit integers travel.
std::optional<std::int64_t> integer(const Json& json) {
  if (const auto* number = json.as_int()) return *number;
  if (const auto* text = json.as_string()) return parse_int(*text);
  return std::nullopt;
}

bool is_absent(const Json* json) { return json == nullptr || json->is_null(); }

std::optional<std::vector<SeriesId>> parse_series(const Json* json) {
  if (json == nullptr || json->as_array() == nullptr) return std::nullopt;
  std::vector<SeriesId> series;
  for (const Json& item : *json->as_array()) {
    const std::optional<std::int64_t> id = integer(item);
    if (!id) return std::nullopt;
    series.push_back(SeriesId{*id});
  }
  if (series.empty() || series.size() > query::kMaxChartSeries) return std::nullopt;
  return series;
}

std::optional<query::ChartMode> parse_mode(const Json* json) {
  if (is_absent(json)) return query::ChartMode::kAuto;
  const std::string* name = json->as_string();
  if (name == nullptr) return std::nullopt;
  if (*name == "auto") return query::ChartMode::kAuto;
  if (*name == "value") return query::ChartMode::kValue;
  if (*name == "rate") return query::ChartMode::kRate;
  return std::nullopt;
}

std::optional<query::ChartAxis> parse_axis(const Json* json) {
  if (is_absent(json)) return query::ChartAxis::kTime;
  const std::string* name = json->as_string();
  if (name == nullptr) return std::nullopt;
  if (*name == "time") return query::ChartAxis::kTime;
  if (*name == "relative") return query::ChartAxis::kRelative;
  if (*name == "step") return query::ChartAxis::kStep;
  return std::nullopt;
}

// False when the member is there and no integer.
bool parse_integer(const Json* json, std::optional<std::int64_t>& out) {
  if (is_absent(json)) return true;
  out = integer(*json);
  return out.has_value();
}

std::optional<std::vector<std::int64_t>> parse_integers(const Json* json) {
  std::vector<std::int64_t> all;
  if (is_absent(json)) return all;
  if (json->as_array() == nullptr) return std::nullopt;
  for (const Json& item : *json->as_array()) {
    const std::optional<std::int64_t> one = integer(item);
    if (!one) return std::nullopt;
    all.push_back(*one);
  }
  return all;
}

// What says where the picture lies.
std::optional<Failure> parse_place(std::string_view text, const Json& json,
                                   query::ChartRequest& request) {
  const std::optional<query::ChartAxis> axis = parse_axis(json.find("axis"));
  if (!axis) return wrong(text, "axis", "time, relative or step");
  request.axis = *axis;
  const bool steps = *axis == query::ChartAxis::kStep;
  const char* from = steps ? "from_step" : "from_ns";
  const char* to = steps ? "to_step" : "to_ns";
  const char* unit = steps ? "an integer" : "nanoseconds of UTC";
  if (!parse_integer(json.find(from), request.from)) return wrong(text, from, unit);
  if (!parse_integer(json.find(to), request.to)) return wrong(text, to, unit);
  if (request.from && request.to && *request.from >= *request.to)
    return wrong(text, to, fmt::format("{} than {}", steps ? "greater" : "later", from));
  auto origins = parse_integers(json.find("origins_ns"));
  const std::size_t wanted =
      *axis == query::ChartAxis::kRelative ? request.series.size() : std::size_t{0};
  if (!origins || origins->size() != wanted)
    return wrong(text, "origins_ns", "one for each series of a relative axis, else absent");
  request.origins = *std::move(origins);
  return std::nullopt;
}

}  // namespace

tl::expected<query::ChartRequest, ChartRequestError> parse_chart_request(std::string_view text) {
  const Result<Json> json = Json::parse(text);
  if (!json) return Failure(ChartRequestError{json.error(), "", json_error_position(text)});
  if (json->as_object() == nullptr) {
    return Failure(
        ChartRequestError{{Code::kInvalidArgument, "the body must be a JSON object"}, "", 0});
  }
  query::ChartRequest request;
  auto series = parse_series(json->find("series"));
  if (!series)
    return wrong(text, "series", fmt::format("an array of 1 to {} series", query::kMaxChartSeries));
  request.series = *std::move(series);
  const Json* width = json->find("width");
  const std::int64_t columns =
      width != nullptr && width->as_int() != nullptr ? *width->as_int() : 0;
  if (columns < 1 || columns > query::kMaxChartWidth) {
    return wrong(text, "width", fmt::format("an integer between 1 and {}", query::kMaxChartWidth));
  }
  request.width = static_cast<std::uint32_t>(columns);
  const std::optional<query::ChartMode> mode = parse_mode(json->find("mode"));
  if (!mode) return wrong(text, "mode", "auto, value or rate");
  request.mode = *mode;
  if (auto failure = parse_place(text, *json, request)) return *failure;
  const Json* exact = json->find("exact");
  if (!is_absent(exact)) {
    if (exact->as_bool() == nullptr) return wrong(text, "exact", "true or false");
    request.exact = *exact->as_bool();
  }
  return request;
}

}  // namespace corral::server::api
