// Points of runs as a stream of chunks of columns (docs/format-points.md), for programs that read
// them whole.
//
// Memory: a lot of 64 series of one run and one block, whatever is asked for (points.h). An error
// after the first byte becomes the stream's last chunk. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "store/store.h"

namespace corral::query {

inline constexpr std::int64_t kLeastReducedPoints = 4, kMostReducedPoints = 32'768;

struct ReadRequest {
  std::vector<RunId> runs;
  std::vector<std::string> metrics = {"*"};  // names or globs over them; one that matches is enough
  // Half open; UTC in ns, or ns since the start of each run.
  std::optional<std::int64_t> from = {}, to = {};
  bool since_start = false;
  // At most so many of each series: those that draw the same line (M4), of points / 4 columns.
  // Absent: all.
  std::optional<std::int64_t> points = {};
};

// Takes the next bytes; false: no more is wanted.
using ReadSink = std::function<bool(std::string_view)>;

// kNotFound when no series of any run matches. Looks no further than the first that does.
Result<> check_read(store::Store& store, const ReadRequest& request);
// Gives the whole stream to the sink, which may end it early.
void read_points(store::Store& store, const ReadRequest& request, const ReadSink& sink);

}  // namespace corral::query
