// Run begin: the event by which a supervisor says when its run's command could execute.
//
// Its time is the run's start. It may come twice: the second is better known (a container's first
// instruction, after the start of its tool). A store keeps the time and no event.
#pragma once

#include "codec/frame.h"

namespace corral::codec {

inline constexpr std::string_view kRunBegan = "run began";

inline bool is_run_begin(const Event& event) {
  return event.origin == "corral" && event.name == kRunBegan;
}

}  // namespace corral::codec
