// Recording: everything that the supervisor does for a run beside watching its command.
//
// Two threads: the spooler passes output on, stores it and the sampler's rows in the spool; the
// uploader brings the spool to the server. (The sampler has its own.) None of them ever touches the
// command; whatever fails here is said once and the run goes on.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "collect/sampler.h"
#include "core/guarded.h"
#include "run/command.h"
#include "run/metrics_feed.h"
#include "run/notices.h"
#include "run/options.h"
#include "run/relay.h"
#include "run/workload_lock.h"
#include "spool/journal.h"
#include "spool/run_directory.h"
#include "sys/fd.h"

namespace corral::run {

class Recording {
 public:
  // Makes the run's directory in the spool and opens its files.
  static Result<std::unique_ptr<Recording>> open(const Options& options, Notices& notices);
  ~Recording();

  [[nodiscard]] RunId run() const { return directory_.manifest().run; }
  [[nodiscard]] const spool::RunDirectory& directory() const { return directory_; }
  [[nodiscard]] Relay& relay() { return relay_; }

  // After the command was forked: `perf` counts it. Opens the listeners.
  Result<> watch(pid_t child, collect::PerfCounters perf);
  // After its exec: starts the threads.
  void start(const Command& command);
  // The command never came to be.
  void discard();
  // Takes the last sample.
  void stop_sampling();
  // The run is over: takes the last sample and output, writes the end.
  void finish(const codec::RunEndBody& end);
  // Waits for the upload. True when everything arrived and the spool is empty; `give_up` is polled
  // between rounds.
  bool wait_uploaded(const std::function<bool()>& give_up);

  // Processes that outlived the command and were left running.
  void note_leftovers(std::size_t count);
  // Where the run can be seen, once known.
  [[nodiscard]] std::string page() const {
    return page_.with([](const std::string& url) { return url; });
  }

 private:
  Recording(const Options& options, Notices& notices, spool::RunDirectory directory,
            spool::Journal journal, Relay relay);
  void spool_loop(const std::stop_token& stop);
  void sample_duties();
  void upload_loop(const std::stop_token& stop, const Command& command);
  void report_losses();

  const Options& options_;
  Notices& notices_;
  spool::RunDirectory directory_;
  spool::Journal journal_;
  Relay relay_;
  WorkloadLock workload_lock_;
  std::unique_ptr<collect::Sampler> sampler_;
  std::optional<MetricsFeed> feed_;
  sys::Fd wake_;  // eventfd: ends the spooler's sleep
  std::atomic<bool> journal_open_{true};
  std::atomic<bool> uploaded_{false};
  std::atomic<bool> server_reachable_{true};
  Guarded<std::string> page_;
  int failed_waits_ = 0;
  std::uint64_t told_drops_ = 0;
  std::uint64_t told_ticks_ = 0;
  std::jthread spooler_;
  std::jthread uploader_;
};

}  // namespace corral::run
