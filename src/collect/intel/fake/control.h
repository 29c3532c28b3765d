// A function by which a test steers the fake Level Zero: a C function that it exports beside Level
// Zero's.
#pragma once

extern "C" {
// From now on the timeline stands at that time.
void corral_fake_ze_set_time(double seconds);
}
