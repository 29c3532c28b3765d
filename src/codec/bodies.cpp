#include "codec/frame_parts.h"
#include "core/limits.h"
#include "core/text.h"

namespace corral::codec {

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

std::string get_name(WireReader& in, const char* field) {
  std::string name = in.text16(field);
  if (name.empty()) in.bad(field, "empty");
  if (name.size() > limits::kNameBytes) in.bad(field, "longer than 250 bytes");
  if (!is_utf8(name)) in.bad(field, "not UTF-8");
  return name;
}

// ---- session
Bytes body_of(const SessionBody& body) {
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
  if (!body.machine.empty()) out.text16(body.machine);
  return out.take();
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
  // Older writers say nothing about the machine.
  if (in.ok() && in.remaining() > 0) body.machine = get_name(in, "machine");
  if (body.run.is_nil()) in.bad("run", "no id");
  if (body.workload.is_nil()) in.bad("workload", "no id");
  return in.finish(std::move(body));
}

// ---- schema
Bytes body_of(const SchemaBody& body) {
  WireWriter out;
  out.put(static_cast<std::uint32_t>(body.series.size()));
  for (const SeriesDef& s : body.series) {
    out.put(s.id);
    out.put(s.owner);
    out.put(s.kind);
    out.put(s.aggregation);
    out.text16(s.name);
    out.text16(s.source);
    out.text16(s.unit);
  }
  return out.take();
}

Result<SchemaBody> decode_schema(const Frame& frame) {
  WireReader in(frame.body);
  SchemaBody body;
  const std::size_t n = in.count(in.get<std::uint32_t>("series count"), 13, "series count");
  for (std::size_t i = 0; i < n && in.ok(); ++i) {
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
    body.series.push_back(std::move(s));
  }
  return in.finish(std::move(body));
}

// ---- facts
Bytes body_of(const FactsBody& body) {
  WireWriter out;
  out.put(static_cast<std::uint32_t>(body.facts.size()));
  for (const Fact& fact : body.facts) {
    out.put(fact.kind);
    out.text16(fact.key);
    out.text32(fact.value);
  }
  return out.take();
}

Result<FactsBody> decode_facts(const Frame& frame) {
  WireReader in(frame.body);
  FactsBody body;
  const std::size_t n = in.count(in.get<std::uint32_t>("fact count"), 7, "fact count");
  for (std::size_t i = 0; i < n && in.ok(); ++i) {
    Fact fact;
    fact.kind = get_enum(in, "fact kind", FactKind::kDrop);
    fact.key = get_name(in, "fact key");
    fact.value = in.text32("fact value");
    if (fact.value.size() > limits::kFactBytes) in.bad("fact value", "longer than 32000 bytes");
    body.facts.push_back(std::move(fact));
  }
  return in.finish(std::move(body));
}

// ---- events
Bytes body_of(const EventsBody& body) {
  WireWriter out;
  out.put(static_cast<std::uint32_t>(body.events.size()));
  for (const Event& event : body.events) {
    out.put(ns_of(event.time));
    out.text16(event.name);
    out.text16(event.origin);
    put_attributes(out, event.attributes);
  }
  return out.take();
}

Result<EventsBody> decode_events(const Frame& frame) {
  WireReader in(frame.body);
  EventsBody body;
  const std::size_t n = in.count(in.get<std::uint32_t>("event count"), 14, "event count");
  for (std::size_t i = 0; i < n && in.ok(); ++i) {
    Event event;
    event.time = boot_time(in.get<std::int64_t>("event time"));
    event.name = get_name(in, "event name");
    event.origin = get_name(in, "event origin");
    event.attributes = get_attributes(in);
    body.events.push_back(std::move(event));
  }
  return in.finish(std::move(body));
}

// ---- log
Bytes body_of(const LogBody& body) {
  CORRAL_ASSERT(body.bytes.size() <= limits::kLogChunkBytes);
  WireWriter out;
  out.put(ns_of(body.time));
  out.put(body.stream);
  out.put(body.offset);
  out.text32(body.bytes);
  return out.take();
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

// ---- run end
Bytes body_of(const RunEndBody& body) {
  WireWriter out;
  out.put(ns_of(body.time));
  out.put(body.reason);
  put_optional(out, body.exit_code);
  put_optional(out, body.exit_signal);
  return out.take();
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

// ---- gap
Bytes body_of(const GapBody& body) {
  WireWriter out;
  out.put(body.reason);
  out.text32(body.message);
  return out.take();
}

Result<GapBody> decode_gap(const Frame& frame) {
  WireReader in(frame.body);
  GapBody body;
  body.reason = get_enum(in, "gap reason", GapReason::kCorrupt);
  body.message = in.text32("gap message");
  return in.finish(std::move(body));
}

}  // namespace corral::codec
