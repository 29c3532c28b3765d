// The session in which the server writes what a client logged in a run's name.
#pragma once

#include "codec/frame.h"
#include "compat/mlflow/wire/times.h"
#include "core/ids.h"

namespace corral::store::tracking {

// The run must be there: then its own workload and experiment hold, not those named here.
inline codec::SessionBody client_session(RunId run) {
  codec::SessionBody body;
  body.run = run;
  body.workload = own_workload_of(run);
  body.experiment = "Default";
  body.role = "client";
  body.boot_id = "client";
  body.anchor = mlflow::kClientAnchor;
  return body;
}

}  // namespace corral::store::tracking
