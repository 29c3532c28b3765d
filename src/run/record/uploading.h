// Uploading: sends the spool of a run to the server, during the run and for a while after its end.
//
// One thread sends points and everything else that the journal holds; another sends files beside
// it, so that points never wait for files. Without a server the data stays in the spool, and the
// user is told once.
#pragma once

#include <atomic>
#include <memory>
#include <stop_token>
#include <string>

#include "collect/foreign/points.h"
#include "core/guarded.h"
#include "run/delivery.h"
#include "run/notices.h"
#include "run/options.h"
#include "run/progress.h"
#include "spool/journal.h"
#include "spool/run_directory.h"
#include "upload/finisher.h"
#include "upload/server_clock.h"
#include "upload/server_link.h"
#include "upload/uploader.h"

namespace corral::run {

// The run whose spool is sent; all of it outlives Uploading.
struct UploadedRun {
  const Options& options;
  Notices& notices;
  spool::RunDirectory& directory;
  spool::Journal& journal;
  ProgressWatch& progress;
  Delivery& delivery;
  collect::foreign::PointQueue& points;  // takes what is measured of the session's clock
};

class Uploading {
 public:
  explicit Uploading(const UploadedRun& run) : run_(run) {}

  // The work of the two threads; each returns at a stop, the first also when everything is stored.
  void send_points(const std::stop_token& stop);
  void send_files(const std::stop_token& stop);

  // Any thread. Nothing more comes to the journal once both were called.
  void note_end() { journal_open_ = false; }
  void note_described() { described_ = true; }

  // Any thread. True when everything has arrived and the spool is empty.
  [[nodiscard]] bool done() const { return uploaded_; }
  // True when the run has ended and the last round failed: the spool keeps everything for the next
  // server.
  [[nodiscard]] bool fails_at_the_end() const { return !server_reachable_ && !journal_open_; }
  // Ends a file's upload that is under way.
  void cancel_files() { cancel_files_ = true; }
  // The URL of the run; empty: not known yet.
  [[nodiscard]] std::string page() const {
    return page_.with([](const std::string& url) { return url; });
  }

 private:
  void announce(const std::string& server);
  [[nodiscard]] std::unique_ptr<upload::Finisher> remote_finisher() const;
  void report_problems(upload::Uploader& uploader);
  void measure_clock(upload::ServerClock& clock, upload::ServerLink& link);

  // Constant after construction.
  const UploadedRun run_;

  // Any thread.
  std::atomic<bool> journal_open_{true};
  std::atomic<bool> described_{false};
  std::atomic<bool> uploaded_{false};
  std::atomic<bool> cancel_files_{false};
  std::atomic<bool> server_reachable_{true};
  Guarded<std::string> page_;
};

}  // namespace corral::run
