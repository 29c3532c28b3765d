// Listener "proc": the whole host. Nine kept-open files of /proc, read at every tick.
//
// CPUs, disks and interfaces are those that exist at open; one that goes away is missing from then
// on, one that comes later is recorded by the next run.
#pragma once

#include <memory>

#include "collect/listener.h"

namespace corral::collect {

std::unique_ptr<Listener> open_proc_listener(const ListenerContext& context, SeriesTable& table);

namespace proc {

// CPU time that rises no faster than its CPUs can work. The kernel counts it in ticks, so that two
// readings may differ by a tick too much for each CPU; that is left to the next reading.
class PacedTime {
 public:
  explicit PacedTime(Column column) : column_(column) {}
  void set(Row& row, double seconds, double cpus);

 private:
  Column column_;
  double told_ = 0;
  BootTime at_{};
};

}  // namespace proc

}  // namespace corral::collect
