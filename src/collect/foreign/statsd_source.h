// StatsdSource's socket: datagrams -> gauges, counters and values.
//
// Counts are totals, kept even if points are dropped; gauges and totals that changed are recorded
// ten times a second, values (times) one by one.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>

#include "collect/foreign/config.h"
#include "collect/foreign/emitter.h"
#include "collect/foreign/part.h"
#include "collect/foreign/statsd_address.h"
#include "collect/foreign/statsd_packet.h"
#include "collect/foreign/udp_senders.h"
#include "sys/fd.h"

namespace corral::collect::foreign {

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
