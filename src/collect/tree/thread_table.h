// ThreadTable: the busiest threads of a run, once a second: CPU time, delay for want of a CPU, and
// what they wait for.
//
// The sums over a run do not tell one busy thread from two that take turns at a lock, nor an idle
// pool of threads from a working one. A thread has a place for as long as it lives, unless a
// busier one needs it, so that a place's sums are those of all threads that it had. One thread;
// walk() allocates nothing.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "collect/tree/parse.h"
#include "collect/tree/process_files.h"
#include "core/time.h"

namespace corral::collect::tree {

class ThreadTable {
 public:
  static constexpr std::size_t kPlaces = 32;
  // So many threads without a place are measured in one walk, about 5 us each; the next walk goes
  // on from there.
  static constexpr std::size_t kProbes = 128;

  struct Place {
    pid_t process = 0;
    pid_t thread = 0;  // 0: the place is free
    // Sums of all threads that had this place, in ns: from the walk before they got it on, or from
    // their begin if they began after the first walk. A thread that took it from another one counts
    // from then on.
    ThreadTimes times;
    // Estimates: each walk that finds the thread waiting counts the time since the walk before.
    std::array<std::uint64_t, kWaits> waited{};
    bool waits_known = false;  // the kernel tells what this thread waits for
  };

  explicit ThreadTable(const std::filesystem::path& root);

  // `processes` of the run. `now` is later at each call.
  void walk(std::span<const pid_t> processes, BootTime now);

  [[nodiscard]] std::span<const Place> places() const { return places_; }
  // The errno of the newest refusal to tell a living thread's system call; 0: none. A thread is
  // asked for only once after a refusal: each may be an entry in the log of a security module.
  [[nodiscard]] int refusal() const { return refusal_; }

 private:
  // Private part of the place with the same number.
  struct Seat {
    ThreadTimes last;
    double busy = 0;  // cores, since the walk before
    bool refused = false;
    std::array<sys::Fd, kThreadFiles> kept;
  };
  struct Probe {
    pid_t process;
    pid_t thread;
    ThreadTimes times;
  };

  void refresh(std::size_t at);
  bool has_given_up_memory(const Place& place);
  void note_wait(std::size_t at);
  void judge_probes();
  void choose_probes(std::span<const pid_t> processes);
  [[nodiscard]] bool began_since_last_walk(const ThreadTimes& now) const;
  void offer(const Probe& probe, const ThreadTimes& used);
  [[nodiscard]] bool has_place(pid_t thread) const;

  ProcessFiles files_;
  std::array<Place, kPlaces> places_{};
  std::array<Seat, kPlaces> seats_{};
  std::vector<Probe> probes_;      // read in this walk, judged in the next
  std::vector<Probe> next_;        // scratch
  std::vector<pid_t> thread_ids_;  // scratch
  std::size_t next_process_ = 0;   // the next probes begin here
  std::size_t next_thread_ = 0;
  bool probed_all_ = false;  // each thread without a place in the walk before is in probes_
  Nanos elapsed_{0};         // since the walk before; 0: there was none
  BootTime walked_{};
  int refusal_ = 0;
};

}  // namespace corral::collect::tree
