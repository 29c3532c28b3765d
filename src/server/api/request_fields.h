// Members of a JSON request body, checked one by one. Pure; any bytes (fuzz/fuzz_request.cpp).
//
// A member that is absent or null gives the fallback. The first invalid member is kept with its
// name, and with its position if the name occurs in the text only once. The members after it are
// read as if they were absent.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/json.h"
#include "query/chart/chart.h"

namespace corral::server::api {

// An error, with the part of the request that it is about.
struct RequestError {
  RequestError(Error why, std::string_view name = {}, std::optional<std::size_t> at = {})
      : error(std::move(why)), field(name), position(at) {}
  Error error;
  std::string field;                    // "lines[2].alpha"; empty: no part, or all of the body
  std::optional<std::size_t> position;  // byte in the body
};
template <class T>
using Parsed = tl::expected<T, RequestError>;

// As TRY, for a Parsed.
#define TRY_PARSED(...)                                                            \
  __extension__({                                                                  \
    auto corral_parsed = (__VA_ARGS__);                                            \
    if (!corral_parsed) return ::tl::unexpected(std::move(corral_parsed).error()); \
    decltype(corral_parsed)::value_type(*std::move(corral_parsed));                \
  })

// The result; its error is about `field`.
template <class T>
Parsed<T> about(std::string_view field, Result<T> result) {
  if (!result) return tl::unexpected(RequestError(std::move(result).error(), field));
  return *std::move(result);
}
[[nodiscard]] inline tl::unexpected<RequestError> fail_about(std::string_view field, Code code,
                                                             std::string message) {
  return tl::unexpected(RequestError({code, std::move(message)}, field));
}

inline constexpr std::size_t kMetricNameBytes = 1000;
inline constexpr std::size_t kIdBytes = 32;
inline constexpr std::size_t kMostScopes = 1000;  // experiments, workloads
// Not too long, without NUL.
bool is_metric_name(std::string_view text);

Parsed<Json> parse_body(std::string_view text);

// [low, high], or (low, high) if `open`.
struct NumberRange {
  double low;
  double high;
  bool open = false;
};

class RequestFields {
 public:
  // `text` and `object` must outlive this. `object` must be a JSON object; `prefix` precedes its
  // members' names in errors, e.g. "lines[2].".
  RequestFields(std::string_view text, const Json& object, std::string prefix = "")
      : text_(text), object_(object), prefix_(std::move(prefix)) {}

  [[nodiscard]] bool has(std::string_view name) const;
  // The value, unless a member was invalid.
  template <class T>
  Parsed<T> finish(T value) const {
    if (error_) return tl::unexpected(*error_);
    return value;
  }
  // Other members are an error.
  void only(std::initializer_list<std::string_view> names);
  std::optional<std::int64_t> integer(std::string_view name, std::string_view expected);
  // A required integer in [low, high].
  std::int64_t count(std::string_view name, std::int64_t low, std::int64_t high);
  double number(std::string_view name, double fallback, NumberRange range);
  std::optional<bool> boolean(std::string_view name);
  std::optional<std::string> text(std::string_view name);
  // At most `most` bytes; "" when absent.
  std::string text(std::string_view name, std::size_t most);
  std::optional<std::string> metric_name(std::string_view name);
  template <class T>
  std::optional<T> choice(std::string_view name,
                          std::initializer_list<std::pair<std::string_view, T>> values) {
    const auto text = choice_text(name);
    std::string all;
    for (const auto& [word, value] : values) {
      if (text && *text == word) return value;
      all += all.empty() ? "" : word == (values.end() - 1)->first ? " or " : ", ";
      all += word;
    }
    if (has(name)) wrong(name, all);
    return std::nullopt;
  }
  // 1 to `most` series that must be there.
  std::vector<SeriesId> series(std::string_view name, std::size_t least, std::size_t most);
  std::vector<std::int64_t> integers(std::string_view name, std::size_t wanted,
                                     std::string_view expected);
  std::vector<double> numbers(std::string_view name, std::size_t most, NumberRange range);
  // 1 to `most` required texts, none empty or longer than `bytes`.
  std::vector<std::string> texts(std::string_view name, std::size_t most, std::size_t bytes);
  // Up to `most` texts of at most `bytes`; none when absent.
  std::vector<std::string> optional_texts(std::string_view name, std::size_t most,
                                          std::size_t bytes);
  // A required id of a series.
  SeriesId series_id(std::string_view name);
  // Ids of the lists `runs` and `experiments`; none when absent.
  std::vector<RunId> run_ids(std::size_t most);
  std::vector<ExperimentId> experiment_ids();
  // The object `name`; null when absent.
  const Json* object(std::string_view name);
  // `read(RequestFields&)` reads the object `name`, if there is one.
  template <class Read>
  void nested(std::string_view name, Read read) {
    if (const Json* json = object(name)) read_part(*json, std::string(name), read);
  }
  // `read(RequestFields&)` reads each of the 1 to `most` required objects of the array `name`.
  template <class Read>
  void each(std::string_view name, std::size_t most, Read read) {
    const Json::Array* all = objects(name, most);
    for (std::size_t i = 0; all != nullptr && i < all->size(); ++i)
      read_part((*all)[i], std::string(name) + '[' + std::to_string(i) + ']', read);
  }
  // `parse` gives an optional or a Result of each text.
  template <class Value, class Parse>
  std::vector<Value> parse_all(std::string_view name, const std::vector<std::string>& texts,
                               std::string_view expected, Parse parse) {
    std::vector<Value> values;
    for (const std::string& text : texts) {
      const auto value = parse(text);
      if (!value) {
        wrong_value(name, expected, text);
        return {};
      }
      values.push_back(*value);
    }
    return values;
  }

  void wrong(std::string_view name, std::string_view expected);
  void wrong(RequestError error);
  [[nodiscard]] const std::optional<RequestError>& error() const { return error_; }

 private:
  template <class Read>
  void read_part(const Json& json, const std::string& name, Read read) {
    RequestFields part(text_, json, prefix_ + name + '.');
    read(part);
    if (part.error_) wrong(*part.error_);
  }
  const Json::Array* objects(std::string_view name, std::size_t most);
  void wrong_value(std::string_view name, std::string_view expected, std::string_view got);
  [[nodiscard]] const Json* find(std::string_view name) const;
  [[nodiscard]] std::optional<std::string_view> choice_text(std::string_view name) const;

  std::string_view text_;
  const Json& object_;
  std::string prefix_;
  std::optional<RequestError> error_;
};

// Half open; the end lies behind the begin if both are given.
struct Ends {
  std::optional<std::int64_t> from = {}, to = {};
};
struct EndNames {
  std::string_view from, to, unit, order = "later";
};
Ends read_ends(RequestFields& fields, const EndNames& names);

// The range of a picture or a window: `axis`, `from_ns` and `to_ns` or `from_step` and `to_step`.
struct AxisRange {
  query::ChartAxis axis = query::ChartAxis::kTime;
  std::optional<std::int64_t> from = {}, to = {};
};
AxisRange read_axis_range(RequestFields& fields);
query::ChartMode read_mode(RequestFields& fields);
inline constexpr std::size_t kMostState = 256u << 10;  // bytes
// The required member `state`, which the page saves. Databases hold UTF-8 without NUL.
std::string read_state(RequestFields& fields);
// The number of characters of a UTF-8 text.
std::size_t count_characters(std::string_view text);
// One for each series of a relative axis, else none.
std::vector<std::int64_t> read_origins(RequestFields& fields, query::ChartAxis axis,
                                       std::size_t series);

}  // namespace corral::server::api
