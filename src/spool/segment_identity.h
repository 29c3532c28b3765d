// The part of a segment's header about its process: host, boot, start time, rank, clock anchor. By
// libc alone, without the heap: it runs inside the training process, possibly right after a fork.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corral::spool {

// Field 22 of /proc/PID/stat, in ticks since boot, with the state of field 3; zero and '\0' when
// there is no such process.
struct ProcessStart {
  std::uint64_t ticks = 0;
  char state = '\0';
};
ProcessStart process_start(std::uint32_t pid);

void read_boot_id(std::uint8_t (&id)[16]);
// 32 hex digits into 16 bytes; false and zeroes when it is anything else. Hyphens are skipped.
bool parse_hex_id(const char* text, std::uint8_t (&id)[16]);
void format_hex_id(const std::uint8_t (&id)[16], char (&text)[33]);
void random_bytes(void* data, std::size_t size);

struct Anchor {
  std::int64_t utc_minus_boot = 0;
  std::int64_t error = 0;
};
// As sys::read_anchor(), which this layer's Python build cannot link.
Anchor segment_anchor();

// A whole non-negative decimal number, else the fallback.
std::int64_t number_or(const char* text, std::int64_t fallback);

}  // namespace corral::spool
