// Listener "energy": joules that the processors, their memory and the machine used, from RAPL.
#pragma once

#include <memory>

#include "collect/energy/counters.h"
#include "collect/listener.h"

namespace corral::collect {

std::unique_ptr<Listener> open_energy_listener(const ListenerContext& context, SeriesTable& table);

namespace energy {
// With another way to open events, for tests.
std::unique_ptr<Listener> open_listener(const ListenerContext& context, SeriesTable& table,
                                        OpenEvent open_event);
}  // namespace energy

}  // namespace corral::collect
