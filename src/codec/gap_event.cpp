#include <fmt/core.h>

#include "codec/frame.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/text.h"

namespace corral::codec {

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
