// The last catch of every thread: an exception ends the piece of work that it came from, never the
// process.
//
//   std::jthread([this](const std::stop_token& stop) {
//     sys::guard_loop("the uploader", stop, [&] { loop(stop); });
//   });
//
// A failure is counted, and reported in one line on standard error, at most one line a second:
// clients that can provoke failures cannot fill a disk with them. Any thread.
#pragma once

#include <signal.h>

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>

#include "core/result.h"

namespace corral::sys {

// Failures of this process that a guard has caught so far.
std::uint64_t thread_failures() noexcept;

// Counts and reports a failure of `who` ("the writer").
void note_thread_failure(std::string_view who, std::string_view what) noexcept;

// Waits for a moment, so that work that always fails does not spin; false: `stop` was requested.
bool pause_after_failure(const std::stop_token& stop) noexcept;

// Calls `work` once. False: it threw.
template <class Work>
bool guard_call(std::string_view who, Work&& work) noexcept {
  try {
    work();
    return true;
  } catch (const std::exception& e) {
    note_thread_failure(who, e.what());
  } catch (...) {
    note_thread_failure(who, "unknown exception");
  }
  return false;
}

// Calls `work` until a call of it returns, or throws when `stop` was requested.
template <class Work>
void guard_loop(std::string_view who, const std::stop_token& stop, Work&& work) noexcept {
  while (!guard_call(who, work) && pause_after_failure(stop)) {
  }
}

// Why a thread for `who` could not be started.
Error no_thread(std::string_view who, std::string_view why);

// Blocks all signals for the calling thread, but for those of its own faults, and unblocks them in
// its destructor: threads that are started meanwhile leave signals to the others.
class SignalsBlocked {
 public:
  SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked();

 private:
  sigset_t before_{};
};

// Starts a thread for `who` ("the writer"), which calls `work` and leaves signals to the thread
// that waits for them. kUnavailable: the system has none to give, because of a limit of processes
// or of memory.
template <class Work>
Result<std::jthread> start_thread(std::string_view who, Work&& work) {
  const SignalsBlocked blocked;
  try {
    return std::jthread(std::forward<Work>(work));
  } catch (const std::exception& e) {
    return tl::unexpected(no_thread(who, e.what()));
  }
}

// The same as start_thread() for a constructor, which can only throw: std::runtime_error with the
// error's message.
template <class Work>
std::jthread require_thread(std::string_view who, Work&& work) {
  auto thread = start_thread(who, std::forward<Work>(work));
  if (!thread) throw std::runtime_error(thread.error().message);
  return *std::move(thread);
}

}  // namespace corral::sys
