#include "plan/csv.h"

#include <algorithm>
#include <array>

#include "core/text.h"

namespace corral::plan {
namespace {

constexpr std::string_view kMark = "\xef\xbb\xbf";

bool declares_separator(std::string_view line) {
  return line.size() == 5 && equal_ignoring_case(line.substr(0, 4), "sep=") &&
         std::string_view(",;\t|").find(line[4]) != std::string_view::npos;
}

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// The separator that a header line uses: the one of , ; tab and | that it has most of.
char detect_separator(std::string_view header_line) {
  constexpr std::array kSeparators = {',', ';', '\t', '|'};
  return *std::ranges::max_element(kSeparators, {},
                                   [&](char c) { return std::ranges::count(header_line, c); });
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  CsvTable read() {
    if (text_.starts_with(kMark)) at_ = kMark.size();
    bool first = true;
    while (at_ < text_.size()) {
      const std::size_t end = line_end(at_);
      if (is_empty(at_, end)) {
        next_line(end);
        continue;
      }
      if (first && !table_.declared && declares_separator(text_.substr(at_, end - at_))) {
        table_.separator = text_[at_ + 4];
        table_.declared = true;
        next_line(end);
        continue;
      }
      if (first && !table_.declared)
        table_.separator = detect_separator(text_.substr(at_, end - at_));
      first = false;
      read_record();
    }
    return std::move(table_);
  }

 private:
  // Returns the end of the line, without its LF or CRLF.
  [[nodiscard]] std::size_t line_end(std::size_t from) const {
    const std::size_t lf = text_.find('\n', from);
    const std::size_t end = lf == std::string_view::npos ? text_.size() : lf;
    return end > from && text_[end - 1] == '\r' ? end - 1 : end;
  }
  void next_line(std::size_t end) {
    const std::size_t lf = text_.find('\n', end);
    at_ = lf == std::string_view::npos ? text_.size() : lf + 1;
    ++line_;
  }
  // Blank or a comment.
  [[nodiscard]] bool is_empty(std::size_t from, std::size_t end) const {
    while (from < end && is_blank(text_[from])) {
      // A tab that separates is no blank, but a line of nothing else says nothing either.
      ++from;
    }
    return from == end || text_[from] == '#';
  }
  [[nodiscard]] bool ends_cell(std::size_t at, std::size_t end) const {
    return at >= end || text_[at] == table_.separator;
  }

  void read_record() {
    CsvRecord record;
    record.line = line_;
    record.begin = at_;
    if (!table_.records.empty()) record.cells.reserve(table_.records.front().cells.size());
    std::size_t end = line_end(at_);
    std::size_t at = at_;
    for (;;) {
      record.cells.push_back(read_cell(at, end));
      if (at >= end) break;
      ++at;  // the separator
    }
    record.end = end;
    table_.records.push_back(std::move(record));
    next_line(end);
  }

  // Leaves `at` on the separator or the end; a quoted line break moves `end` to a later line's.
  CsvCell read_cell(std::size_t& at, std::size_t& end) {
    CsvCell cell;
    cell.begin = at;
    std::size_t start = at;
    while (start < end && is_blank(text_[start]) && text_[start] != table_.separator) ++start;
    if (start < end && text_[start] == '"' && read_quoted(start, end, cell)) {
      at = cell.end;
      return cell;
    }
    const std::size_t stop = text_.substr(0, end).find(table_.separator, at);
    at = stop == std::string_view::npos ? end : stop;
    cell.end = at;
    cell.value = std::string(trim(text_.substr(cell.begin, at - cell.begin)));
    return cell;
  }

  // False, with a fault, when the quotes do not close or something follows them: the cell is then
  // read as if it had none, so that the rows below are still seen.
  bool read_quoted(std::size_t start, std::size_t& end, CsvCell& cell) {
    std::string value;
    int breaks = 0;
    for (std::size_t at = start + 1; at < text_.size(); ++at) {
      const char c = text_[at];
      if (c == '\n') ++breaks;
      if (c != '"') {
        value += c;
        continue;
      }
      if (at + 1 < text_.size() && text_[at + 1] == '"') {
        value += c;
        ++at;
        continue;
      }
      const std::size_t last = line_end(at + 1);
      std::size_t after = at + 1;
      while (after < last && is_blank(text_[after]) && text_[after] != table_.separator) ++after;
      if (!ends_cell(after, last)) break;
      cell.value = std::move(value);
      cell.end = after;
      end = last;
      line_ += breaks;
      return true;
    }
    fault(start, end, value);
    return false;
  }
  void fault(std::size_t start, std::size_t end, const std::string& value) {
    const bool closes = text_.substr(0, end).find('"', start + 1) != std::string_view::npos;
    table_.faults.push_back(
        {line_, column_at(text_, start), value.substr(0, value.find('\n')).substr(0, 40),
         closes ? "something follows the closing quote; a quote inside of quotes is written twice"
                : "the quote is never closed"});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  CsvTable table_;
};

}  // namespace

CsvTable read_csv(std::string_view text) { return Reader(text).read(); }

int column_at(std::string_view text, std::size_t offset) {
  std::size_t begin = text.substr(0, offset).rfind('\n');
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  if (begin == 0 && text.starts_with(kMark)) begin = std::min(kMark.size(), offset);
  int column = 1;
  for (std::size_t i = begin; i < offset; ++i)
    column += (static_cast<unsigned char>(text[i]) & 0xC0u) == 0x80u ? 0 : 1;
  return column;
}

std::string csv_cell(std::string_view value, char separator) {
  const bool plain = value.find(separator) == std::string_view::npos &&
                     value.find_first_of("\"\r\n") == std::string_view::npos &&
                     trim(value).size() == value.size() && !value.starts_with('#');
  if (plain) return std::string(value);
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"') quoted += c;
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace corral::plan
