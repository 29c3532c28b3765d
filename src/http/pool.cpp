#include "http/pool.h"

#include <sys/resource.h>

#include <algorithm>

#include "sys/thread_guard.h"

namespace corral::http {
namespace {

// Below the other threads, whatever their priority is.
void lower_priority() {
  constexpr int kBelow = 10, kLowest = 19;
  const int own = ::getpriority(PRIO_PROCESS, 0);
  ::setpriority(PRIO_PROCESS, 0, std::min(own + kBelow, kLowest));
}

}  // namespace

Result<> Pool::start(std::string_view who) {
  threads_.reserve(static_cast<std::size_t>(wanted_));
  for (int i = 0; i < wanted_; ++i) {
    // An exception that comes out of run() has destroyed its handler, and with it the connection,
    // if nothing else of that was under way; the others go on.
    threads_.push_back(TRY(sys::start_thread(who, [&context = context_, priority = priority_] {
      // Linux counts it for each thread; where it is refused, the work is not slower.
      if (priority == Priority::kLow) lower_priority();
      while (!sys::guard_call("a pool of the HTTP server", [&] { context.run(); })) {
      }
    })));
  }
  return {};
}

void Pool::join() {
  work_.reset();
  for (std::jthread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace corral::http
