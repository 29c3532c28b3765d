#include "server/api/log_cursor.h"

#include <fmt/core.h>

#include "core/text.h"

namespace corral::server::api {

std::string text_of(const LogCursor& cursor) {
  std::string text = fmt::format("{}", cursor.row);
  if (!cursor.ends) return text;
  for (const auto stream : store::page::kLogStreams)
    text += fmt::format(".{}", (*cursor.ends)[stream]);
  return text;
}

std::optional<LogCursor> parse_log_cursor(std::string_view text) {
  if (text.empty()) return LogCursor{.row = 0, .ends = store::page::PerStream()};
  std::vector<std::int64_t> numbers;
  for (const std::string_view part : split(text, '.')) {
    const auto number = parse_int(part);
    if (!number || *number < 0) return std::nullopt;
    numbers.push_back(*number);
  }
  LogCursor cursor{.row = numbers.front(), .ends = std::nullopt};
  if (numbers.size() == 1) return cursor;
  if (numbers.size() != 1 + store::page::kLogStreams.size()) return std::nullopt;
  cursor.ends.emplace();
  std::size_t at = 0;
  for (const auto stream : store::page::kLogStreams) (*cursor.ends)[stream] = numbers[++at];
  return cursor;
}

}  // namespace corral::server::api
