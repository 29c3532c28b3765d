// Tracking: the interface between a supervisor and the address that answers its command's MLflow
// calls.
//
// compat/mlflow/relay serves that address; run/ knows only these functions, which a program links
// from there. A build without compat links those of no_tracking.cpp: its supervisors have no
// tracking address.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "run/delivery.h"
#include "spool/run_directory.h"
#include "sys/http_client.h"
#include "upload/finisher.h"

namespace corral::run {

// One value that a program logged through the address.
struct LoggedPoint {
  std::string metric;
  std::int64_t time_ms = 0;  // since 1970
  std::int64_t step = 0;
  double value = 0;
};

// An open address. The functions share one server, which ends with the last of them; any thread.
struct Tracking {
  std::string url;  // for MLFLOW_TRACKING_URI
  std::function<spool::TrackingAddress()> address;
  // Answers requests from now on; `command` is the root of the run's processes, 0 if not known yet.
  std::function<Result<>(pid_t command)> start;
  std::function<void(pid_t command)> set_command;
  // Stops answering. Call it when the command is gone: the runs that it left open end.
  std::function<void()> end;
  // The newest value of each metric of the run.
  std::function<std::vector<LoggedPoint>()> newest_points;
  // The reason why logged data was lost; empty: nothing was.
  std::function<std::string()> loss;
};

struct TrackingOptions {
  const spool::RunDirectory& directory;  // outlives the address
  bool experiment_chosen = false;        // true: chosen by the user
  bool name_chosen = false;
  std::int64_t room = 0;   // bytes of the spool that logged data may take
  sys::HttpTarget target;  // the server
  Nanos patience{0};       // longest time that a request of the command waits for the server
  // Returns the URL of the run's page; empty: not known yet.
  std::function<std::string()> page;
  // Called once for each part of MLflow that is answered but not recorded.
  std::function<void(const std::string& part, const std::string& reason)> not_kept;
  std::optional<spool::TrackingAddress> former;  // address of the former supervisor of the run
};

struct TakeoverOptions {
  sys::HttpTarget target;             // the server in which the finisher stores data
  std::function<std::string()> page;  // returns the base URL of the pages; empty: not known
  Delivery& delivery;                 // its rounds are the finisher's; it outlives the successors
};

// False: this program was built without compat.
bool has_tracking();
// Binds a port. `delivery` outlives the address. kUnsupported without has_tracking().
Result<Tracking> open_tracking(TrackingOptions options, Delivery& delivery);
// Answers for runs whose supervisor is gone, as long as their finisher lives. Empty without
// has_tracking().
upload::MakeSuccessor tracking_takeover(TakeoverOptions options);

}  // namespace corral::run
