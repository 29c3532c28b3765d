// StatsdPart: the socket of a StatsdSource: datagrams -> gauges, counters and values.
//
// Counts are totals, kept even if points are dropped; gauges and totals that changed are recorded
// ten times a second, values (times) one by one.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collect/foreign/config.h"
#include "collect/foreign/emitter.h"
#include "collect/foreign/part.h"
#include "collect/foreign/statsd_address.h"
#include "core/time.h"
#include "sys/fd.h"

namespace corral::collect::foreign {

// statsd: one datagram -> its metrics. Pure.
//
// `name:value|type[|@rate][|#tags]`, one a line; several values as `name:1:2:3|ms`. Types: g
// (gauge; +n and -n change it), c (counter), ms, h and d (a value each: a time in ms, a number).
// Sets (s), events (_e) and checks (_sc) are not read.
enum class StatsdKind : std::uint8_t { kGauge, kGaugeChange, kCount, kTime, kValue };

struct StatsdMetric {
  std::string_view name;
  std::string_view tags;  // "k:v,k2:v2"
  StatsdKind kind = StatsdKind::kGauge;
  double value = 0;  // a count is divided by the sample rate; times in s
};

// The number of lines that are not understood. Views are valid during the call.
std::size_t read_statsd(std::string_view datagram,
                        const std::function<void(const StatsdMetric&)>& take);

// Users of the sockets at each local port.
using PortUsers = std::unordered_map<std::uint16_t, std::vector<uid_t>>;
// Adds those of a /proc/net/udp or udp6; lines that are none are passed over.
void read_udp_table(std::string_view text, PortUsers& users);

// UdpSenders: the owner of the socket from which a datagram of the loopback came, from
// /proc/net/udp.
//
// The kernel says nothing of the sender with a UDP datagram. Its table names the user of every
// socket that is open, so a sender that closed its socket at once is not known. One thread.
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

class StatsdPart : public Part {
 public:
  // Binds; kUnavailable when somebody else listens there.
  static Result<std::unique_ptr<StatsdPart>> open(const StatsdSource& source, PointQueue& queue,
                                                  ProblemBox& problems);
  ~StatsdPart() override;
  StatsdPart(const StatsdPart&) = delete;
  StatsdPart& operator=(const StatsdPart&) = delete;
  [[nodiscard]] std::string address() const { return address_.text(); }

  void wait_for(std::vector<pollfd>& descriptors) const override;
  void serve(BootTime now) override;
  [[nodiscard]] BootTime due() const override;
  void stop(BootTime now, BootTime deadline) override;
  [[nodiscard]] bool done() const override { return done_; }

 private:
  struct Kept {
    std::string name;
    std::string source;
    metric::Kind kind = metric::Kind::kGauge;
    double value = 0;
    BootTime time{};
    bool changed = false;
  };
  StatsdPart(const StatsdSource& source, StatsdAddress address, sys::Fd socket, PointQueue& queue,
             ProblemBox& problems);
  bool receive(BootTime now);
  // Reported and counted, if it is.
  bool is_of_stranger(const sockaddr_storage& from, BootTime now);
  void take(const StatsdMetric& metric, BootTime now);
  Kept* keep(const StatsdMetric& metric, metric::Kind kind);
  void flush();

  StatsdAddress address_;
  sys::Fd socket_;
  Emitter emitter_;
  std::uint32_t max_series_;
  std::unordered_map<std::string, Kept> kept_;  // by kind, name, NUL, source
  std::string source_;                          // source of the current metric
  std::vector<char> buffer_;
  UdpSenders senders_;
  std::uint32_t lost_ = 0;  // datagrams, as the kernel counts them
  BootTime next_flush_{};
  BootTime newest_{};   // newest time of a datagram
  BootTime read_at_{};  // they come too fast: not before
  bool changed_ = false;
  bool done_ = false;
};

}  // namespace corral::collect::foreign
