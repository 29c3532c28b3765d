// Parsers for listener "node": text in, numbers out; no I/O, no allocation, any bytes accepted.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace corral::collect::node {

// A line "Node 0 KEY:  123 kB" of a NUMA node's meminfo: KiB, or 0 pages where there is no unit.
// False when there is none.
bool parse_node_value(std::string_view text, std::string_view key, std::uint64_t& value);

// One NFS mount of /proc/self/mountstats.
struct NfsMount {
  std::string_view point;         // as in the text: blanks are \040
  std::uint64_t read_bytes = 0;   // that came from the server
  std::uint64_t write_bytes = 0;  // that went to the server
  std::uint64_t operations = 0;   // operations of all kinds
  std::uint64_t retransmits = 0;  // requests that were sent again
  std::uint64_t rtt_ms = 0;       // between sending requests and their answers, added up
  std::uint64_t total_ms = 0;     // from making requests to their end, queues included
};
// Fills `out` until it is full; returns how many it filled.
std::size_t parse_mountstats(std::string_view text, std::span<NfsMount> out);

}  // namespace corral::collect::node
