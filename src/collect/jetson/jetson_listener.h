// Listener "jetson": NVIDIA's Jetson boards, whose GPU and power are read from files and not from
// NVML: the load and clock of the integrated GPU (devfreq), and the power of the board's rails
// (INA3221, by hwmon or by the older iio driver).
#pragma once

#include <memory>

#include "collect/listener.h"

namespace corral::collect {

std::unique_ptr<Listener> open_jetson_listener(const ListenerContext& context, SeriesTable& table);

}  // namespace corral::collect
