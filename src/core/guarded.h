// Guarded<T>: a value that is accessible only while its mutex is held.
#pragma once

#include <utility>

#include "core/mutex.h"

namespace corral {

template <class T>
class Guarded {
 public:
  Guarded() = default;
  explicit Guarded(T value) : value_(std::move(value)) {}

  // Calls fn(T&) with the mutex held and returns its result. `fn` must be short and do no I/O.
  template <class Fn>
  decltype(auto) with(Fn&& fn) {
    const Lock lock(mutex_);
    return std::forward<Fn>(fn)(value_);
  }
  template <class Fn>
  decltype(auto) with(Fn&& fn) const {
    const Lock lock(mutex_);
    return std::forward<Fn>(fn)(value_);
  }

 private:
  mutable Mutex mutex_;
  T value_ GUARDED_BY(mutex_){};
};

}  // namespace corral
