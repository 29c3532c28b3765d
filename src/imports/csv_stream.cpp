#include "imports/csv_stream.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"

namespace corral::imports {
namespace {

constexpr std::size_t kLongest = 16U << 20U;

std::uint64_t comment_lines(std::string_view between) {
  const auto lines = split(between, '\n');
  return static_cast<std::uint64_t>(
      std::ranges::count_if(lines, [](auto line) { return trim(line).starts_with('#'); }));
}

}  // namespace

std::string CsvRow::place(std::size_t cell) const {
  if (text.empty()) return fmt::format("row {}, column {}", line, cell + 1);
  const std::size_t at = cells[std::min(cell, cells.size() - 1)].begin;
  return fmt::format("line {}, column {}", line, plan::column_at(text, at));
}

Result<> CsvStream::add(std::string_view bytes, const Take& take) {
  bytes_.append(bytes);
  if (bytes_.size() < wait_until_) return {};
  const std::size_t end = bytes_.rfind('\n');
  return end == std::string::npos ? parse(0, false, take) : parse(end + 1, false, take);
}

Result<> CsvStream::finish(const Take& take) { return parse(bytes_.size(), true, take); }

// Reads the first `size` bytes, which end with a line unless they are the last.
Result<> CsvStream::parse(std::size_t size, bool last, const Take& take) {
  const auto wait_for_more = [&]() -> Result<> {
    wait_until_ = 2 * bytes_.size();
    if (bytes_.size() <= kLongest) return {};
    return fail(Code::kTooLarge, fmt::format("line {}: a row of more than 16 MiB", lines_ + 1));
  };
  if (size == 0) return last ? Result<>() : wait_for_more();
  const bool first = separator_ == 0;
  std::string text = first ? "" : fmt::format("sep={}\n", separator_);
  const std::size_t declared = text.size();
  text.append(bytes_, 0, size);
  const plan::CsvTable table = plan::read_csv(text);
  const std::int64_t before = lines_ - (first ? 0 : 1);
  // The rest of a quoted cell may still come.
  if (!table.faults.empty() && !last && bytes_.size() <= kLongest) return wait_for_more();
  if (table.records.empty() && !last) return wait_for_more();
  wait_until_ = 0;
  separator_ = table.separator;
  std::size_t done = declared;
  for (const plan::CsvRecord& record : table.records) {
    if (!table.faults.empty() && record.line >= table.faults.front().line) break;
    comments_ += comment_lines(std::string_view(text).substr(done, record.begin - done));
    done = record.end;
    const std::size_t line_end = std::min(text.find('\n', record.end), text.size() - 1) + 1;
    TRY(take({.line = before + record.line,
              .cells = record.cells,
              .text = text,
              .end = before_ + line_end - declared,
              .separator = separator_}));
  }
  if (!table.faults.empty()) {
    const plan::CsvFault& fault = table.faults.front();
    return fail(Code::kUnprocessable, fmt::format("line {}, column {}: {}", before + fault.line,
                                                  fault.column, fault.reason));
  }
  comments_ += comment_lines(std::string_view(text).substr(done));
  before_ += size;
  lines_ += std::count(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size), '\n');
  bytes_.erase(0, size);
  return {};
}

}  // namespace corral::imports
