// Listener "intel": Intel's GPUs, from the files of the drivers i915 and xe (clock, idle time,
// energy, power limit, temperature, fan), their perf PMUs (how busy each engine is) and Level Zero
// for metrics that these lack (memory above all).
//
// Sources are "intel0", "intel1", ... in the order of their cards, and their engines "intel0.rcs0".
// CORRAL_ZE_LIBRARY names a loader of Level Zero in place of the system's.
#pragma once

#include <linux/perf_event.h>

#include <memory>

#include "collect/listener.h"
#include "sys/clock.h"

namespace corral::collect {

std::unique_ptr<Listener> open_intel_listener(const ListenerContext& context, SeriesTable& table);

namespace intel {

// perf_event_open; a descriptor or -1 with errno.
using OpenEvent = int (*)(const perf_event_attr& attr, unsigned cpu);
// For tests.
std::unique_ptr<Listener> open_listener(const ListenerContext& context, SeriesTable& table,
                                        OpenEvent open_event, sys::Clock& clock);
}  // namespace intel

}  // namespace corral::collect
