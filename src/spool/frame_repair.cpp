#include "spool/frame_repair.h"

#include <fmt/core.h>

#include <string_view>

#include "codec/frame.h"
#include "spool/frame_log.h"

namespace corral::spool {
namespace {

constexpr std::string_view kMagic = "CRFR";

struct Whole {
  codec::FrameHeader header;
  std::size_t bytes = 0;
};

std::optional<Whole> whole_frame(std::string_view content, SessionId session) {
  const codec::ByteView bytes(reinterpret_cast<const std::uint8_t*>(content.data()),
                              content.size());
  if (bytes.size() < codec::kFrameHeaderBytes) return std::nullopt;
  const auto length = codec::frame_length_of_header(bytes.first(codec::kFrameHeaderBytes));
  if (!length || *length > bytes.size()) return std::nullopt;
  const auto frame = codec::decode_frame(bytes.first(*length));
  if (!frame || frame->header.session != session) return std::nullopt;
  return Whole{.header = frame->header, .bytes = *length};
}

// Offset of the next whole frame with a number above `next`.
std::optional<std::size_t> resume_at(std::string_view content, std::size_t from, SessionId session,
                                     std::uint64_t next) {
  for (std::size_t at = content.find(kMagic, from); at != std::string_view::npos;
       at = content.find(kMagic, at + 1)) {
    const auto whole = whole_frame(content.substr(at), session);
    if (whole && whole->header.first > next) return at;
  }
  return std::nullopt;
}

// One gap per number: the server may have acknowledged some of them.
std::string gaps(SessionId session, std::uint64_t first, std::uint64_t end,
                 const std::string& file) {
  const codec::GapBody body{.reason = codec::GapReason::kCorrupt,
                            .message = fmt::format("damaged in {}", file)};
  std::string all;
  for (std::uint64_t n = first; n < end; ++n) {
    const codec::Bytes frame =
        codec::encode({.kind = {}, .session = session, .first = n, .last = n}, body);
    all.append(frame.begin(), frame.end());
  }
  return all;
}

bool is_newer(std::string_view content) {
  const codec::ByteView bytes(reinterpret_cast<const std::uint8_t*>(content.data()),
                              content.size());
  if (bytes.size() < codec::kFrameHeaderBytes) return false;
  const auto length = codec::frame_length_of_header(bytes.first(codec::kFrameHeaderBytes));
  return !length && length.error().code == Code::kUnsupported;
}

}  // namespace

Result<> repair_frames(const sys::PrivateDirectory& directory, SessionId session,
                       std::uint64_t first, std::optional<std::uint64_t> next_file) {
  const std::string file = frame_file(first);
  const std::string content = TRY(directory.read_file(file));
  std::string repaired;
  bool damaged = false;
  std::uint64_t next = first;
  std::size_t at = 0;
  while (at < content.size()) {
    const auto whole = whole_frame(std::string_view(content).substr(at), session);
    if (whole && whole->header.first == next) {
      repaired.append(content, at, whole->bytes);
      at += whole->bytes;
      next = whole->header.last + 1;
      continue;
    }
    const auto resume = resume_at(content, at + 1, session, next);
    if (!resume && is_newer(std::string_view(content).substr(at)))
      return fail(Code::kUnsupported,
                  (directory.path() / file).string() + ": frames of a newer Corral");
    if (!resume) break;
    const std::uint64_t found =
        whole_frame(std::string_view(content).substr(*resume), session)->header.first;
    repaired += gaps(session, next, found, file);
    damaged = true;
    next = found;
    at = *resume;
  }
  if (next_file && next < *next_file) {
    repaired += gaps(session, next, *next_file, file);
    damaged = true;
  }
  return damaged ? directory.replace_file(file, repaired, false) : Result<>();
}

}  // namespace corral::spool
