// Bytes of a vector through zstd, one frame without its magic number.
//
// Each thread keeps one context of each direction for its life (about 100 KB). Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace corral::codec {

inline constexpr std::size_t kMostPlaneBytes = std::size_t{8} * 1024;  // before compression

// Appends the compressed bytes and returns their number; appends nothing and returns 0 when there
// would be `most` of them or more.
std::size_t append_compressed(std::string& out, std::span<const std::uint8_t> bytes, int level,
                              std::size_t most);
// False: not a frame of exactly out.size() bytes.
bool decompress(std::span<const std::uint8_t> in, std::span<std::uint8_t> out);

}  // namespace corral::codec
