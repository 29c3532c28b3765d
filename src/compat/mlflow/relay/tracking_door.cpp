// The door between a supervisor and its tracking address.
#include "compat/mlflow/relay/takeover.h"
#include "compat/mlflow/relay/tracking_relay.h"
#include "run/tracking.h"

namespace corral::run {
namespace {

std::vector<LoggedPoint> points_of(const TrackingRelay& relay) {
  std::vector<LoggedPoint> points;
  for (auto& [name, point] : relay.newest_metrics())
    points.push_back(
        {.metric = name, .time_ms = point.time_ms, .step = point.step, .value = point.value});
  return points;
}

Result<Tracking> open_tracking(TrackingOptions options, Delivery& delivery) {
  const spool::RunDirectory& directory = options.directory;
  std::shared_ptr<TrackingRelay> relay = TRY(
      TrackingRelay::open({.book = {.manifest = directory.manifest(),
                                    .experiment_chosen = options.experiment_chosen,
                                    .name_chosen = options.name_chosen,
                                    .room = {.files = directory.files(), .limit = options.room}},
                           .upstream = {.target = std::move(options.target),
                                        .patience = options.patience,
                                        .directory = directory.files()},
                           .page = std::move(options.page),
                           .not_kept = std::move(options.not_kept),
                           .address = std::move(options.former)},
                          delivery));
  return Tracking{.url = relay->url(),
                  .address = [relay] { return relay->address(); },
                  .start = [relay](pid_t command) { return relay->start(command); },
                  .set_command = [relay](pid_t command) { relay->set_command(command); },
                  .end = [relay] { relay->end(); },
                  .newest_points = [relay] { return points_of(*relay); },
                  .loss = [relay] { return relay->loss(); }};
}

}  // namespace

TrackingDoor tracking_door() { return {.open = open_tracking, .takeover = tracking_takeover}; }

}  // namespace corral::run
