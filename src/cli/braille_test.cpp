#include "cli/braille.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "core/text.h"

namespace corral::cli {
namespace {

using Values = std::vector<std::optional<double>>;

TEST(BrailleLine, RisesFromTheBottomToTheTop) {
  EXPECT_EQ(braille_line(Values{0, 1, 2, 3}, 2), "⡠⠊");
  EXPECT_EQ(braille_line(Values{3, 2, 1, 0}, 2), "⠑⢄");
}

TEST(BrailleLine, JoinsNeighboursThatAreFarApart) {
  EXPECT_EQ(braille_line(Values{0, 3}, 1), "⡸");
  EXPECT_EQ(braille_line(Values{3, 0}, 1), "⢱");
}

TEST(BrailleLine, MissingValuesContinueTheOneBefore) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(braille_line(Values{0, 0, std::nullopt, kNan, kInfinite, 3}, 3), "⣀⣀⡸");
  EXPECT_EQ(braille_line(Values{std::nullopt, std::nullopt, 0, 3}, 2), " ⡸");
  EXPECT_EQ(braille_line(Values{std::nullopt, kNan}, 2), "  ");
  EXPECT_EQ(braille_line(Values{}, 3), "   ");
  EXPECT_EQ(braille_line(Values{1, 2}, 0), "");
}

TEST(BrailleLine, AConstantLiesAboveTheBottom) {
  EXPECT_EQ(braille_line(Values{7, 7, 7, 7}, 2), "⠤⠤");
}

TEST(BrailleLine, StretchesFewValuesAndTakesSomeOfMany) {
  EXPECT_EQ(braille_line(Values{0, 3}, 2), "⣀⠏");
  Values many;
  for (int i = 0; i < 1000; ++i) many.emplace_back(i);
  EXPECT_EQ(display_width(braille_line(many, 7)), 7U);
}

TEST(BrailleLine, TakesTheGreatestRangeOfNumbers) {
  constexpr double kMost = std::numeric_limits<double>::max();
  EXPECT_EQ(braille_line(Values{-kMost, 0, 0, kMost}, 2).size(), 6U);
}

TEST(ShareBar, FillsInEighths) {
  EXPECT_EQ(share_bar(0, 4), "░░░░");
  EXPECT_EQ(share_bar(0.5, 4), "██░░");
  EXPECT_EQ(share_bar(1, 4), "████");
  EXPECT_EQ(share_bar(5.0 / 16, 2), "▋░");
  EXPECT_EQ(share_bar(-1, 2), "░░");
  EXPECT_EQ(share_bar(7, 2), "██");
  EXPECT_EQ(share_bar(0.5, 0), "");
}

}  // namespace
}  // namespace corral::cli
