// Part: something that the thread "corral-sources" serves: a command or a socket.
#pragma once

#include <poll.h>

#include <vector>

#include "core/time.h"

namespace corral::collect::foreign {

// All calls on that thread.
class Part {
 public:
  virtual ~Part() = default;
  // Appends what to wait for; a part may have nothing to wait for now.
  virtual void wait_for(std::vector<pollfd>& descriptors) const = 0;
  // Does the work that is due, reading available data; never waits.
  virtual void serve(BootTime now) = 0;
  // When serve() must be called though nothing is to be read.
  [[nodiscard]] virtual BootTime due() const = 0;
  // Asks it to end; done() turns true after some more serve().
  virtual void stop(BootTime now, BootTime deadline) = 0;
  [[nodiscard]] virtual bool done() const = 0;
};

inline constexpr BootTime kNever = BootTime::max();

}  // namespace corral::collect::foreign
