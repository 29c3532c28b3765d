// CRC-32C (Castagnoli, RFC 3720 appendix B.4): of every frame, segment header and stored block.
//
// Header-only so that the Python module uses it without linking codec. Uses the CPU's instruction
// where compiled for it or found at run time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace corral::codec {

namespace detail {

constexpr std::array<std::array<std::uint32_t, 256>, 8> make_crc_tables() {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1u) != 0 ? (crc >> 1) ^ 0x82F63B78u : crc >> 1;
    tables[0][i] = crc;
  }
  for (std::size_t t = 1; t < 8; ++t) {
    for (std::size_t i = 0; i < 256; ++i) {
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xFFu];
    }
  }
  return tables;
}
inline constexpr auto kCrcTables = make_crc_tables();

inline std::uint32_t crc32c_table(std::uint32_t crc, const unsigned char* p, std::size_t n) {
  const auto& t = kCrcTables;
  for (; n >= 8; p += 8, n -= 8) {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    std::memcpy(&low, p, 4);
    std::memcpy(&high, p + 4, 4);
    low ^= crc;
    crc = t[7][low & 0xFF] ^ t[6][low >> 8 & 0xFF] ^ t[5][low >> 16 & 0xFF] ^ t[4][low >> 24] ^
          t[3][high & 0xFF] ^ t[2][high >> 8 & 0xFF] ^ t[1][high >> 16 & 0xFF] ^ t[0][high >> 24];
  }
  for (; n > 0; ++p, --n) crc = (crc >> 8) ^ t[0][(crc ^ *p) & 0xFFu];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2,crc32"))) inline std::uint32_t crc32c_sse42(std::uint32_t crc,
                                                                          const unsigned char* p,
                                                                          std::size_t n) {
  std::uint64_t wide = crc;
  for (; n >= 8; p += 8, n -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, 8);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  crc = static_cast<std::uint32_t>(wide);
  for (; n > 0; ++p, --n) crc = __builtin_ia32_crc32qi(crc, *p);
  return crc;
}
#endif

}  // namespace detail

// Returns the checksum of `n` bytes, continuing from `previous` (the result for the bytes before; 0
// at the start).
inline std::uint32_t crc32c(const void* data, std::size_t n, std::uint32_t previous = 0) {
  const auto* p = static_cast<const unsigned char*>(data);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return ~detail::crc32c_sse42(~previous, p, n);
#endif
  return ~detail::crc32c_table(~previous, p, n);
}

}  // namespace corral::codec
