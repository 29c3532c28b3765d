#include "compat/mlflow/wire/log_batch.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>

#include "compat/mlflow/wire/message.h"
#include "compat/mlflow/wire/names.h"
#include "compat/mlflow/wire/times.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/text.h"

namespace corral::mlflow {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;
using simdjson::dom::object;

Answer<> invalid_element(std::string_view path, const element& value) {
  const auto json = Json::parse(simdjson::minify(value));
  return invalid(wrong_type_message(path, json ? *json : Json()));
}

Answer<double> parse_number(const element& value, std::string_view path) {
  double d = 0;
  if (value.get(d) == simdjson::SUCCESS) return d;
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) {
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
    const auto read = std::from_chars(text.begin(), text.end(), d);
    if (!text.empty() && read.ptr == text.end() && read.ec == std::errc() && std::isfinite(d))
      return d;
  }
  return tl::unexpected(invalid_element(path, value).error());
}

Answer<std::int64_t> parse_integer(const element& value, std::string_view path) {
  std::int64_t n = 0;
  if (value.get(n) == simdjson::SUCCESS) return n;
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) {
    if (const auto parsed = parse_int(text)) return *parsed;
  }
  double d = 0;
  if (value.get(d) == simdjson::SUCCESS && value.type() == element_type::DOUBLE &&
      d == std::floor(d) && std::abs(d) < 9.2e18)
    return static_cast<std::int64_t>(d);
  return tl::unexpected(invalid_element(path, value).error());
}

Answer<std::string_view> read_text(const element& value, std::string_view path) {
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) return text;
  return tl::unexpected(invalid_element(path, value).error());
}

// The position of a field in the request; formatted only for errors.
struct FieldPath {
  std::string_view list;  // empty: the message itself
  std::size_t index = 0;
  [[nodiscard]] std::string of(std::string_view field) const {
    return list.empty() ? std::string(field) : fmt::format("{}[{}].{}", list, index, field);
  }
};

// One metric of a message, its texts views into the document.
struct RawMetric {
  std::optional<element> key, value, timestamp, step, model_id, dataset_name, dataset_digest;

  explicit RawMetric(const object& fields) {
    for (const auto& [name, field] : fields) {
      if (field.is_null()) continue;
      if (name == "key") key = field;
      if (name == "value") value = field;
      if (name == "timestamp") timestamp = field;
      if (name == "step") step = field;
      if (name == "model_id") model_id = field;
      if (name == "dataset_name") dataset_name = field;
      if (name == "dataset_digest") dataset_digest = field;
    }
  }
};

class Parser {
 public:
  Answer<LogBatch> batch(std::string_view body) {
    const object root = TRY_API(open(body));
    TRY_API(read_run_id(root));
    TRY_API(read_pairs(root, "params", kParamLength, out_.params));
    TRY_API(read_pairs(root, "tags", kTagLength, out_.tags));
    TRY_API(read_metrics(root));
    TRY_API(check_sizes());
    return std::move(out_);
  }

  Answer<LogBatch> metric(std::string_view body) {
    const object root = TRY_API(open(body));
    TRY_API(read_run_id(root));
    TRY_API(read_metric(root, {}));
    return std::move(out_);
  }

 private:
  static constexpr std::string_view kMalformed = "the body is no JSON object";

  Answer<object> open(std::string_view body) {
    body = without_mark(body);
    if (trim(body).empty()) body = "{}";
    TRY_API(check_no_nul(body));
    element root;
    if (const auto error = parser_.parse(body.data(), body.size()).get(root))
      return refuse(ErrorCode::kBadRequest,
                    fmt::format("{}: {}", kMalformed, simdjson::error_message(error)));
    std::string_view inner;
    if (root.get(inner) == simdjson::SUCCESS) {  // encoded twice
      const std::string text(inner);
      TRY_API(check_no_nul(text));
      if (parser_.parse(text).get(root) != simdjson::SUCCESS)
        return refuse(ErrorCode::kBadRequest, std::string(kMalformed));
    }
    object fields;
    if (root.get(fields) != simdjson::SUCCESS)
      return refuse(ErrorCode::kBadRequest, std::string(kMalformed));
    return fields;
  }

  static std::optional<element> field(const object& fields, std::string_view name) {
    element value;
    if (fields[name].get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
    return value;
  }

  Answer<> read_run_id(const object& root) {
    auto id = field(root, "run_id");
    if (!id) id = field(root, "run_uuid");
    if (!id) return invalid(missing_value("run_id"));
    out_.run_id = TRY_API(read_text(*id, "run_id"));
    if (out_.run_id.empty()) return invalid(missing_value("run_id"));
    return check_run_id(out_.run_id);
  }

  static Answer<simdjson::dom::array> read_list(const element& value, std::string_view name) {
    simdjson::dom::array list;
    if (value.get(list) == simdjson::SUCCESS) return list;
    return tl::unexpected(invalid_element(name, value).error());
  }

  static Answer<object> read_item(const element& item, std::string_view list, std::size_t index) {
    object fields;
    if (item.get(fields) == simdjson::SUCCESS) return fields;
    return tl::unexpected(invalid_element(fmt::format("{}[{}]", list, index), item).error());
  }

  static Answer<> read_pairs(const object& root, std::string_view name, std::size_t length,
                             std::vector<Pair>& out) {
    const auto value = field(root, name);
    if (!value) return {};
    std::size_t index = 0;
    for (const element& item : TRY_API(read_list(*value, name))) {
      const object fields = TRY_API(read_item(item, name, index));
      const FieldPath at{name, index++};
      const auto key = field(fields, "key");
      const auto text = field(fields, "value");
      if (!key) return invalid(missing_value(at.of("key")));
      const std::string_view named = TRY_API(read_text(*key, at.of("key")));
      TRY_API(check_key(named, at.of("key"), name == "params" ? "Param key" : "Tag key"));
      // Left out, it is empty.
      const std::string_view given = text ? TRY_API(read_text(*text, at.of("value"))) : "";
      out.emplace_back(named, cut(given, length));
    }
    return {};
  }

  Answer<> read_metrics(const object& root) {
    const auto value = field(root, "metrics");
    if (!value) return {};
    const simdjson::dom::array list = TRY_API(read_list(*value, "metrics"));
    std::size_t index = 0;
    for (const element& item : list) {
      const object fields = TRY_API(read_item(item, "metrics", index));
      TRY_API(read_metric(fields, {"metrics", index}));
      ++index;
    }
    points_ = index;
    return {};
  }

  Answer<> read_metric(const object& fields, const FieldPath& at) {
    const RawMetric raw(fields);
    if (!raw.key) return invalid(missing_value(at.of("key")));
    if (!raw.value) return invalid(missing_value(at.of("value")));
    if (!raw.timestamp) return invalid(missing_value(at.of("timestamp")));
    MetricPoint point;
    point.value = TRY_API(parse_number(*raw.value, "value"));
    point.time_ms = TRY_API(parse_integer(*raw.timestamp, "timestamp"));
    if (raw.step) point.step = TRY_API(parse_integer(*raw.step, "step"));
    const std::string_view key = TRY_API(read_text(*raw.key, "key"));
    if (key.empty()) return invalid(missing_value(at.of("key")));
    if (point.time_ms < 0) {
      return invalid(invalid_value(
          at.of("timestamp"), Json(point.time_ms),
          fmt::format("metric '{}' (value={}). Timestamp must be a nonnegative long (64-bit "
                      "integer) ",
                      key, shown_number(point.value))));
    }
    if (!client_time(point.time_ms)) TRY_API(check_time(point.time_ms, at.of("timestamp")));
    TRY_API(find_column(key, at)).get().points.push_back(point);
    if (raw.model_id) TRY_API(read_model_metric(raw, key, point, at));
    return {};
  }

  Answer<> read_model_metric(const RawMetric& raw, std::string_view key, const MetricPoint& point,
                             const FieldPath& at) {
    ModelMetric metric;
    metric.key = key;
    metric.point = point;
    metric.model_id = TRY_API(read_text(*raw.model_id, "model_id"));
    if (raw.dataset_name)
      metric.dataset_name = TRY_API(read_text(*raw.dataset_name, "dataset_name"));
    if (raw.dataset_digest)
      metric.dataset_digest = TRY_API(read_text(*raw.dataset_digest, "dataset_digest"));
    TRY_API(check_length(at.of("model_id"), metric.model_id, kModelIdLength));
    TRY_API(check_length(at.of("dataset_name"), metric.dataset_name, kDatasetNameLength));
    TRY_API(check_length(at.of("dataset_digest"), metric.dataset_digest, kDatasetDigestLength));
    if (!metric.model_id.empty()) out_.model_metrics.push_back(std::move(metric));
    return {};
  }

  // Neighbours often share a metric.
  Answer<std::reference_wrapper<MetricColumn>> find_column(std::string_view key,
                                                           const FieldPath& at) {
    if (last_ < out_.metrics.size() && out_.metrics[last_].key == key)
      return std::ref(out_.metrics[last_]);
    const auto known = columns_.find(key);
    if (known != columns_.end()) {
      last_ = known->second;
      return std::ref(out_.metrics[last_]);
    }
    TRY_API(check_key(key, at.of("name"), "Metric name"));
    if (key.size() > limits::kNameBytes) {
      return invalid(
          fmt::format("'Metric name' exceeds the maximum length of {} bytes", limits::kNameBytes));
    }
    last_ = out_.metrics.size();
    columns_.emplace(key, last_);  // the document lives as long as this
    out_.metrics.push_back({.key = std::string(key), .points = {}});
    return std::ref(out_.metrics.back());
  }

  [[nodiscard]] Answer<> check_sizes() const {
    const auto too_many = [](std::string_view what, std::size_t most, std::size_t got) {
      return invalid(fmt::format(
          "A batch logging request can contain at most {} {}. Got {} {}. Please split up {} across "
          "multiple requests and try again.",
          most, what, got, what, what));
    };
    if (points_ > kBatchMetrics) return too_many("metrics", kBatchMetrics, points_);
    if (out_.params.size() > kBatchParams)
      return too_many("params", kBatchParams, out_.params.size());
    if (out_.tags.size() > kBatchTags) return too_many("tags", kBatchTags, out_.tags.size());
    const std::size_t all = points_ + out_.params.size() + out_.tags.size();
    if (all > kBatchEntities) return too_many("metrics, params, and tags", kBatchEntities, all);
    return {};
  }

  simdjson::dom::parser parser_;
  LogBatch out_;
  std::unordered_map<std::string_view, std::size_t> columns_;
  std::size_t last_ = 0;
  std::size_t points_ = 0;
};

}  // namespace

Answer<> check_time(std::int64_t time_ms, std::string_view path) {
  if (time_ms >= 0 && client_time(time_ms)) return {};
  return invalid(invalid_value(path, Json(time_ms),
                               "Timestamps are milliseconds since 1970, at most those of 2110"));
}

Answer<> check_unique(std::span<const Pair> params) {
  std::set<std::string_view> seen;
  std::string twice;
  for (const auto& [key, value] : params) {
    if (!seen.insert(key).second) twice += fmt::format("{}'{}'", twice.empty() ? "" : ", ", key);
  }
  if (twice.empty()) return {};
  return invalid(
      fmt::format("Duplicate parameter keys have been submitted: [{}]. Please ensure the request "
                  "contains only one param value per param key.",
                  twice));
}

Answer<LogBatch> parse_log_batch(std::string_view body) { return Parser().batch(body); }
Answer<LogBatch> parse_log_metric(std::string_view body) { return Parser().metric(body); }

}  // namespace corral::mlflow
