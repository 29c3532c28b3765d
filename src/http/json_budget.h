// JsonBudget: the memory that bodies take once they are read as JSON, of all connections together.
//
// Read, a document takes up to fifty times its length, so a request is handled only while it holds
// room for the most that its body may take (json_memory). It waits for that on the handler's
// thread: room is held by other handlers alone, never by a client that is slow. Documents get it in
// the order in which they asked; short ones take none. Any thread.
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
  // Bodies up to this length are not counted.
  static constexpr std::size_t kFreeBytes = 16u << 10;

  // Given back when it goes. Must not outlive its budget.
  struct GiveBack {
    std::size_t bytes = 0;
    void operator()(JsonBudget* budget) const { budget->give_back(bytes); }
  };
  using Room = std::unique_ptr<JsonBudget, GiveBack>;

  explicit JsonBudget(std::size_t total) : total_(total) {}

  // kTooLarge: the body can never be read. kUnavailable: there was no room within `patience`.
  Result<Room> take(std::string_view body, Nanos patience);

 private:
  void give_back(std::size_t bytes);

  const std::size_t total_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::size_t used_ GUARDED_BY(mutex_) = 0;
  std::list<std::size_t> waiting_
      GUARDED_BY(mutex_);  // the bytes that each needs; the first is served first
};

}  // namespace corral::http
