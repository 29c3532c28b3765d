// Mutex and Lock: std::mutex and a scoped lock of it, with clang's annotations.
#pragma once

#include <mutex>

#include "core/thread_annotations.h"

namespace corral {

class CAPABILITY("mutex") Mutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }
  bool try_lock() TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class Lock;
  std::mutex mutex_;
};

// Holds a mutex until the end of the scope, except between unlock() and lock().
//
// A std::condition_variable_any waits on the lock itself, a std::condition_variable on native().
// Both return with the mutex held, as the analysis assumes.
class SCOPED_CAPABILITY Lock {
 public:
  explicit Lock(Mutex& mutex) ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() RELEASE() {}  // written out because a default has no attribute

  void lock() ACQUIRE() { lock_.lock(); }
  void unlock() RELEASE() { lock_.unlock(); }
  std::unique_lock<std::mutex>& native() { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace corral
