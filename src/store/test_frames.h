// SessionWriter: frames of one session for tests, numbered as a real writer numbers them.
//
// The frames own their bytes for as long as the writer lives.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "codec/frame.h"
#include "store/test_reader.h"

namespace corral::store::testing {

inline constexpr std::int64_t kUtcMinusBoot = 1'700'000'000'000'000'000;
inline UtcTime utc(std::int64_t boot_ns) { return utc_time(boot_ns + kUtcMinusBoot); }

inline codec::SessionBody session_body(RunId run, std::string role = "process") {
  codec::SessionBody body;
  body.run = run;
  body.workload = own_workload_of(run);
  body.experiment = "digits";
  body.run_name = "calm-otter";
  body.host = "node7";
  body.role = std::move(role);
  body.pid = 4711;
  body.boot_id = "b";
  body.anchor = {.utc_minus_boot = Nanos(kUtcMinusBoot), .error = Nanos(100)};
  body.started = boot_time(1000);
  return body;
}

inline codec::SeriesDef series_def(std::uint32_t id, std::string name) {
  codec::SeriesDef def;
  def.id = id;
  def.name = std::move(name);
  return def;
}

inline codec::SamplesBody samples(std::uint32_t series,
                                  const std::vector<std::pair<std::int64_t, double>>& points,
                                  std::vector<std::int64_t> steps = {}) {
  codec::SampleGroup group;
  codec::Column column{.series = series, .present = {}, .values = {}};
  for (const auto& [time, value] : points) {
    group.times.push_back(boot_time(time));
    column.values.push_back(value);
  }
  group.steps = std::move(steps);
  group.columns.push_back(std::move(column));
  return {.groups = {std::move(group)}};
}

class SessionWriter {
 public:
  explicit SessionWriter(SessionId id = SessionId::random()) : id_(id) {}

  [[nodiscard]] SessionId id() const { return id_; }
  [[nodiscard]] std::uint64_t next() const { return next_; }
  void seek(std::uint64_t next) { next_ = next; }

  // The next frame, covering `numbers` sequence numbers.
  template <class Body>
  codec::Frame frame(const Body& body, std::uint64_t numbers = 1) {
    const codec::FrameHeader header = take(numbers);
    return keep(codec::encode(header, body));
  }
  codec::Frame bundle(const codec::Bundle& bundle, std::uint64_t numbers = 1) {
    const codec::FrameHeader header = take(numbers);
    return keep(bundle.finish(header));
  }

 private:
  codec::FrameHeader take(std::uint64_t numbers) {
    codec::FrameHeader header;
    header.session = id_;
    header.first = next_;
    header.last = next_ + numbers - 1;
    next_ += numbers;
    return header;
  }
  codec::Frame keep(codec::Bytes bytes) {
    bytes_.push_back(std::move(bytes));
    auto frame = codec::decode_frame(bytes_.back());
    CORRAL_ASSERT(frame.has_value());
    return *std::move(frame);
  }

  SessionId id_;
  std::uint64_t next_ = 1;
  std::deque<codec::Bytes> bytes_;
};

}  // namespace corral::store::testing
