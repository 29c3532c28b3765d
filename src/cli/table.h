// Lists as a table for people, JSON or CSV for programs: the same rows in all three.
#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace corral::cli {

struct TableColumn {
  std::string name;    // key in JSON, header in CSV
  std::string title;   // header for people
  bool right = false;  // numbers
};

enum class Tone : std::uint8_t { kPlain, kGood, kBad };

// A cell: the text for programs, and the text for people if it differs, with its tone at a
// terminal.
struct Cell {
  Json value;
  std::string text;
  Tone tone = Tone::kPlain;
};
Cell plain(const Json& value);

class Table {
 public:
  explicit Table(std::vector<TableColumn> columns) : columns_(std::move(columns)) {}
  // A cell for each column.
  void add(std::vector<Cell> row) {
    assert(row.size() == columns_.size());
    rows_.push_back(std::move(row));
  }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  // format: "table", "json" or "csv". With colours a table has a bold head and tones.
  [[nodiscard]] std::string print(const std::string& format, bool colours = false) const;

 private:
  [[nodiscard]] std::string as_text(bool colours) const;
  [[nodiscard]] std::string as_csv() const;
  [[nodiscard]] std::string as_json() const;
  std::vector<TableColumn> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// True if text for this descriptor may have colours: a terminal that knows them, and NO_COLOR is
// unset or empty.
bool takes_colours(int fd);

// Four significant digits with SI or IEC prefix and unit: "1.84 k", "3.2 GiB", "12 cores".
std::string with_unit(double value, const std::string& unit);

}  // namespace corral::cli
