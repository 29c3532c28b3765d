// Decoding of stored bytes.
//
// Their formats belong to the schema's version, which was checked: bytes that cannot be decoded are
// damaged, even where they claim to be newer.
#pragma once

#include <cstdint>
#include <vector>

#include "codec/frame.h"
#include "core/result.h"
#include "store/engine/database.h"

namespace corral::store::sql {

// Turns every error of a decoder into kCorruption.
template <class T>
Result<T> stored(Result<T> decoded) {
  if (!decoded) decoded.error().code = Code::kCorruption;
  return decoded;
}

// The samples in the frame of a batch row; of a bundle, those of all its sections. kCorruption.
Result<std::vector<codec::SamplesBody>> decode_batch(Blob frame);
// The values in them.
std::int64_t count_points(const std::vector<codec::SamplesBody>& samples);

}  // namespace corral::store::sql
