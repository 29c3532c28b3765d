#include "upload/frame_log_source.h"

#include "upload/merge.h"

namespace corral::upload {

Result<std::vector<codec::Bytes>> FrameLogSource::frames(std::uint64_t after,
                                                         std::size_t max_bytes) {
  std::vector<codec::Bytes> frames = TRY(reader_.read(after, max_bytes));
  if (frames.empty()) return frames;
  if (run_) {
    auto merged = merge_frames(std::move(frames));
    // What cannot be merged goes as it came: the server says which frame it refuses, and why, and
    // the others are stored.
    frames = merged ? *std::move(merged) : TRY(reader_.read(after, max_bytes));
  }
  const std::uint64_t first = reader_.first();
  if (first == after + 1) return frames;
  std::vector<codec::Bytes> mended;
  codec::FrameHeader header{
      .kind = {}, .session = session(), .first = after + 1, .last = after + 1};
  if (after == 0) {
    mended.push_back(codec::encode(header, log_.description));
    ++header.first;
  }
  header.last = first - 1;
  if (header.last >= header.first) {
    mended.push_back(codec::encode(
        header, codec::GapBody{.reason = codec::GapReason::kCorrupt,
                               .message = "the server's store lost what it had acknowledged"}));
  }
  for (codec::Bytes& frame : frames) mended.push_back(std::move(frame));
  return mended;
}

bool FrameLogSource::discard() { return run_ && spool::forget_client_log(*run_, log_.session); }

}  // namespace corral::upload
