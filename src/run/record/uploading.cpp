#include "run/record/uploading.h"

#include <fmt/core.h>
#include <pthread.h>

#include "metric/catalogue.h"
#include "run/command.h"
#include "run/record/profile_requests.h"
#include "run/tracking.h"
#include "sys/clock.h"
#include "sys/process.h"
#include "sys/thread_guard.h"
#include "upload/artifacts.h"
#include "upload/server_link.h"
#include "upload/uploader.h"

namespace corral::run {
namespace {

// The spooler asks for a round when it has spooled rows, twice a second; this longer pause applies
// only while it is idle.
constexpr Nanos kRound{std::chrono::seconds(1)};
constexpr Nanos kFirstBackoff{std::chrono::milliseconds(250)};
constexpr Nanos kLastBackoff{std::chrono::seconds(10)};
constexpr Nanos kServerPatience{std::chrono::seconds(10)};
constexpr Nanos kFinishPause{std::chrono::seconds(5)};
constexpr Nanos kArtifactPause{std::chrono::milliseconds(250)};  // between two tries

upload::LinkOptions link_options(const Options& options, const spool::RunDirectory& directory) {
  upload::LinkOptions link{.destination = options.destination,
                           .token = options.token,
                           .serve_command = {},
                           .environment = {},
                           .server_log = directory.path().parent_path() / "server.log"};
  upload::start_when_needed(link, options.program.string(), options.spool.string());
  return link;
}

// Among several hosts, that of the server is measured like the others.
upload::ServerClock clock_of(const spool::Manifest& run) {
  const bool one_of_several = run.member && !run.member->label.empty();
  return {run.anchor, one_of_several ? "" : sys::boot_id(), sys::system_clock()};
}

}  // namespace

// Tells the user the run's URL, once, as soon as a server is known.
void Uploading::announce(const std::string& server) {
  if (server.empty() || !page().empty()) return;
  page_.with(
      [&](std::string& url) { url = server + "/runs/" + run_.directory.manifest().run.hex(); });
  run_.notices.say(fmt::format("run {} · {}", run_.directory.manifest().run_name, page()));
}

void Uploading::report_problems(upload::Uploader& uploader) {
  for (std::string& problem : uploader.take_problems()) {
    run_.notices.warn(problem);
    run_.journal.event("spool: " + problem, {});
  }
  if (uploader.refused() > 0)
    run_.notices.warn("the server refused data for good, it is kept in " +
                      run_.directory.path().string() + "/refused: " + uploader.last_refusal());
}

// Uploads runs that other supervisors left behind for a remote server; nullptr: the server of an
// embedded store finishes its own.
std::unique_ptr<upload::Finisher> Uploading::remote_finisher() const {
  const spool::Destination& destination = run_.options.destination;
  if (destination.server.empty()) return nullptr;
  return std::make_unique<upload::Finisher>(
      spool::spool_roots(run_.options.spool), destination,
      tracking_takeover({.target = upload::target_of(destination, run_.options.token),
                         .page = [url = destination.server] { return url; },
                         .delivery = run_.delivery}),
      container_end);
}

// The points are recorded by the spooler, like those of other sources.
void Uploading::measure_clock(upload::ServerClock& clock, upload::ServerLink& link) {
  if (!journal_open_) return;
  const auto server = link.connect(kServerPatience);
  sys::HttpClient* const http = server ? (*server)->http() : nullptr;
  if (http == nullptr) return;
  const auto reading =
      clock.step([&](Nanos patience) { return upload::ask_server_time(*http, patience); });
  if (!reading) return;
  // If the host's clock was set since, processes that began before and after differ by that.
  const Nanos set =
      sys::read_anchor().utc_minus_boot - run_.directory.manifest().anchor.utc_minus_boot;
  const auto push = [&](std::string_view metric, Nanos value) {
    const auto declared =
        run_.points.declare({.name = std::string(metric), .source = {}, .unit = "s", .own = true},
                            "the server's clock");
    run_.points.push({.series = declared.number, .time = reading->at, .value = seconds(value)});
  };
  push(metric::kClockOffset, reading->offset);
  push(metric::kClockError, reading->error + std::chrono::abs(set));
}

void Uploading::send_points(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "corral-uploader");
  upload::ServerLink link(link_options(run_.options, run_.directory));
  const auto may_grow = [this] { return journal_open_.load() || !described_.load(); };
  upload::Uploader uploader(run_.directory, may_grow);
  if (run_.options.gate.reports >= 0) {
    uploader.show([this](const SessionId& session, std::span<const spool::Record> records) {
      run_.progress.records(session, records);
    });
  }
  ProfileRequests profiles(run_.directory);
  upload::ServerClock clock = clock_of(run_.directory.manifest());
  const std::unique_ptr<upload::Finisher> finisher = remote_finisher();
  // Closed before the finisher is destroyed: waits for its rounds must not hold it up.
  struct Closing {
    Delivery& delivery;
    ~Closing() { delivery.close(); }
  } const closing{run_.delivery};
  BootTime next_finish = sys::boot_now();
  Nanos backoff = kFirstBackoff;
  while (!stop.stop_requested()) {
    if (run_.delivery.begin()) {
      link.drop();
      uploader.ask_again();
    }
    if (spool::anything_waits(run_.directory.files())) run_.delivery.note_files();
    const bool ended = !journal_open_.load();
    Result<bool> round = fail(Code::kInternal, "sending the run's data failed");
    const auto send = [&]() -> Result<bool> {
      upload::Transport* server = TRY(link.connect(kServerPatience));
      announce(link.url());
      const upload::StepReport report = TRY(uploader.step(*server));
      profiles.step(report, server->http(), ended);
      if (finisher && (finisher->serving() || sys::boot_now() >= next_finish)) {
        // Set before the step: data of another run that cannot be sent fails only this round.
        next_finish = sys::boot_now() + kFinishPause;
        TRY(finisher->step(*server));
      }
      return report.idle;
    };
    sys::guard_call("the uploader", [&] { round = send(); });
    server_reachable_ = round.has_value();
    run_.delivery.end(round);
    report_problems(uploader);
    if (!round) {
      // The user knows of a withheld destination since the run began.
      if (run_.options.destination.withheld.empty())
        run_.notices.warn(round.error().message + "; the run goes on and its data waits in " +
                          run_.directory.path().string());
      link.drop();
      run_.delivery.pause(stop, backoff, true);
      backoff = std::min(2 * backoff, kLastBackoff);
      continue;
    }
    backoff = kFirstBackoff;
    sys::guard_call("the uploader", [&] { measure_clock(clock, link); });
    if (!*round) continue;
    if (!may_grow() && profiles.none_pending(ended) && uploader.finished()) {
      uploader.close();
      uploaded_ = true;
      return;
    }
    run_.delivery.pause(stop, journal_open_.load() ? kRound : Nanos(std::chrono::milliseconds(10)));
  }
}

// Files are sent beside the points, which never wait for them.
void Uploading::send_files(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "corral-files");
  const sys::HttpTarget target = upload::target_of(run_.options.destination, run_.options.token);
  std::optional<sys::HttpClient> client(target);
  auto knowledge = upload::Knowledge::kAssumed;
  while (run_.delivery.wait_for_files(stop)) {
    bool flushed = false;
    const auto sent = [&]() -> Result<upload::ArtifactReport> {
      // The points that were logged before the files make the run known to the server.
      run_.delivery.note_written();
      TRY(run_.delivery.flush(kServerPatience, cancel_files_));
      flushed = true;
      return upload::send_artifacts(run_.directory.files(), *client, cancel_files_, knowledge);
    }();
    if (flushed) knowledge = upload::Knowledge::kAssumed;
    if (sent && sent->unknown) {
      knowledge = upload::Knowledge::kTold;
      run_.delivery.mark_dead();
      client.emplace(target);  // its connection may lead to the server of before
    }
    for (const std::string& refusal : sent ? sent->refused : std::vector<std::string>()) {
      run_.notices.warn(refusal + "; it is kept in " + run_.directory.path().string() + "/refused");
      run_.journal.event("spool: " + refusal, {});
    }
    if (sent && sent->stored > 0) run_.delivery.wake();
    // The uploader reports an error that held up the points before the files.
    if (!sent && flushed && !cancel_files_ && run_.options.destination.withheld.empty())
      run_.notices.warn(sent.error().message);
    if (!run_.delivery.sleep(stop, kArtifactPause)) return;
  }
}

}  // namespace corral::run
