#include "cli/cell_grid.h"

#include <algorithm>

#include "core/text.h"

namespace corral::cli {
namespace {

// A character with its marks. More marks are left out: a text may have thousands in one place.
constexpr std::size_t kMostCellText = 12;

}  // namespace

CellGrid::CellGrid(std::size_t rows, std::size_t columns)
    : rows_(rows), columns_(columns), cells_(rows * columns) {}

std::size_t CellGrid::end_of(const Spot& spot) const {
  if (spot.column >= columns_) return spot.column;
  return spot.column + std::min(spot.width, columns_ - spot.column);
}

std::size_t CellGrid::put(const Spot& spot, std::string_view text, Look look) {
  const std::size_t end = spot.row < rows_ ? end_of(spot) : spot.column;
  const std::string shown = printable(text);
  const bool cut = display_width(shown) > end - spot.column;
  const std::size_t last = cut && end > spot.column ? end - 1 : end;
  std::size_t column = spot.column;
  for (std::string_view rest = shown; !rest.empty();) {
    const Glyph glyph = first_glyph(rest);
    const std::string_view bytes = glyph.known ? rest.substr(0, glyph.bytes) : "\uFFFD";
    if (column + glyph.columns > last) break;
    rest.remove_prefix(glyph.bytes);
    if (glyph.columns == 0) {
      if (column == spot.column) continue;
      GridCell& before = at(spot.row, column - (at(spot.row, column - 1).text.empty() ? 2 : 1));
      if (before.text.size() + bytes.size() <= kMostCellText) before.text += bytes;
      before.unsure = true;
      continue;
    }
    at(spot.row, column) = {.text = std::string(bytes),
                            .look = bytes == " " ? Look::kPlain : look,
                            .unsure = glyph.columns > 1};
    if (glyph.columns > 1) at(spot.row, column + 1) = {.text = {}};
    column += glyph.columns;
  }
  if (cut && last < end) at(spot.row, column++) = {.text = "…", .look = look};
  return column;
}

void CellGrid::put_right(const Spot& spot, std::string_view text, Look look) {
  const std::size_t width = end_of(spot) - spot.column;
  const std::size_t shift = width - std::min(width, display_width(printable(text)));
  put({.row = spot.row, .column = spot.column + shift, .width = width - shift}, text, look);
}

std::string CellGrid::text() const {
  std::string all;
  for (std::size_t row = 0; row < rows_; ++row) {
    std::string line;
    for (std::size_t column = 0; column < columns_; ++column) line += at(row, column).text;
    line.erase(line.find_last_not_of(' ') + 1);
    all += line + '\n';
  }
  all.erase(all.find_last_not_of('\n') + 1);
  return all.empty() ? all : all + '\n';
}

}  // namespace corral::cli
