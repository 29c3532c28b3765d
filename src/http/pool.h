// Pool: threads that run the work posted to them. Internal to this folder; includes Boost.
//
// Unlike asio::thread_pool it starts its threads in start(), not in its constructor: when the
// system has no more threads to give, those that were started end with join() and nothing hangs.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/result.h"

namespace corral::http {

class Pool {
 public:
  enum class Priority : std::uint8_t { kNormal, kLow };
  explicit Pool(int threads, Priority priority = Priority::kNormal)
      : wanted_(threads), priority_(priority), context_(threads), work_(context_.get_executor()) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { join(); }

  // kUnavailable: not all threads could be started; join() ends the others.
  Result<> start(std::string_view who);
  // Any thread, also before start() and after join(): work that no thread runs any more is
  // destroyed with the pool.
  template <class Work>
  void post(Work work) {
    boost::asio::post(context_, std::move(work));
  }
  [[nodiscard]] boost::asio::io_context& context() { return context_; }
  // Returns when all work is done and every thread has ended. Not on a thread of the pool.
  void join();

 private:
  int wanted_;
  Priority priority_;
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::vector<std::jthread> threads_;
};

}  // namespace corral::http
