// Delivery: lets the relay wait until the server has everything that was spooled.
//
// The relay asks, the upload thread answers: a round of uploading that began after the question and
// left nothing unsent, or that failed. Only one thread finds and starts servers, and a relay
// without a server knows the reason at once. Any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <stop_token>

#include "core/mutex.h"
#include "core/result.h"
#include "core/time.h"

namespace corral::run {

class Delivery {
 public:
  // Relay: something was spooled.
  void note_written() { ++written_; }
  // Relay: returns when everything that was spooled before this call is stored, or with the upload
  // thread's error; kUnavailable when it takes longer than `patience`, or once `cancelled` is set
  // and wake() called.
  Result<> flush(Nanos patience, const std::atomic<bool>& cancelled);
  // The server did not answer, or does not know the run, though the last round went well: another
  // may have taken its place. The next flush() waits for a round that asks it what it has.
  void mark_dead();

  // Upload thread, before and after a round. True: mark_dead() was called.
  [[nodiscard]] bool begin();
  void end(const Result<bool>& idle);
  // Upload thread: a pause that ends early when a flush() waits, on wake(), on note_rows() and on a
  // stop. After a failure new rows do not end it.
  void pause(const std::stop_token& stop, Nanos length, bool after_failure = false);
  void wake();
  // Spooler: rows were spooled. A round now carries more than one at another time.
  void note_rows();
  // Upload thread: files wait in the spool; wakes wait_for_files().
  void note_files();
  // The thread that sends files. False: a stop, or close() was called.
  bool wait_for_files(const std::stop_token& stop);
  // Any other thread: a pause that ends early on a stop alone. False: close() was called.
  bool sleep(const std::stop_token& stop, Nanos length);
  // Ends all waits: no more rounds will come.
  void close();

 private:
  std::atomic<std::uint64_t> written_{1};
  std::atomic<std::uint64_t> stored_{0};  // value of written_ when the last good round began
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::condition_variable_any files_changed_;
  std::uint64_t asked_ GUARDED_BY(mutex_) = 0;
  std::uint64_t answered_ GUARDED_BY(mutex_) =
      0;                                        // questions that a finished round took into account
  std::uint64_t taken_ GUARDED_BY(mutex_) = 0;  // the same of the current round
  std::uint64_t round_written_ GUARDED_BY(mutex_) = 0;
  bool woken_ GUARDED_BY(mutex_) = false;
  bool rows_ GUARDED_BY(mutex_) = false;   // rows since the last pause
  bool files_ GUARDED_BY(mutex_) = false;  // not fetched by wait_for_files() yet
  bool dead_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;
  Result<> last_ GUARDED_BY(mutex_);
};

}  // namespace corral::run
