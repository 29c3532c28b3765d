// CSV as people and spreadsheets write it, each cell with its place in the text.
//
// RFC 4180, and beside it: a byte order mark, LF or CRLF, spaces around cells, `#` lines and blank
// lines anywhere, and a separator other than the comma, which a line "sep=;" may declare. Every
// text can be read; its problems are listed. Offsets are bytes of the text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace corral::plan {

struct CsvCell {
  std::size_t begin = 0, end = 0;  // in the text, with quotes and spaces
  std::string value;               // without them
};

struct CsvRecord {
  int line = 0;                    // 1-based, where it begins
  std::size_t begin = 0, end = 0;  // without the line end
  std::vector<CsvCell> cells;      // at least one
};

struct CsvFault {
  int line = 0;
  int column = 0;
  std::string value;
  std::string reason;
};

struct CsvTable {
  char separator = ',';
  bool declared = false;           // by a line "sep=;" before the header, as spreadsheets write it
  std::vector<CsvRecord> records;  // the first is the header; comments and blank lines are none
  std::vector<CsvFault> faults;
};

CsvTable read_csv(std::string_view text);

// 1-based character of its line at which this byte stands.
int column_at(std::string_view text, std::size_t offset);
// The value as a cell, in quotes where it must be.
std::string csv_cell(std::string_view value, char separator);

}  // namespace corral::plan
