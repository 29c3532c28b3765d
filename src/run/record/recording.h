// Recording: everything that the supervisor does for a run beside watching its command.
//
// Two threads: the spooler passes output on, stores it and the sampler's rows in the spool; the
// uploader brings the spool to the server. A third runs git and the interpreter at the start, keeps
// the code, and at the end adds the modules that were imported since. (The samplers, foreign
// sources and the relay for MLflow have their own.) They are started before the command, and wait
// for start(). Without a spooler there is no recording; without another of them the run lacks its
// data. None of them ever touches the command; a failure is reported once and the run goes on.
#pragma once

#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "codec/health.h"
#include "collect/foreign/foreign_sources.h"
#include "collect/pressure/stall_watch.h"
#include "collect/sampler/lanes.h"
#include "core/json.h"
#include "run/command.h"
#include "run/delivery.h"
#include "run/notices.h"
#include "run/options.h"
#include "run/otlp/otlp_receiver.h"
#include "run/outcome.h"
#include "run/progress.h"
#include "run/record/feeds.h"
#include "run/record/relay.h"
#include "run/record/sampling_lock.h"
#include "run/record/uploading.h"
#include "run/set_up/kept_code.h"
#include "run/tensorboard/event_tail.h"
#include "run/tracking.h"
#include "spool/journal.h"
#include "spool/run_directory.h"
#include "sys/fd.h"

namespace corral::run {

// A phase of the supervisor itself. Ids are unique in its session; 1 is the profiler's.
struct OwnPhase {
  std::uint64_t id;
  std::string_view name;
  codec::PhaseKind kind;
  BootTime begin;
  BootTime end;
};

class Recording {
 public:
  // Makes the run's directory in the spool and opens its files. `terminal`: the command's output
  // is one.
  static Result<std::unique_ptr<Recording>> open(const Options& options, Notices& notices,
                                                 bool terminal);
  // The same for a run that another supervisor has begun.
  static Result<std::unique_ptr<Recording>> adopt(const Options& options, Notices& notices,
                                                  spool::RunDirectory directory);
  ~Recording();

  [[nodiscard]] RunId run() const { return directory_.manifest().run; }
  [[nodiscard]] const spool::RunDirectory& directory() const { return directory_; }
  [[nodiscard]] Relay& relay() { return relay_; }
  [[nodiscard]] spool::Journal& journal() { return journal_; }
  // The command's MLFLOW_TRACKING_URI; empty: none of Corral's.
  [[nodiscard]] std::string tracking_uri() const {
    return tracking_ ? tracking_->url : std::string();
  }

  // Addresses to which the command can send metrics; empty: none.
  [[nodiscard]] std::string statsd_address() const {
    return sources_ != nullptr ? sources_->statsd_address().value_or("") : std::string();
  }
  [[nodiscard]] std::string otlp_url() const {
    return otlp_ != nullptr ? otlp_->url() : std::string();
  }

  // Opens the listeners. Call it after the command was forked: `perf` counts it.
  Result<> watch(pid_t child, collect::PerfCounters perf);
  // Sets a function that the spooler calls first; call this before start() or resume().
  void on_spooler(void (*call)(Relay&) noexcept) { on_spooler_ = call; }
  // Lets the threads begin; call it after the command's exec.
  void start(const Command& command);
  // The same after adopt(): the description of the run is recorded already.
  void resume();
  // Notes the run's start: the command may execute since `at`. The last call counts.
  void note_begin(BootTime at);
  // Records a phase of the supervisor itself, outside of the run.
  void note_phase(const OwnPhase& phase);
  // Lets the threads begin, also where start() has failed half-way.
  void begin();
  // Ends the spooler; the caller passes output on from now on.
  void stop_spooler();
  // Removes the run: its command was never started.
  void discard();
  // Takes the host's last sample.
  void stop_sampling();
  // The run is over: takes the last sample and output, writes the end. `before_end` may still add
  // to the journal and to the artifacts, and has the relay to itself.
  void finish(const codec::RunEndBody& end, const std::function<void()>& before_end = {});
  // Waits for the upload. True when everything arrived and the spool is empty; `give_up` is polled
  // between rounds.
  bool wait_uploaded(const std::function<bool()>& give_up);

  // The cost of collecting, as a line for the user. Empty before finish(), without samples, and for
  // a short run.
  [[nodiscard]] const std::string& summary() const { return summary_; }
  // After wait_uploaded(): lines of the server's about the run. Each is empty if it takes the
  // server more than five seconds. Name, outcome, duration, last loss and address.
  [[nodiscard]] std::string ending() const;
  // The summary of the run's time; empty if no step was recorded.
  [[nodiscard]] std::string explanation() const;
  // True if a thread is stuck in a driver: the process should end without running destructors.
  [[nodiscard]] bool left_thread_behind() const {
    return lanes_ != nullptr && lanes_->left_behind();
  }

  // Notes the number of processes that outlived the command and were left running.
  void note_leftovers(std::size_t count);
  // Lets a supervisor that adopts the run find its container.
  void note_container(spool::ContainerAddress container);
  // Notes that a source is unavailable, before finish(); without a reason it does nothing.
  void note_unavailable(const std::string& source, const std::string& reason);
  void note_tags(const std::vector<std::pair<std::string, std::string>>& tags);
  void note_outcome(const Outcome& outcome);
  // The state of the run, for its scheduler.
  [[nodiscard]] Progress progress();
  // The URL of the run's page; empty: not known yet.
  [[nodiscard]] std::string page() const { return uploading_.page(); }

 private:
  // The server's answer to GET /runs/RUN`below`.
  [[nodiscard]] std::optional<Json> ask(std::string_view below) const;
  Recording(const Options& options, Notices& notices, spool::RunDirectory directory,
            spool::Journal journal, Relay relay);
  static Result<std::unique_ptr<Recording>> join(const Options& options, Notices& notices,
                                                 spool::RunDirectory& directory,
                                                 Result<Relay> relay);
  Result<> start_threads(bool describes);
  // Starts a thread that waits for begin(). If it cannot be started, the run lacks `what`.
  void start_aside(std::jthread& thread, std::string_view what,
                   std::function<void(const std::stop_token&)> work);
  void lacks(const std::string& what, const Error& error);
  void note_health(std::span<const codec::Health> health);
  // Notes that `part` works, but is not recorded.
  void not_captured(const std::string& part, const std::string& reason);
  bool follow_output(BootTime& next_store);
  void spool_loop(const std::stop_token& stop);
  void sample_duties();
  [[nodiscard]] bool waits_for_turn() const { return lanes_ != nullptr && host_.waits(); }
  void try_measuring_host();
  void source_duties();
  void report_lanes();
  Result<> open_lanes(pid_t child, collect::PerfCounters perf);
  void open_sources();
  void open_event_tail();
  void take_events();
  void open_stall_watch(pid_t child);
  void start_collecting();
  void start_sources();
  void report_stalls();
  void report_strays();
  void report_problem(const collect::foreign::Problem& problem);
  // Passes output on to the sources that look for values in it. True when nothing is left.
  bool show_output();
  void end_collecting();
  void end_sources();
  void note_cost(BootTime end);
  void describe(const Command& command, const std::stop_token& stop);
  void describe_end(const Command& command, const std::stop_token& stop,
                    const std::vector<codec::Fact>& facts, set_up::KeptCode& code);
  void start_tracking();
  void report_losses();

  // Constant after construction; Notices, Journal, Delivery and Uploading are thread-safe.
  const Options& options_;
  Notices& notices_;
  spool::RunDirectory directory_;
  spool::Journal journal_;

  // Used only by the spooler, and by the main thread before start() and after stop_spooler().
  Relay relay_;
  void (*on_spooler_)(Relay&) noexcept = nullptr;
  SamplingLock workload_lock_;
  HostMeasuring host_;
  SeriesIds series_ids_;
  ProgressWatch progress_;
  std::unique_ptr<collect::Lanes> lanes_;
  std::vector<bool> reported_unavailable_;  // by lane
  std::optional<MetricsFeed> feed_;
  collect::foreign::PointQueue points_;
  PointFeed point_feed_{points_, series_ids_};
  std::unique_ptr<collect::foreign::ForeignSources> sources_;
  std::unique_ptr<OtlpSources> otlp_;
  std::unique_ptr<EventTail> event_tail_;
  std::unique_ptr<collect::StallWatch> stalls_;
  std::string summary_;

  // Any thread.
  sys::Fd wake_;  // eventfd: eventfd: wakes the spooler
  Delivery delivery_;
  Uploading uploading_{{.options = options_,
                        .notices = notices_,
                        .directory = directory_,
                        .journal = journal_,
                        .progress = progress_,
                        .delivery = delivery_,
                        .points = points_}};
  std::optional<Tracking> tracking_;

  // Written by the main thread before begun_ is counted down, read by the others after it.
  std::optional<Command> command_;
  std::int64_t started_ns_ = 0;  // start of the command, ns since 1970
  std::latch begun_{1};
  bool has_begun_ = false;
  bool abandoned_ = false;  // set before begun_ is

  int failed_waits_ = 0;  // only the main thread
  // Losses that were reported to the user; only the spooler, and the main thread after it.
  std::uint64_t reported_drops_ = 0;
  std::uint64_t reported_ticks_ = 0;
  std::uint64_t reported_points_ = 0;

  // The threads come last: they use everything above.
  std::jthread spooler_;
  std::jthread uploader_;
  std::jthread describer_;
  std::jthread artifact_sender_;
};

}  // namespace corral::run
