// Facts of a GPU that make measurements differ, reported once when it is opened: its settings, and
// its state. Facts that the driver does not provide are left out.
#pragma once

#include <string>

#include "collect/nvidia/nvml.h"
#include "collect/series.h"

namespace corral::collect::nvidia {

// "gpu0.persistence": "on", "gpu0.compute_mode": "default", …; "at_start.gpu0.processes": "0", ….
void describe_settings(const Nvml& nvml, Device device, const std::string& source,
                       SeriesTable& table);

}  // namespace corral::collect::nvidia
