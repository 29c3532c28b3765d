// Draws the state of `corral watch` into a grid. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/cell_grid.h"
#include "cli/watch_model.h"

namespace corral::cli {

// Rows of the screen that a list does not use for its rows.
inline constexpr std::size_t kListFrame = 4;

struct WatchPlace {
  std::size_t chosen = 0;  // row of the list
  std::size_t first = 0;   // the first one in sight
  std::string opened{};    // run of the list that is shown in detail
};
// Moves the place by so many rows, and what is in sight with it.
WatchPlace moved(WatchPlace place, std::ptrdiff_t by, std::size_t rows, std::size_t in_sight);

// Characters for the lines of values on a screen of so many columns.
std::size_t list_line(std::size_t columns);
std::size_t detail_line(std::size_t columns);

// Fills the grid with the list, or with the run that is watched or opened. `hint` is the last row,
// unless there is trouble.
void draw_watch(const WatchState& state, const WatchPlace& place, std::string_view hint,
                CellGrid& grid);

// The state in one line of text.
std::string watch_line(const WatchState& state);

}  // namespace corral::cli
