#include "cli/screen.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace corral::cli {
namespace {

// A move, a look, a character with its marks, and what ends the answer.
constexpr std::size_t kMostCellBytes = 40;
// Cells that are cheaper to write again than to jump over.
constexpr std::size_t kShortGap = 4;

std::string_view code_of(Look look, bool colours) {
  switch (look) {
    case Look::kPlain:
      return "\x1b[0m";
    case Look::kBold:
      return "\x1b[0;1m";
    case Look::kDim:
      return "\x1b[0;2m";
    case Look::kGood:
      return colours ? "\x1b[0;32m" : "\x1b[0m";
    case Look::kBad:
      return colours ? "\x1b[0;31m" : "\x1b[0;1m";
    case Look::kBusy:
      return colours ? "\x1b[0;36m" : "\x1b[0m";
  }
  return "\x1b[0m";
}

// No look shows on it.
bool is_blank(const GridCell& cell) { return cell.text == " "; }

// Returns the column behind the last cell of the row that is not blank.
std::size_t end_of_text(const CellGrid& grid, std::size_t row) {
  std::size_t end = grid.columns();
  while (end > 0 && is_blank(grid.at(row, end - 1))) --end;
  return end;
}

}  // namespace

// Writes cells, with moves of the cursor and changes of the look only where they are needed.
class Screen::Pen {
 public:
  Pen(bool colours, std::size_t budget) : colours_(colours), budget_(budget) {}

  void clear() { out_ += "\x1b[0m\x1b[2J"; }
  [[nodiscard]] bool full() const { return out_.size() + kMostCellBytes > budget_; }

  void draw(const CellGrid& grid, std::size_t row, std::size_t column) {
    const GridCell& cell = grid.at(row, column);
    move(grid, row, column);
    if (!is_blank(cell)) set(cell.look);
    out_ += cell.text;
    // At the edge the cursor stays where it is.
    const bool sure = !cell.unsure && column + 1 < grid.columns();
    place_ = sure ? std::optional(std::pair(row, column + 1)) : std::nullopt;
  }

  // To the end of the row.
  void erase(const CellGrid& grid, std::size_t row, std::size_t column) {
    move(grid, row, column);
    out_ += "\x1b[K";
  }

  std::string finish() {
    set(Look::kPlain);
    return std::move(out_);
  }

 private:
  void move(const CellGrid& grid, std::size_t row, std::size_t column) {
    const std::pair wanted(row, column);
    if (place_ == wanted) return;
    if (place_ && place_->first == row && place_->second < column && repeat(grid, wanted)) return;
    out_ += fmt::format("\x1b[{};{}H", row + 1, column + 1);
    place_ = wanted;
  }

  // Writes the cells up to that place again, if that takes no more bytes than a move.
  bool repeat(const CellGrid& grid, const std::pair<std::size_t, std::size_t>& until) {
    std::string between;
    for (std::size_t column = place_->second; column < until.second; ++column) {
      const GridCell& cell = grid.at(until.first, column);
      const bool looks_so = cell.look == look_ || is_blank(cell);
      if (!looks_so || cell.unsure || cell.text.empty()) return false;
      between += cell.text;
      if (between.size() > kShortGap) return false;
    }
    out_ += between;
    place_ = until;
    return true;
  }

  void set(Look look) {
    if (look == look_) return;
    look_ = look;
    out_ += code_of(look, colours_);
  }

  bool colours_;
  std::size_t budget_;
  std::string out_;
  std::optional<std::pair<std::size_t, std::size_t>> place_;  // the cursor's, if it is known
  Look look_ = Look::kPlain;
};

bool Screen::update_row(const CellGrid& next, std::size_t row, Pen& pen) {
  const std::size_t end = end_of_text(next, row);
  for (std::size_t column = 0; column < next.columns(); ++column) {
    if (shown_.at(row, column) == next.at(row, column)) continue;
    if (pen.full()) return false;
    if (column >= end) {
      pen.erase(next, row, column);
      for (; column < next.columns(); ++column) shown_.at(row, column) = {};
      break;
    }
    pen.draw(next, row, column);
    shown_.at(row, column) = next.at(row, column);
    const bool wide = column + 1 < next.columns() && next.at(row, column + 1).text.empty();
    if (wide) shown_.at(row, column + 1) = next.at(row, column + 1);
  }
  return true;
}

std::string Screen::update(const CellGrid& next, std::size_t budget) {
  Pen pen(colours_, budget);
  if (next.rows() != shown_.rows() || next.columns() != shown_.columns()) {
    if (pen.full()) return {};
    pen.clear();
    shown_ = CellGrid(next.rows(), next.columns());
    first_row_ = 0;
  }
  for (std::size_t i = 0; i < next.rows(); ++i) {
    const std::size_t row = (first_row_ + i) % next.rows();
    if (update_row(next, row, pen)) continue;
    // A row that always changes must not hold the others up.
    first_row_ = row + 1;
    break;
  }
  return pen.finish();
}

}  // namespace corral::cli
