// A program without compat: commands get no tracking address.
#include "run/tracking.h"

namespace corral::run {

bool has_tracking() { return false; }

Result<Tracking> open_tracking(TrackingOptions /*options*/, Delivery& /*delivery*/) {
  return fail(Code::kUnsupported, "this program was built without MLflow's interface");
}

upload::MakeSuccessor tracking_takeover(TakeoverOptions /*options*/) { return {}; }

}  // namespace corral::run
