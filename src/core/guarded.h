// Guarded<T>: a value that can be reached only under its mutex.
#pragma once

#include <mutex>
#include <utility>

namespace corral {

template <class T>
class Guarded {
 public:
  Guarded() = default;
  explicit Guarded(T value) : value_(std::move(value)) {}

  // Calls fn(T&) under the lock and returns its result; keep fn short, no I/O in it.
  template <class Fn>
  decltype(auto) with(Fn&& fn) {
    const std::scoped_lock lock(mutex_);
    return std::forward<Fn>(fn)(value_);
  }
  template <class Fn>
  decltype(auto) with(Fn&& fn) const {
    const std::scoped_lock lock(mutex_);
    return std::forward<Fn>(fn)(value_);
  }

 private:
  mutable std::mutex mutex_;
  T value_{};
};

}  // namespace corral
