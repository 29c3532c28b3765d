// Listener "nvidia-processes": the use of NVIDIA's GPUs by the run's own processes: memory, and
// their share of the SMs' time as the driver samples it. Once a second, because the driver's
// process lists are dear. For the device lane.
#pragma once

#include <memory>

#include "collect/listener.h"
#include "collect/nvidia/sample_rings.h"

namespace corral::collect {

std::unique_ptr<Listener> open_nvidia_process_listener(const ListenerContext& context,
                                                       SeriesTable& table);

namespace nvidia {
// With clocks of the test's, which live longer than the listener.
std::unique_ptr<Listener> open_process_listener(const ListenerContext& context, SeriesTable& table,
                                                const Clocks& clocks);
}  // namespace nvidia

}  // namespace corral::collect
