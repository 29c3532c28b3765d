#include "codec/frame.h"

#include <fmt/core.h>
#include <zstd.h>

#include "codec/crc32c.h"
#include "codec/frame_parts.h"
#include "core/limits.h"

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

}  // namespace

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

}  // namespace corral::codec
