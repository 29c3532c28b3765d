// UdpSenders: the owner of the socket from which a datagram of the loopback came, from
// /proc/net/udp.
//
// The kernel says nothing of the sender with a UDP datagram. Its table names the user of every
// socket that is open, so a sender that closed its socket at once is not known. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/time.h"

namespace corral::collect::foreign {

// Users of the sockets at each local port.
using PortUsers = std::unordered_map<std::uint16_t, std::vector<uid_t>>;
// Adds those of a /proc/net/udp or udp6; lines that are none are passed over.
void read_udp_table(std::string_view text, PortUsers& users);

class UdpSenders {
 public:
  // `user` and root may send.
  explicit UdpSenders(uid_t user) : user_(user) {}
  // Returns true if only sockets of other users have this port; nothing if no socket has it any
  // more. Reads the table when it is older than a second, and once at each `now` for a port that is
  // new.
  std::optional<bool> is_stranger(std::uint16_t port, BootTime now);

 private:
  void read(BootTime now);

  uid_t user_;
  PortUsers users_;
  BootTime read_at_{};
};

}  // namespace corral::collect::foreign
