// Numbers as PostgreSQL's binary format has them: big-endian, in what libpq hands out and takes.
// Callers see to it that the bytes are there. Any thread.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace corral::store::postgres {

template <class T>
T from_wire(const char* bytes) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>((value << 8) | static_cast<unsigned char>(bytes[i]));
  return value;
}

inline std::array<char, 8> to_wire(std::uint64_t value) {
  std::array<char, 8> bytes{};
  for (std::size_t i = 8; i-- > 0; value >>= 8) bytes.at(i) = static_cast<char>(value & 0xFF);
  return bytes;
}

// numeric: count of base-10000 digits, weight of the first, sign, scale, digits. Sums of integers
// come as such.
inline double numeric_of(const char* bytes) {
  const auto digits = from_wire<std::uint16_t>(bytes);
  const auto weight = static_cast<std::int16_t>(from_wire<std::uint16_t>(bytes + 2));
  const auto sign = from_wire<std::uint16_t>(bytes + 4);
  double value = 0;
  for (int i = 0; i < digits; ++i)
    value += from_wire<std::uint16_t>(bytes + 8 + 2 * i) * std::pow(10000.0, weight - i);
  return sign == 0x4000 ? -value : value;
}

}  // namespace corral::store::postgres
