// The numbers of one vector: differences, frame of reference, bit packing, and zstd for the bits
// above the noise (docs/format-block.md, "Numbers").
//
// Values, times and steps become 64-bit numbers first (column.cpp); here they are bits, all
// arithmetic wraps, and decoding restores every number exactly. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "codec/block/column.h"
#include "codec/wire.h"

namespace corral::codec {

// The form in which the numbers of a vector are stored.
enum class Order : std::uint8_t {
  kPlain = 0,
  kFirst = 1,   // differences
  kSecond = 2,  // differences of differences
  kLine = 3,    // differences from a straight line
  kThird = 4,   // differences of second differences; since version 2 of columns
};
inline constexpr std::uint8_t kOrders = 5;

void append_numbers(std::string& out, std::span<const std::uint64_t> numbers, Order order,
                    Effort effort);
// Damage is noted in `in`; then `numbers` hold anything.
void read_numbers(WireReader& in, Order order, std::span<std::uint64_t> numbers);

// The order of `candidates` that stores these numbers best, and what a vector takes with it: bytes
// for kBest, bits of a number for kFast.
struct OrderChoice {
  Order order = Order::kPlain;
  std::size_t size = 0;
};
OrderChoice best_order(std::span<const std::uint64_t> numbers, std::span<const Order> candidates,
                       Effort effort);

// Bit packing of up to 1,024 numbers below 2^width (docs/format-block.md, "Packed numbers"). A full
// vector lies in 16 lanes, so that all lanes shift alike and the compiler can use vector
// instructions; a shorter one is packed in sequence and wastes no lane.
inline constexpr unsigned kMostWidth = 64;
constexpr std::size_t packed_bytes(std::size_t n, unsigned width) { return (n * width + 7) / 8; }
void pack(std::string& out, std::span<const std::uint64_t> numbers, unsigned width);
// `in` holds packed_bytes(out.size(), width) bytes.
void unpack(std::span<const std::uint8_t> in, unsigned width, std::span<std::uint64_t> out);

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void put_varint(std::string& out, std::uint64_t value);  // zigzag LEB128, as in wire.h

}  // namespace corral::codec
