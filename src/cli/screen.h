// Screen: makes a terminal show one CellGrid after another with few bytes: only cells that differ
// are sent. Pure; one thread.
//
// The terminal must not wrap lines by itself (DECAWM off): a character that it draws wider than
// expected then spoils its own row only, until that row changes.
#pragma once

#include <cstddef>
#include <string>

#include "cli/cell_grid.h"

namespace corral::cli {

class Screen {
 public:
  // Without `colours`, good and busy text is plain, and bad text is bold.
  explicit Screen(bool colours) : colours_(colours) {}

  // Returns at most `budget` bytes that turn what is shown into `next`; empty: it is shown. The
  // rest comes with the next calls.
  std::string update(const CellGrid& next, std::size_t budget);
  // The terminal has been written to by others: everything is drawn again.
  void forget() { shown_ = CellGrid(); }

 private:
  class Pen;
  bool update_row(const CellGrid& next, std::size_t row, Pen& pen);

  bool colours_;
  CellGrid shown_;
  std::size_t first_row_ = 0;  // for the next call to begin at
};

}  // namespace corral::cli
