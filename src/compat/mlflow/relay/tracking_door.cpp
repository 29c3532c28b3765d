// The tracking address of a supervisor: the functions of run/tracking.h.
#include "compat/mlflow/relay/tracking_relay.h"
#include "run/tracking.h"

namespace corral::run {
namespace {

std::vector<LoggedPoint> newest_points(const TrackingRelay& relay) {
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
                  .newest_points = [relay] { return newest_points(*relay); },
                  .loss = [relay] { return relay->loss(); }};
}

namespace {
// One each round of the finisher, which is a second.
constexpr int kTries = 60;
constexpr Nanos kPatience{std::chrono::seconds(15)};

// Answers at the tracking address of a run whose supervisor was killed, for the process that
// finishes the run (upload/finisher.h): same port, same secret, same book.
//
// Clients retry a connection for minutes, and a finisher starts within seconds, so the training
// notices nothing. If another program has taken the port meanwhile, the finisher gives up after a
// minute and records an event.
class Takeover final : public upload::Successor {
 public:
  Takeover(TakeoverOptions options, const spool::RunDirectory& directory, spool::Journal& journal)
      : options_(std::move(options)), directory_(directory), journal_(journal) {}

  void serve() override {
    if (relay_ != nullptr || tries_ == kTries) return;
    const auto opened = open();
    if (!opened && ++tries_ == kTries)
      journal_.event("MLflow calls are lost: the run's tracking address cannot be taken over",
                     {{"reason", opened.error().message}});
  }
  [[nodiscard]] bool serving() const override { return relay_ != nullptr; }
  void end() override {
    if (relay_ != nullptr) return relay_->end();
    RunBook(book()).abandon_children();
  }

 private:
  [[nodiscard]] BookOptions book() const {
    const spool::TrackingAddress& address = *directory_.manifest().tracking;
    return {.manifest = directory_.manifest(),
            .experiment_chosen = address.experiment_chosen,
            .name_chosen = address.name_chosen,
            .room = {.files = directory_.files(), .limit = address.room}};
  }
  Result<> open() {
    const spool::Manifest& manifest = directory_.manifest();
    auto relay = TRY(TrackingRelay::open({.book = book(),
                                          .upstream = {.target = options_.target,
                                                       .patience = kPatience,
                                                       .directory = directory_.files()},
                                          .page = [this] { return page(); },
                                          .address = manifest.tracking},
                                         options_.delivery));
    TRY(relay->start(manifest.child ? manifest.child->pid : 0));
    relay_ = std::move(relay);
    return {};
  }
  [[nodiscard]] std::string page() const {
    const std::string server = options_.page();
    return server.empty() ? server : server + "/runs/" + directory_.manifest().run.hex();
  }

  TakeoverOptions options_;
  const spool::RunDirectory& directory_;
  spool::Journal& journal_;
  int tries_ = 0;
  std::unique_ptr<TrackingRelay> relay_;  // last: its threads use the rest
};

}  // namespace

upload::MakeSuccessor tracking_takeover(TakeoverOptions options) {
  return [options = std::move(options)](
             const spool::RunDirectory& directory,
             spool::Journal& journal) -> std::unique_ptr<upload::Successor> {
    if (!directory.manifest().tracking) return nullptr;
    return std::make_unique<Takeover>(options, directory, journal);
  };
}

}  // namespace corral::run
