// `corral doctor --listeners`: the metrics that each listener and configured source would record
// here, each with a value, the cost of a read, or the reason for its absence. Samples this process
// for about a second; configured commands are started and ended.
#pragma once

#include <string>

#include "collect/foreign/config.h"
#include "core/result.h"

namespace corral::cli {

struct ListenerReport {
  std::string text;          // in the format that was asked for
  bool left_behind = false;  // a driver did not come back: end without destructors
};

// `library`: NVIDIA's, in place of the system's; empty: the system's.
Result<ListenerReport> report_listeners(const collect::foreign::Sources& sources,
                                        const std::string& library, const std::string& format);

}  // namespace corral::cli
