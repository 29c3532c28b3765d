#include "collect/node/parse.h"

#include <array>

#include "collect/scan.h"

namespace corral::collect::node {
namespace {

// "device SERVER:/EXPORT mounted on POINT with fstype nfs4 statvers=1.1"; nothing for other lines
// and filesystems. The words are found from the ends, because a server may choose any export name.
std::string_view nfs_mount_point(std::string_view line) {
  constexpr std::string_view kOn = " mounted on ";
  constexpr std::string_view kType = " with fstype nfs";
  const std::size_t type = line.rfind(kType);
  if (!line.starts_with("device ") || type == std::string_view::npos) return {};
  const std::size_t on = line.rfind(kOn, type);
  if (on == std::string_view::npos || on + kOn.size() > type) return {};
  // The server's side, fstype nfsd, keeps no such numbers.
  const std::string_view after = line.substr(type + kType.size());
  if (!after.empty() && after.front() != ' ' && after.front() != '4' && after.front() != '3')
    return {};
  return line.substr(on + kOn.size(), type - on - kOn.size());
}

// "bytes:" normal read, write, direct read, write, server read, write, pages read, written.
void parse_bytes(Scanner& scan, NfsMount& mount) {
  std::array<std::uint64_t, 6> field{};
  if (!scan.numbers(field)) return;
  mount.read_bytes = field[4];
  mount.write_bytes = field[5];
}

// "READ:" operations, transmissions, timeouts, bytes sent, received, then ms queued, answered, all.
void parse_operation(Scanner& scan, NfsMount& mount) {
  std::array<std::uint64_t, 8> field{};
  if (!scan.numbers(field)) return;
  mount.operations += field[0];
  mount.retransmits += field[1] > field[0] ? field[1] - field[0] : 0;
  mount.rtt_ms += field[6];
  mount.total_ms += field[7];
}

}  // namespace

bool parse_node_value(std::string_view text, std::string_view key, std::uint64_t& value) {
  for (Scanner scan(text); !scan.done(); scan.line()) {
    std::uint64_t node = 0;
    if (scan.word() != "Node" || !scan.number(node) || scan.word(':') != key) continue;
    return scan.skip(':') && scan.number(value);
  }
  return false;
}

std::size_t parse_mountstats(std::string_view text, std::span<NfsMount> out) {
  std::size_t count = 0;
  bool of_nfs = false;
  bool operations = false;
  for (Scanner lines(text); !lines.done();) {
    const std::string_view line = lines.line();
    if (line.starts_with("device ")) {
      const std::string_view point = nfs_mount_point(line);
      of_nfs = !point.empty();
      operations = false;
      if (!of_nfs) continue;
      if (count == out.size()) return count;
      out[count] = {};
      out[count++].point = point;
      continue;
    }
    if (!of_nfs) continue;
    Scanner scan(line);
    const std::string_view word = scan.word(':');
    if (word == "per-op") operations = true;
    if (word.empty() || !scan.skip(':')) continue;
    if (operations) {
      parse_operation(scan, out[count - 1]);
    } else if (word == "bytes") {
      parse_bytes(scan, out[count - 1]);
    }
  }
  return count;
}

}  // namespace corral::collect::node
