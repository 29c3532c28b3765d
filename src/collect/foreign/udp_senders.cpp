#include "collect/foreign/udp_senders.h"

#include <algorithm>
#include <charconv>

#include "collect/scan.h"
#include "core/text.h"
#include "sys/file.h"

namespace corral::collect::foreign {
namespace {

constexpr Nanos kBelieved{std::chrono::seconds(1)};
constexpr std::size_t kTableBytes = 4u << 20;

}  // namespace

// "  sl  local_address rem_address st queues tr:when retrnsmt uid ...", a line per socket; an
// address is in hexadecimal digits, "0100007F:1F90".
void read_udp_table(std::string_view text, PortUsers& users) {
  for (const std::string_view line : split(text, '\n')) {
    Scanner scan(line);
    scan.word();
    const std::string_view local = scan.word();
    const std::size_t colon = local.rfind(':');
    if (colon == std::string_view::npos) continue;
    std::uint16_t port = 0;
    const char* end = local.data() + local.size();
    if (std::from_chars(local.data() + colon + 1, end, port, 16).ptr != end) continue;
    for (int skipped = 0; skipped < 5; ++skipped) scan.word();
    std::uint64_t user = 0;
    if (scan.number(user)) users[port].push_back(static_cast<uid_t>(user));
  }
}

void UdpSenders::read(BootTime now) {
  users_.clear();
  for (const char* file : {"/proc/self/net/udp", "/proc/self/net/udp6"}) {
    const auto text = sys::read_file(file, kTableBytes);
    if (text) read_udp_table(*text, users_);
  }
  read_at_ = now;
}

std::optional<bool> UdpSenders::is_stranger(std::uint16_t port, BootTime now) {
  if (now - read_at_ > kBelieved || (!users_.contains(port) && now != read_at_)) read(now);
  const auto found = users_.find(port);
  if (found == users_.end()) return std::nullopt;
  return std::ranges::none_of(found->second,
                              [this](uid_t user) { return user == user_ || user == 0; });
}

}  // namespace corral::collect::foreign
