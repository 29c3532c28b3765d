// Mutex and Lock: std::mutex and a scoped lock of it, with clang's annotations.
//
// clang proves the annotations (-Wthread-safety); for other compilers they are empty.
//
//   Mutex mutex_;
//   int count_ GUARDED_BY(mutex_) = 0;     // read and written only while mutex_ is held
//   void add() REQUIRES(mutex_);           // the caller holds it
//   void add_one() EXCLUDES(mutex_);       // the caller does not hold it
//   wake_.wait(lock, [this]() REQUIRES(mutex_) { return count_ > 0; });
#pragma once

#include <mutex>

#if defined(__clang__)
#define CORRAL_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define CORRAL_THREAD_ANNOTATION(x)
#endif

#define CAPABILITY(name) CORRAL_THREAD_ANNOTATION(capability(name))
#define SCOPED_CAPABILITY CORRAL_THREAD_ANNOTATION(scoped_lockable)
#define GUARDED_BY(mutex) CORRAL_THREAD_ANNOTATION(guarded_by(mutex))
#define PT_GUARDED_BY(mutex) CORRAL_THREAD_ANNOTATION(pt_guarded_by(mutex))
#define REQUIRES(...) CORRAL_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) CORRAL_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) CORRAL_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) CORRAL_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define RELEASE(...) CORRAL_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS CORRAL_THREAD_ANNOTATION(no_thread_safety_analysis)

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
