#include "imports/frame_sender.h"

#include <utility>

namespace corral::imports {

Result<> FrameSender::add(codec::Bytes frame) {
  bytes_ += frame.size();
  frames_.push_back(std::move(frame));
  return bytes_ < kMostBytes ? Result<>() : flush();
}

Result<> FrameSender::flush() {
  if (frames_.empty()) return {};
  const upload::Posted posted = TRY(transport_.post(frames_));
  if (!posted.refusals.empty())
    return fail(posted.refusals.front().code, posted.refusals.front().message);
  frames_.clear();
  bytes_ = 0;
  return {};
}

}  // namespace corral::imports
