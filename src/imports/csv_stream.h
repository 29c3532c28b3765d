// CsvStream: CSV of any length, row by row; plan/csv.h reads the text.
//
// Bytes come in pieces of any size. Rows are views for the call. Memory is bounded by a piece, or
// by the longest quoted cell, which may have 16 MiB. Pure, one thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "plan/csv.h"

namespace corral::imports {

struct CsvRow {
  std::int64_t line = 0;                    // 1-based, where it begins
  const std::vector<plan::CsvCell>& cells;  // at least one
  std::string_view text;                    // the cells' offsets count in it
  std::uint64_t end = 0;                    // bytes of the file up to the end of its line
  char separator = ',';
  // "line 3, column 14", of a cell; without a text "row 3, column 2", the second cell.
  [[nodiscard]] std::string place(std::size_t cell) const;
};

class CsvStream {
 public:
  using Take = std::function<Result<>(const CsvRow&)>;

  // Calls `take` for each row that is complete. Errors: those of `take`, and of the text, with line
  // and column.
  Result<> add(std::string_view bytes, const Take& take);
  // The same for a last row that no line end follows.
  Result<> finish(const Take& take);
  // Lines that begin with #, which are no rows.
  [[nodiscard]] std::uint64_t comments() const { return comments_; }

 private:
  Result<> parse(std::size_t size, bool last, const Take& take);

  std::string bytes_;
  std::size_t wait_until_ = 0;  // bytes_ has this size before it is looked at again
  char separator_ = 0;          // 0: not known yet
  std::int64_t lines_ = 0;      // before bytes_
  std::uint64_t before_ = 0;    // bytes before bytes_
  std::uint64_t comments_ = 0;
};

}  // namespace corral::imports
