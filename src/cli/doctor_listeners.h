// `corral doctor --listeners`: what each listener and each configured source would record here,
// with a value, what reading it costs, and what is absent and why. Samples this process for about a
// second; configured commands are started and ended.
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
