// Bit packing of up to 1,024 numbers below 2^width (docs/format-block.md, "Packed numbers").
//
// A full vector lies in 16 lanes, so that all lanes shift alike and the compiler can use vector
// instructions; a shorter one is packed in sequence and wastes no lane. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace corral::codec {

inline constexpr unsigned kMostWidth = 64;

constexpr std::size_t packed_bytes(std::size_t n, unsigned width) { return (n * width + 7) / 8; }
void pack(std::string& out, std::span<const std::uint64_t> numbers, unsigned width);
// `in` holds packed_bytes(out.size(), width) bytes.
void unpack(std::span<const std::uint8_t> in, unsigned width, std::span<std::uint64_t> out);

}  // namespace corral::codec
