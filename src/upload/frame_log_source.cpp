#include "upload/frame_log_source.h"

#include "spool/journal.h"

namespace corral::upload {

Result<std::vector<codec::Bytes>> FrameLogSource::frames(std::uint64_t after,
                                                         std::size_t max_bytes) {
  std::vector<codec::Bytes> frames = TRY(reader_.read(after, max_bytes));
  if (frames.empty()) return frames;
  const codec::Frame first = TRY(codec::decode_frame(frames.front()));
  if (first.header.first == after + 1) return frames;
  std::vector<codec::Bytes> mended;
  codec::FrameHeader header{
      .kind = {}, .session = session(), .first = after + 1, .last = after + 1};
  if (after == 0) {
    mended.push_back(codec::encode(header, spool::session_body(directory_.manifest())));
    ++header.first;
  }
  header.last = first.header.first - 1;
  if (header.last >= header.first) {
    mended.push_back(codec::encode(
        header, codec::GapBody{.reason = codec::GapReason::kCorrupt,
                               .message = "the server's store lost what it had acknowledged"}));
  }
  for (codec::Bytes& frame : frames) mended.push_back(std::move(frame));
  return mended;
}

}  // namespace corral::upload
