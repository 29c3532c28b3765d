// Listener "drm-processes": the use of AMD's and Intel's GPUs by the run's own processes: memory,
// and engine time, as the kernel counts it (/proc/PID/fdinfo of the GPUs' files). Once a second;
// for the device lane, because a driver may hold up the answer.
#pragma once

#include <memory>

#include "collect/listener.h"
#include "sys/clock.h"

namespace corral::collect {

std::unique_ptr<Listener> open_drm_process_listener(const ListenerContext& context,
                                                    SeriesTable& table);
// The same by another clock, which outlives it.
std::unique_ptr<Listener> open_drm_process_listener(const ListenerContext& context,
                                                    SeriesTable& table, sys::Clock& clock);

}  // namespace corral::collect
