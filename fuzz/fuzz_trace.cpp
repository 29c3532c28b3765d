// Traces in Chrome's format: what is taken gives frames that a store takes, in pieces of any size
// the same, and parents that hold their children.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <unordered_map>

#include "codec/frame.h"
#include "trace/trace_phases.h"

namespace {

using namespace corral;  // NOLINT(google-build-using-namespace)

void check(bool good) {
  if (!good) std::abort();
}

using Phases = std::vector<codec::PhaseRecord>;

// Empty: refused.
Phases phases_of(std::string_view text, std::size_t piece) {
  trace::TracePhases phases({.host = "host", .source = "file", .operators = true});
  trace::ChromeEvents events([&](const trace::ChromeEvent& event) { phases.add(event); });
  for (std::size_t at = 0; at < text.size(); at += piece)
    if (!events.read(text.substr(at, piece))) return {};
  const auto header = events.finish();
  if (!header || !phases.arrange(*header)) return {};
  Phases all;
  check(phases
            .each([&](codec::PhaseRecord phase) -> Result<> {
              all.push_back(std::move(phase));
              return {};
            })
            .has_value());
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Phases phases = phases_of(text, size + 1);
  check(phases == phases_of(text, 3));
  const codec::FrameHeader header{
      .kind = codec::FrameKind::kPhases, .session = {}, .first = 1, .last = 1};
  const auto frame = codec::decode_frame(codec::encode(header, codec::PhasesBody{phases}));
  if (!frame) return 0;  // too long for one
  check(codec::decode_phases(*frame).has_value());
  std::unordered_map<std::uint64_t, const codec::PhaseRecord*> by_id;
  for (const codec::PhaseRecord& phase : phases) check(by_id.emplace(phase.id, &phase).second);
  for (const codec::PhaseRecord& phase : phases) {
    check(!phase.end || *phase.end >= *phase.begin);
    check(phase.name.find('\0') == std::string::npos && phase.lane.find('\0') == std::string::npos);
    if (phase.parent == 0) continue;
    const codec::PhaseRecord& parent = *by_id.at(phase.parent);
    check(parent.lane == phase.lane && *parent.begin <= *phase.begin);
    check(!parent.end || (phase.end && *phase.end <= *parent.end));
  }
  return 0;
}
