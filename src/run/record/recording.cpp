#include "run/record/recording.h"

#include <fmt/core.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "codec/frame.h"
#include "core/text.h"
#include "run/record/facts.h"
#include "run/run_name.h"
#include "spool/client_log.h"
#include "spool/outbox.h"
#include "sys/clock.h"
#include "sys/http_client.h"
#include "sys/process.h"
#include "sys/socket.h"
#include "sys/thread_guard.h"
#include "upload/server_link.h"

namespace corral::run {
namespace {

constexpr Nanos kStorePause{
    std::chrono::milliseconds(100)};  // output is stored with this resolution in time
// Pause between two frames of rows.
constexpr Nanos kSamplePause{std::chrono::milliseconds(500)};
// Interval of asking for the turn to measure the host: the gap in its timeline when a holder ends.
constexpr Nanos kTurnPause{std::chrono::milliseconds(100)};
constexpr int kIdlePollMs = 100;  // while output waits for its reader or to be stored
// Number of series ids that one supervisor may use, and number of supervisors with ids of their own
// in a session. A supervisor after those reuses ids: its metrics must be the same, or they are
// refused.
constexpr std::uint32_t kSeriesOfSupervisor = 1u << 15;
constexpr std::uint32_t kSupervisors = limits::kSeriesPerSession / kSeriesOfSupervisor;
constexpr std::uint64_t kDeliveryPhase = 5;
constexpr int kBusyPollMs = 10;  // after a wake: a chatty command costs at most 100 wakes a second

int milliseconds_until(BootTime time) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(time - sys::boot_now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

// Time that a request of the command waits for a server: the store's own is started when it is not
// there; one elsewhere answers or does not.
constexpr Nanos kEmbeddedPatience{std::chrono::seconds(15)};
constexpr Nanos kServerPatience{std::chrono::seconds(5)};

std::int64_t client_log_limit(const Options& options) { return options.spool_limit / 4; }

spool::Manifest make_manifest(const Options& options) {
  spool::Manifest m;
  m.run = options.run_id.value_or(RunId::random());
  m.session = SessionId::random();
  m.workload = options.workload.empty() ? own_workload_of(m.run)
                                        : workload_id_of(options.experiment, options.workload);
  m.experiment = options.experiment;
  m.workload_name = options.workload;
  m.run_name = options.name.empty() ? make_run_name(m.run) : options.name;
  m.host = sys::host_name();
  if (m.host.empty()) m.host = "unknown";
  m.destination = options.destination;
  m.member = options.member;
  m.anchor = sys::read_anchor();
  m.started = sys::boot_now();
  m.supervisor =
      sys::identity_of(::getpid())
          .value_or(sys::ProcessIdentity{.pid = ::getpid(), .start_ticks = 0, .boot_id = {}});
  return m;
}

// Waits of 5 ms for a server that cannot be reached, once the run has ended.
constexpr int kFailedWaits = 400;

// Time that a device's driver and the commands of sources get at the end.
constexpr Nanos kEndPatience{std::chrono::seconds(2)};

namespace foreign = collect::foreign;

foreign::Stream to_stream(codec::LogStream stream) {
  if (stream == codec::LogStream::kTty) return foreign::Stream::kBoth;
  return stream == codec::LogStream::kStderr ? foreign::Stream::kErr : foreign::Stream::kOut;
}

// A line of a server's, at most about 1 KiB of it.
std::string cut_line(std::string text) {
  constexpr std::size_t kMostText = 1024;
  if (text.size() <= kMostText) return text;
  text.resize(utf8_prefix(std::string_view(text).substr(0, kMostText)));
  return text + "…";
}

}  // namespace

Recording::Recording(const Options& options, Notices& notices, spool::RunDirectory directory,
                     spool::Journal journal, Relay relay)
    : options_(options),
      notices_(notices),
      directory_(std::move(directory)),
      journal_(std::move(journal)),
      relay_(std::move(relay)),
      workload_lock_(directory_.path().parent_path(),
                     workload_lock_name(directory_.manifest().workload)),
      host_(directory_.path().parent_path(),
            host_lock_name(directory_.manifest(), options.listeners)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  const spool::Manifest& run = directory_.manifest();
  if (run.member) series_ids_.label = run.member->label;
  series_ids_.host = run.host;
}

// Threads that never got begin() end without doing anything.
Recording::~Recording() {
  abandoned_ = !has_begun_;
  for (std::jthread* thread : {&spooler_, &uploader_, &describer_, &artifact_sender_})
    thread->request_stop();
  begin();
}

// `directory` stays the caller's on error.
Result<std::unique_ptr<Recording>> Recording::join(const Options& options, Notices& notices,
                                                   spool::RunDirectory& directory,
                                                   Result<Relay> relay) {
  if (!relay) return tl::unexpected(relay.error());
  // A quarter of the limit for the supervisor's own frames; the rest is the segments'.
  spool::Journal journal = TRY(spool::Journal::open(directory, options.spool_limit / 4));
  journal.describe(spool::session_body(directory.manifest()));
  std::unique_ptr<Recording> recording(
      new Recording(options, notices, std::move(directory), std::move(journal), std::move(*relay)));
  recording->start_tracking();
  recording->open_sources();
  return recording;
}

Result<std::unique_ptr<Recording>> Recording::open(const Options& options, Notices& notices,
                                                   bool terminal) {
  std::vector<std::string> untrusted;
  const auto root = TRY(spool::usable_root(spool::spool_roots(options.spool), &untrusted));
  for (const std::string& reason : untrusted)
    notices.warn(reason + "; the run's data waits in " + root.string());
  spool::RunDirectory directory = TRY(spool::RunDirectory::create(root, make_manifest(options)));
  auto opened = join(options, notices, directory, Relay::open(directory, terminal));
  if (!opened) {
    directory.remove();
    return opened;
  }
  if (const auto started = (*opened)->start_threads(options.leads); !started) {
    (*opened)->discard();
    return tl::unexpected(started.error());
  }
  return opened;
}

Result<std::unique_ptr<Recording>> Recording::adopt(const Options& options, Notices& notices,
                                                    spool::RunDirectory directory) {
  const sys::ProcessIdentity self = TRY(sys::identity_of(::getpid()));
  TRY(directory.set_supervisor(self));
  spool::repair_client_logs(directory.files());
  auto recording = TRY(join(options, notices, directory, Relay::resume(directory)));
  // This supervisor's series ids begin after those of all former supervisors of the run.
  recording->series_ids_.next =
      1 + recording->directory_.manifest().adoptions % kSupervisors * kSeriesOfSupervisor;
  TRY(recording->start_threads(false));
  return recording;
}

void Recording::start_tracking() {
  if (options_.mlflow == Mlflow::kOff || !has_tracking()) return;
  const std::string chosen = chosen_tracking_uri(environ);
  if (options_.mlflow == Mlflow::kUnlessSet && !chosen.empty()) {
    notices_.say(
        "MLFLOW_TRACKING_URI is set: MLflow calls go there, not to this run; "
        "--capture-mlflow records them here");
    return;
  }
  const bool embedded = options_.destination.server.empty();
  const std::optional<spool::TrackingAddress> former = directory_.manifest().tracking;
  auto opened = open_tracking(
      {.directory = directory_,
       .experiment_chosen = former ? former->experiment_chosen : options_.experiment_chosen,
       .name_chosen = former ? former->name_chosen : !options_.name.empty(),
       .room = former ? former->room : client_log_limit(options_),
       .target = upload::target_of(options_.destination, options_.token),
       .patience = embedded ? kEmbeddedPatience : kServerPatience,
       .page = [this] { return page(); },
       .not_kept = [this](const std::string& part,
                          const std::string& reason) { not_captured(part, reason); },
       .former = former},
      delivery_);
  if (!opened) return lacks("MLflow calls", opened.error());
  // The address answers before the command knows it: a client waits long for one that does not.
  const auto& child = directory_.manifest().child;
  if (const auto started = opened->start(child ? child->pid : 0); !started)
    return lacks("MLflow calls", started.error());
  tracking_ = std::move(*opened);
  // If this cannot be written, a killed supervisor has no successor.
  [[maybe_unused]] const auto noted = directory_.set_tracking(tracking_->address());
}

Result<> Recording::watch(pid_t child, collect::PerfCounters perf) {
  // Noted before the command's exec: a process that finds the spool of a killed supervisor must see
  // that the training lives.
  const sys::ProcessIdentity identity = TRY(sys::identity_of(child));
  TRY(directory_.set_child(identity));
  if (tracking_) tracking_->set_command(child);
  open_stall_watch(child);
  return open_lanes(child, std::move(perf));
}

void Recording::start(const Command& command) {
  command_ = command;
  const Nanos running = sys::boot_now() - directory_.manifest().begun.value_or(sys::boot_now());
  started_ns_ = (sys::utc_now().time_since_epoch() - running).count();
  if (options_.leads) journal_.facts(quick_facts(options_, command));
  start_collecting();
  begin();
}

void Recording::resume() {
  journal_.event("another supervisor took over", {});
  const codec::Health gap{.part = std::string(spool::kSupervisorPart),
                          .state = codec::HealthState::kPartial,
                          .reason =
                              "it was killed: no metrics of listeners and sources were "
                              "recorded until another one took over"};
  note_health({&gap, 1});
  start_collecting();
  begin();
}

Result<> Recording::start_threads(bool describes) {
  spooler_ = TRY(sys::start_thread("the spooler", [this](const std::stop_token& stop) {
    begun_.wait();
    if (abandoned_) return;
    sys::guard_loop("the spooler", stop, [&] { spool_loop(stop); });
  }));
  start_aside(artifact_sender_, "uploads of files", [this](const std::stop_token& stop) {
    sys::guard_loop("the sender of files", stop, [&] { uploading_.send_files(stop); });
  });
  start_aside(uploader_, "uploads", [this](const std::stop_token& stop) {
    sys::guard_loop("the uploader", stop, [&] { uploading_.send_points(stop); });
  });
  // Ends all waits for rounds, which will not come.
  if (!uploader_.joinable()) delivery_.close();
  if (describes) {
    start_aside(describer_, "facts of git and the interpreter",
                [this](const std::stop_token& stop) {
                  if (command_) describe(*command_, stop);
                });
  }
  if (!describer_.joinable()) uploading_.note_described();
  return {};
}

void Recording::start_aside(std::jthread& thread, std::string_view what,
                            std::function<void(const std::stop_token&)> work) {
  auto started =
      sys::start_thread(what, [this, work = std::move(work)](const std::stop_token& stop) {
        begun_.wait();
        if (!abandoned_) work(stop);
      });
  if (started) {
    thread = *std::move(started);
  } else {
    lacks(std::string(what), started.error());
  }
}

void Recording::begin() {
  if (!std::exchange(has_begun_, true)) begun_.count_down();
}

void Recording::lacks(const std::string& what, const Error& error) {
  notices_.warn(what + ": not available: " + error.message);
  note_unavailable(what, error.message);
  const codec::Health health{.part = "recording." + what,
                             .state = codec::HealthState::kNotCaptured,
                             .reason = error.message};
  note_health({&health, 1});
}

void Recording::note_health(std::span<const codec::Health> health) {
  journal_.health(health, sys::boot_now());
}

void Recording::not_captured(const std::string& part, const std::string& reason) {
  notices_.warn(part + ": " + reason);
  const codec::Health health{
      .part = part, .state = codec::HealthState::kNotCaptured, .reason = reason};
  note_health({&health, 1});
}

void Recording::note_leftovers(std::size_t count) {
  journal_.event("processes outlived the command", {{"count", std::to_string(count)}});
}

void Recording::note_unavailable(const std::string& source, const std::string& reason) {
  if (!reason.empty())
    journal_.facts({{.kind = codec::FactKind::kUnavailable, .key = source, .value = reason}});
}

void Recording::note_tags(const std::vector<std::pair<std::string, std::string>>& tags) {
  std::vector<codec::Fact> facts;
  facts.reserve(tags.size());
  for (const auto& [key, value] : tags)
    facts.push_back({.kind = codec::FactKind::kTag, .key = key, .value = value});
  if (!facts.empty()) journal_.facts(std::move(facts));
}

void Recording::note_outcome(const Outcome& outcome) {
  std::vector<std::pair<std::string, std::string>> tags = {
      {"corral.outcome", std::string(outcome_name(outcome.kind))}};
  if (!outcome.reason.empty()) tags.emplace_back("corral.outcome.reason", outcome.reason);
  note_tags(tags);
}

void Recording::note_begin(BootTime at) {
  journal_.bundle(codec::EventsBody{
      {{.time = at, .name = std::string(codec::kRunBegan), .origin = "corral", .attributes = {}}}});
  // If this cannot be written, a successor takes the run for one that never began.
  [[maybe_unused]] const auto noted = directory_.set_begun(at);
}

void Recording::note_container(spool::ContainerAddress container) {
  [[maybe_unused]] const auto noted = directory_.set_container(std::move(container));
}

void Recording::note_phase(const OwnPhase& phase) {
  const spool::Manifest& run = directory_.manifest();
  journal_.bundle(
      codec::PhasesBody{{{.id = phase.id,
                          .parent = 0,
                          .begin = phase.begin,
                          .end = phase.end,
                          .kind = phase.kind,
                          .name = std::string(phase.name),
                          .type = std::string(phase.name),
                          .lane = fmt::format("{}/{}/supervisor", run.host, run.supervisor.pid),
                          .links = {},
                          .attributes = {}}}});
}

void Recording::discard() { directory_.remove(); }

void Recording::report_losses() {
  const std::uint64_t drops = directory_.drops();
  if (drops != std::exchange(reported_drops_, drops)) {
    journal_.facts(
        {{.kind = codec::FactKind::kDrop, .key = "points", .value = std::to_string(drops)}});
    notices_.warn(
        "log calls are being dropped: the spool is full or has reached --spool-limit; the run's "
        "page counts them");
  }
  if (const std::uint64_t ticks = lanes_ != nullptr ? lanes_->ticks().dropped_rows : 0;
      ticks != std::exchange(reported_ticks_, ticks)) {
    journal_.facts(
        {{.kind = codec::FactKind::kDrop, .key = "ticks", .value = std::to_string(ticks)}});
  }
  if (const std::string loss = tracking_ ? tracking_->loss() : ""; !loss.empty())
    notices_.warn("MLflow calls are being dropped: " + loss);
  if (journal_.dropped() > 0) {
    notices_.warn("metrics and output are being dropped: " + journal_.drop_reason() + " (" +
                  directory_.path().string() + ")");
  }
}

// Passes on and shows the output of the command, and stores it when that is due. True: nothing is
// left to do, and the kernel reports new output.
bool Recording::follow_output(BootTime& next_store) {
  bool done = relay_.pass_on();
  done = show_output() && done;
  const BootTime now = sys::boot_now();
  if (now < next_store) return false;
  next_store = now + kStorePause;
  done = relay_.store(journal_) && done;
  relay_.tidy();
  return done && relay_.wake_descriptor() >= 0;
}

void Recording::spool_loop(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "corral-spooler");
  if (on_spooler_ != nullptr) on_spooler_(relay_);
  BootTime next_store = sys::boot_now();
  BootTime next_sample = next_store + kSamplePause;
  BootTime next_turn = next_store + kTurnPause;
  bool woken = false;
  bool quiet = false;
  while (!stop.stop_requested()) {
    std::array<pollfd, 2> waiting{
        pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0},
        pollfd{.fd = woken ? -1 : relay_.wake_descriptor(), .events = POLLIN, .revents = 0}};
    const BootTime due = waits_for_turn() ? std::min(next_sample, next_turn) : next_sample;
    const int idle = quiet ? milliseconds_until(due) : kIdlePollMs;
    ::poll(waiting.data(), waiting.size(), woken ? kBusyPollMs : idle);
    woken = (waiting[1].revents & POLLIN) != 0;
    if (woken) relay_.consume_wakes();
    const BootTime now = sys::boot_now();
    const bool sample = now >= next_sample;
    if (woken || sample || !quiet) quiet = follow_output(next_store);
    if (now >= next_turn) {
      try_measuring_host();
      next_turn = now + kTurnPause;
    }
    if (sample) {
      source_duties();
      sample_duties();
      delivery_.note_rows();
      next_sample = now + kSamplePause;
    }
  }
}

void Recording::stop_sampling() {
  if (lanes_ != nullptr) lanes_->stop_host();
}

void Recording::stop_spooler() {
  spooler_.request_stop();
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(wake_.get(), &one, sizeof one);
  if (spooler_.joinable()) spooler_.join();
}

void Recording::finish(const codec::RunEndBody& end, const std::function<void()>& before_end) {
  end_collecting();
  describer_.request_stop();
  stop_spooler();
  // Only now: the spooler uses its locks until it has ended.
  host_.release();
  end_sources();
  while (!relay_.store(journal_)) {
  }
  source_duties();
  sample_duties();
  note_cost(end.time);
  if (before_end) before_end();
  if (tracking_) tracking_->end();
  note_phase({kDeliveryPhase, "delivery", codec::PhaseKind::kControl, end.time, sys::boot_now()});
  journal_.run_end(end);
  uploading_.note_end();
  delivery_.wake();
}

bool Recording::wait_uploaded(const std::function<bool()>& give_up) {
  while (options_.destination.withheld.empty() && uploader_.joinable() && !uploading_.done() &&
         !give_up()) {
    sys::system_clock().sleep_until(sys::boot_now() + Nanos(std::chrono::milliseconds(5)));
    if (uploading_.fails_at_the_end() && ++failed_waits_ > kFailedWaits) break;
  }
  uploading_.cancel_files();
  delivery_.wake();
  artifact_sender_.request_stop();
  if (artifact_sender_.joinable()) artifact_sender_.join();
  uploader_.request_stop();
  if (uploader_.joinable()) uploader_.join();
  return uploading_.done();
}

std::optional<Json> Recording::ask(std::string_view below) const {
  constexpr std::size_t kMostAnswer = 8U << 20U;
  const sys::HttpRequest request{
      .path = fmt::format("/api/corral/v1/runs/{}{}", directory_.manifest().run.hex(), below),
      .body = {},
      .timeout = std::chrono::seconds(5)};
  sys::HttpClient server(upload::target_of(options_.destination, options_.token));
  std::string body;
  const auto status = server.stream(request, [&](std::string_view piece) {
    body += piece;
    return body.size() <= kMostAnswer;
  });
  if (!status || *status != 200) return {};
  const auto found = Json::parse(body);
  return found ? std::optional(*found) : std::nullopt;
}

std::string Recording::ending() const {
  const auto run = ask("");
  const Json* seconds = run ? run->find("duration_s") : nullptr;
  if (seconds == nullptr) return {};
  std::string outcome = run->get_string("outcome");
  if (outcome.empty()) outcome = run->get_string("status");
  // Its other processes have not ended.
  if (directory_.manifest().member && outcome == "running") outcome = "running elsewhere";
  std::string text =
      fmt::format("run {} · {}", printable(run->get_string("name")), printable(outcome));
  if (seconds->as_double(-1) >= 0)
    text += " after " + human_duration(nanos_of_seconds(seconds->as_double(0)));
  const Json* loss = run->find("loss");
  const Json* value = loss != nullptr ? loss->find("value") : nullptr;
  if (value != nullptr && value->as_string() != nullptr) {  // NaN or infinite
    text += " · loss " + printable(*value->as_string());
  } else if (value != nullptr && !value->is_null()) {
    text += fmt::format(" · loss {:.4g}", value->as_double(0));
  }
  return cut_line(std::move(text)) + " · " + page();
}

std::string Recording::explanation() const {
  const auto found = ask("/explain");
  const Json* parts = found ? found->find("parts") : nullptr;
  if (parts == nullptr || parts->as_array() == nullptr || parts->as_array()->empty()) return {};
  return cut_line(printable(found->get_string("summary"))) + " `corral explain` says more.";
}

// ---- Facts about the command, on a thread of their own

// git and interpreters may take seconds on a busy machine: neither uploads nor calls of the command
// that need the server wait for them.
void Recording::describe(const Command& command, const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "corral-facts");
  sys::guard_call("describing the run", [&] {
    set_up::KeptCode code = make_kept_code(options_, command, directory_, started_ns_);
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
  uploading_.note_described();
  delivery_.wake();
}

// Adds the modules that the command has imported, which are known at its end.
void Recording::describe_end(const Command& command, const std::stop_token& stop,
                             const std::vector<codec::Fact>& facts, set_up::KeptCode& code) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any ended;
  ended.wait(lock, stop, [] { return false; });
  if (code.add(noted_modules(directory_))) {
    code.list();
    journal_.facts(changed_code_facts(facts, command, code));
  }
  if (const std::string line = code.notice(); !line.empty()) notices_.warn(line);
}

// ---- Samplers and foreign sources

Result<> Recording::open_lanes(pid_t child, collect::PerfCounters perf) {
  collect::SamplerOptions sampling{
      .listeners = options_.listeners, .interval = options_.interval, .run_pid = child};
  sampling.perf = std::move(perf);
  sampling.library_path = options_.device_library;
  lanes_ = TRY(collect::Lanes::open(std::move(sampling)));
  reported_unavailable_.resize(lanes_->all().size());
  feed_.emplace(lanes_->all(), series_ids_);
  if (options_.gate.reports >= 0) feed_->show(progress_);
  return {};
}

void Recording::open_sources() {
  if (options_.gate.reports >= 0) point_feed_.show(progress_);
  if (!options_.sources.otlp.empty()) {
    otlp_ = std::make_unique<OtlpSources>(options_.sources.otlp, points_);
    otlp_->start();
  }
  open_event_tail();
  if (options_.sources.empty()) return;
  std::error_code error;
  auto opened = foreign::ForeignSources::open(options_.sources,
                                              {.directory = sys::fs::current_path(error).string(),
                                               .environment = sys::own_environment(),
                                               .queue = &points_});
  if (!opened) return lacks("sources", opened.error());
  sources_ = std::move(*opened);
}

// Its files are those from now on; after another supervisor, those since the begin of the run.
void Recording::open_event_tail() {
  if (options_.tensorboard.empty()) return;
  const UtcTime now = sys::utc_now();
  const auto begun = directory_.manifest().begun;
  event_tail_ = std::make_unique<EventTail>(
      EventTailOptions{
          .directory = (start_folder(options_) / options_.tensorboard).lexically_normal(),
          .begun = begun ? now - (sys::boot_now() - *begun) : now,
          .from = begun ? now : UtcTime{},
          .keep_medium =
              [this, id = run()](const std::string& path, std::string_view content) {
                return spool::keep_artifact(directory_.files(), id, path, content);
              }},
      points_);
}

void Recording::open_stall_watch(pid_t child) {
  const auto records = [&](std::string_view listener) {
    return std::ranges::find(options_.listeners, listener) != options_.listeners.end();
  };
  const auto& configured = options_.sources.pressure;
  stalls_ = std::make_unique<collect::StallWatch>(
      configured.empty() ? collect::StallOptions{} : configured.front(),
      collect::StallWatch::Scope{
          .run_pid = child, .host = records("proc"), .group = records("cgroup")});
}

void Recording::start_collecting() {
  if (lanes_ != nullptr) {
    try_measuring_host();
    const auto started = lanes_->start();
    if (!started) lacks("metrics of the machine", started.error());
  }
  if (stalls_ != nullptr) {
    std::vector<codec::Fact> absent;
    for (const auto& [source, reason] : stalls_->unavailable())
      absent.push_back({.kind = codec::FactKind::kUnavailable, .key = source, .value = reason});
    journal_.facts(std::move(absent));
    if (const auto started = stalls_->start(); !started)
      lacks("events of pressure", started.error());
  }
  start_sources();
}

void Recording::start_sources() {
  if (event_tail_ != nullptr) {
    if (const auto started = event_tail_->start(); !started)
      lacks("event files of TensorBoard", started.error());
  }
  if (sources_ == nullptr) return;
  const auto& child = directory_.manifest().child;
  const auto started = sources_->start(child ? child->pid : 0);
  if (!started) lacks("sources", started.error());
}

void Recording::report_stalls() {
  if (stalls_ == nullptr) return;
  codec::EventsBody body;
  for (collect::StallEvent& event : stalls_->take()) {
    body.events.push_back({.time = event.time,
                           .name = std::move(event.name),
                           .origin = "corral",
                           .attributes = std::move(event.attributes)});
  }
  if (!body.events.empty()) journal_.bundle(body);
}

// Starts to measure the host if no other run's supervisor does.
void Recording::try_measuring_host() {
  if (lanes_ == nullptr) return;
  const bool began = host_.try_begin();
  lanes_->set_host_sampling(host_.measures());
  if (began) note_health(host_.begin());
}

// Reports the missing sources of a lane once it is open, and later problems as they come.
void Recording::report_lanes() {
  std::vector<codec::Fact> facts;
  const auto lanes = lanes_->all();
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (reported_unavailable_[i] || !lanes[i]->opened()) continue;
    reported_unavailable_[i] = true;
    note_health(lanes[i]->health());
    host_.share(lanes[i]->health());
    for (const auto& [source, reason] : lanes[i]->unavailable())
      facts.push_back({.kind = codec::FactKind::kUnavailable, .key = source, .value = reason});
    for (const auto& [key, value] : lanes[i]->descriptions()) {
      constexpr std::string_view kUuid = ".uuid";
      if (key.ends_with(kUuid))
        progress_.name_gpu(std::string_view(key).substr(0, key.size() - kUuid.size()), value);
      facts.push_back(
          {.kind = codec::FactKind::kInfo, .key = "device." + key, .value = Json(value).dump()});
    }
  }
  std::vector<codec::Health> health;
  for (const auto& [source, text, missing, state, note] : lanes_->take_problems()) {
    journal_.event(fmt::format("listener {}: {}", source, text), {});
    if (note) continue;
    notices_.warn(fmt::format("listener {}: {}", source, text));
    const bool active = state == codec::HealthState::kActive;
    health.push_back(
        {.part = "listener." + source, .state = state, .reason = active ? std::string() : text});
    if (missing)
      facts.push_back({.kind = codec::FactKind::kUnavailable, .key = source, .value = text});
  }
  note_health(health);
  host_.share(health);
  note_health(host_.follow());
  if (!facts.empty()) journal_.facts(std::move(facts));
}

// Writes an event for each series, and a notice for each metric.
void Recording::report_strays() {
  for (const auto& [text, new_metric] : feed_->strays().drain_new()) {
    if (new_metric) notices_.warn(text);
    journal_.event(text, {});
  }
}

Progress Recording::progress() {
  if (tracking_) {
    // The newest point comes last: its step is the run's.
    std::vector<LoggedPoint> points = tracking_->newest_points();
    std::ranges::sort(points, {}, &LoggedPoint::time_ms);
    for (const LoggedPoint& point : points) progress_.point(point.metric, point.step, point.value);
  }
  return progress_.now();
}

void Recording::sample_duties() {
  if (lanes_ != nullptr) {
    lanes_->set_bytes_written(journal_.bytes_written());
    report_lanes();
    feed_->flush(journal_);
    report_strays();
  }
  report_stalls();
  report_losses();
}

void Recording::report_problem(const foreign::Problem& problem) {
  const std::string line = fmt::format("source {}: {}", problem.source, problem.message);
  if (problem.recovered) {
    notices_.say(line);
  } else {
    notices_.warn(line);
  }
  journal_.event(line, {});
}

void Recording::source_duties() {
  if (sources_ != nullptr) {
    for (const foreign::Problem& problem : sources_->problems()) report_problem(problem);
    note_health(sources_->health());
  }
  if (otlp_ != nullptr) {
    for (const foreign::Problem& problem : otlp_->problems()) report_problem(problem);
    note_health(otlp_->health());
  }
  if (event_tail_ != nullptr) take_events();
  // Without sources it leaves the workload's series to runs that have some.
  const bool has_sources = sources_ != nullptr || otlp_ != nullptr || event_tail_ != nullptr;
  point_feed_.flush(journal_, has_sources && workload_lock_.hold());
  if (const std::uint64_t lost = points_.dropped(); lost != std::exchange(reported_points_, lost)) {
    notices_.warn("points of sources are being dropped: they come faster than they can be stored");
    journal_.facts(
        {{.kind = codec::FactKind::kDrop, .key = "source points", .value = std::to_string(lost)}});
  }
}

void Recording::take_events() {
  for (const foreign::Problem& problem : event_tail_->problems()) report_problem(problem);
  note_health(event_tail_->health());
  EventTail::Notes notes = event_tail_->notes();
  if (!notes.params.empty()) journal_.facts(std::move(notes.params));
  // A frame holds about a thousand texts of any length.
  constexpr std::size_t kTextsPerFrame = 256;
  const auto texts = std::span(notes.texts);
  for (std::size_t at = 0; at < texts.size(); at += kTextsPerFrame) {
    const auto some = texts.subspan(at, std::min(kTextsPerFrame, texts.size() - at));
    journal_.bundle(codec::EventsBody{{some.begin(), some.end()}});
  }
}

bool Recording::show_output() {
  if (sources_ == nullptr || options_.sources.regex.empty()) return true;
  const BootTime now = sys::boot_now();
  return relay_.show([&](codec::LogStream stream, std::string_view bytes) {
    sources_->feed_output(to_stream(stream), bytes, now);
  });
}

void Recording::end_collecting() {
  const BootTime deadline = sys::boot_now() + kEndPatience;
  if (lanes_ != nullptr) {
    for (const std::string& listener : lanes_->stop(deadline)) {
      const codec::Health lost{
          .part = "listener." + listener,
          .state = codec::HealthState::kGivenUp,
          .reason = "its driver has not answered, its last values are missing"};
      notices_.warn(fmt::format("listener {}: {}", listener, lost.reason));
      note_health({&lost, 1});
    }
  }
  if (stalls_ != nullptr) stalls_->stop();
  if (otlp_ != nullptr) otlp_->stop();
  if (event_tail_ != nullptr) event_tail_->stop(sys::boot_now() + kEndPatience);
  if (sources_ != nullptr) sources_->stop(sys::boot_now() + kEndPatience);
}

// Call after the spooler has ended: this thread shows the last output.
void Recording::end_sources() {
  if (sources_ == nullptr) return;
  while (!show_output()) {
  }
  sources_->end_output(sys::boot_now());
}

void Recording::note_cost(BootTime end) {
  if (lanes_ == nullptr) return;
  const spool::Manifest& run = directory_.manifest();
  const CollectingCost cost =
      measure_cost(*lanes_, end - run.begun.value_or(run.started), journal_.bytes_written());
  journal_.facts(cost_facts(cost));
  if (auto outside = feed_->strays().facts(); !outside.empty()) journal_.facts(std::move(outside));
  summary_ = cost_summary(cost);
}

}  // namespace corral::run
