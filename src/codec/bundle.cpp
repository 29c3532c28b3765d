#include "codec/frame_parts.h"

namespace corral::codec {

Bytes encode(const FrameHeader& header, const SessionBody& body) {
  return seal_frame(header, FrameKind::kSession, body_of(body));
}
Bytes encode(const FrameHeader& header, const SchemaBody& body) {
  return seal_frame(header, FrameKind::kSchema, body_of(body));
}
Bytes encode(const FrameHeader& header, const SamplesBody& body) {
  return seal_frame(header, FrameKind::kSamples, body_of(body));
}
Bytes encode(const FrameHeader& header, const PhasesBody& body) {
  return seal_frame(header, FrameKind::kPhases, body_of(body));
}
Bytes encode(const FrameHeader& header, const FactsBody& body) {
  return seal_frame(header, FrameKind::kFacts, body_of(body));
}
Bytes encode(const FrameHeader& header, const EventsBody& body) {
  return seal_frame(header, FrameKind::kEvents, body_of(body));
}
Bytes encode(const FrameHeader& header, const LogBody& body) {
  return seal_frame(header, FrameKind::kLog, body_of(body));
}
Bytes encode(const FrameHeader& header, const RunEndBody& body) {
  return seal_frame(header, FrameKind::kRunEnd, body_of(body));
}
Bytes encode(const FrameHeader& header, const GapBody& body) {
  return seal_frame(header, FrameKind::kGap, body_of(body));
}

void Bundle::add(const SchemaBody& body) {
  if (!body.series.empty()) add(FrameKind::kSchema, body_of(body));
}
void Bundle::add(const SamplesBody& body) {
  if (!body.groups.empty()) add(FrameKind::kSamples, body_of(body));
}
void Bundle::add(const PhasesBody& body) {
  if (!body.phases.empty()) add(FrameKind::kPhases, body_of(body));
}
void Bundle::add(const FactsBody& body) {
  if (!body.facts.empty()) add(FrameKind::kFacts, body_of(body));
}
void Bundle::add(const EventsBody& body) {
  if (!body.events.empty()) add(FrameKind::kEvents, body_of(body));
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

}  // namespace corral::codec
