#include "cli/screen.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

#include "core/text.h"

namespace corral::cli {
namespace {

// A terminal that knows the sequences which Screen uses, and fails on all others.
class FakeTerminal {
 public:
  FakeTerminal(std::size_t rows, std::size_t columns) : grid_(rows, columns) {}

  void take(std::string_view bytes) {
    while (!bytes.empty()) {
      if (bytes.starts_with("\x1b[")) {
        const std::size_t end = bytes.find_first_of("HKJm");
        ASSERT_NE(end, std::string_view::npos) << bytes;
        obey(std::string(bytes.substr(2, end - 2)), bytes[end]);
        bytes.remove_prefix(end + 1);
        continue;
      }
      ASSERT_GE(static_cast<unsigned char>(bytes.front()), 0x20) << "a control character";
      const Glyph glyph = first_glyph(bytes);
      write(bytes.substr(0, glyph.bytes), glyph.columns);
      bytes.remove_prefix(glyph.bytes);
    }
  }
  [[nodiscard]] std::string text() const { return grid_.text(); }

 private:
  void obey(const std::string& number, char command) {
    if (command == 'H') {
      const std::size_t semicolon = number.find(';');
      row_ = static_cast<std::size_t>(std::stoi(number)) - 1;
      column_ = static_cast<std::size_t>(std::stoi(number.substr(semicolon + 1))) - 1;
      ASSERT_LT(row_, grid_.rows());
      ASSERT_LT(column_, grid_.columns());
    } else if (command == 'K') {
      for (std::size_t c = column_; c < grid_.columns(); ++c) grid_.at(row_, c) = {};
    } else if (command == 'J') {
      grid_ = CellGrid(grid_.rows(), grid_.columns());
    }
  }
  // The other half of a wide character that is written over becomes blank.
  void write(std::string_view character, std::size_t columns) {
    if (columns == 0) {
      grid_.at(row_, column_ - 1).text += character;
      return;
    }
    ASSERT_LE(column_ + columns, grid_.columns()) << "no line wraps";
    GridCell& cell = grid_.at(row_, column_);
    if (cell.text.empty()) grid_.at(row_, column_ - 1) = {};
    const std::size_t behind = column_ + columns;
    if (behind < grid_.columns() && grid_.at(row_, behind).text.empty())
      grid_.at(row_, behind) = {};
    cell.text = character;
    if (columns == 2) grid_.at(row_, column_ + 1).text.clear();
    column_ += columns;
  }

  CellGrid grid_;
  std::size_t row_ = 0, column_ = 0;
};

constexpr std::size_t kAll = 1u << 20;

CellGrid words(std::initializer_list<std::string> lines) {
  CellGrid grid(4, 20);
  std::size_t row = 0;
  for (const std::string& line : lines) grid.put({.row = row++}, line);
  return grid;
}

TEST(CellGrid, CutsWhatIsTooLong) {
  CellGrid grid(2, 10);
  EXPECT_EQ(grid.put({.width = 4}, "abcdef"), 4U);
  grid.put_right({.column = 5}, "12");
  grid.put({.row = 1, .column = 8}, "xyz");
  grid.put({.row = 7}, "below");
  EXPECT_EQ(grid.text(), "abc…    12\n        x…\n");
}

TEST(CellGrid, GivesWideCharactersTwoColumnsAndMarksNone) {
  CellGrid grid(3, 6);
  EXPECT_EQ(grid.put({}, "日本"), 4U);
  EXPECT_EQ(grid.put({.row = 1}, "e\u0301x"), 2U);
  grid.put({.row = 2, .width = 4}, "a日本");
  EXPECT_EQ(grid.at(0, 0).text, "日");
  EXPECT_EQ(grid.at(0, 1).text, "");
  EXPECT_EQ(grid.at(1, 0).text, "e\u0301");
  EXPECT_EQ(grid.text(), "日本\ne\u0301x\na日…\n");
}

TEST(CellGrid, MakesTextsPrintable) {
  CellGrid grid(2, 60);
  grid.put({}, "a\x1b[2J\r\n\t\x07\x9b\u202e\u2028");
  EXPECT_EQ(grid.text(), R"(a\x1b[2J\r\n\t\x07\x9b\u202e\u2028)"
                         "\n");
  std::string marks = "a";
  for (int i = 0; i < 1000; ++i) marks += "\u0301";
  grid.put({.row = 1}, marks);
  EXPECT_LE(grid.at(1, 0).text.size(), 12U);
}

TEST(Screen, EqualPicturesTakeNoBytes) {
  Screen screen(true);
  const CellGrid picture = words({"epoch 3", "loss 0.5"});
  EXPECT_FALSE(screen.update(picture, kAll).empty());
  EXPECT_EQ(screen.update(picture, kAll), "");
}

TEST(Screen, SendsOnlyWhatDiffers) {
  Screen screen(false);
  screen.update(words({"step 1200", "loss 0.5"}), kAll);
  EXPECT_EQ(screen.update(words({"step 1201", "loss 0.5"}), kAll), "\x1b[1;9H1");
  EXPECT_EQ(screen.update(words({"step 1201", "lo"}), kAll), "\x1b[2;3H\x1b[K");
  EXPECT_EQ(screen.update(words({"stop 1202", "lo"}), kAll), "\x1b[1;3Ho\x1b[1;9H2");
  EXPECT_EQ(screen.update(words({"stOp!1202", "lo"}), kAll), "\x1b[1;3HOp!") << "no move over one";
}

TEST(Screen, ColoursOnlyWhenAllowed) {
  CellGrid picture(1, 10);
  picture.put({}, "failed", Look::kBad);
  EXPECT_EQ(Screen(true).update(picture, kAll), "\x1b[0m\x1b[2J\x1b[1;1H\x1b[0;31mfailed\x1b[0m");
  EXPECT_EQ(Screen(false).update(picture, kAll), "\x1b[0m\x1b[2J\x1b[1;1H\x1b[0;1mfailed\x1b[0m");
}

TEST(Screen, DrawsAllAgainAfterANewSizeOrWhenItWasForgotten) {
  Screen screen(true);
  screen.update(words({"a"}), kAll);
  CellGrid smaller(2, 5);
  smaller.put({}, "a");
  EXPECT_EQ(screen.update(smaller, kAll), "\x1b[0m\x1b[2J\x1b[1;1Ha");
  screen.forget();
  EXPECT_EQ(screen.update(smaller, kAll), "\x1b[0m\x1b[2J\x1b[1;1Ha");
}

TEST(Screen, KeepsWithinTheBudgetAndShowsEveryRowInTheEnd) {
  CellGrid picture(24, 80);
  for (std::size_t row = 0; row < 24; ++row) picture.put({.row = row}, std::string(80, 'x'));
  constexpr std::size_t kBudget = 200;
  Screen screen(true);
  FakeTerminal terminal(24, 80);
  std::size_t calls = 0;
  for (std::string bytes; !(bytes = screen.update(picture, kBudget)).empty(); ++calls) {
    ASSERT_LE(bytes.size(), kBudget);
    terminal.take(bytes);
  }
  EXPECT_EQ(terminal.text(), picture.text());
  EXPECT_LT(calls, 20U);
  EXPECT_EQ(Screen(true).update(picture, 10), "") << "not even a cell fits";
}

TEST(Screen, ARowThatAlwaysChangesHoldsNoOtherUp) {
  Screen screen(true);
  FakeTerminal terminal(3, 40);
  for (int i = 0; i < 9; ++i) {
    CellGrid picture(3, 40);
    picture.put({}, std::string(40, static_cast<char>('a' + i)));
    picture.put({.row = 2}, "the last row");
    terminal.take(screen.update(picture, 70));
  }
  EXPECT_NE(terminal.text().find("the last row"), std::string::npos) << terminal.text();
}

// Pictures of random texts, in pieces: the terminal shows the newest whole one.
TEST(Screen, AnyPictureFollowsAnyOther) {
  constexpr std::array<std::string_view, 8> kPieces = {"a",       "  ", "loss", "日本",
                                                       "e\u0301", "⣀⠤", "🦙", "-"};
  constexpr std::array kLooks = {Look::kPlain, Look::kBold, Look::kBad, Look::kDim};
  std::mt19937 random(7);
  const auto below = [&](std::size_t most) { return random() % most; };
  Screen screen(true);
  FakeTerminal terminal(5, 17);
  for (int i = 0; i < 500; ++i) {
    CellGrid picture(5, 17);
    for (std::size_t row = 0; row < 5; ++row) {
      std::string text;
      for (std::size_t n = below(9); n > 0; --n) text += kPieces[below(kPieces.size())];
      picture.put({.row = row, .column = below(9)}, text, kLooks[below(kLooks.size())]);
    }
    terminal.take(screen.update(picture, 60 + below(200)));
    if (below(3) != 0) continue;
    for (std::string rest; !(rest = screen.update(picture, kAll)).empty();) terminal.take(rest);
    ASSERT_EQ(terminal.text(), picture.text()) << "picture " << i;
  }
}

}  // namespace
}  // namespace corral::cli
