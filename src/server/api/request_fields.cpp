#include "server/api/request_fields.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/json.h"
#include "core/text.h"

namespace corral::server::api {
namespace {

// A number, or a decimal string as 64-bit integers travel.
std::optional<std::int64_t> as_integer(const Json& json) {
  if (const auto* number = json.as_int()) return *number;
  if (const auto* text = json.as_string()) return parse_int(*text);
  return std::nullopt;
}

std::optional<double> as_number(const Json& json) {
  if (json.is_double() || json.as_int() != nullptr) return json.as_double(0);
  return std::nullopt;
}

bool lies_in(double value, NumberRange range) {
  return range.open ? value > range.low && value < range.high
                    : value >= range.low && value <= range.high;
}

std::string range_text(NumberRange range) {
  return range.open ? fmt::format("greater than {} and less than {}", range.low, range.high)
                    : fmt::format("between {} and {}", range.low, range.high);
}

// The position of the member; nullopt if its quoted name occurs more than once, e.g. in another
// object.
std::optional<std::size_t> find_position(std::string_view text, std::string_view name) {
  const std::string key = fmt::format("\"{}\"", name);
  const std::size_t found = text.find(key);
  if (found == std::string_view::npos) return std::nullopt;
  return text.find(key, found + 1) == std::string_view::npos ? std::optional(found) : std::nullopt;
}

struct Length {
  std::size_t least, most;
};
std::optional<std::vector<std::string>> texts_in(const Json& json, std::size_t most, Length bytes) {
  const Json::Array* all = json.as_array();
  if (all == nullptr || all->size() > most) return std::nullopt;
  std::vector<std::string> texts;
  for (const Json& item : *all) {
    const std::string* text = item.as_string();
    if (text == nullptr || text->size() < bytes.least || text->size() > bytes.most)
      return std::nullopt;
    texts.push_back(*text);
  }
  return texts;
}

}  // namespace

bool is_metric_name(std::string_view text) {
  return text.size() <= kMetricNameBytes && text.find('\0') == std::string_view::npos;
}

Parsed<Json> parse_body(std::string_view text) {
  Result<Json> json = Json::parse(text);
  if (!json) {
    return tl::unexpected(RequestError{std::move(json).error(), "", json_error_position(text)});
  }
  if (json->as_object() == nullptr) {
    return tl::unexpected(
        RequestError{{Code::kInvalidArgument, "the body must be a JSON object"}, "", 0});
  }
  return *std::move(json);
}

const Json* RequestFields::find(std::string_view name) const {
  const Json* found = object_.find(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

bool RequestFields::has(std::string_view name) const { return find(name) != nullptr; }

void RequestFields::wrong(RequestError error) {
  if (!error_) error_ = std::move(error);
}

void RequestFields::wrong(std::string_view name, std::string_view expected) {
  const std::string field = prefix_ + to_utf8(name);
  wrong({{Code::kInvalidArgument, fmt::format("{} must be {}", field, expected)},
         field,
         find_position(text_, name)});
}

void RequestFields::wrong_value(std::string_view name, std::string_view expected,
                                std::string_view got) {
  wrong(name, fmt::format("{}, got '{}'", expected, to_utf8(got)));
}

void RequestFields::only(std::initializer_list<std::string_view> names) {
  if (object_.as_object() == nullptr) return;
  for (const auto& [name, value] : *object_.as_object()) {
    if (std::ranges::find(names, name) == names.end()) wrong(name, "absent: it is not known here");
  }
}

std::optional<std::int64_t> RequestFields::integer(std::string_view name,
                                                   std::string_view expected) {
  const Json* json = find(name);
  if (json == nullptr) return std::nullopt;
  const auto value = as_integer(*json);
  if (!value) wrong(name, expected);
  return value;
}

std::int64_t RequestFields::count(std::string_view name, std::int64_t low, std::int64_t high) {
  const Json* json = find(name);
  const std::int64_t* value = json == nullptr ? nullptr : json->as_int();
  if (value != nullptr && *value >= low && *value <= high) return *value;
  wrong(name, fmt::format("an integer between {} and {}", low, high));
  return low;
}

double RequestFields::number(std::string_view name, double fallback, NumberRange range) {
  const Json* json = find(name);
  if (json == nullptr) return fallback;
  const auto value = as_number(*json);
  if (value && lies_in(*value, range)) return *value;
  wrong(name, "a number " + range_text(range));
  return fallback;
}

std::optional<bool> RequestFields::boolean(std::string_view name) {
  const Json* json = find(name);
  if (json == nullptr) return std::nullopt;
  if (const bool* value = json->as_bool()) return *value;
  wrong(name, "true or false");
  return std::nullopt;
}

std::optional<std::string> RequestFields::text(std::string_view name) {
  const Json* json = find(name);
  if (json == nullptr) return std::nullopt;
  if (const std::string* value = json->as_string()) return *value;
  wrong(name, "a text");
  return std::nullopt;
}

std::string RequestFields::text(std::string_view name, std::size_t most) {
  const Json* json = find(name);
  if (json == nullptr) return "";
  const std::string* text = json->as_string();
  if (text != nullptr && text->size() <= most) return *text;
  wrong(name, fmt::format("a text of at most {} bytes", most));
  return "";
}

std::optional<std::string> RequestFields::metric_name(std::string_view name) {
  const Json* json = find(name);
  if (json == nullptr) return std::nullopt;
  const std::string* text = json->as_string();
  if (text != nullptr && is_metric_name(*text)) return *text;
  wrong(name, fmt::format("a text of at most {} bytes, without NUL", kMetricNameBytes));
  return std::nullopt;
}

std::optional<std::string_view> RequestFields::choice_text(std::string_view name) const {
  const Json* json = find(name);
  const std::string* text = json == nullptr ? nullptr : json->as_string();
  return text == nullptr ? std::nullopt : std::optional<std::string_view>(*text);
}

std::vector<SeriesId> RequestFields::series(std::string_view name, std::size_t least,
                                            std::size_t most) {
  const Json* json = find(name);
  std::vector<SeriesId> all;
  bool good = json != nullptr && json->as_array() != nullptr;
  if (good) {
    for (const Json& item : *json->as_array()) {
      const auto id = as_integer(item);
      good = good && id;
      all.push_back(SeriesId{id.value_or(0)});
    }
  }
  if (good && all.size() >= least && all.size() <= most) return all;
  wrong(name, least == most ? fmt::format("an array of {} series", most)
                            : fmt::format("an array of {} to {} series", least, most));
  return {};
}

std::vector<std::int64_t> RequestFields::integers(std::string_view name, std::size_t wanted,
                                                  std::string_view expected) {
  const Json* json = find(name);
  std::vector<std::int64_t> all;
  bool good = json == nullptr || json->as_array() != nullptr;
  if (good && json != nullptr) {
    for (const Json& item : *json->as_array()) {
      const auto value = as_integer(item);
      good = good && value;
      all.push_back(value.value_or(0));
    }
  }
  if (good && all.size() == wanted) return all;
  wrong(name, expected);
  return {};
}

std::vector<double> RequestFields::numbers(std::string_view name, std::size_t most,
                                           NumberRange range) {
  const Json* json = find(name);
  if (json == nullptr) return {};
  std::vector<double> all;
  bool good = json->as_array() != nullptr && json->as_array()->size() <= most;
  if (good) {
    for (const Json& item : *json->as_array()) {
      const auto value = as_number(item);
      good = good && value && lies_in(*value, range);
      all.push_back(value.value_or(0));
    }
  }
  if (good) return all;
  wrong(name, fmt::format("an array of at most {} numbers {}", most, range_text(range)));
  return {};
}

std::vector<std::string> RequestFields::texts(std::string_view name, std::size_t most,
                                              std::size_t bytes) {
  const Json* json = find(name);
  auto texts = json == nullptr ? std::nullopt : texts_in(*json, most, {.least = 1, .most = bytes});
  if (!texts || texts->empty()) wrong(name, fmt::format("an array of 1 to {} texts", most));
  return std::move(texts).value_or(std::vector<std::string>());
}

std::vector<std::string> RequestFields::optional_texts(std::string_view name, std::size_t most,
                                                       std::size_t bytes) {
  const Json* json = find(name);
  if (json == nullptr) return {};
  auto texts = texts_in(*json, most, {.least = 0, .most = bytes});
  if (!texts) wrong(name, fmt::format("an array of at most {} texts", most));
  return std::move(texts).value_or(std::vector<std::string>());
}

SeriesId RequestFields::series_id(std::string_view name) {
  const auto id = integer(name, "a series");
  if (!id) wrong(name, "a series");
  return SeriesId{id.value_or(0)};
}

std::vector<RunId> RequestFields::run_ids(std::size_t most) {
  return parse_all<RunId>("runs", optional_texts("runs", most, kIdBytes), "ids of 32 hex digits",
                          &RunId::parse);
}

std::vector<ExperimentId> RequestFields::experiment_ids() {
  return parse_all<ExperimentId>("experiments",
                                 optional_texts("experiments", kMostScopes, kIdBytes),
                                 "ids of experiments", [](const std::string& text) {
                                   const auto id = parse_int(text);
                                   return id ? std::optional(ExperimentId{*id}) : std::nullopt;
                                 });
}

const Json* RequestFields::object(std::string_view name) {
  const Json* json = find(name);
  if (json == nullptr || json->as_object() != nullptr) return json;
  wrong(name, "an object");
  return nullptr;
}

const Json::Array* RequestFields::objects(std::string_view name, std::size_t most) {
  const Json* json = find(name);
  const Json::Array* all = json == nullptr ? nullptr : json->as_array();
  const auto is_object = [](const Json& item) { return item.as_object() != nullptr; };
  if (all != nullptr && !all->empty() && all->size() <= most &&
      std::ranges::all_of(*all, is_object))
    return all;
  wrong(name, fmt::format("an array of 1 to {} objects", most));
  return nullptr;
}

Ends read_ends(RequestFields& fields, const EndNames& names) {
  const Ends ends{.from = fields.integer(names.from, names.unit),
                  .to = fields.integer(names.to, names.unit)};
  if (ends.from && ends.to && *ends.from >= *ends.to)
    fields.wrong(names.to, fmt::format("{} than {}", names.order, names.from));
  return ends;
}

AxisRange read_axis_range(RequestFields& fields) {
  using query::ChartAxis;
  AxisRange range;
  range.axis = fields
                   .choice<ChartAxis>("axis", {{"time", ChartAxis::kTime},
                                               {"relative", ChartAxis::kRelative},
                                               {"step", ChartAxis::kStep}})
                   .value_or(ChartAxis::kTime);
  const bool steps = range.axis == ChartAxis::kStep;
  const std::string_view from = steps ? "from_step" : "from_ns";
  const std::string_view to = steps ? "to_step" : "to_ns";
  const std::string_view unit = steps ? "an integer" : "nanoseconds of UTC";
  for (const std::string_view other :
       {steps ? "from_ns" : "from_step", steps ? "to_ns" : "to_step"})
    if (fields.has(other)) fields.wrong(other, "absent: the range is not on this axis");
  const Ends ends = read_ends(
      fields, {.from = from, .to = to, .unit = unit, .order = steps ? "greater" : "later"});
  range.from = ends.from;
  range.to = ends.to;
  return range;
}

query::ChartMode read_mode(RequestFields& fields) {
  using query::ChartMode;
  return fields
      .choice<ChartMode>(
          "mode",
          {{"auto", ChartMode::kAuto}, {"value", ChartMode::kValue}, {"rate", ChartMode::kRate}})
      .value_or(ChartMode::kAuto);
}

std::string read_state(RequestFields& fields) {
  std::string state = fields.text("state").value_or("");
  if (state.empty() || state.size() > kMostState || state.find('\0') != std::string::npos)
    fields.wrong("state", "a text of at most 256 KiB, without NUL");
  return state;
}

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::vector<std::int64_t> read_origins(RequestFields& fields, query::ChartAxis axis,
                                       std::size_t series) {
  return fields.integers("origins_ns", axis == query::ChartAxis::kRelative ? series : 0,
                         "one for each series of a relative axis, else absent");
}

}  // namespace corral::server::api
