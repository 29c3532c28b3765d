// Every limit that more than one layer must agree on, with its reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corral::limits {

// Names (metrics, phases, params, tags, experiments): long enough for nested module paths, short
// enough for one line of an index.
inline constexpr std::size_t kNameBytes = 250;
// A param, tag or attribute value, as MLflow 3 allows for params.
inline constexpr std::size_t kValueBytes = 6000;
// A param's or a tag's value in a frame: 8,000 characters, as MLflow allows for tags.
inline constexpr std::size_t kFactBytes = 4 * 8000;
// Attributes of one phase or event.
inline constexpr std::size_t kAttributes = 64;

// One frame, header included, before compression. A flush of 5,000 series at 10 Hz is 0.4 MB; a log
// chunk is at most 64 KiB.
inline constexpr std::size_t kFrameBytes = 4u << 20;
// A request body. Holds many frames; bounds what one client can make the server hold.
inline constexpr std::size_t kBodyBytes = 64u << 20;
static_assert(kBodyBytes >= 8 * kFrameBytes);
// Bodies of all connections of a server together, unless --max-memory says otherwise.
inline constexpr std::size_t kBodyMemory = 4 * kBodyBytes;
// Series of one session; a schema is held in memory on both sides.
inline constexpr std::uint32_t kSeriesPerSession = 1u << 20;
// Bytes of one log chunk inside a frame.
inline constexpr std::size_t kLogChunkBytes = 64u << 10;

// The part that is kept of each output stream of a run; the gap between head and tail is stated
// wherever the output is shown.
inline constexpr std::int64_t kLogHeadBytes = 8ll << 20;
inline constexpr std::int64_t kLogTailBytes = 8ll << 20;

// A run's share of the spool unless --spool-limit is given: a day of 5,000 points/s without any
// server.
inline constexpr std::int64_t kSpoolBytes = 2ll << 30;

// Ports that an unconfigured server tries, in order.
inline constexpr std::uint16_t kFirstPort = 5000;
inline constexpr std::uint16_t kLastPort = 5099;

}  // namespace corral::limits
