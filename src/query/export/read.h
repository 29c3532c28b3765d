// Points of runs as a stream of chunks of columns (docs/format-points.md), for programs that read
// them whole.
//
// Memory: a lot of 64 series of one run and one block, whatever is asked for (points.h). An error
// after the first byte becomes the stream's last chunk. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "query/export/export.h"
#include "store/reader.h"

namespace corral::query {

inline constexpr std::int64_t kLeastReducedPoints = 4, kMostReducedPoints = 32'768;

struct ReadRequest {
  std::vector<RunId> runs;
  std::vector<std::string> metrics = {"*"};  // names or globs over them; one that matches is enough
  // Half open; UTC in ns, or ns since the start of each run.
  std::optional<std::int64_t> from = {}, to = {};
  bool since_start = false;
  // At most so many points of each series, which draw the same line (M4 of points / 4 columns).
  // Absent: all.
  std::optional<std::int64_t> points = {};
};

// kNotFound when no series of any run matches. Looks no further than the first that does.
Result<> check_read(const store::Reader& store, const ReadRequest& request);

// Between two parts, kPartBytes and the rest of a block each, nothing of the store is held.
PartStream read_points(const store::Reader& store, ReadRequest request);

}  // namespace corral::query
