// IoThread: a thread that moves the bytes of its connections. Internal to this folder; includes
// Boost.
//
// A connection stays with one of them: between several threads each of its operations would be
// handed on. A quick request is also handled there, because handing it on and back costs more than
// the answer. Not while another connection of the thread asks as well, whose request would wait:
// both are handled better beside each other.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "http/pool.h"

namespace corral::http {

class IoThread {
 public:
  [[nodiscard]] Pool& pool() { return pool_; }
  // Any thread.
  [[nodiscard]] bool busy() const { return busy_; }

  // The others only on this thread. True if the connection asks alone.
  bool asks_alone(std::uint64_t connection, std::chrono::steady_clock::time_point now);
  template <class Work>
  auto run(Work work) {
    const Busy busy(*this);
    return work();
  }

  // After a request that was not quick, none is handled here for a time, the longer it took.
  void took(std::chrono::steady_clock::time_point began,
            std::chrono::steady_clock::time_point ended);

 private:
  class Busy {
   public:
    explicit Busy(IoThread& thread) : thread_(thread) { thread_.busy_ = true; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    ~Busy() {
      thread_.busy_ = false;
      thread_.took(began_, std::chrono::steady_clock::now());
    }

   private:
    IoThread& thread_;
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  };

  std::uint64_t last_ = 0;  // the connection that asked last
  std::chrono::steady_clock::time_point not_before_{};
  std::atomic<bool> busy_{false};  // with a request
  Pool pool_{1};
};

}  // namespace corral::http
