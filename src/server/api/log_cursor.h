// The cursors of a run's output: places between its chunks.
//
// "ROW.STDOUT.STDERR.TTY" also says where each stream stands at the place, so that a hole between
// two answers is seen as well; "ROW" alone leaves that to be looked up. Clients hand them back as
// they came.
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
