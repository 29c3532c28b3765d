// JsonBudget: limits the memory that all connections together use for parsed JSON bodies.
//
// A parsed document takes up to fifty times its length, so a request is handled only while it holds
// room for the most that its body may take (json_memory). It waits for that room on the handler's
// thread: only other handlers hold room, never a slow client. Documents get room in the order in
// which they asked for it; short ones need none. Any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <list>
#include <memory>
#include <string_view>

#include "core/mutex.h"
#include "core/result.h"
#include "core/time.h"

namespace corral::http {

class JsonBudget {
 public:
  // Bodies up to this length need no room.
  static constexpr std::size_t kFreeBytes = 16u << 10;

  // Destroying a Room returns its bytes to the budget, which must outlive it.
  struct Release {
    std::size_t bytes = 0;
    void operator()(JsonBudget* budget) const { budget->release(bytes); }
  };
  using Room = std::unique_ptr<JsonBudget, Release>;

  explicit JsonBudget(std::size_t total) : total_(total) {}

  // kTooLarge: the body can never be parsed. kUnavailable: there was no room within `patience`.
  Result<Room> acquire(std::string_view body, Nanos patience);

 private:
  void release(std::size_t bytes);

  // Constant after construction.
  const std::size_t total_;

  Mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::size_t used_ GUARDED_BY(mutex_) = 0;
  // Each element is the number of bytes that a waiting document needs; the first is served first.
  std::list<std::size_t> waiting_ GUARDED_BY(mutex_);
};

}  // namespace corral::http
