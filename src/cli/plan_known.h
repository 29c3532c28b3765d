// Facts about this machine and this program for checking plans (plan/known.h).
#pragma once

#include "plan/known.h"

namespace corral::cli {

// Listeners, environments, files, PATH, CPUs and, when `devices` are to be looked for, the GPUs
// that the driver's library (CORRAL_NVML_LIBRARY in place of the system's) tells of. Without a
// driver there are none. Asking a driver may take a second.
plan::Known known_here(bool devices = true);

}  // namespace corral::cli
