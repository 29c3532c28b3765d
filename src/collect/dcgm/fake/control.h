// Functions by which a test steers the fake host engine: C functions that the library exports
// beside DCGM's.
#pragma once

extern "C" {
// Reads the timeline again, forgets all clients, and stands at time 0.
void corral_fake_dcgm_begin(const char* timeline_path);
void corral_fake_dcgm_set_time(double seconds);
// Returns the number of calls of that function.
unsigned long corral_fake_dcgm_calls(const char* function);
// Returns a current count: "groups", "field_groups", "watches", "foreign" (objects that another
// client made), "connections"; "interval_us" of the latest watch.
long corral_fake_dcgm_state(const char* what);
}
