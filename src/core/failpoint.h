// Failpoints: places where a test makes the process die, to examine its remains.
//
// A place is `failpoint::reach("writer.before_commit");`, one relaxed load when nothing is armed.
// Nothing in a program arms one: test programs do, by name and by how many times it is to be passed
// before ("name" or "name:3"). The process then ends at once, as by kill -9: no destructor runs, no
// buffer is written. Any thread; arm before the threads start.
#pragma once

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>

namespace corral::failpoint {

// Exit status of a process that ended at one.
inline constexpr int kExitStatus = 86;

namespace detail {
struct Armed {
  std::string name;
  std::atomic<long> passes = 0;  // left before it ends
};
inline std::atomic<bool> any_armed = false;
inline Armed armed;

inline void reached(std::string_view name) {
  if (name == armed.name && armed.passes.fetch_sub(1) <= 0) std::_Exit(kExitStatus);
}
}  // namespace detail

inline void reach(std::string_view name) {
  if (detail::any_armed.load(std::memory_order_relaxed)) [[unlikely]]
    detail::reached(name);
}

// "name" or "name:passes"; empty: none.
inline void arm(const std::string& text) {
  const std::size_t colon = text.find(':');
  detail::armed.name = text.substr(0, colon);
  detail::armed.passes = colon == std::string::npos ? 0 : std::atol(text.c_str() + colon + 1);
  detail::any_armed = !text.empty();
}

// Arms the failpoint that CORRAL_FAILPOINT names.
inline void arm_from_environment() {
  const char* text = std::getenv("CORRAL_FAILPOINT");
  if (text != nullptr) arm(text);
}

}  // namespace corral::failpoint
