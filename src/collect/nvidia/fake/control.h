// Functions by which a test steers the fake driver: C functions that it exports beside NVML's,
// looked up by name.
#pragma once

extern "C" {
// From now on the timeline stands at that time; before the first call it runs with the clock.
void corral_fake_set_time(double seconds);
// Called with a call's latency in seconds, in place of sleeping for it.
void corral_fake_on_latency(void (*pass)(double seconds));
// Returns its UTC, in s.
double corral_fake_utc();
// Returns the number of calls of that function since initialisation.
unsigned long corral_fake_calls(const char* function);
}
