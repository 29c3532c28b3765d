#include "upload/server_clock.h"

#include <fmt/core.h>

#include "core/json.h"
#include "core/text.h"

namespace corral::upload {

Result<ServerTime> ask_server_time(sys::HttpClient& server, Nanos patience) {
  const sys::HttpReply reply =
      TRY(server.send({.path = "/api/corral/v1/clock", .body = {}, .timeout = patience}));
  if (reply.status != 200)
    return fail(reply.status == 404 ? Code::kNotFound : Code::kUnavailable,
                fmt::format("the server answered {}", reply.status));
  const Json json = TRY(Json::parse(reply.body));
  const auto now = parse_int(json.get_string("now_ns"));
  if (!now || *now <= 0) return fail(Code::kUnavailable, "the server told no time");
  return ServerTime{.now = utc_time(*now), .boot = json.get_string("boot")};
}

std::optional<ClockReading> ServerClock::ask_once(const Ask& ask, Nanos patience) {
  const BootTime asked = clock_.now();
  const auto server = ask(patience);
  const BootTime heard = clock_.now();
  const bool none =
      server ? !boot_.empty() && server->boot == boot_ : server.error().code == Code::kNotFound;
  if (none) next_ = heard + kLongPause;
  if (!server || none) return std::nullopt;
  const Nanos error = (heard - asked) / 2;
  const BootTime at = asked + error;
  // The nanosecond that the division may have lost.
  return ClockReading{
      .at = at, .offset = server->now - session_.to_utc(at), .error = error + Nanos(1)};
}

std::optional<ClockReading> ServerClock::step(const Ask& ask) {
  const BootTime begin = clock_.now();
  if (begin < next_) return std::nullopt;
  next_ = begin + kPause;
  std::optional<ClockReading> best;
  for (int i = 0; i < kTries; ++i) {
    const Nanos left = kBudget - (clock_.now() - begin);
    // libcurl's timeouts have whole milliseconds.
    const auto reading = left < std::chrono::milliseconds(1) ? std::nullopt : ask_once(ask, left);
    if (!reading) break;
    if (!best || reading->error < best->error) best = reading;
    // About as good as the last time: a quiet network costs one question.
    if (last_ != Nanos::max() && best->error <= last_ + last_ / 4) break;
  }
  if (best) last_ = best->error;
  return best;
}

}  // namespace corral::upload
