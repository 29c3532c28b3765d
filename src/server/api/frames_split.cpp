#include "server/api/frames_split.h"

#include <fmt/core.h>

namespace corral::server::api {

SplitFrames split_frames(codec::ByteView body) {
  SplitFrames split;
  while (split.position < body.size()) {
    const codec::ByteView rest = body.subspan(split.position);
    const Result<std::size_t> length = codec::frame_length(rest);
    if (!length) {
      split.error = length.error().with_context(fmt::format("frame {}", split.frames.size()));
      return split;
    }
    if (*length == 0) {
      split.error = Error{Code::kInvalidArgument,
                          fmt::format("frame {}: the body ends inside it", split.frames.size())};
      return split;
    }
    split.frames.push_back(rest.first(*length));
    split.position += *length;
  }
  return split;
}

}  // namespace corral::server::api
