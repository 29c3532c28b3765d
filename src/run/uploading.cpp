// The upload thread of Recording.
#include <fmt/core.h>
#include <pthread.h>

#include "run/facts.h"
#include "run/recording.h"
#include "sys/clock.h"
#include "upload/finisher.h"
#include "upload/server_link.h"
#include "upload/uploader.h"

namespace corral::run {
namespace {

constexpr Nanos kRound{std::chrono::milliseconds(250)};
constexpr Nanos kFirstBackoff{std::chrono::milliseconds(250)};
constexpr Nanos kLastBackoff{std::chrono::seconds(10)};
constexpr Nanos kServerPatience{std::chrono::seconds(10)};
constexpr Nanos kFinishPause{std::chrono::seconds(5)};
constexpr int kFailedWaits =
    400;  // of 5 ms: how long an unreachable server is waited for at the end

upload::LinkOptions link_options(const Options& options, const spool::RunDirectory& directory) {
  upload::LinkOptions link{.destination = options.destination,
                           .token = options.token,
                           .serve_command = {},
                           .environment = {},
                           .server_log = directory.path().parent_path() / "server.log"};
  upload::start_when_needed(link, options.program.string(), options.spool.string());
  return link;
}

// A pause that ends early when stop is requested or `ready` turns true.
void pause(const std::stop_token& stop, Nanos length, const std::atomic<bool>& hurry) {
  const BootTime until = sys::boot_now() + length;
  const bool hurried = hurry.load();
  while (!stop.stop_requested() && sys::boot_now() < until && hurry.load() == hurried) {
    sys::system_clock().sleep_until(
        std::min(until, sys::boot_now() + Nanos(std::chrono::milliseconds(20))));
  }
}

}  // namespace

void Recording::upload_loop(const std::stop_token& stop, const Command& command) {
  ::pthread_setname_np(::pthread_self(), "corral-uploader");
  journal_.facts(slow_facts(command));
  upload::ServerLink link(link_options(options_, directory_));
  upload::Uploader uploader(directory_, [this] { return journal_open_.load(); });
  // Runs that other supervisors left behind for a remote server; an embedded store's server sees to
  // its own.
  std::optional<upload::Finisher> finisher;
  if (!options_.destination.server.empty())
    finisher.emplace(spool::spool_roots(options_.spool), options_.destination);
  BootTime next_finish = sys::boot_now();
  Nanos backoff = kFirstBackoff;
  while (!stop.stop_requested()) {
    const auto round = [&]() -> Result<bool> {
      upload::Transport* server = TRY(link.connect(kServerPatience));
      if (page().empty() && !link.url().empty()) {
        page_.with([&](std::string& url) { url = link.url() + "/runs/" + run().hex(); });
        notices_.say(fmt::format("run {} · {}", directory_.manifest().run_name, page()));
      }
      const upload::StepReport report = TRY(uploader.step(*server));
      if (finisher && sys::boot_now() >= next_finish) {
        TRY(finisher->step(*server));
        next_finish = sys::boot_now() + kFinishPause;
      }
      return report.idle;
    }();
    server_reachable_ = round.has_value();
    for (std::string& problem : uploader.take_problems()) {
      notices_.warn(problem);
      journal_.event("spool: " + problem, {});
    }
    if (uploader.refused() > 0)
      notices_.warn("the server refused data for good, it is kept in " +
                    directory_.path().string() + "/refused: " + uploader.last_refusal());
    if (!round) {
      notices_.warn(round.error().message + "; the run goes on and its data waits in " +
                    directory_.path().string());
      link.drop();
      pause(stop, backoff, journal_open_);
      backoff = std::min(2 * backoff, kLastBackoff);
      continue;
    }
    backoff = kFirstBackoff;
    if (!*round) continue;
    if (!journal_open_.load() && uploader.finished()) {
      uploader.close();
      uploaded_ = true;
      return;
    }
    pause(stop, journal_open_.load() ? kRound : Nanos(std::chrono::milliseconds(10)),
          journal_open_);
  }
}

bool Recording::wait_uploaded(const std::function<bool()>& give_up) {
  while (!uploaded_.load() && !give_up()) {
    sys::system_clock().sleep_until(sys::boot_now() + Nanos(std::chrono::milliseconds(5)));
    // A last round has failed after the end: the spool keeps everything for the next server.
    if (!server_reachable_.load() && !journal_open_.load() && ++failed_waits_ > kFailedWaits) break;
  }
  uploader_.request_stop();
  if (uploader_.joinable()) uploader_.join();
  return uploaded_.load();
}

}  // namespace corral::run
