// CellGrid: a picture of a terminal, as rows of character cells. Pure; one thread.
//
// Every text that is put into it is made printable first: no byte of a run's name or output reaches
// the terminal as a command.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace corral::cli {

enum class Look : std::uint8_t { kPlain, kBold, kDim, kGood, kBad, kBusy };

struct GridCell {
  // A character with those that are drawn over it; empty: the second column of the one before.
  std::string text = " ";
  Look look = Look::kPlain;
  bool unsure = false;  // terminals may give it another width
  bool operator==(const GridCell&) const = default;
};

// A part of a row; it ends at the grid's edge at the latest.
struct Spot {
  std::size_t row = 0;
  std::size_t column = 0;
  std::size_t width = std::numeric_limits<std::size_t>::max();
};

class CellGrid {
 public:
  CellGrid() = default;  // without cells
  CellGrid(std::size_t rows, std::size_t columns);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  // The place must be inside.
  [[nodiscard]] const GridCell& at(std::size_t row, std::size_t column) const {
    return cells_[row * columns_ + column];
  }
  [[nodiscard]] GridCell& at(std::size_t row, std::size_t column) {
    return cells_[row * columns_ + column];
  }
  // Writes a text from the left; one that is too long ends in "…". Returns the column behind it.
  std::size_t put(const Spot& spot, std::string_view text, Look look = Look::kPlain);
  // The same at the right end of the spot.
  void put_right(const Spot& spot, std::string_view text, Look look = Look::kPlain);
  // The rows as lines, without blanks at their ends and without empty lines at the end.
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] std::size_t end_of(const Spot& spot) const;

  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::vector<GridCell> cells_;
};

}  // namespace corral::cli
