#include "codec/frame_parts.h"
#include "core/limits.h"
#include "core/text.h"

namespace corral::codec {
namespace {

constexpr std::size_t kMaxLinks = 64;

std::optional<std::int64_t> raw(const std::optional<BootTime>& t) {
  return t ? std::optional(ns_of(*t)) : std::nullopt;
}
std::optional<BootTime> time_of(const std::optional<std::int64_t>& ns) {
  return ns ? std::optional(boot_time(*ns)) : std::nullopt;
}

void put_phase(WireWriter& out, const PhaseRecord& phase) {
  out.put(phase.id);
  out.put(phase.parent);
  put_optional(out, raw(phase.begin));
  put_optional(out, raw(phase.end));
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
  phase.begin = time_of(get_optional<std::int64_t>(in, "phase begin"));
  phase.end = time_of(get_optional<std::int64_t>(in, "phase end"));
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

}  // namespace

Bytes body_of(const PhasesBody& body) {
  WireWriter out;
  out.put(static_cast<std::uint32_t>(body.phases.size()));
  for (const PhaseRecord& phase : body.phases) put_phase(out, phase);
  return out.take();
}

Result<PhasesBody> decode_phases(const Frame& frame) {
  WireReader in(frame.body);
  PhasesBody body;
  const std::size_t n = in.count(in.get<std::uint32_t>("phase count"), 45, "phase count");
  for (std::size_t i = 0; i < n && in.ok(); ++i) body.phases.push_back(get_phase(in));
  return in.finish(std::move(body));
}

}  // namespace corral::codec
