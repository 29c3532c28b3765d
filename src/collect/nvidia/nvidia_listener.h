// Listener "nvidia": what NVIDIA's GPUs do, from the driver's management library (NVML) and its
// performance monitors (GPM). Values of whole devices belong to the workload; the use by the run's
// own processes is in listener "nvidia-processes".
//
// Nothing of this sets, resets or configures a device. For the device lane: a call may take
// milliseconds, or hang with the driver.
#pragma once

#include <memory>

#include "collect/listener.h"
#include "collect/nvidia/sample_rings.h"

namespace corral::collect {

std::unique_ptr<Listener> open_nvidia_listener(const ListenerContext& context, SeriesTable& table);

namespace nvidia {
// With clocks of the test's, which live longer than the listener.
std::unique_ptr<Listener> open_listener(const ListenerContext& context, SeriesTable& table,
                                        const Clocks& clocks);
}  // namespace nvidia

}  // namespace corral::collect
