// For tests of columns: series of many kinds, made from a seed, and columns damaged with a right
// checksum.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "codec/block/column.h"
#include "codec/crc32c.h"

namespace corral::codec::testing {

using Random = std::mt19937_64;

inline std::uint64_t below(Random& random, std::uint64_t n) { return random() % n; }
inline double uniform(Random& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

inline double odd_value(Random& random) {
  constexpr std::array<std::uint64_t, 12> kBits = {
      0x8000000000000000u, 0x7FF0000000000000u, 0xFFF0000000000000u, 0x7FF8000000000000u,
      0xFFF8000000001234u, 0x7FF0000000000001u, 0xFFF4000000000000u, 0x0000000000000001u,
      0x800FFFFFFFFFFFFFu, 0x7FEFFFFFFFFFFFFFu, 0x4340000000000000u, 0x3FD5555555555555u};
  return std::bit_cast<double>(kBits[below(random, kBits.size())]);
}

inline double power_of_ten(std::uint64_t exponent) {
  return std::pow(10.0, static_cast<double>(exponent));
}

// Kinds of series; each fills `out` with one of its kind.
inline constexpr int kKindsOfValues = 15;
inline void fill_values(int kind, Random& random, std::span<double> out) {
  const double power = power_of_ten(below(random, 16));
  const auto range = std::uint64_t{1} << (1 + below(random, 52));
  const double base = static_cast<double>(below(random, range));
  double sum = base;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto at = static_cast<double>(i);
    const double noise = static_cast<double>(below(random, range)) - static_cast<double>(range) / 2;
    switch (kind) {
      case 0:  // any bits
        out[i] = std::bit_cast<double>(random());
        break;
      case 1:  // decimals
        out[i] = noise / power;
        break;
      case 2:  // floats
        out[i] = static_cast<double>(static_cast<float>(base + 1.0 + uniform(random)));
        break;
      case 3:  // floats of any bits
        out[i] = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        break;
      case 4:  // small integers in regimes
        out[i] = static_cast<double>(i / 300 % 7 * 10 + below(random, 4));
        break;
      case 5:  // a counter with decimals
        sum += static_cast<double>(below(random, 30'000));
        out[i] = sum / 1000;
        break;
      case 6:  // plateaus of 2 MiB
        if (below(random, 90) == 0) sum = static_cast<double>(below(random, 30'000)) * 2'097'152;
        out[i] = sum;
        break;
      case 7:  // integers around the limits of exactness
        out[i] = (below(random, 2) == 0 ? 0x1p51 : 0x1p53) + noise / 0x1p40;
        break;
      case 8:  // full mantissas
        out[i] = 2 + uniform(random);
        break;
      case 9:  // smooth
        out[i] = 1e-3 * (1 + std::cos(at / 5000));
        break;
      case 10:  // zeros of both signs
        out[i] = below(random, 2) == 0 ? 0.0 : -0.0;
        break;
      case 11:  // decimals, now and then something odd
        out[i] = below(random, 40) == 0 ? odd_value(random)
                                        : static_cast<double>(below(random, 5000)) / 10;
        break;
      case 13:  // smooth to almost nothing, and again from the start
        out[i] = 1e-3 * (1 + std::cos(std::fmod(at, 3000) / 955));
        break;
      case 14:  // items per second of elapsed microseconds
        out[i] = 48 / (static_cast<double>(90'000 + below(random, 8192)) / 1e6);
        break;
      default:  // levels with a step, whole numbers first
        out[i] = i < out.size() / 2 ? static_cast<double>(15 * below(random, 6))
                                    : static_cast<double>(below(random, 100)) / 8;
    }
  }
}

inline constexpr int kKindsOfIntegers = 9;
inline void fill_integers(int kind, Random& random, std::span<std::int64_t> out) {
  constexpr std::array<std::int64_t, 6> kEnds = {std::numeric_limits<std::int64_t>::min(),
                                                 std::numeric_limits<std::int64_t>::max(),
                                                 0,
                                                 -1,
                                                 1,
                                                 std::numeric_limits<std::int64_t>::max() - 1};
  constexpr std::int64_t kStart = 1'763'710'530'123'456'789;
  std::int64_t last = 7;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const auto jitter = static_cast<std::int64_t>(below(random, 9));
    switch (kind) {
      case 0:  // any
        out[i] = static_cast<std::int64_t>(random());
        break;
      case 1:  // the ends of the range
        out[i] = kEnds[below(random, kEnds.size())];
        break;
      case 2:  // a grid of milliseconds with jitter
        out[i] = kStart + at * 100'000'000 + jitter * 1'000'000;
        break;
      case 3:  // microseconds, and one vector in nanoseconds
        out[i] = kStart + at * 100'000'000 + (i / 1024 == 1 ? jitter : jitter * 1000);
        break;
      case 4:  // one by one, with gaps
        last += jitter == 0 ? 3 : 1;
        out[i] = last;
        break;
      case 5:  // steps that go back
        out[i] = at % 500 - 20;
        break;
      case 6:  // a line that wraps around
        out[i] = static_cast<std::int64_t>(i * 0x1234567890ABCDEFu);
        break;
      case 7:  // a pause
        out[i] = kStart + at * 1'000'000 + (i > 700 ? 3'600'000'000'000 : 0) + jitter;
        break;
      default:  // seconds
        last += 1'000'000'000 * jitter;
        out[i] = last;
    }
  }
}

inline std::span<const std::uint8_t> bytes_of(const std::string& column) {
  return {reinterpret_cast<const std::uint8_t*>(column.data()), column.size()};
}
template <class T>
std::vector<std::uint64_t> bits_of(const std::vector<T>& entries) {
  std::vector<std::uint64_t> bits(entries.size());
  if (!bits.empty()) std::memcpy(bits.data(), entries.data(), bits.size() * sizeof(T));
  return bits;
}

// Makes the length and checksum of a changed column right again.
inline void reseal(std::string& column) {
  const auto length = static_cast<std::uint32_t>(column.size());
  std::memcpy(column.data() + 4, &length, sizeof length);
  const std::uint32_t crc =
      crc32c(column.data() + 12, column.size() - 12, crc32c(column.data(), 8));
  std::memcpy(column.data() + 8, &crc, sizeof crc);
}

}  // namespace corral::codec::testing
