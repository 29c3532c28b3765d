// Parses /proc/PID/fdinfo/FD of an open GPU: the kernel's DRM client usage stats, as amdgpu, i915
// and xe write them. Text in, numbers out; no I/O, no allocation, any bytes accepted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace corral::collect::drm {

// A kind of engine; the driver defines its parts.
struct Engine {
  std::string_view name;           // "gfx", "render", "rcs"
  bool timed = false;              // busy_ns is there
  std::uint64_t busy_ns = 0;       // so far, of this client
  std::uint64_t cycles = 0;        // the same, where the driver counts in cycles,
  std::uint64_t total_cycles = 0;  // cycles that passed in total; 0: not reported
  std::uint64_t capacity = 1;      // engines of this kind; never 0
};

struct Usage {
  static constexpr std::size_t kMostEngines = 16;

  std::string_view device;  // PCI address; empty if not reported
  std::uint64_t client = 0;
  std::array<Engine, kMostEngines> engine_room{};
  std::size_t engine_count = 0;
  // Memory in use now: the device's own, or the machine's if the device has none.
  std::uint64_t memory_bytes = 0;
  bool memory_known = false;

  [[nodiscard]] std::span<const Engine> engines() const {
    return std::span(engine_room).first(engine_count);
  }
};

// False when the text is not of a GPU with a client's number. Views are of `text`.
bool parse_usage(std::string_view text, Usage& usage);

}  // namespace corral::collect::drm
