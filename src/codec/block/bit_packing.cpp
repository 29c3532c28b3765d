#include "codec/block/bit_packing.h"

#include <array>
#include <cstring>

#include "codec/block/column.h"
#include "codec/block/kernel.h"
#include "core/result.h"

namespace corral::codec {
namespace {

constexpr std::size_t kLanes = 16;
constexpr std::size_t kRows = kVectorEntries / kLanes;
// One row more than the widest vector takes: a number's upper half is read and written there.
using Words = std::array<std::uint64_t, kVectorEntries + kLanes>;

CORRAL_KERNEL void pack_rows(std::uint64_t* words, const std::uint64_t* numbers, unsigned width) {
  for (std::size_t row = 0; row < kRows; ++row) {
    const std::size_t bit = row * width;
    const unsigned shift = bit % 64;
    const unsigned rest = 63 - shift;
    std::uint64_t* low = words + bit / 64 * kLanes;
    std::uint64_t* high = low + kLanes;
    const std::uint64_t* from = numbers + row * kLanes;
    for (std::size_t lane = 0; lane < kLanes; ++lane) low[lane] |= from[lane] << shift;
    for (std::size_t lane = 0; lane < kLanes; ++lane) high[lane] |= from[lane] >> 1 >> rest;
  }
}

CORRAL_KERNEL void unpack_rows(const std::uint64_t* words, std::uint64_t* numbers, unsigned width) {
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
  for (std::size_t row = 0; row < kRows; ++row) {
    const std::size_t bit = row * width;
    const unsigned shift = bit % 64;
    const unsigned rest = 63 - shift;
    const std::uint64_t* low = words + bit / 64 * kLanes;
    const std::uint64_t* high = low + kLanes;
    std::uint64_t* to = numbers + row * kLanes;
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      to[lane] = (low[lane] >> shift | high[lane] << 1 << rest) & mask;
  }
}

void pack_sequence(Words& words, std::span<const std::uint64_t> numbers, unsigned width) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t bit = i * width;
    words[bit / 64] |= numbers[i] << bit % 64;
    words[bit / 64 + 1] |= numbers[i] >> 1 >> (63 - bit % 64);
  }
}

void unpack_sequence(const Words& words, std::span<std::uint64_t> numbers, unsigned width) {
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t bit = i * width;
    numbers[i] = (words[bit / 64] >> bit % 64 | words[bit / 64 + 1] << 1 << (63 - bit % 64)) & mask;
  }
}

}  // namespace

void pack(std::string& out, std::span<const std::uint64_t> numbers, unsigned width) {
  CORRAL_ASSERT(numbers.size() <= kVectorEntries && width <= kMostWidth);
  if (width == 0 || numbers.empty()) return;
  alignas(64) Words words;
  const std::size_t bytes = packed_bytes(numbers.size(), width);
  std::memset(words.data(), 0, bytes + kLanes * sizeof(std::uint64_t));
  if (numbers.size() == kVectorEntries) {
    run<pack_rows>(words.data(), numbers.data(), width);
  } else {
    pack_sequence(words, numbers, width);
  }
  out.append(reinterpret_cast<const char*>(words.data()), bytes);
}

void unpack(std::span<const std::uint8_t> in, unsigned width, std::span<std::uint64_t> out) {
  CORRAL_ASSERT(out.size() <= kVectorEntries && width <= kMostWidth &&
                in.size() == packed_bytes(out.size(), width));
  if (width == 0 || out.empty()) {
    std::memset(out.data(), 0, out.size_bytes());
    return;
  }
  alignas(64) Words words;
  std::memcpy(words.data(), in.data(), in.size());
  std::memset(reinterpret_cast<char*>(words.data()) + in.size(), 0, kLanes * sizeof(std::uint64_t));
  if (out.size() == kVectorEntries) {
    run<unpack_rows>(words.data(), out.data(), width);
  } else {
    unpack_sequence(words, out, width);
  }
}

}  // namespace corral::codec
