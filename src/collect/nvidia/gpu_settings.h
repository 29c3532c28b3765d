// What of a GPU makes measurements differ, told once when it is opened: its settings, and how it
// stood. What the driver does not say is left out.
#pragma once

#include <string>

#include "collect/nvidia/nvml.h"
#include "collect/series.h"

namespace corral::collect::nvidia {

// "gpu0.persistence": "on", "gpu0.compute_mode": "default", …; "at_start.gpu0.processes": "0", ….
void describe_settings(const Nvml& nvml, Device device, const std::string& source,
                       SeriesTable& table);

}  // namespace corral::collect::nvidia
