// A build without compat/: no run gets a tracking address.
#include "run/tracking.h"

namespace corral::run {

Result<std::unique_ptr<Tracking>> open_tracking(TrackingOptions, Delivery&) {
  return std::unique_ptr<Tracking>();
}
upload::MakeSuccessor tracking_takeover(TakeoverOptions) { return {}; }

}  // namespace corral::run
