// The tracking address of a supervisor: the functions of run/tracking.h.
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

}  // namespace

bool has_tracking() { return true; }

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

}  // namespace corral::run
