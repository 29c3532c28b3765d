// CRC-32C against RFC 3720's examples, and the two ways to compute it against each other.
#include "codec/crc32c.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace corral::codec {
namespace {

using Data = std::vector<std::uint8_t>;

std::uint32_t crc(const Data& data) { return crc32c(data.data(), data.size()); }
std::uint32_t by_table(const Data& data) {
  return ~detail::crc32c_table(~0u, data.data(), data.size());
}

// RFC 3720, appendix B.4.
std::vector<std::pair<Data, std::uint32_t>> vectors() {
  Data up(32);
  std::iota(up.begin(), up.end(), std::uint8_t{0});
  const Data down(up.rbegin(), up.rend());
  Data read_command(48);
  read_command[0] = 0x01;
  read_command[1] = 0xC0;
  read_command[16] = 0x14;
  read_command[22] = 0x04;
  read_command[27] = 0x14;
  read_command[31] = 0x18;
  read_command[32] = 0x28;
  read_command[40] = 0x02;
  return {{Data(32, 0x00), 0x8A9136AAu},
          {Data(32, 0xFF), 0x62A8AB43u},
          {up, 0x46DD794Eu},
          {down, 0x113FDB5Cu},
          {read_command, 0xD9963A56u}};
}

TEST(Crc32c, AnswersOfRfc3720) {
  for (const auto& [data, expected] : vectors()) {
    EXPECT_EQ(crc(data), expected);
    EXPECT_EQ(by_table(data), expected);
  }
  constexpr std::string_view kCheck = "123456789";
  EXPECT_EQ(crc32c(kCheck.data(), kCheck.size()), 0xE3069283u);
  EXPECT_EQ(crc32c(nullptr, 0), 0u);
}

RC_GTEST_PROP(Crc32cProperty, TableAndInstructionAgreeAtAnyAlignment, (const Data& data)) {
  for (std::size_t skip = 0; skip < std::min<std::size_t>(data.size(), 9); ++skip) {
    const Data rest(data.begin() + static_cast<std::ptrdiff_t>(skip), data.end());
    RC_ASSERT(crc32c(data.data() + skip, data.size() - skip) == by_table(rest));
  }
}

RC_GTEST_PROP(Crc32cProperty, GoesOnFromWhatCameBefore, (const Data& front, const Data& back)) {
  Data whole = front;
  whole.insert(whole.end(), back.begin(), back.end());
  RC_ASSERT(crc32c(back.data(), back.size(), crc(front)) == crc(whole));
}

}  // namespace
}  // namespace corral::codec
