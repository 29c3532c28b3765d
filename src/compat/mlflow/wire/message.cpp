#include "compat/mlflow/wire/message.h"

#include <fmt/core.h>

#include <cmath>

#include "compat/mlflow/wire/span.h"
#include "core/base64.h"
#include "core/text.h"

namespace corral::mlflow {
namespace {

constexpr std::string_view kSeeDocs =
    "See the API docs for more information about request parameters.";

// As Python calls it.
std::string_view type_name(const Json& value) {
  if (value.as_int() != nullptr) return "int";
  if (value.is_double()) return "float";
  if (value.as_bool() != nullptr) return "bool";
  if (value.as_array() != nullptr) return "list";
  if (value.as_object() != nullptr) return "dict";
  return value.is_null() ? "NoneType" : "str";
}

std::optional<std::int64_t> read_integer(const Json& value) {
  if (const auto* n = value.as_int()) return *n;
  if (const auto* text = value.as_string()) return parse_int(*text);
  if (!value.is_double()) return std::nullopt;
  // 1e3 and 5.0 are integers in JSON's eyes.
  const double d = value.as_double(0);
  if (d != std::floor(d) || std::abs(d) >= 9.2e18) return std::nullopt;
  return static_cast<std::int64_t>(d);
}

}  // namespace

std::string missing_value(std::string_view path) {
  return fmt::format("Missing value for required parameter '{}'. {}", path, kSeeDocs);
}

std::string wrong_type_message(std::string_view path, const Json& value) {
  return invalid_value(
      path, value, fmt::format(" Hint: Value was of type '{}'. {}", type_name(value), kSeeDocs));
}

std::string shown_number(double value) {
  std::string text = Json(value).dump();
  if (std::isfinite(value) && text.find_first_of(".eE") == std::string::npos) text += ".0";
  return text;
}

std::string invalid_value(std::string_view path, const Json& value, std::string_view hint) {
  // A request may be long, and an answer waits for its reader.
  constexpr std::size_t kShown = 1000;
  std::string shown = value.is_double() ? shown_number(value.as_double(0)) : value.dump();
  if (shown.size() > kShown)
    shown = shown.substr(0, utf8_prefix(std::string_view(shown).substr(0, kShown))) + "...";
  return fmt::format("Invalid value {} for parameter '{}' supplied{}{}", shown, path,
                     hint.empty() ? "." : ": ", hint);
}

Answer<> Message::check() const {
  if (*error_) return tl::unexpected(**error_);
  return {};
}

void Message::wrong(ApiError error) {
  if (!*error_) *error_ = std::move(error);
}

void Message::wrong_value(std::string_view name, std::string_view hint) {
  const Json* value = find(name);
  wrong({ErrorCode::kInvalidParameterValue,
         invalid_value(path_of(name), value != nullptr ? *value : Json(), hint)});
}

void Message::wrong_type(std::string_view name) {
  const Json* value = find(name);
  if (value != nullptr)
    wrong({ErrorCode::kInvalidParameterValue, wrong_type_message(path_of(name), *value)});
}

void Message::missing(std::string_view name) {
  wrong({ErrorCode::kInvalidParameterValue, missing_value(path_of(name))});
}

const Json* Message::find(std::string_view name) const {
  const Json* value = object_->find(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::string Message::path_of(std::string_view name) const { return path_ + std::string(name); }

std::optional<std::string> Message::maybe_text(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (const auto* text = value->as_string()) return *text;
  wrong_type(name);
  return std::nullopt;
}

std::string Message::need_text(std::string_view name) {
  std::string value = text(name);
  if (value.empty()) missing(name);
  return value;
}

std::optional<std::int64_t> Message::maybe_integer(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto number = read_integer(*value);
  if (!number) wrong_type(name);
  return number;
}

std::int64_t Message::need_integer(std::string_view name) {
  const auto value = maybe_integer(name);
  if (!value) missing(name);
  return value.value_or(0);
}

std::optional<bool> Message::maybe_bool(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (const auto* b = value->as_bool()) return *b;
  if (const auto* text = value->as_string()) {
    if (*text == "true" || *text == "True" || *text == "1") return true;
    if (*text == "false" || *text == "False" || *text == "0") return false;
  }
  wrong_type(name);
  return std::nullopt;
}

std::optional<std::size_t> Message::maybe_enum(std::string_view name,
                                               std::span<const std::string_view> names) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto number = read_integer(*value);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    if (number ? *number == static_cast<std::int64_t>(i)
               : value->as_string() != nullptr && *value->as_string() == names[i])
      return i;
  }
  if (value->as_string() == nullptr) wrong_type(name);
  return std::nullopt;
}

std::vector<std::string> Message::texts(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return {};
  if (const auto* one = value->as_string()) return {*one};
  std::vector<std::string> out;
  if (const auto* list = value->as_array()) {
    for (const Json& item : *list) {
      if (const auto* text = item.as_string()) out.push_back(*text);
    }
    if (out.size() == list->size()) return out;
  }
  wrong_type(name);
  return {};
}

std::vector<Message> Message::messages(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return {};
  const auto* list = value->as_array();
  std::vector<Message> out;
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    if ((*list)[i].as_object() == nullptr) break;
    out.push_back(Message((*list)[i], error_, fmt::format("{}[{}].", path_of(name), i)));
  }
  if (list == nullptr || out.size() != list->size()) {
    wrong_type(name);
    return {};
  }
  return out;
}

std::optional<Message> Message::message(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->as_object() != nullptr) return Message(*value, error_, path_of(name) + ".");
  wrong_type(name);
  return std::nullopt;
}

std::string_view without_mark(std::string_view body) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  return body.substr(body.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
}

// In JSON it can only stand as an escape, whose backslash is not escaped itself.
Answer<> check_no_nul(std::string_view json) {
  constexpr std::string_view kNul = "\\u0000";
  for (std::size_t at = json.find(kNul); at != std::string_view::npos;
       at = json.find(kNul, at + 1)) {
    const std::size_t before = json.substr(0, at).find_last_not_of('\\');
    const std::size_t backslashes = before == std::string_view::npos ? at : at - before - 1;
    if (backslashes % 2 == 0) return invalid("The request holds a text with a NUL character.");
  }
  return {};
}

Answer<Json> parse_body(std::string_view body) {
  body = without_mark(body);
  if (trim(body).empty()) return Json(Json::Object{});
  TRY_API(check_no_nul(body));
  Result<Json> json = Json::parse(body);
  if (json && json->as_string() != nullptr) {
    const std::string inner = *json->as_string();  // encoded twice
    TRY_API(check_no_nul(inner));
    json = Json::parse(inner);
  }
  if (!json) return refuse(ErrorCode::kBadRequest, "the body is no JSON: " + json.error().message);
  if (json->as_object() == nullptr)
    return refuse(ErrorCode::kBadRequest, "the body must be a JSON object");
  return *std::move(json);
}

Json query_object(const std::vector<std::pair<std::string, std::string>>& query) {
  Json::Object object;
  for (const auto& [name, value] : query) {
    Json* known = nullptr;
    for (auto& [key, present] : object) {
      if (key == name) known = &present;
    }
    if (known == nullptr) {
      object.emplace_back(name, value);
    } else if (const auto* list = known->as_array()) {
      Json::Array longer = *list;
      longer.emplace_back(value);
      *known = Json(std::move(longer));
    } else {
      Json::Array both{*known, Json(value)};
      *known = Json(std::move(both));
    }
  }
  return Json(std::move(object));
}

// ---- page tokens

namespace {

struct ParsedToken {
  std::string text;
  Json json;
};
Answer<ParsedToken> parse_token(std::string_view token) {
  auto text = from_base64(token);
  if (!text) return invalid("Invalid page token, could not base64-decode");
  auto json = Json::parse(*text);
  if (!json || json->as_object() == nullptr)
    return invalid("Invalid page token, decoded value=" + to_utf8(*text));
  return ParsedToken{.text = *std::move(text), .json = *std::move(json)};
}

tl::unexpected<ApiError> bad_value(const ParsedToken& parsed) {
  return invalid("Invalid page token, parsed value=" + to_utf8(parsed.text));
}

}  // namespace

std::string page_token(std::int64_t offset) {
  return base64(fmt::format("{{\"offset\": {}}}", offset));
}

Answer<std::int64_t> parse_page_token(std::string_view token) {
  if (token.empty()) return 0;
  const ParsedToken parsed = TRY_API(parse_token(token));
  const std::int64_t offset = parsed.json.get_int("offset");
  if (offset < 1) return bad_value(parsed);
  return offset;
}

std::string history_token(const HistoryToken& place) {
  return base64(fmt::format("{{\"offset\": {}, \"timestamp\": {}}}", place.offset, place.time_ms));
}

Answer<std::optional<HistoryToken>> parse_history_token(std::string_view token) {
  if (token.empty()) return std::nullopt;
  const ParsedToken parsed = TRY_API(parse_token(token));
  const HistoryToken place{.time_ms = parsed.json.get_int("timestamp"),
                           .offset = parsed.json.get_int("offset", -1)};
  if (parsed.json.find("timestamp") == nullptr || place.offset < 0) return bad_value(parsed);
  return place;
}

}  // namespace corral::mlflow
