// For tests: event files as TensorBoard's writers write them.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "codec/crc32c.h"

namespace corral::imports {

// Little endian.
inline std::string number(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}
inline std::string crc_of(std::string_view bytes) {
  return number(std::rotr(codec::crc32c(bytes.data(), bytes.size()), 15) + 0xa282ead8U, 4);
}
inline std::string record(std::string_view content) {
  const std::string length = number(content.size(), 8);
  return length + crc_of(length) + std::string(content) + crc_of(content);
}

}  // namespace corral::imports
