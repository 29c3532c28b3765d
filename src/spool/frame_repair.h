// Turns damage in a file of frames (a flipped bit, a lost page) into a gap on record, so that the
// rest can still be read.
//
// Only for the process that holds the run directory, before the log is written again.
#pragma once

#include <optional>

#include "core/ids.h"
#include "core/result.h"
#include "sys/private_directory.h"

namespace corral::spool {

// `first`: number of the file's first frame, which names it. `next_file`: that of the file after
// it; without one, what cannot be read at the end is a write that a kill cut short and is left
// alone. A whole file is left as it is; a damaged one is replaced at once. kUnsupported: a newer
// Corral's.
Result<> repair_frames(const sys::PrivateDirectory& directory, SessionId session,
                       std::uint64_t first, std::optional<std::uint64_t> next_file);

}  // namespace corral::spool
