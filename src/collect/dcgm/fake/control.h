// How a test steers the fake host engine: C functions that the library exports beside DCGM's.
#pragma once

extern "C" {
// Reads the timeline anew, forgets all clients, and stands at time 0.
void corral_fake_dcgm_begin(const char* timeline_path);
void corral_fake_dcgm_set_time(double seconds);
// How often that function was called.
unsigned long corral_fake_dcgm_calls(const char* function);
// What there is now: "groups", "field_groups", "watches", "foreign" (what another client made),
// "connections"; "interval_us" of the latest watch.
long corral_fake_dcgm_state(const char* what);
}
