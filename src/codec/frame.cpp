#include "codec/frame.h"

#include <fmt/core.h>
#include <zstd.h>

#include <algorithm>

#include "codec/crc32c.h"
#include "codec/wire.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/text.h"

namespace corral::codec {
namespace {

constexpr std::array<char, 4> kMagic = {'C', 'R', 'F', 'R'};
constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kCompressed = 1;
constexpr std::size_t kCrcAt = 48;
constexpr std::size_t kWorthCompressing = 256;
constexpr int kZstdLevel = 1;

// The header as it lies in the file.
struct RawHeader {
  std::array<char, 4> magic;
  std::uint8_t version;
  std::uint8_t kind;
  std::uint8_t flags;
  std::uint8_t zero;
  std::uint32_t stored_bytes;
  std::uint32_t body_bytes;
  std::array<std::uint8_t, 16> session;
  std::uint64_t first;
  std::uint64_t last;
  std::uint32_t crc;
  std::uint32_t zero2;
};
static_assert(sizeof(RawHeader) == kFrameHeaderBytes && offsetof(RawHeader, crc) == kCrcAt);

std::uint32_t frame_crc(const std::uint8_t* header, ByteView stored) {
  return crc32c(stored.data(), stored.size(), crc32c(header, kCrcAt));
}

// The body compressed when that saves something, else empty.
Bytes compressed(const Bytes& body) {
  if (body.size() < kWorthCompressing) return {};
  Bytes out(ZSTD_compressBound(body.size()));
  const std::size_t n = ZSTD_compress(out.data(), out.size(), body.data(), body.size(), kZstdLevel);
  if (ZSTD_isError(n) != 0 || n >= body.size()) return {};
  out.resize(n);
  return out;
}

Result<RawHeader> read_header(ByteView bytes) {
  RawHeader raw{};
  std::memcpy(&raw, bytes.data(), sizeof raw);
  if (raw.magic != kMagic)
    return fail(Code::kInvalidArgument, "not a frame: it does not begin with CRFR");
  if (raw.version > kVersion) {
    return fail(Code::kUnsupported,
                fmt::format("frame version {} is newer than {}, the newest that this Corral reads",
                            raw.version, kVersion));
  }
  if (raw.version == 0 || raw.zero != 0 || raw.zero2 != 0 || (raw.flags & ~kCompressed) != 0) {
    return fail(Code::kInvalidArgument, "frame header: reserved bits are set");
  }
  if (raw.kind < 1 || raw.kind > static_cast<std::uint8_t>(FrameKind::kBundle)) {
    return fail(Code::kInvalidArgument, fmt::format("frame kind {} is unknown", raw.kind));
  }
  if (raw.stored_bytes > limits::kFrameBytes || raw.body_bytes > limits::kFrameBytes) {
    return fail(Code::kTooLarge, fmt::format("frame of {} bytes, at most {} are allowed",
                                             raw.body_bytes, limits::kFrameBytes));
  }
  if (raw.first == 0 || raw.last < raw.first) {
    return fail(Code::kInvalidArgument,
                fmt::format("frame covers sequence numbers {} to {}", raw.first, raw.last));
  }
  return raw;
}

Result<Bytes> read_body(const RawHeader& raw, ByteView stored) {
  if ((raw.flags & kCompressed) == 0) {
    if (raw.stored_bytes != raw.body_bytes)
      return fail(Code::kInvalidArgument,
                  "frame header: the two lengths differ without compression");
    return Bytes(stored.begin(), stored.end());
  }
  Bytes body(raw.body_bytes);
  const std::size_t n = ZSTD_decompress(body.data(), body.size(), stored.data(), stored.size());
  if (ZSTD_isError(n) != 0 || n != body.size())
    return fail(Code::kCorruption, "frame body does not decompress to its stated length");
  return body;
}

// Header, optional compression and checksum around a body.
Bytes seal_frame(const FrameHeader& header, FrameKind kind, const Bytes& body) {
  CORRAL_ASSERT(body.size() <= limits::kFrameBytes);
  CORRAL_ASSERT(header.first >= 1 && header.last >= header.first);
  const Bytes small = compressed(body);
  const Bytes& stored = small.empty() ? body : small;
  RawHeader raw{.magic = kMagic,
                .version = kVersion,
                .kind = static_cast<std::uint8_t>(kind),
                .flags = small.empty() ? std::uint8_t{0} : kCompressed,
                .zero = 0,
                .stored_bytes = static_cast<std::uint32_t>(stored.size()),
                .body_bytes = static_cast<std::uint32_t>(body.size()),
                .session = header.session.bytes,
                .first = header.first,
                .last = header.last,
                .crc = 0,
                .zero2 = 0};
  Bytes frame(sizeof raw + stored.size());
  std::memcpy(frame.data(), &raw, sizeof raw);
  std::memcpy(frame.data() + sizeof raw, stored.data(), stored.size());
  raw.crc = frame_crc(frame.data(), ByteView(frame).subspan(sizeof raw));
  std::memcpy(frame.data() + kCrcAt, &raw.crc, sizeof raw.crc);
  return frame;
}

// ---- fields that several bodies share
// An enumerator between 0 (or `lowest`) and `highest`, else a named error.
template <class Enum>
Enum get_enum(WireReader& in, const char* field, Enum highest, Enum lowest = Enum{}) {
  const auto raw = in.get<std::uint8_t>(field);
  if (raw > static_cast<std::uint8_t>(highest) || raw < static_cast<std::uint8_t>(lowest))
    in.bad(field, "unknown value");
  return in.ok() ? static_cast<Enum>(raw) : lowest;
}

template <class T>
void put_optional(WireWriter& out, const std::optional<T>& value) {
  out.put(static_cast<std::uint8_t>(value.has_value()));
  out.put(value.value_or(T{}));
}
template <class T>
std::optional<T> get_optional(WireReader& in, const char* field) {
  const auto has = in.get<std::uint8_t>(field);
  const auto value = in.get<T>(field);
  if (has > 1) in.bad(field, "neither absent nor present");
  return has == 1 ? std::optional<T>(value) : std::nullopt;
}

void put_attributes(WireWriter& out, const Attributes& attributes) {
  out.put(static_cast<std::uint16_t>(attributes.size()));
  for (const auto& [key, value] : attributes) {
    out.text16(key);
    out.text16(value);
  }
}

Attributes get_attributes(WireReader& in) {
  Attributes attributes;
  const std::size_t n = in.count(in.get<std::uint16_t>("attributes"), 4, "attributes");
  if (n > limits::kAttributes) in.bad("attributes", "more than 64");
  for (std::size_t i = 0; i < n && in.ok(); ++i) {
    std::string key = in.text16("attribute key");
    attributes.emplace_back(std::move(key), in.text16("attribute value"));
  }
  return attributes;
}

// A name of 1 to limits::kNameBytes bytes of UTF-8.
std::string get_name(WireReader& in, const char* field) {
  std::string name = in.text16(field);
  if (name.empty()) in.bad(field, "empty");
  if (name.size() > limits::kNameBytes) in.bad(field, "longer than 250 bytes");
  if (!is_utf8(name)) in.bad(field, "not UTF-8");
  return name;
}

// ---- samples
void put_deltas(WireWriter& out, const std::vector<std::int64_t>& values) {
  std::int64_t previous = 0;
  for (const std::int64_t v : values) {
    // Wraps on purpose: the reader adds with the same wrap.
    out.varint(static_cast<std::int64_t>(static_cast<std::uint64_t>(v) -
                                         static_cast<std::uint64_t>(previous)));
    previous = v;
  }
}

std::vector<std::int64_t> get_deltas(WireReader& in, std::size_t rows, const char* field) {
  std::vector<std::int64_t> values;
  values.reserve(rows);
  std::uint64_t previous = 0;
  for (std::size_t i = 0; i < rows && in.ok(); ++i) {
    previous += static_cast<std::uint64_t>(in.varint(field));
    values.push_back(static_cast<std::int64_t>(previous));
  }
  return values;
}

void put_column(WireWriter& out, const Column& column, std::size_t rows) {
  CORRAL_ASSERT(column.present.empty() || column.present.size() == rows);
  CORRAL_ASSERT(column.values.size() ==
                (column.present.empty()
                     ? rows
                     : static_cast<std::size_t>(std::ranges::count(column.present, true))));
  out.put(column.series);
  out.put(static_cast<std::uint8_t>(!column.present.empty()));
  std::uint8_t bits = 0;
  for (std::size_t i = 0; i < column.present.size(); ++i) {
    if (column.present[i]) bits = static_cast<std::uint8_t>(bits | 1u << i % 8);
    if (i % 8 == 7 || i + 1 == column.present.size()) out.put(std::exchange(bits, std::uint8_t{0}));
  }
  out.append(column.values.data(), column.values.size() * sizeof(double));
}

Column get_column(WireReader& in, std::size_t rows) {
  Column column;
  column.series = in.get<std::uint32_t>("series");
  const auto has_bitmap = in.get<std::uint8_t>("presence");
  if (has_bitmap > 1) in.bad("presence", "unknown value");
  std::size_t n = rows;
  if (has_bitmap == 1) {
    const auto bits = in.take((rows + 7) / 8, "presence");
    if (!in.ok()) return column;
    column.present.resize(rows);
    for (std::size_t i = 0; i < rows; ++i) column.present[i] = (bits[i / 8] >> i % 8 & 1) != 0;
    n = static_cast<std::size_t>(std::ranges::count(column.present, true));
  }
  const auto raw = in.take(n * sizeof(double), "values");
  column.values.resize(raw.size() / sizeof(double));
  if (!raw.empty()) std::memcpy(column.values.data(), raw.data(), raw.size());
  return column;
}

void put_group(WireWriter& out, const SampleGroup& group) {
  CORRAL_ASSERT(group.steps.empty() || group.steps.size() == group.times.size());
  out.put(static_cast<std::uint32_t>(group.times.size()));
  out.put(static_cast<std::uint8_t>(!group.steps.empty()));
  out.put(static_cast<std::uint32_t>(group.columns.size()));
  std::vector<std::int64_t> times(group.times.size());
  std::ranges::transform(group.times, times.begin(), [](BootTime t) { return ns_of(t); });
  put_deltas(out, times);
  put_deltas(out, group.steps);
  for (const Column& column : group.columns) put_column(out, column, group.times.size());
}

SampleGroup get_group(WireReader& in) {
  SampleGroup group;
  const std::size_t rows = in.count(in.get<std::uint32_t>("rows"), 1, "rows");
  const auto has_steps = in.get<std::uint8_t>("steps");
  if (has_steps > 1) in.bad("steps", "unknown value");
  const std::size_t columns = in.count(in.get<std::uint32_t>("columns"), 5, "columns");
  for (const std::int64_t t : get_deltas(in, rows, "times")) group.times.push_back(boot_time(t));
  if (has_steps == 1) group.steps = get_deltas(in, rows, "steps");
  for (std::size_t i = 0; i < columns && in.ok(); ++i)
    group.columns.push_back(get_column(in, rows));
  return group;
}

// ---- phases
constexpr std::size_t kMaxLinks = 64;

std::optional<std::int64_t> to_ns(const std::optional<BootTime>& t) {
  return t ? std::optional(ns_of(*t)) : std::nullopt;
}
std::optional<BootTime> to_time(const std::optional<std::int64_t>& ns) {
  return ns ? std::optional(boot_time(*ns)) : std::nullopt;
}

void put_phase(WireWriter& out, const PhaseRecord& phase) {
  out.put(phase.id);
  out.put(phase.parent);
  put_optional(out, to_ns(phase.begin));
  put_optional(out, to_ns(phase.end));
  out.put(phase.kind);
  out.text16(phase.name);
  out.text16(phase.type);
  out.text16(phase.lane);
  out.put(static_cast<std::uint16_t>(phase.links.size()));
  for (const std::uint64_t link : phase.links) out.put(link);
  put_attributes(out, phase.attributes);
}

PhaseRecord get_phase(WireReader& in) {
  PhaseRecord phase;
  phase.id = in.get<std::uint64_t>("phase id");
  phase.parent = in.get<std::uint64_t>("phase parent");
  phase.begin = to_time(get_optional<std::int64_t>(in, "phase begin"));
  phase.end = to_time(get_optional<std::int64_t>(in, "phase end"));
  phase.kind = get_enum(in, "phase kind", PhaseKind::kControl);
  phase.name = in.text16("phase name");
  phase.type = in.text16("phase type");
  phase.lane = in.text16("phase lane");
  const std::size_t links =
      in.count(in.get<std::uint16_t>("phase links"), sizeof(std::uint64_t), "phase links");
  if (links > kMaxLinks) in.bad("phase links", "more than 64");
  for (std::size_t i = 0; i < links && in.ok(); ++i)
    phase.links.push_back(in.get<std::uint64_t>("phase link"));
  phase.attributes = get_attributes(in);
  if (phase.id == 0) in.bad("phase id", "zero");
  if (!phase.begin && !phase.end) in.bad("phase begin", "neither begin nor end");
  if (phase.begin && phase.name.empty()) in.bad("phase name", "empty");
  if (phase.name.size() > limits::kNameBytes) in.bad("phase name", "longer than 250 bytes");
  if (!is_utf8(phase.name) || !is_utf8(phase.type) || !is_utf8(phase.lane))
    in.bad("phase name", "not UTF-8");
  return phase;
}

// ---- schema
void put_series(WireWriter& out, const SeriesDef& s) {
  out.put(s.id);
  out.put(s.owner);
  out.put(s.kind);
  out.put(s.aggregation);
  out.text16(s.name);
  out.text16(s.source);
  out.text16(s.unit);
}

SeriesDef get_series(WireReader& in) {
  SeriesDef s;
  s.id = in.get<std::uint32_t>("series id");
  if (s.id == 0 || s.id > limits::kSeriesPerSession)
    in.bad("series id", "not between 1 and 1048576");
  s.owner = get_enum(in, "owner", metric::Owner::kHost);
  s.kind = get_enum(in, "metric kind", metric::Kind::kCounter);
  s.aggregation = get_enum(in, "aggregation", metric::Aggregation::kSharedOnce);
  s.name = get_name(in, "metric name");
  s.source = in.text16("source");
  s.unit = in.text16("unit");
  if (s.source.size() > limits::kNameBytes || !is_utf8(s.source))
    in.bad("source", "longer than 250 bytes or not UTF-8");
  if (s.unit.size() > limits::kNameBytes || !is_utf8(s.unit))
    in.bad("unit", "longer than 250 bytes or not UTF-8");
  return s;
}

// ---- facts
void put_fact(WireWriter& out, const Fact& fact) {
  out.put(fact.kind);
  out.text16(fact.key);
  out.text32(fact.value);
}

Fact get_fact(WireReader& in) {
  Fact fact;
  fact.kind = get_enum(in, "fact kind", FactKind::kDrop);
  fact.key = get_name(in, "fact key");
  fact.value = in.text32("fact value");
  if (fact.value.size() > limits::kFactBytes) in.bad("fact value", "longer than 32000 bytes");
  return fact;
}

// ---- events
void put_event(WireWriter& out, const Event& event) {
  out.put(ns_of(event.time));
  out.text16(event.name);
  out.text16(event.origin);
  put_attributes(out, event.attributes);
}

Event get_event(WireReader& in) {
  Event event;
  event.time = boot_time(in.get<std::int64_t>("event time"));
  event.name = get_name(in, "event name");
  event.origin = get_name(in, "event origin");
  event.attributes = get_attributes(in);
  return event;
}

// ---- bodies that are a list: u32 number of items, then the items
template <class Item>
Bytes encode_list(const std::vector<Item>& items, void (*put)(WireWriter&, const Item&)) {
  WireWriter out;
  out.put(static_cast<std::uint32_t>(items.size()));
  for (const Item& item : items) put(out, item);
  return out.take();
}

// An item takes at least `least` bytes.
template <class Body, class Item>
Result<Body> decode_list(const Frame& frame, std::size_t least, const char* count,
                         Item (*get)(WireReader&)) {
  WireReader in(frame.body);
  std::vector<Item> items;
  const std::size_t n = in.count(in.get<std::uint32_t>(count), least, count);
  for (std::size_t i = 0; i < n && in.ok(); ++i) items.push_back(get(in));
  return in.finish(Body{std::move(items)});
}

Bytes encode_body(const SchemaBody& body) { return encode_list(body.series, put_series); }
Bytes encode_body(const SamplesBody& body) { return encode_list(body.groups, put_group); }
Bytes encode_body(const PhasesBody& body) { return encode_list(body.phases, put_phase); }
Bytes encode_body(const FactsBody& body) { return encode_list(body.facts, put_fact); }
Bytes encode_body(const EventsBody& body) { return encode_list(body.events, put_event); }

// ---- the others
Bytes encode_body(const SessionBody& body) {
  WireWriter out;
  out.put(body.run.bytes);
  out.put(body.workload.bytes);
  for (const std::string* text : {&body.experiment, &body.workload_name, &body.run_name, &body.host,
                                  &body.role, &body.boot_id}) {
    out.text16(*text);
  }
  out.put(body.pid);
  put_optional(out, body.rank);
  out.put(body.anchor.utc_minus_boot.count());
  out.put(body.anchor.error.count());
  out.put(ns_of(body.started));
  if (!body.machine.empty() || body.attempt) out.text16(body.machine);
  if (body.attempt) out.put(*body.attempt);
  return out.take();
}

Bytes encode_body(const LogBody& body) {
  CORRAL_ASSERT(body.bytes.size() <= limits::kLogChunkBytes);
  WireWriter out;
  out.put(ns_of(body.time));
  out.put(body.stream);
  out.put(body.offset);
  out.text32(body.bytes);
  return out.take();
}

Bytes encode_body(const RunEndBody& body) {
  WireWriter out;
  out.put(ns_of(body.time));
  out.put(body.reason);
  put_optional(out, body.exit_code);
  put_optional(out, body.exit_signal);
  return out.take();
}

Bytes encode_body(const GapBody& body) {
  WireWriter out;
  out.put(body.reason);
  out.text32(body.message);
  return out.take();
}

}  // namespace

Result<std::size_t> frame_length_of_header(ByteView header) {
  CORRAL_ASSERT(header.size() >= kFrameHeaderBytes);
  const RawHeader raw = TRY(read_header(header));
  return kFrameHeaderBytes + raw.stored_bytes;
}

Result<std::size_t> frame_length(ByteView bytes) {
  if (bytes.size() < kFrameHeaderBytes) return std::size_t{0};
  const std::size_t length = TRY(frame_length_of_header(bytes));
  return bytes.size() < length ? 0 : length;
}

Result<Frame> decode_frame(ByteView bytes) {
  if (bytes.size() < kFrameHeaderBytes)
    return fail(Code::kInvalidArgument, "the frame ends inside its header");
  const RawHeader raw = TRY(read_header(bytes));
  if (bytes.size() < kFrameHeaderBytes + raw.stored_bytes) {
    return fail(Code::kInvalidArgument, "the frame ends inside its body");
  }
  const ByteView whole = bytes.first(kFrameHeaderBytes + raw.stored_bytes);
  const ByteView stored = whole.subspan(kFrameHeaderBytes);
  if (frame_crc(whole.data(), stored) != raw.crc)
    return fail(Code::kCorruption, "frame checksum does not match");
  Frame frame;
  frame.header = {.kind = static_cast<FrameKind>(raw.kind),
                  .session = SessionId{raw.session},
                  .first = raw.first,
                  .last = raw.last};
  frame.body = TRY(read_body(raw, stored));
  frame.raw = whole;
  return frame;
}

Bytes encode(const FrameHeader& header, const SessionBody& body) {
  return seal_frame(header, FrameKind::kSession, encode_body(body));
}
Bytes encode(const FrameHeader& header, const SchemaBody& body) {
  return seal_frame(header, FrameKind::kSchema, encode_body(body));
}
Bytes encode(const FrameHeader& header, const SamplesBody& body) {
  return seal_frame(header, FrameKind::kSamples, encode_body(body));
}
Bytes encode(const FrameHeader& header, const PhasesBody& body) {
  return seal_frame(header, FrameKind::kPhases, encode_body(body));
}
Bytes encode(const FrameHeader& header, const FactsBody& body) {
  return seal_frame(header, FrameKind::kFacts, encode_body(body));
}
Bytes encode(const FrameHeader& header, const EventsBody& body) {
  return seal_frame(header, FrameKind::kEvents, encode_body(body));
}
Bytes encode(const FrameHeader& header, const LogBody& body) {
  return seal_frame(header, FrameKind::kLog, encode_body(body));
}
Bytes encode(const FrameHeader& header, const RunEndBody& body) {
  return seal_frame(header, FrameKind::kRunEnd, encode_body(body));
}
Bytes encode(const FrameHeader& header, const GapBody& body) {
  return seal_frame(header, FrameKind::kGap, encode_body(body));
}

void Bundle::add(const SchemaBody& body) {
  if (!body.series.empty()) add(FrameKind::kSchema, encode_body(body));
  declared_.insert(declared_.end(), body.series.begin(), body.series.end());
}
void Bundle::add(const SamplesBody& body) {
  if (!body.groups.empty()) add(FrameKind::kSamples, encode_body(body));
}
void Bundle::add(const PhasesBody& body) {
  if (!body.phases.empty()) add(FrameKind::kPhases, encode_body(body));
}
void Bundle::add(const FactsBody& body) {
  if (!body.facts.empty()) add(FrameKind::kFacts, encode_body(body));
}
void Bundle::add(const EventsBody& body) {
  if (!body.events.empty()) add(FrameKind::kEvents, encode_body(body));
}
void Bundle::add(FrameKind kind, Bytes body) { sections_.emplace_back(kind, std::move(body)); }

std::size_t Bundle::size() const {
  std::size_t bytes = 0;
  for (const auto& section : sections_) bytes += section.second.size();
  return bytes;
}

Bytes Bundle::finish(const FrameHeader& header) const {
  WireWriter out;
  out.put(static_cast<std::uint16_t>(sections_.size()));
  for (const auto& [kind, body] : sections_) {
    out.put(kind);
    out.put(static_cast<std::uint32_t>(body.size()));
    out.append(body.data(), body.size());
  }
  return seal_frame(header, FrameKind::kBundle, out.take());
}

Result<std::vector<Frame>> sections(Frame frame) {
  std::vector<Frame> parts;
  if (frame.header.kind != FrameKind::kBundle) {
    parts.push_back(std::move(frame));
    return parts;
  }
  WireReader in(frame.body);
  const std::size_t n = in.count(in.get<std::uint16_t>("section count"), 5, "section count");
  for (std::size_t i = 0; i < n && in.ok(); ++i) {
    Frame part{.header = frame.header, .body = {}, .raw = {}};
    part.header.kind = get_enum(in, "section kind", FrameKind::kEvents, FrameKind::kSchema);
    const auto body = in.take(in.get<std::uint32_t>("section length"), "section");
    part.body.assign(body.begin(), body.end());
    parts.push_back(std::move(part));
  }
  return in.finish(std::move(parts));
}

Result<SessionBody> decode_session(const Frame& frame) {
  WireReader in(frame.body);
  SessionBody body;
  body.run.bytes = in.get<std::array<std::uint8_t, 16>>("run");
  body.workload.bytes = in.get<std::array<std::uint8_t, 16>>("workload");
  body.experiment = get_name(in, "experiment");
  for (auto [text, field] : {std::pair{&body.workload_name, "workload name"},
                             {&body.run_name, "run name"},
                             {&body.host, "host"},
                             {&body.role, "role"},
                             {&body.boot_id, "boot id"}}) {
    *text = in.text16(field);
    if (text->size() > limits::kNameBytes) in.bad(field, "longer than 250 bytes");
    if (!is_utf8(*text)) in.bad(field, "not UTF-8");
  }
  body.pid = in.get<std::int64_t>("pid");
  body.rank = get_optional<std::int64_t>(in, "rank");
  body.anchor.utc_minus_boot = Nanos(in.get<std::int64_t>("clock offset"));
  body.anchor.error = Nanos(in.get<std::int64_t>("clock error"));
  body.started = boot_time(in.get<std::int64_t>("started"));
  // Older writers say nothing about the machine, and most nothing about other supervisors.
  if (in.ok() && in.remaining() > 0) {
    body.machine = in.text16("machine");
    if (body.machine.size() > limits::kNameBytes || !is_utf8(body.machine))
      in.bad("machine", "longer than 250 bytes or not UTF-8");
    if (in.ok() && in.remaining() > 0) {
      body.attempt = in.get<std::uint32_t>("attempt");
    } else if (body.machine.empty()) {
      in.bad("machine", "empty");
    }
  }
  if (body.run.is_nil()) in.bad("run", "no id");
  if (body.workload.is_nil()) in.bad("workload", "no id");
  return in.finish(std::move(body));
}

Result<SchemaBody> decode_schema(const Frame& frame) {
  return decode_list<SchemaBody>(frame, 13, "series count", get_series);
}
Result<SamplesBody> decode_samples(const Frame& frame) {
  return decode_list<SamplesBody>(frame, 9, "groups", get_group);
}
Result<PhasesBody> decode_phases(const Frame& frame) {
  return decode_list<PhasesBody>(frame, 45, "phase count", get_phase);
}
Result<FactsBody> decode_facts(const Frame& frame) {
  return decode_list<FactsBody>(frame, 7, "fact count", get_fact);
}
Result<EventsBody> decode_events(const Frame& frame) {
  return decode_list<EventsBody>(frame, 14, "event count", get_event);
}

Result<LogBody> decode_log(const Frame& frame) {
  WireReader in(frame.body);
  LogBody body;
  body.time = boot_time(in.get<std::int64_t>("log time"));
  body.stream = get_enum(in, "log stream", LogStream::kTty, LogStream::kStdout);
  body.offset = in.get<std::int64_t>("log offset");
  if (body.offset < 0) in.bad("log offset", "negative");
  body.bytes = in.text32("log bytes");
  if (body.bytes.size() > limits::kLogChunkBytes) in.bad("log bytes", "more than 65536");
  return in.finish(std::move(body));
}

Result<RunEndBody> decode_run_end(const Frame& frame) {
  WireReader in(frame.body);
  RunEndBody body;
  body.time = boot_time(in.get<std::int64_t>("end time"));
  body.reason = get_enum(in, "end reason", EndReason::kNotStarted);
  body.exit_code = get_optional<std::int32_t>(in, "exit code");
  body.exit_signal = get_optional<std::int32_t>(in, "exit signal");
  return in.finish(body);
}

Result<GapBody> decode_gap(const Frame& frame) {
  WireReader in(frame.body);
  GapBody body;
  body.reason = get_enum(in, "gap reason", GapReason::kCorrupt);
  body.message = in.text32("gap message");
  return in.finish(std::move(body));
}

std::optional<Event> event_of_gap(const FrameHeader& header, const GapBody& gap) {
  if (gap.reason == GapReason::kEmpty) return std::nullopt;
  Event event;
  event.origin = "corral";
  const std::uint64_t n = header.last - header.first + 1;
  event.name = fmt::format(
      "{} record{} {}: {}", n, n == 1 ? "" : "s",
      gap.reason == GapReason::kRefused ? "refused by the server" : "damaged and skipped",
      gap.message.empty() ? "no reason given" : to_utf8(gap.message));
  if (event.name.size() > limits::kNameBytes) {
    std::size_t cut = limits::kNameBytes - 3;
    while ((static_cast<unsigned char>(event.name[cut]) & 0xC0) == 0x80) --cut;
    event.name.resize(cut);
    event.name += "...";
  }
  event.attributes = {{"session", Json(header.session.hex()).dump()},
                      {"first", Json(std::to_string(header.first)).dump()},
                      {"last", Json(std::to_string(header.last)).dump()}};
  return event;
}

}  // namespace corral::codec
