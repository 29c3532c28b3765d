// Slots of a segment -> records: the pure half of the segment reader, over bytes that anybody may
// have damaged.
//
// Nothing here does I/O, and nothing reads past its bytes: it is what fuzz/fuzz_segment.cpp runs.
// Records come out as the types of codec/frame.h, already within the limits that a frame's reader
// checks, so that one bad record can never make a whole frame refused. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "codec/frame.h"
#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"

namespace corral::spool {

struct SegmentHeader {
  SessionId session;
  RunId run;
  std::uint32_t index = 0;
  std::uint32_t pid = 0;
  std::uint64_t base = 1;  // sequence number of slot 0
  std::uint64_t slots = 0;
  std::uint64_t start_time = 0;  // start of the process, field 22 of /proc/PID/stat
  ClockAnchor anchor;
  BootTime session_began;
  std::optional<std::int64_t> rank;
  std::array<std::uint8_t, 16> boot_id{};
  std::string host;
};

struct Point {
  std::uint32_t series = 0;
  BootTime time;
  std::optional<std::int64_t> step;
  double value = 0;  // any bit pattern
};

// SeriesDef: owner run, gauge, mean, no source, no unit. Fact: param or tag. Event: origin "user",
// except one that reports the health of the capture (codec/health.h). PhaseRecord: `begin` or `end`
// is set.
using RecordBody =
    std::variant<Point, codec::SeriesDef, codec::Fact, codec::Event, codec::PhaseRecord>;

// A record and the slots that it takes.
struct Record {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  RecordBody body;
};

struct CorruptSlot {
  std::uint64_t sequence = 0;
  std::string why;
};

struct Batch {
  std::vector<Record> records;
  std::vector<CorruptSlot> corrupt;  // skipped; their slots are covered by `next` all the same
  // After the last slot of this batch that is not empty. Slots below it without a record are empty
  // or corrupt for good.
  std::uint64_t next = 0;
  // The first slot not looked at: as `next`, or further when what lies between is empty for good.
  // Readers go on at `next`.
  std::uint64_t looked_to = 0;
  // Set by SegmentReader::read: nothing is to come from this segment after `next`.
  bool end = false;
};

struct ParseOptions {
  std::uint64_t first = 1;  // sequence number of the first slot in the bytes
  std::size_t max_records = SIZE_MAX;
  bool alive = false;  // the writer may still fill empty slots: stop there
  bool last = true;    // no slots of this segment follow the bytes
};

// kUnsupported for a newer version, kCorruption for anything else that is not a segment's header.
Result<SegmentHeader> parse_segment_header(codec::ByteView bytes);
// `slots` is cut to whole slots.
Batch parse_slots(codec::ByteView slots, const ParseOptions& options);
// Returns the number of slots from the front that are committed whole, which a reader may take from
// a living writer.
std::uint64_t committed_slots(codec::ByteView slots);

}  // namespace corral::spool
