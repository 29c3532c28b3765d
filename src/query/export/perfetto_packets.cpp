#include "query/export/perfetto_packets.h"

#include "core/time.h"

namespace corral::query::perfetto {
namespace {

using codec::ProtoWriter;

// Fields of the messages.
constexpr std::uint32_t kPacket = 1;  // of Trace
constexpr std::uint32_t kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kTrackDescriptor = 60;
constexpr std::uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5,
                        kCounterOf = 8;
constexpr std::uint32_t kProcessPid = 1, kProcessName = 6;
constexpr std::uint32_t kThreadPid = 1, kThreadTid = 2, kThreadName = 5;
constexpr std::uint32_t kUnitName = 6;
constexpr std::uint32_t kAnnotations = 4, kType = 9, kTrack = 11, kCategories = 22, kEventName = 23,
                        kDoubleValue = 44, kFlows = 47;
constexpr std::uint32_t kArgBool = 2, kArgInt = 4, kArgDouble = 5, kArgText = 6, kArgName = 10,
                        kArgEntries = 11, kArgItems = 12;

enum class EventType : std::uint8_t { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };
constexpr std::uint64_t kOnlySequence = 1;
constexpr std::uint64_t kPid = 1;

void put_packet(std::string& out, const ProtoWriter& packet) {
  ProtoWriter trace;
  trace.message(kPacket, packet);
  out += trace.text();
}

void put_event(std::string& out, std::int64_t time_ns, const ProtoWriter& event) {
  ProtoWriter packet;
  packet.number(kTimestamp, static_cast<std::uint64_t>(time_ns));
  packet.number(kSequence, kOnlySequence).message(kTrackEvent, event);
  put_packet(out, packet);
}

void put_descriptor(std::string& out, const ProtoWriter& descriptor) {
  ProtoWriter packet;
  packet.message(kTrackDescriptor, descriptor);
  put_packet(out, packet);
}

ProtoWriter event_of(EventType type, std::uint64_t track) {
  ProtoWriter event;
  event.number(kType, static_cast<std::uint64_t>(type)).number(kTrack, track);
  return event;
}

// An argument without its name.
ProtoWriter argument(const Json& value) {
  ProtoWriter out;
  if (const auto* text = value.as_string()) {
    out.bytes(kArgText, *text);
  } else if (const auto* flag = value.as_bool()) {
    out.number(kArgBool, *flag ? 1 : 0);
  } else if (const auto* number = value.as_int()) {
    out.number(kArgInt, static_cast<std::uint64_t>(*number));
  } else if (value.is_double()) {
    out.real(kArgDouble, value.as_double(0));
  } else if (const auto* array = value.as_array()) {
    for (const Json& item : *array) out.message(kArgItems, argument(item));
  } else if (const auto* object = value.as_object()) {
    for (const auto& [name, item] : *object) {
      ProtoWriter entry = argument(item);
      entry.bytes(kArgName, name);
      out.message(kArgEntries, entry);
    }
  } else {
    out.bytes(kArgText, "null");
  }
  return out;
}

void put_arguments(ProtoWriter& event, const codec::Attributes& attributes) {
  for (const auto& [name, text] : attributes) {
    const auto value = Json::parse(text);
    ProtoWriter annotation = argument(value ? *value : Json(text));
    annotation.bytes(kArgName, name);
    event.message(kAnnotations, annotation);
  }
}

}  // namespace

void put_process(std::string& out, std::string_view name) {
  ProtoWriter process;
  process.number(kProcessPid, kPid).bytes(kProcessName, name);
  ProtoWriter descriptor;
  descriptor.number(kUuid, kProcessTrack).message(kProcess, process);
  put_descriptor(out, descriptor);
}

void put_thread_track(std::string& out, const Track& track) {
  ProtoWriter thread;
  thread.number(kThreadPid, kPid).number(kThreadTid, static_cast<std::uint64_t>(track.thread));
  thread.bytes(kThreadName, track.name);
  ProtoWriter descriptor;
  descriptor.number(kUuid, track.uuid).bytes(kName, track.name).message(kThread, thread);
  put_descriptor(out, descriptor);
}

void put_counter_track(std::string& out, const Track& track, std::string_view unit) {
  ProtoWriter counter;
  if (!unit.empty()) counter.bytes(kUnitName, unit);
  ProtoWriter descriptor;
  descriptor.number(kUuid, track.uuid).number(kParent, kProcessTrack).bytes(kName, track.name);
  descriptor.message(kCounterOf, counter);
  put_descriptor(out, descriptor);
}

void put_counter(std::string& out, std::uint64_t track, std::int64_t time_ns, double value) {
  ProtoWriter event = event_of(EventType::kCounter, track);
  event.real(kDoubleValue, value);
  put_event(out, time_ns, event);
}

void put_instant(std::string& out, std::uint64_t track, const store::StoredEvent& stored) {
  ProtoWriter event = event_of(EventType::kInstant, track);
  event.bytes(kEventName, stored.name).bytes(kCategories, stored.origin);
  put_arguments(event, stored.attributes);
  put_event(out, ns_of(stored.time), event);
}

void put_slice(std::string& out, std::uint64_t track, const store::Phase& phase,
               std::span<const std::uint64_t> flows) {
  ProtoWriter begin = event_of(EventType::kBegin, track);
  begin.bytes(kEventName, phase.name);
  if (!phase.type.empty()) begin.bytes(kCategories, phase.type);
  for (const std::uint64_t flow : flows) begin.fixed(kFlows, flow);
  put_arguments(begin, phase.attributes);
  put_event(out, ns_of(*phase.start), begin);
  if (phase.end) put_event(out, ns_of(*phase.end), event_of(EventType::kEnd, track));
}

}  // namespace corral::query::perfetto
