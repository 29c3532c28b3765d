// Many small frames of one session -> few large ones that say the same.
//
// A relay writes a frame for each call, so that each survives any crash; as a batch row of the
// store each would cost fifty times its content. Points of one series become one column, in their
// order. Pure.
#pragma once

#include <vector>

#include "codec/frame.h"

namespace corral::upload {

// `frames` cover consecutive numbers. Only bundles are merged; any other frame stays as it is, in
// its place.
Result<std::vector<codec::Bytes>> merge_frames(std::vector<codec::Bytes> frames);

}  // namespace corral::upload
