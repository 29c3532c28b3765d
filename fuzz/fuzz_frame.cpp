// Frames of anybody: the envelope as it comes, or, to get behind the checksum, a body of each kind.
// Any decoded frame must encode again, and mean the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "codec/frame.h"

namespace {

namespace codec = corral::codec;

void check(bool holds) {
  if (!holds) std::abort();
}

// Bytes of an encoded body are the body: equal bytes are equal content, to the last bit of a NaN.
template <class Decode>
void round_trip(const codec::Frame& frame, Decode decode) {
  const auto body = decode(frame);
  if (!body) {
    check(body.error().code == corral::Code::kInvalidArgument && !body.error().message.empty());
    return;
  }
  const codec::Bytes once = codec::encode(frame.header, *body);
  const auto again = decode(codec::decode_frame(once).value());
  check(again.has_value() && codec::encode(frame.header, *again) == once);
}

void decode_any(const codec::Frame& frame) {
  switch (frame.header.kind) {
    case codec::FrameKind::kSession:
      return round_trip(frame, codec::decode_session);
    case codec::FrameKind::kSchema:
      return round_trip(frame, codec::decode_schema);
    case codec::FrameKind::kSamples:
      return round_trip(frame, codec::decode_samples);
    case codec::FrameKind::kPhases:
      return round_trip(frame, codec::decode_phases);
    case codec::FrameKind::kFacts:
      return round_trip(frame, codec::decode_facts);
    case codec::FrameKind::kEvents:
      return round_trip(frame, codec::decode_events);
    case codec::FrameKind::kLog:
      return round_trip(frame, codec::decode_log);
    case codec::FrameKind::kRunEnd:
      return round_trip(frame, codec::decode_run_end);
    case codec::FrameKind::kGap:
      return round_trip(frame, codec::decode_gap);
    case codec::FrameKind::kBundle:
      return;
  }
}

void decode_parts(codec::Frame frame) {
  const auto parts = codec::sections(std::move(frame));
  if (!parts) return;
  for (const codec::Frame& part : *parts) decode_any(part);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const codec::ByteView rest(data + 1, size - 1);
  constexpr int kKinds = static_cast<int>(codec::FrameKind::kBundle);
  const int kind = data[0] % (kKinds + 1);
  if (kind == 0) {
    const auto length = codec::frame_length(rest);
    auto frame = codec::decode_frame(rest);
    check(!frame || (length.has_value() && *length == frame->raw.size()));
    if (frame) decode_parts(*std::move(frame));
    return 0;
  }
  codec::Frame frame;
  frame.header = {
      .kind = static_cast<codec::FrameKind>(kind), .session = {}, .first = 1, .last = 1};
  frame.body.assign(rest.begin(), rest.end());
  decode_parts(std::move(frame));
  return 0;
}
