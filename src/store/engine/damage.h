// stored(): what was decoded of the database's bytes. Their formats belong to the schema's version,
// which was looked at: bytes that cannot be decoded are damaged, even where they claim to be newer.
#pragma once

#include <utility>

#include "core/result.h"

namespace corral::store::sql {

template <class T>
Result<T> stored(Result<T> decoded) {
  if (!decoded) decoded.error().code = Code::kCorruption;
  return decoded;
}

}  // namespace corral::store::sql
