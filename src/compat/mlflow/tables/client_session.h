// The session in which the server stores points and phases that a client logged for a run.
#pragma once

#include "codec/frame.h"
#include "compat/mlflow/wire/times.h"
#include "core/ids.h"

namespace corral::store::tracking {

// The run must exist: its own workload and experiment take precedence over those named here.
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
