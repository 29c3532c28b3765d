// Segment files, version 1: constants and packed layout (docs/format-segment.md).
//
// The writer (in a training process, also inside the Python module) and the reader (supervisor)
// share this and nothing else. It needs only the standard headers and crc32c, so that the Python
// module links nothing of Corral. Sizes and offsets in bytes; numbers lie in memory as in the file
// (little-endian).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "codec/crc32c.h"

namespace corral::spool {

static_assert(std::endian::native == std::endian::little,
              "segments are stored as they lie in memory");

inline constexpr unsigned char kSegmentMagic[4] = {'C', 'R', 'S', 'G'};
inline constexpr std::uint16_t kSegmentVersion = 1;
inline constexpr std::size_t kSegmentHeaderBytes = 4096;
inline constexpr std::size_t kSlotBytes = 32;
inline constexpr std::size_t kHostBytes = 128;

// Sizes of whole files: the first of a session, and what doubling stops at.
inline constexpr std::uint64_t kFirstSegmentBytes = 256u << 10;
inline constexpr std::uint64_t kLargestSegmentBytes = 4u << 20;
// Limit that a reader accepts: room for later versions of the writer, no room for a corrupt header
// to ask for all memory.
inline constexpr std::uint64_t kSegmentSlotsLimit = 1u << 22;
inline constexpr std::uint64_t kSmallestSegmentSlots = 64;

inline constexpr std::size_t kTextPayloadBytes = 65'536;
inline constexpr std::size_t kHeadBytes = 20;          // bytes of a payload in the head slot
inline constexpr std::size_t kContinuationBytes = 24;  // bytes of a payload in each further slot

// As core/limits.h; kept here too because the Python module sees no other layer (segment_reader.cpp
// asserts that they agree).
inline constexpr std::size_t kSegmentNameBytes = 250;
inline constexpr std::uint32_t kSegmentSeriesLimit = 1u << 20;
inline constexpr std::size_t kSegmentLinks = 64;

// The shared counter of refused calls: 512 cells of 8 bytes. Cell 0 is added to atomically; writers
// without an atomic addition add to one of the others under a POSIX lock on that cell. The count is
// the sum of all.
inline constexpr const char* kDropsName = "drops";
inline constexpr std::size_t kDropsBytes = 4096;

struct SegmentHeaderLayout {
  unsigned char magic[4];
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint32_t slot_bytes;
  std::uint32_t zero;
  std::uint8_t session[16];
  std::uint8_t run[16];
  std::uint32_t index;
  std::uint32_t pid;
  std::uint64_t base;
  std::uint64_t slots;
  std::uint64_t start_time;
  std::int64_t utc_minus_boot;
  std::int64_t anchor_error;
  std::int64_t session_began;
  std::int64_t rank;
  std::uint8_t boot_id[16];
  char host[kHostBytes];
  std::uint8_t reserved[764];
  std::uint32_t crc;
  std::uint64_t used;
};
static_assert(std::is_trivially_copyable_v<SegmentHeaderLayout>);
static_assert(sizeof(SegmentHeaderLayout) == 1032);
static_assert(offsetof(SegmentHeaderLayout, session) == 16);
static_assert(offsetof(SegmentHeaderLayout, base) == 56);
static_assert(offsetof(SegmentHeaderLayout, rank) == 104);
static_assert(offsetof(SegmentHeaderLayout, boot_id) == 112);
static_assert(offsetof(SegmentHeaderLayout, host) == 128);
static_assert(offsetof(SegmentHeaderLayout, crc) == 1020);
static_assert(offsetof(SegmentHeaderLayout, used) == 1024);
// In `used`: no segment of the session follows, though its process may go on.
inline constexpr std::uint64_t kSessionEnded = std::uint64_t{1} << 63;

enum class SlotKind : std::uint8_t { kPoint = 1, kText = 2, kContinuation = 3 };
inline constexpr std::uint8_t kHasStep = 1;  // byte 1 of a point's commit word

enum class RecordType : std::uint8_t {
  kSeries = 1,
  kParam = 2,
  kTag = 3,
  kEvent = 4,
  kPhaseBegin = 5,
  kPhaseEnd = 6,
};

// The first eight bytes of a slot, stored last as one word.
struct CommitWord {
  std::uint8_t kind;
  std::uint8_t detail;
  std::uint16_t check;
  std::uint32_t number;
};
static_assert(sizeof(CommitWord) == 8);

struct PointBody {
  std::int64_t time;
  std::int64_t step;
  double value;
};
struct TextHeadBody {
  std::uint32_t crc;
  std::uint8_t payload[kHeadBytes];
};
static_assert(sizeof(PointBody) == kSlotBytes - sizeof(CommitWord));
static_assert(sizeof(TextHeadBody) == kSlotBytes - sizeof(CommitWord));

constexpr std::uint64_t slots_of_text(std::size_t payload) {
  return payload <= kHeadBytes
             ? 1
             : 1 + (payload - kHeadBytes + kContinuationBytes - 1) / kContinuationBytes;
}

// Low 16 bits of crc32c over the series and the body: bytes 4-31 of a point's slot.
inline std::uint16_t point_check(std::uint32_t series, const PointBody& body) {
  const std::uint32_t head = codec::crc32c(&series, sizeof series);
  return static_cast<std::uint16_t>(codec::crc32c(&body, sizeof body, head) & 0xFFFFu);
}

}  // namespace corral::spool
