// Script: frames of training hosts, made from a seed, and the contents that a store must then have.
//
// Several sessions of one run feed the same series: in order, late, with equal and with falling
// times, with steps that go back, with values of every kind, over clocks that were set back. A
// script keeps each frame that it made, so that it can tell the contents of a store that accepted a
// session's frames up to some number, and can send any frame again. The same seed makes the same
// frames in every process. One thread.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "store/test_frames.h"

namespace corral::store::faults {

using Random = std::mt19937_64;
using Durable = std::map<SessionId, std::uint64_t>;  // sessions that are not there: 0
using Frames = std::vector<codec::Frame>;

struct ScriptPoint {
  std::int64_t time = 0;  // UTC, ns
  std::optional<std::int64_t> step;
  std::uint64_t bits = 0;  // the bits of the value
  auto operator<=>(const ScriptPoint&) const = default;
};
// By name of the series, in order of arrival within a session.
using ScriptPoints = std::map<std::string, std::vector<ScriptPoint>>;

struct ScriptShape {
  int series = 4;
  std::size_t sessions = 4;
  std::size_t rows = 100;  // at most, per frame
  std::size_t large = 30;  // percent of frames that have up to so many rows; the rest, up to 8
};

class Script {
 public:
  explicit Script(std::uint64_t seed, ScriptShape shape = {});

  [[nodiscard]] RunId run() const { return run_; }
  // New frames for one append.
  Frames next();
  // The frames that were made before, once more.
  Frames again();
  // Every frame above these numbers, in order, as clients send them after a crash.
  [[nodiscard]] Frames above(const Durable& durable) const;
  [[nodiscard]] Durable sent() const;
  // True when no frame of any session ends beside these numbers.
  [[nodiscard]] bool ends_at(const Durable& durable) const;
  [[nodiscard]] ScriptPoints points(const Durable& durable) const;

 private:
  struct Sent {
    codec::Frame frame;
    std::vector<std::pair<std::string, ScriptPoint>> points;
  };
  struct Session {
    explicit Session(SessionId id) : writer(id) {}
    testing::SessionWriter writer;
    std::int64_t utc_minus_boot = 0;
    std::int64_t now = 1'000'000;  // boot time, ns
    std::optional<std::int64_t> step;
    std::vector<std::uint32_t> series;  // ids within the session
    std::vector<Sent> sent;
  };

  std::size_t pick(std::size_t count) { return random_() % count; }
  bool chance(std::size_t percent) { return pick(100) < percent; }
  template <class Id>
  Id id();
  void begin();
  void add_samples_frame(Session& session);
  codec::SampleGroup group(Session& session, Sent& sent);
  void fill_times(Session& session, codec::SampleGroup& group);
  double value();

  Random random_;
  ScriptShape shape_;
  RunId run_;
  std::deque<Session> sessions_;
};

}  // namespace corral::store::faults
