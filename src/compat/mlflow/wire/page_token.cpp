#include "compat/mlflow/wire/page_token.h"

#include <fmt/core.h>

#include "compat/mlflow/wire/span.h"
#include "core/json.h"
#include "core/text.h"

namespace corral::mlflow {
namespace {

struct Parsed {
  std::string text;
  Json json;
};
Answer<Parsed> parse(std::string_view token) {
  auto text = from_base64(token);
  if (!text) return invalid("Invalid page token, could not base64-decode");
  auto json = Json::parse(*text);
  if (!json || json->as_object() == nullptr)
    return invalid("Invalid page token, decoded value=" + to_utf8(*text));
  return Parsed{.text = *std::move(text), .json = *std::move(json)};
}

tl::unexpected<ApiError> bad_value(const Parsed& parsed) {
  return invalid("Invalid page token, parsed value=" + to_utf8(parsed.text));
}

}  // namespace

std::string page_token(std::int64_t offset) {
  return base64(fmt::format("{{\"offset\": {}}}", offset));
}

Answer<std::int64_t> parse_page_token(std::string_view token) {
  if (token.empty()) return 0;
  const Parsed parsed = TRY_API(parse(token));
  const std::int64_t offset = parsed.json.get_int("offset");
  if (offset < 1) return bad_value(parsed);
  return offset;
}

std::string history_token(const HistoryToken& place) {
  return base64(fmt::format("{{\"offset\": {}, \"timestamp\": {}}}", place.offset, place.time_ms));
}

Answer<std::optional<HistoryToken>> parse_history_token(std::string_view token) {
  if (token.empty()) return std::nullopt;
  const Parsed parsed = TRY_API(parse(token));
  const HistoryToken place{.time_ms = parsed.json.get_int("timestamp"),
                           .offset = parsed.json.get_int("offset", -1)};
  if (parsed.json.find("timestamp") == nullptr || place.offset < 0) return bad_value(parsed);
  return place;
}

}  // namespace corral::mlflow
