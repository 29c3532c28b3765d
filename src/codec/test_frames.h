// For tests: bodies of every kind, made up by rapidcheck, and frames with a header that no encoder
// would write.
#pragma once

#include <rapidcheck.h>

#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "codec/crc32c.h"
#include "codec/frame.h"
#include "core/text.h"

namespace corral::codec::testing {

inline FrameHeader header_of(std::uint64_t first = 1, std::uint64_t last = 1) {
  SessionId session;
  session.bytes.fill(0xA5);
  return {.kind = {}, .session = session, .first = first, .last = last};
}

// Makes the checksum of a changed frame right again.
inline void reseal(Bytes& frame) {
  constexpr std::size_t kCrcAt = 48;
  const std::uint32_t head = crc32c(frame.data(), kCrcAt);
  const std::uint32_t crc =
      crc32c(frame.data() + kFrameHeaderBytes, frame.size() - kFrameHeaderBytes, head);
  std::memcpy(frame.data() + kCrcAt, &crc, sizeof crc);
}

// ---- generators: called within a property
inline std::size_t up_to(std::size_t most) { return *rc::gen::inRange<std::size_t>(0, most + 1); }
inline std::int64_t any_number() {
  return *rc::gen::oneOf(rc::gen::arbitrary<std::int64_t>(),
                         rc::gen::element(std::numeric_limits<std::int64_t>::min(),
                                          std::numeric_limits<std::int64_t>::max(), std::int64_t{0},
                                          std::int64_t{-1}));
}
inline BootTime any_time() { return boot_time(any_number()); }
// Any bit pattern: NaNs with payload, -0.0, denormals, infinities.
inline double any_double() {
  return std::bit_cast<double>(*rc::gen::oneOf(
      rc::gen::arbitrary<std::uint64_t>(),
      rc::gen::element<std::uint64_t>(0x7FF8000000000001u, 0xFFF0000000000001u, 0x8000000000000000u,
                                      1u, 0x7FF0000000000000u, 0x3FF0000000000000u)));
}
inline std::string any_text(std::size_t most = 40) {
  return to_utf8(*rc::gen::container<std::string>(up_to(most), rc::gen::arbitrary<char>()));
}
inline std::string any_name() { return "n" + any_text(); }
template <class Enum>
Enum any_enum(Enum last, Enum first = Enum{}) {
  return static_cast<Enum>(*rc::gen::inRange(static_cast<int>(first), static_cast<int>(last) + 1));
}
template <class Make>
auto several(std::size_t most, Make make) {
  std::vector<decltype(make())> all;
  for (std::size_t n = up_to(most); n > 0; --n) all.push_back(make());
  return all;
}
inline Attributes any_attributes() {
  return several(3, [] { return std::pair<std::string, std::string>(any_name(), any_text()); });
}

inline SessionBody any_session() {
  SessionBody body;
  body.run = RunId::random();
  body.workload = WorkloadId::random();
  body.experiment = any_name();
  body.workload_name = any_text();
  body.run_name = any_text();
  body.host = any_text();
  body.role = any_text();
  body.pid = any_number();
  if (*rc::gen::arbitrary<bool>()) body.rank = any_number();
  body.boot_id = any_text();
  body.anchor = {.utc_minus_boot = Nanos(any_number()), .error = Nanos(any_number())};
  body.started = any_time();
  if (*rc::gen::arbitrary<bool>()) body.machine = any_name();
  return body;
}
inline SchemaBody any_schema() {
  return {several(4, [] {
    SeriesDef def;
    def.id = *rc::gen::inRange<std::uint32_t>(1, (1u << 20) + 1);
    def.owner = any_enum(metric::Owner::kHost);
    def.kind = any_enum(metric::Kind::kCounter);
    def.aggregation = any_enum(metric::Aggregation::kSharedOnce);
    def.name = any_name();
    def.source = any_text();
    def.unit = any_text();
    return def;
  })};
}
inline Column any_column(std::size_t rows) {
  Column column{.series = *rc::gen::arbitrary<std::uint32_t>(), .present = {}, .values = {}};
  const bool bitmap = rows > 0 && *rc::gen::arbitrary<bool>();
  for (std::size_t i = 0; i < rows; ++i) {
    const bool present = !bitmap || *rc::gen::arbitrary<bool>();
    if (bitmap) column.present.push_back(present);
    if (present) column.values.push_back(any_double());
  }
  return column;
}
inline SamplesBody any_samples() {
  return {several(3, [] {
    SampleGroup group;
    const std::size_t rows = up_to(20);
    const bool steps = *rc::gen::arbitrary<bool>();
    for (std::size_t i = 0; i < rows; ++i) {
      group.times.push_back(any_time());
      if (steps) group.steps.push_back(any_number());
    }
    group.columns = several(4, [rows] { return any_column(rows); });
    return group;
  })};
}
inline PhasesBody any_phases() {
  return {several(3, [] {
    PhaseRecord phase;
    phase.id = *rc::gen::inRange<std::uint64_t>(1, std::numeric_limits<std::uint64_t>::max());
    phase.parent = *rc::gen::arbitrary<std::uint64_t>();
    const int which = *rc::gen::inRange(1, 4);
    if ((which & 1) != 0) phase.begin = any_time();
    if ((which & 2) != 0) phase.end = any_time();
    phase.kind = any_enum(PhaseKind::kControl);
    phase.name = any_name();
    phase.type = any_text();
    phase.lane = any_text();
    phase.links = several(3, [] { return *rc::gen::arbitrary<std::uint64_t>(); });
    phase.attributes = any_attributes();
    return phase;
  })};
}
inline FactsBody any_facts() {
  return {several(4, [] { return Fact{any_enum(FactKind::kDrop), any_name(), any_text(300)}; })};
}
inline EventsBody any_events() {
  return {several(3, [] { return Event{any_time(), any_name(), any_name(), any_attributes()}; })};
}
inline LogBody any_log() {
  return {.time = any_time(),
          .stream = any_enum(LogStream::kTty, LogStream::kStdout),
          .offset = *rc::gen::inRange<std::int64_t>(0, std::numeric_limits<std::int64_t>::max()),
          .bytes = *rc::gen::arbitrary<std::string>()};
}
inline RunEndBody any_run_end() {
  RunEndBody body{.time = any_time(),
                  .reason = any_enum(EndReason::kNotStarted),
                  .exit_code = {},
                  .exit_signal = {}};
  if (*rc::gen::arbitrary<bool>()) body.exit_code = *rc::gen::arbitrary<std::int32_t>();
  if (*rc::gen::arbitrary<bool>()) body.exit_signal = *rc::gen::arbitrary<std::int32_t>();
  return body;
}

// Equal bit by bit, which == of doubles is not.
inline bool same(const SamplesBody& a, const SamplesBody& b) {
  const auto bits = [](const Column& c) {
    std::vector<std::uint64_t> all;
    for (const double v : c.values) all.push_back(std::bit_cast<std::uint64_t>(v));
    return all;
  };
  if (a.groups.size() != b.groups.size()) return false;
  for (std::size_t g = 0; g < a.groups.size(); ++g) {
    const SampleGroup& x = a.groups[g];
    const SampleGroup& y = b.groups[g];
    if (x.times != y.times || x.steps != y.steps || x.columns.size() != y.columns.size())
      return false;
    for (std::size_t c = 0; c < x.columns.size(); ++c) {
      const Column& p = x.columns[c];
      const Column& q = y.columns[c];
      if (p.series != q.series || p.present != q.present || bits(p) != bits(q)) return false;
    }
  }
  return true;
}

}  // namespace corral::codec::testing
