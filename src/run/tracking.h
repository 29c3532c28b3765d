// The tracking server of another tool that the command of a run sees at an address of its own.
//
// compat/mlflow/relay implements it for MLflow; a build without compat (CORRAL_COMPAT=OFF) links
// no_tracking.cpp, which gives no run an address. Which one is decided when the program is linked.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compat/mlflow/wire/log_batch.h"
#include "core/result.h"
#include "core/time.h"
#include "run/delivery.h"
#include "spool/run_directory.h"
#include "sys/http_client.h"
#include "upload/successor.h"

namespace corral::run {

// Any thread, except where a function says more.
class Tracking {
 public:
  Tracking() = default;
  Tracking(const Tracking&) = delete;
  Tracking& operator=(const Tracking&) = delete;
  virtual ~Tracking() = default;

  // For MLFLOW_TRACKING_URI.
  [[nodiscard]] virtual const std::string& url() const = 0;
  // What a successor needs to answer at the same address.
  [[nodiscard]] virtual spool::TrackingAddress address() const = 0;
  // Answers requests from now on. `command`: the root of the run's processes, 0 if it is not known
  // yet.
  virtual Result<> start(pid_t command) = 0;
  // The command, before it runs.
  virtual void set_command(pid_t command) = 0;
  // Answers what is under way and nothing more, and ends the child runs that the command left open.
  virtual void end() = 0;
  // The newest point of each metric that programs logged here for the run itself.
  [[nodiscard]] virtual std::vector<std::pair<std::string, mlflow::MetricPoint>> newest_metrics()
      const = 0;
  // Why something that was logged is lost; empty if nothing is.
  [[nodiscard]] virtual std::string loss() const = 0;
};

struct TrackingOptions {
  const spool::RunDirectory& directory;
  bool experiment_chosen = false;  // by the user: clients may not choose another one
  bool name_chosen = false;        // likewise
  std::int64_t room = 0;           // bytes that calls may take in the spool
  sys::HttpTarget target;
  Nanos patience{};                   // how long a call waits for a server
  std::function<std::string()> page;  // where the run can be seen; empty: not yet known
  // Told once of each part of the interface that is answered and not kept; any thread; may be
  // empty.
  std::function<void(const std::string& part, const std::string& reason)> not_kept{};
  // The address of a supervisor that is gone; nullopt: any free port.
  std::optional<spool::TrackingAddress> former{};
};
// Binds a port: the command may connect from now on. Null in a build without compat.
Result<std::unique_ptr<Tracking>> open_tracking(TrackingOptions options, Delivery& delivery);

struct TakeoverOptions {
  sys::HttpTarget target;             // where the finisher stores what it finds
  std::function<std::string()> page;  // base URL for people; empty: not known
  Delivery& delivery;                 // its rounds are the finisher's; outlives what is made
};
// Makes what answers at the tracking address of a run whose supervisor was killed: same port, same
// secret, same book. Clients try a connection again for minutes, and a finisher is there within
// seconds. A port that another program has taken is given up after a minute, with an event in the
// run. Empty in a build without compat.
upload::MakeSuccessor tracking_takeover(TakeoverOptions options);

}  // namespace corral::run
