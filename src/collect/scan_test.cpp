#include "collect/scan.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace corral::collect {
namespace {

TEST(Scanner, ReadsWordsOfALineAndStopsAtItsEnd) {
  Scanner scan("  one\ttwo \nthree");
  EXPECT_EQ(scan.word(), "one");
  EXPECT_EQ(scan.word(), "two");
  EXPECT_EQ(scan.word(), "");
  scan.line();
  EXPECT_EQ(scan.word(), "three");
  EXPECT_EQ(scan.word(), "");
  EXPECT_TRUE(scan.done());
}

TEST(Scanner, KeepsNumbersThatDoNotFitAtTheGreatestValue) {
  std::uint64_t n = 0;
  EXPECT_TRUE(Scanner("18446744073709551615").number(n));
  EXPECT_EQ(n, ~std::uint64_t{0});
  EXPECT_TRUE(Scanner("18446744073709551616").number(n));
  EXPECT_EQ(n, ~std::uint64_t{0});
  EXPECT_TRUE(Scanner("99999999999999999999999").number(n));
  EXPECT_EQ(n, ~std::uint64_t{0});
}

TEST(Scanner, LeavesTheValueAloneWhereThereIsNoNumber) {
  std::uint64_t n = 7;
  for (const char* text : {"", " ", "x1", "-1", "\n5"})
    EXPECT_FALSE(Scanner(text).number(n)) << text;
  EXPECT_EQ(n, 7u);
}

TEST(Scanner, ReadsDecimals) {
  double d = 0;
  EXPECT_TRUE(Scanner("312.07 ").decimal(d));
  EXPECT_DOUBLE_EQ(d, 312.07);
  EXPECT_TRUE(Scanner("4").decimal(d));
  EXPECT_DOUBLE_EQ(d, 4);
}

class FindValues : public testing::Test {
 protected:
  std::uint32_t find(std::string_view text) { return find_values(text, kKeys, values); }
  static constexpr std::array<std::string_view, 3> kKeys{"alpha", "beta", "gamma"};
  std::array<std::uint64_t, 3> values{11, 12, 13};
};

TEST_F(FindValues, TakesBothFormsInAnyOrder) {
  EXPECT_EQ(find("gamma: 3 kB\nother 9\nalpha 1\nbeta:\t2\n"), 7u);
  EXPECT_EQ(values, (std::array<std::uint64_t, 3>{1, 2, 3}));
}

TEST_F(FindValues, LeavesOutWhatIsMissingOrNoNumber) {
  EXPECT_EQ(find("alphax 5\nalph 6\nbeta x\ngamma 3"), 4u);
  EXPECT_EQ(values, (std::array<std::uint64_t, 3>{11, 12, 3}));
}

TEST_F(FindValues, FirstLineOfAKeyCounts) {
  EXPECT_EQ(find("beta 2\nbeta 5\n"), 2u);
  EXPECT_EQ(values[1], 2u);
}

}  // namespace
}  // namespace corral::collect
