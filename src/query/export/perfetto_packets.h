// Packets of a Perfetto trace: TracePacket of protos/perfetto/trace, with the few messages in it
// that Corral needs. Pure, one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "codec/protobuf.h"
#include "core/json.h"
#include "store/store.h"

namespace corral::query::perfetto {

// Uuids of tracks: the process, then one by one.
inline constexpr std::uint64_t kProcessTrack = 1;

struct Track {
  std::uint64_t uuid = 0;
  std::int64_t thread = 0;  // threads of a process are ordered by it
  std::string_view name;
};

// Each appends one packet.
void put_process(std::string& out, std::string_view name);
void put_thread_track(std::string& out, const Track& track);
void put_counter_track(std::string& out, const Track& track, std::string_view unit);
void put_counter(std::string& out, std::uint64_t track, std::int64_t time_ns, double value);
void put_instant(std::string& out, std::uint64_t track, const store::StoredEvent& event);
// A begin, and an end where the phase has one.
void put_slice(std::string& out, std::uint64_t track, const store::Phase& phase,
               std::span<const std::uint64_t> flows);

}  // namespace corral::query::perfetto
