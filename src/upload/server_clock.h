// ServerClock: how far a session's clock is from its server's.
//
// One measurement asks the server for its time up to eight times, for half a second, and takes the
// quickest answer. The server's time lies between the moments of asking and of hearing, so half of
// what is between them bounds the error, whatever the network does. One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/result.h"
#include "core/time.h"
#include "sys/clock.h"
#include "sys/http_client.h"

namespace corral::upload {

struct ServerTime {
  UtcTime now;
  std::string boot;  // sys::boot_id() of the machine that the clock is in; empty: another one
};
// kNotFound: a server from before this version.
Result<ServerTime> ask_server_time(sys::HttpClient& server, Nanos patience);

struct ClockReading {
  BootTime at;
  Nanos offset;  // the server's clock minus the session's; positive: the session's is behind
  Nanos error;   // the true offset differs by at most this
};

class ServerClock {
 public:
  static constexpr Nanos kPause{std::chrono::seconds(16)};  // between two measurements
  // Before a server is asked again that has no clock to compare with.
  static constexpr Nanos kLongPause{std::chrono::minutes(10)};
  static constexpr int kTries = 8;
  static constexpr Nanos kBudget{std::chrono::milliseconds(500)};  // for all tries
  using Ask = std::function<Result<ServerTime>(Nanos patience)>;

  // `session`: what makes UTC of the session's times. `boot`: a server of this boot has the same
  // clock, which is not measured; empty: there is none. `clock` outlives this.
  ServerClock(const ClockAnchor& session, std::string boot, sys::Clock& clock)
      : session_(session), boot_(std::move(boot)), clock_(clock) {}

  // Measures if it is time to. nullopt: it is not, or the server did not tell its time.
  std::optional<ClockReading> step(const Ask& ask);

 private:
  // Asks once, and again not before next_ if that is of no use.
  std::optional<ClockReading> ask_once(const Ask& ask, Nanos patience);

  const ClockAnchor session_;
  const std::string boot_;
  sys::Clock& clock_;
  BootTime next_{};           // time of the next measurement
  Nanos last_{Nanos::max()};  // error of the last one
};

}  // namespace corral::upload
