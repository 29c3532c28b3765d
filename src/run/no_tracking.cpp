// The door of a program without compat: commands get no tracking address.
#include "run/tracking.h"

namespace corral::run {

TrackingDoor tracking_door() { return {}; }

}  // namespace corral::run
