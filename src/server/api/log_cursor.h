// The cursors of a run's output: places between its chunks.
//
// "ROW.STDOUT.STDERR.TTY" also holds the offset of each stream at the place, so that a gap between
// two answers is detected; for "ROW" alone the offsets are looked up. Clients return cursors
// unchanged.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/tables/logs.h"

namespace corral::server::api {

struct LogCursor {
  std::int64_t row = 0;
  std::optional<store::page::PerStream> ends;
};

std::string text_of(const LogCursor& cursor);
// Empty text is the beginning.
std::optional<LogCursor> parse_log_cursor(std::string_view text);

}  // namespace corral::server::api
