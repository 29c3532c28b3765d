// Lanes: the samplers of one run. One thread reads the host's files; each listener that asks a
// vendor's library has a thread, rows and clock of its own, so that a driver that blocks delays no
// other listener and one that hangs can be left behind.
//
// The host's lane is opened before the command starts, which takes about a millisecond; the others
// are opened by their own threads after start(). Used by the supervisor's threads as Sampler is.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collect/sampler/sampler.h"
#include "collect/sampler/ticks.h"
#include "core/result.h"
#include "core/time.h"

namespace corral::collect {

class Lanes {
 public:
  // `options` for all: its listeners and entries are given to their lanes. Errors as
  // Sampler::open().
  static Result<std::unique_ptr<Lanes>> open(SamplerOptions options);

  [[nodiscard]] Sampler& host() { return *all_.front(); }
  // The host's first.
  [[nodiscard]] std::span<const std::unique_ptr<Sampler>> all() const { return all_; }

  // Returns an error if the host's lane cannot start; a device's lane that cannot start is a
  // problem, reported by take_problems().
  Result<> start();
  // The host's last sample; the others are asked for theirs.
  void stop_host();
  // Waits for all until the deadline; the listeners that have not come back are left behind.
  std::vector<std::string> stop(BootTime deadline);
  // Returns true if stop() left a thread behind: the process should then end by _exit, for a
  // library that hangs may hold locks that its destructors need.
  [[nodiscard]] bool left_behind() const { return left_behind_; }

  void set_host_sampling(bool on);
  void set_bytes_written(std::uint64_t bytes);
  std::vector<Problem> take_problems();

  struct Ticks {
    std::uint64_t due = 0;   // sampled or missed, of all lanes
    std::uint64_t late = 0;  // begun more than Lateness::kLate after they were due, or missed
    std::uint64_t dropped_rows = 0;
  };
  [[nodiscard]] Ticks ticks() const;
  // Adds the lateness of all lanes.
  void merge_lateness(Lateness& into) const;

 private:
  std::vector<std::unique_ptr<Sampler>> all_;
  std::vector<Problem> problems_;
  bool left_behind_ = false;
};

}  // namespace corral::collect
