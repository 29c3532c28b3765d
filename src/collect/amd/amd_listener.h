// Listener "amd": AMD's GPUs, from the files of the amdgpu driver; their energy, and what held
// their clocks down, from amdsmi where the files do not tell (CORRAL_AMDSMI_LIBRARY names a library
// in place of the system's).
//
// Sources are "amd0", "amd1", ... in the order of their cards. A GPU that sleeps is left alone:
// its values are missing until it wakes up. Left out is pcie_bw, whose read takes a second in the
// kernel.
#pragma once

#include <memory>

#include "collect/listener.h"
#include "sys/clock.h"

namespace corral::collect {

std::unique_ptr<Listener> open_amd_listener(const ListenerContext& context, SeriesTable& table);

namespace amd {
// With a clock of the test's. It lives longer than the listener.
std::unique_ptr<Listener> open_listener(const ListenerContext& context, SeriesTable& table,
                                        sys::Clock& clock);
}  // namespace amd

}  // namespace corral::collect
