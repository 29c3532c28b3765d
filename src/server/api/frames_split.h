// Splits a body into frames. Pure; any bytes (fuzz/fuzz_request.cpp).
#pragma once

#include <optional>
#include <vector>

#include "codec/frame.h"

namespace corral::server::api {

struct SplitFrames {
  std::vector<codec::ByteView> frames;  // views of the body
  std::optional<Error> error;           // the body cannot be split from `position` on
  std::size_t position = 0;
};
SplitFrames split_frames(codec::ByteView body);

}  // namespace corral::server::api
