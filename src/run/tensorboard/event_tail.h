// EventTail: `corral run --tensorboard DIR`: the event files that the command writes below DIR,
// read as they grow.
//
// Flow: event files -> imports/event_file -> PointQueue, params and texts as notes for the
// journal, and images, sound, texts and histograms as files. A file is the run's if its first
// record is not older than the run. One thread, "corral-events", reads a bounded number of bytes a
// tick, and nothing while the queue is full: the file keeps what is not read yet. Nothing here can
// delay the run, except by the time that stop() may take.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "codec/frame.h"
#include "collect/foreign/emitter.h"
#include "collect/foreign/points.h"
#include "collect/foreign/problems.h"
#include "core/guarded.h"
#include "core/result.h"
#include "core/time.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace corral::run {

struct EventTailOptions {
  sys::fs::path directory;  // absolute; need not be there yet
  UtcTime begun;            // files from then on are the run's
  // Events before are not recorded: a former supervisor may have done so.
  UtcTime from;
  // Keeps a file of the run (core/media_name.h), on the thread of the tail; empty: media are left
  // out. An error leaves that one out.
  std::function<Result<>(const std::string& path, std::string_view content)> keep_medium{};
};

class EventTail {
 public:
  struct Notes {
    std::vector<codec::Fact> params;
    std::vector<codec::Event> texts;
  };

  EventTail(EventTailOptions options, collect::foreign::PointQueue& queue);
  ~EventTail();  // stops
  EventTail(const EventTail&) = delete;
  EventTail& operator=(const EventTail&) = delete;

  Result<> start();
  // Reads what is there, until the deadline, and ends. Harmless when not started or again.
  void stop(BootTime deadline);

  // New since the last call.
  Notes notes();
  std::vector<collect::foreign::Problem> problems() { return problems_.take(); }
  std::vector<metric::Health> health() { return problems_.take_health(); }

 private:
  struct File;
  class Handler;

  void serve();
  // Finds new files; at most once a second, as a directory may be slow.
  void look(BootTime now, bool at_once);
  void add(const sys::fs::path& path, const std::string& source);
  // Reads about so many bytes; true: there is more to read.
  bool read(std::size_t budget);
  bool read(File& file, std::size_t& budget);
  // Gives the complete records; false: the queue is full.
  bool give_records(File& file);
  bool is_of_run(File& file, std::string_view first_record);
  void give_up(File& file, const std::string& reason);

  const EventTailOptions options_;
  collect::foreign::PointQueue& queue_;
  collect::foreign::ProblemBox problems_;
  collect::foreign::Emitter emitter_;
  Guarded<Notes> notes_;
  // The thread's.
  Nanos utc_minus_boot_{};
  std::set<sys::fs::path> known_;
  std::vector<std::unique_ptr<File>> files_;
  std::size_t next_ = 0;  // the file that is read first
  BootTime look_due_{};
  std::string buffer_;
  std::map<std::string, std::uint64_t, std::less<>> left_out_;

  sys::Fd wake_;  // eventfd: readable from stop() on
  std::atomic<bool> stopping_{false};
  std::atomic<BootTime> deadline_{BootTime::max()};
  std::jthread thread_;
};

}  // namespace corral::run
