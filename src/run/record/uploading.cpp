// The upload thread of Recording.
#include <fmt/core.h>
#include <pthread.h>

#include <condition_variable>
#include <mutex>

#include "run/container_end.h"
#include "run/record/facts.h"
#include "run/record/profile_wishes.h"
#include "run/record/recording.h"
#include "sys/clock.h"
#include "sys/thread_guard.h"
#include "upload/artifacts.h"
#include "upload/finisher.h"
#include "upload/server_link.h"
#include "upload/uploader.h"

namespace corral::run {
namespace {

// The spooler asks for a round when it has spooled rows, twice a second; a pause that is longer
// only follows when it stands still.
constexpr Nanos kRound{std::chrono::seconds(1)};
constexpr Nanos kFirstBackoff{std::chrono::milliseconds(250)};
constexpr Nanos kLastBackoff{std::chrono::seconds(10)};
constexpr Nanos kServerPatience{std::chrono::seconds(10)};
constexpr Nanos kFinishPause{std::chrono::seconds(5)};
constexpr Nanos kArtifactPause{std::chrono::milliseconds(250)};  // between two tries
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

}  // namespace

// git and interpreters may take seconds on a busy machine: neither uploads nor calls of the command
// that need the server wait for them.
void Recording::describe(const Command& command, const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "corral-facts");
  sys::guard_call("describing the run", [&] {
    set_up::KeptCode code = code_of(options_, command, directory_, started_ns_);
    code.keep();
    const std::vector<codec::Fact> facts = slow_facts(options_, command, code);
    code.list();
    journal_.facts(facts);
    delivery_.wake();
    if (options_.hash_data) {
      auto hashes = data_facts(options_, command, [&] { return stop.stop_requested(); });
      if (!hashes.empty()) journal_.facts(std::move(hashes));
    }
    describe_end(command, stop, facts, code);
  });
  described_ = true;
  delivery_.wake();
}

// What only the end of the command tells: the modules that it has imported.
void Recording::describe_end(const Command& command, const std::stop_token& stop,
                             const std::vector<codec::Fact>& facts, set_up::KeptCode& code) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any ended;
  ended.wait(lock, stop, [] { return false; });
  if (code.add(noted_modules(directory_))) {
    code.list();
    journal_.facts(facts_of_code(facts, command, code));
  }
  if (const std::string line = code.notice(); !line.empty()) notices_.warn(line);
}

// Where the run can be seen, once, as soon as a server is known.
void Recording::announce(const std::string& server) {
  if (server.empty() || !page().empty()) return;
  page_.with([&](std::string& url) { url = server + "/runs/" + run().hex(); });
  notices_.say(fmt::format("run {} · {}", directory_.manifest().run_name, page()));
}

void Recording::report_problems(upload::Uploader& uploader) {
  for (std::string& problem : uploader.take_problems()) {
    notices_.warn(problem);
    journal_.event("spool: " + problem, {});
  }
  if (uploader.refused() > 0)
    notices_.warn("the server refused data for good, it is kept in " + directory_.path().string() +
                  "/refused: " + uploader.last_refusal());
}

void Recording::upload_loop(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "corral-uploader");
  upload::ServerLink link(link_options(options_, directory_));
  const auto may_grow = [this] { return journal_open_.load() || !described_.load(); };
  upload::Uploader uploader(directory_, may_grow);
  if (options_.gate.reports >= 0) {
    uploader.show([this](const SessionId& session, std::span<const spool::Record> records) {
      progress_.records(session, records);
    });
  }
  ProfileWishes wishes(directory_);
  // Runs that other supervisors left behind for a remote server; an embedded store's server sees to
  // its own.
  std::optional<upload::Finisher> finisher;
  if (const std::string& url = options_.destination.server; !url.empty()) {
    finisher.emplace(spool::spool_roots(options_.spool), options_.destination,
                     options_.tracking.successors(
                         {.target = upload::target_of(options_.destination, options_.token),
                          .page = [url] { return url; },
                          .delivery = delivery_}),
                     container_end);
  }
  // Before the finisher goes: what waits for a round of it does not hold it up.
  struct Closing {
    Delivery& delivery;
    ~Closing() { delivery.close(); }
  } const closing{delivery_};
  BootTime next_finish = sys::boot_now();
  Nanos backoff = kFirstBackoff;
  while (!stop.stop_requested()) {
    if (delivery_.begin()) link.drop();
    if (spool::anything_waits(directory_.files())) delivery_.note_files();
    const bool ended = !journal_open_.load();
    Result<bool> round = fail(Code::kInternal, "sending the run's data failed");
    const auto send = [&]() -> Result<bool> {
      upload::Transport* server = TRY(link.connect(kServerPatience));
      announce(link.url());
      const upload::StepReport report = TRY(uploader.step(*server));
      wishes.step(report, server->http(), ended);
      if (finisher && (finisher->serving() || sys::boot_now() >= next_finish)) {
        // Before the step: another run's data that does not go through fails no more than this
        // round.
        next_finish = sys::boot_now() + kFinishPause;
        TRY(finisher->step(*server));
      }
      return report.idle;
    };
    sys::guard_call("the uploader", [&] { round = send(); });
    server_reachable_ = round.has_value();
    delivery_.end(round);
    report_problems(uploader);
    if (!round) {
      // Of a place that is withheld the user was told before the run began.
      if (options_.destination.withheld.empty())
        notices_.warn(round.error().message + "; the run goes on and its data waits in " +
                      directory_.path().string());
      link.drop();
      delivery_.back_off(stop, backoff);
      backoff = std::min(2 * backoff, kLastBackoff);
      continue;
    }
    backoff = kFirstBackoff;
    if (!*round) continue;
    if (!may_grow() && wishes.all_told(ended) && uploader.finished()) {
      uploader.close();
      uploaded_ = true;
      return;
    }
    delivery_.pause(stop, journal_open_.load() ? kRound : Nanos(std::chrono::milliseconds(10)));
  }
}

// Files are sent beside the points, which never wait for them.
void Recording::artifact_loop(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "corral-files");
  sys::HttpClient client(upload::target_of(options_.destination, options_.token));
  while (delivery_.wait_for_files(stop)) {
    bool flushed = false;
    const auto sent = [&]() -> Result<upload::ArtifactReport> {
      // What was logged before them makes the run known to the server.
      delivery_.note_written();
      TRY(delivery_.flush(kServerPatience, cancel_artifacts_));
      flushed = true;
      return upload::send_artifacts(directory_.files(), client, cancel_artifacts_);
    }();
    for (const std::string& refusal : sent ? sent->refused : std::vector<std::string>()) {
      notices_.warn(refusal + "; it is kept in " + directory_.path().string() + "/refused");
      journal_.event("spool: " + refusal, {});
    }
    if (sent && sent->stored > 0) delivery_.wake();
    // What held up the points before them is the uploader's to say.
    if (!sent && flushed && !cancel_artifacts_ && options_.destination.withheld.empty())
      notices_.warn(sent.error().message);
    if (!delivery_.sleep(stop, kArtifactPause)) return;
  }
}

bool Recording::wait_uploaded(const std::function<bool()>& give_up) {
  while (options_.destination.withheld.empty() && uploader_.joinable() && !uploaded_.load() &&
         !give_up()) {
    sys::system_clock().sleep_until(sys::boot_now() + Nanos(std::chrono::milliseconds(5)));
    // A last round has failed after the end: the spool keeps everything for the next server.
    if (!server_reachable_.load() && !journal_open_.load() && ++failed_waits_ > kFailedWaits) break;
  }
  cancel_artifacts_ = true;
  delivery_.wake();
  artifact_sender_.request_stop();
  if (artifact_sender_.joinable()) artifact_sender_.join();
  uploader_.request_stop();
  if (uploader_.joinable()) uploader_.join();
  return uploaded_.load();
}

}  // namespace corral::run
