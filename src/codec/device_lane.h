// Names of the phases that a profiler's trace says of devices: who imports a trace writes them,
// and who explains a run reads them (docs/import.md). Pure.
#pragma once

#include <string>
#include <string_view>

namespace corral::codec {

// Attribute of a device's phase: how long after its launch it began, in ns. May be negative, where
// the clocks of host and device differ.
inline constexpr std::string_view kQueuedAttribute = "queued_ns";
// The phase around all of a trace, and the end of its lane: "node7/rank0/profiler/trace".
inline constexpr std::string_view kTracePhase = "profiled";
inline constexpr std::string_view kTraceLane = "profiler/trace";

// "GPU 1/stream 7", the end of a stream's lane.
inline std::string stream_lane(std::string_view device, std::string_view stream) {
  return "GPU " + std::string(device) + "/stream " + std::string(stream);
}
// "node7/rank0/GPU 1" of such a lane; empty: it is no stream's.
inline std::string_view device_of_lane(std::string_view lane) {
  const std::size_t stream = lane.rfind("/stream ");
  if (stream == std::string_view::npos) return {};
  const std::string_view device = lane.substr(0, stream);
  const std::size_t name = device.rfind('/');
  const bool is_device =
      name != std::string_view::npos && device.substr(name + 1).starts_with("GPU ");
  return is_device ? device : std::string_view();
}

}  // namespace corral::codec
