// Listener "dcgm": what NVIDIA's data centre GPU manager knows of the GPUs and the driver's own
// library does not: the activity of the units of GPUs before Hopper (V100, A100, A10, T4) above
// all.
//
// Metrics and sources are those of listener "nvidia", and what that one gives here is left to it:
// nothing is measured twice, and a host engine that would add nothing is asked for nothing. Only a
// host engine that already runs is used, at CORRAL_DCGM_ADDRESS or localhost:5555; it must be this
// host's. CORRAL_DCGM_LIBRARY names a library in place of the system's.
#pragma once

#include <memory>

#include "collect/dcgm/dcgm.h"
#include "collect/listener.h"
#include "sys/clock.h"

namespace corral::collect {

std::unique_ptr<Listener> open_dcgm_listener(const ListenerContext& context, SeriesTable& table);

namespace dcgm {
// For tests.
std::unique_ptr<Listener> open_listener(const ListenerContext& context, SeriesTable& table,
                                        const Dcgm::Options& options, sys::Clock& clock);
}  // namespace dcgm

}  // namespace corral::collect
