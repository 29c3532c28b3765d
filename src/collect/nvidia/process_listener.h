// Listener "nvidia-processes": what the run's own processes have of NVIDIA's GPUs: memory, and
// their share of the SMs' time as the driver samples it. Once a second, because the driver's
// process lists are dear. For the device lane.
#pragma once

#include <memory>

#include "collect/listener.h"

namespace corral::collect {

std::unique_ptr<Listener> open_nvidia_process_listener(const ListenerContext& context,
                                                       SeriesTable& table);

}  // namespace corral::collect
