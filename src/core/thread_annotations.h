// Annotations of mutexes, which clang proves (-Wthread-safety); empty for other compilers.
//
//   Mutex mutex_;
//   int count_ GUARDED_BY(mutex_) = 0;     // read and written only while mutex_ is held
//   void add() REQUIRES(mutex_);           // the caller holds it
//   void add_one() EXCLUDES(mutex_);       // the caller does not hold it
//   wake_.wait(lock, [this]() REQUIRES(mutex_) { return count_ > 0; });
//
// Mutex and Lock (core/mutex.h) carry the annotations that std::mutex lacks.
#pragma once

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
