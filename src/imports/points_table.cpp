#include "imports/points_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/sha256.h"
#include "core/text.h"
#include "imports/files.h"

namespace corral::imports {
namespace {

namespace fs = sys::fs;

constexpr std::size_t kMostRuns = 10'000;
constexpr std::size_t kMostColumns = 100'000;

// "Wall time" as "wall_time".
std::string plain_name(std::string_view name) {
  std::string plain = lower_ascii(name);
  std::ranges::replace(plain, ' ', '_');
  return plain;
}

struct Digits {
  std::int64_t value = 0;
  std::size_t count = 0;
};
Digits leading_digits(std::string_view text, std::size_t most) {
  Digits digits;
  while (digits.count < std::min(most, text.size()) && text[digits.count] >= '0' &&
         text[digits.count] <= '9')
    digits.value = 10 * digits.value + (text[digits.count++] - '0');
  return digits;
}

// So many digits, and removes them from the text.
bool take_number(std::string_view& text, std::size_t count, int& value) {
  const Digits digits = leading_digits(text, count);
  if (digits.count != count) return false;
  value = static_cast<int>(digits.value);
  text.remove_prefix(count);
  return true;
}
bool take_char(std::string_view& text, std::string_view any) {
  if (text.empty() || any.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// Nanoseconds of a fraction's digits; those beyond the ninth do not count.
std::int64_t fraction_ns(std::string_view& text) {
  const Digits digits = leading_digits(text, 9);
  std::int64_t ns = digits.value;
  for (std::size_t i = digits.count; i < 9; ++i) ns *= 10;
  text.remove_prefix(digits.count);
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') text.remove_prefix(1);
  return ns;
}

// "2026-11-21T07:35:30.123Z", "2026-11-21 07:35:30+01:00", "2026-11-21 07:35", "2026-11-21".
std::optional<UtcTime> iso_time(std::string_view text) {
  int year = 0;
  int month = 0;
  int day = 0;
  if (!take_number(text, 4, year) || !take_char(text, "-") || !take_number(text, 2, month) ||
      !take_char(text, "-") || !take_number(text, 2, day))
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || year < 1900 || year > 2200) return std::nullopt;
  Nanos time = std::chrono::sys_days(date).time_since_epoch();
  if (text.empty()) return UtcTime(time);
  int hour = 0;
  int minute = 0;
  int second = 0;
  if (!take_char(text, "T ") || !take_number(text, 2, hour) || !take_char(text, ":") ||
      !take_number(text, 2, minute))
    return std::nullopt;
  if (take_char(text, ":") && !take_number(text, 2, second)) return std::nullopt;
  if (hour > 23 || minute > 59 || second > 60) return std::nullopt;
  time += std::chrono::hours(hour) + std::chrono::minutes(minute) + std::chrono::seconds(second);
  if (take_char(text, ".")) time += Nanos(fraction_ns(text));
  if (text.empty() || text == "Z" || text == " UTC") return UtcTime(time);
  const bool west = text.front() == '-';
  if (!take_char(text, "+-") || !take_number(text, 2, hour)) return std::nullopt;
  take_char(text, ":");
  minute = 0;
  if (!text.empty() && !take_number(text, 2, minute)) return std::nullopt;
  if (!text.empty()) return std::nullopt;
  const Nanos offset = std::chrono::hours(hour) + std::chrono::minutes(minute);
  return UtcTime(west ? time + offset : time - offset);
}

std::string brief_cell(std::string_view text) { return printable(text.substr(0, 40)); }

}  // namespace

std::optional<double> number_of(std::string_view text) {
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-' && text[1] != '+')
    text.remove_prefix(1);
  return text.empty() ? std::nullopt : parse_double(text);
}

std::optional<UtcTime> TimeCells::read(std::string_view text) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (unit_ == kNanos) {
    const auto ns = parse_int(text);
    return ns ? std::optional(utc_time(*ns)) : std::nullopt;
  }
  const auto number = number_of(text);
  if (!number) return iso_time(text);
  if (!std::isfinite(*number)) return std::nullopt;
  if (unit_ == 0) {
    const double size = std::fabs(*number);
    unit_ = size < 1e11 ? kSecond : size < 1e14 ? 1'000'000 : size < 1e17 ? 1'000 : kNanos;
    if (unit_ == kNanos) return read(text);
  }
  // Decimal digits are exact, where a double of today's seconds is exact to 240 ns.
  std::string_view rest = text;
  const bool negative = take_char(rest, "-");
  const Digits whole = leading_digits(rest, 18);
  rest.remove_prefix(whole.count);
  std::int64_t billionths = 0;
  if (take_char(rest, ".")) billionths = fraction_ns(rest);
  std::int64_t ns = 0;
  if (whole.count == 0 || !rest.empty() || __builtin_mul_overflow(whole.value, unit_, &ns)) {
    const auto at = time_of_seconds(*number * (static_cast<double>(unit_) / 1e9));
    return at;
  }
  ns += billionths / (kSecond / unit_);
  return utc_time(negative ? -ns : ns);
}

std::string TimeCells::unit() const {
  switch (unit_) {
    case kNanos:
      return "nanoseconds";
    case 1'000:
      return "microseconds";
    case 1'000'000:
      return "milliseconds";
    case 1'000'000'000:
      return "seconds";
    default:
      return "";
  }
}

// ---- the header
Result<> TableImport::read_header(const CsvRow& row) {
  semicolons_ = row.separator == ';';
  if (row.cells.size() > kMostColumns)
    return fail(Code::kTooLarge, fmt::format("line {}: {} columns, at most {} are read", row.line,
                                             row.cells.size(), kMostColumns));
  std::map<std::string, std::size_t> columns;  // the first of each name
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    header_.push_back(row.cells[i].value);
    if (!columns.emplace(plain_name(header_.back()), i).second && !header_.back().empty())
      return fail(Code::kUnprocessable, fmt::format("{}: a second column '{}'", row.place(i),
                                                    brief_cell(header_.back())));
  }
  const auto find = [&](auto names) -> std::optional<std::size_t> {
    for (const char* name : names)
      if (const auto at = columns.find(name); at != columns.end()) return at->second;
    return std::nullopt;
  };
  using Names = std::initializer_list<const char*>;
  metric_ = find(Names{"metric"});
  value_ = find(Names{"value"});
  long_ = metric_ && value_;
  step_ = find(Names{"step", "_step", "global_step", "epoch"});
  step_is_epoch_ = step_ && plain_name(header_[*step_]) == "epoch";
  time_ = find(Names{"time_ns", "wall_time", "_timestamp", "timestamp", "time", "datetime"});
  if (time_) times_ = TimeCells(plain_name(header_[*time_]) == "time_ns");
  texts_.resize(header_.size());
  if (long_) {
    run_ = find(Names{"run"});
    source_ = find(Names{"source"});
    return {};
  }
  for (std::size_t i = 0; i < header_.size(); ++i) {
    if (i == step_ || i == time_) continue;
    if (header_[i].empty()) {
      importer_.leave_out("columns without a name");
    } else {
      metrics_.push_back(i);
    }
  }
  if (!metrics_.empty()) return {};
  return fail(Code::kUnprocessable,
              fmt::format("line {}: no column of a metric; expected a column for each metric, or "
                          "'metric' and 'value'",
                          row.line));
}

// ---- rows
Result<TableImport::Run*> TableImport::run_of(const std::string& name, UtcTime first) {
  const auto known = runs_.find(name);
  if (known != runs_.end()) return &known->second;
  if (runs_.size() == kMostRuns)
    return fail(Code::kTooLarge, fmt::format("more than {} runs in one table", kMostRuns));
  if (!options_.name.empty() && !runs_.empty())
    return fail(Code::kInvalidArgument,
                "--name is for one run, and column 'run' names several; leave it out");
  const std::string shown = name.empty() ? name_ : name;
  std::string identity = TRY(identity_of_(name));
  auto sink = TRY(importer_.begin({.identity = std::move(identity),
                                   .name = options_.name.empty() ? shown : options_.name,
                                   .experiment = options_.experiment,
                                   .start = first}));
  TRY(sink->part("rows"));
  Run& run = runs_[name];
  run.sink = std::move(sink);
  return &run;
}

// Between semicolons the decimal sign may be a comma, as spreadsheets of many languages write it.
// The first number with a sign decides for all: "1,500" is never once 1.5 and once 1500.
std::optional<double> TableImport::number(std::string_view text) {
  const bool comma = text.find(',') != std::string_view::npos;
  const bool point = text.find('.') != std::string_view::npos;
  if (!semicolons_ || (!comma && !point)) return number_of(text);
  const char sign = comma ? ',' : '.';
  if ((comma && point) || (decimal_ != 0 && decimal_ != sign)) return std::nullopt;
  std::string pointed(text);
  std::ranges::replace(pointed, ',', '.');
  const auto value = number_of(pointed);
  if (value) decimal_ = sign;
  return value;
}

Result<std::optional<std::int64_t>> TableImport::step_of(const CsvRow& row) {
  if (!step_ || *step_ >= row.cells.size()) return std::nullopt;
  const std::string& text = row.cells[*step_].value;
  if (text.empty()) return std::nullopt;
  if (const auto step = parse_int(text)) return step;
  // pandas writes the integers of a column with gaps as 3.0.
  const auto value = number(text);
  constexpr double kExact = 9e15;
  if (value && *value == std::floor(*value) && std::fabs(*value) < kExact)
    return static_cast<std::int64_t>(*value);
  if (step_is_epoch_ && value) {
    importer_.leave_out("fractional epochs as steps");
    return std::nullopt;
  }
  return fail(Code::kUnprocessable,
              fmt::format("{}: step '{}' is not an integer", row.place(*step_), brief_cell(text)));
}

// Without a time, the order is kept: row n is n seconds after 1970.
Result<UtcTime> TableImport::time_of(const CsvRow& row, std::int64_t number) {
  if (!time_) return utc_time(number * 1'000'000'000);
  std::string_view text =
      *time_ < row.cells.size() ? std::string_view(row.cells[*time_].value) : std::string_view();
  std::string pointed;
  if (semicolons_ && text.find(',') != std::string_view::npos) {
    pointed = text;
    std::ranges::replace(pointed, ',', '.');
    text = pointed;
  }
  if (const auto time = times_.read(text)) return *time;
  return fail(Code::kUnprocessable,
              fmt::format("{}: '{}' is no time; expected Unix seconds or ISO 8601",
                          row.place(*time_), brief_cell(text)));
}

Result<> TableImport::long_row(const CsvRow& row) {
  const auto cell = [&](const std::optional<std::size_t>& column) -> std::string_view {
    return column && *column < row.cells.size() ? std::string_view(row.cells[*column].value)
                                                : std::string_view();
  };
  if (cell(value_).empty()) {
    importer_.leave_out("rows without a value");
    return {};
  }
  if (cell(metric_).empty())
    return fail(Code::kUnprocessable, row.place(*metric_) + ": the metric has no name");
  const auto value = number(cell(value_));
  if (!value)
    return fail(Code::kUnprocessable, fmt::format("{}: value '{}' is not a number",
                                                  row.place(*value_), brief_cell(cell(value_))));
  const auto step = TRY(step_of(row));
  const std::string name(cell(run_));
  const auto known = runs_.find(name);
  const UtcTime time = TRY(time_of(row, known == runs_.end() ? 0 : known->second.rows));
  Run& run = *TRY(run_of(name, time));
  ++run.rows;
  run.first = std::min(run.first.value_or(time), time);
  run.last = std::max(run.last.value_or(time), time);
  TRY(run.sink->point({.metric = cell(metric_),
                       .source = cell(source_),
                       .step = step,
                       .time = time,
                       .value = *value}));
  return after_point();
}

Result<> TableImport::after_point() {
  constexpr std::size_t kMostWaiting = 1U << 18U;
  if (++waiting_ < kMostWaiting || runs_.size() == 1) return {};
  waiting_ = 0;
  for (auto& [name, run] : runs_) TRY(run.sink->flush());
  return {};
}

Result<> TableImport::wide_row(const CsvRow& row) {
  const auto step = TRY(step_of(row));
  const UtcTime time = TRY(time_of(row, rows_ - 1));
  Run& run = *TRY(run_of("", time));
  run.first = std::min(run.first.value_or(time), time);
  run.last = std::max(run.last.value_or(time), time);
  for (const std::size_t column : metrics_) {
    if (column >= row.cells.size()) break;
    const std::string& text = row.cells[column].value;
    if (text.empty()) continue;
    const auto value = number(text);
    if (!value) {
      ++texts_[column].texts;
      continue;
    }
    ++texts_[column].numbers;
    TRY(run.sink->point({.metric = header_[column], .step = step, .time = time, .value = *value}));
  }
  return {};
}

Result<> TableImport::row(const CsvRow& row) {
  if (header_.empty()) return read_header(row);
  ++rows_;
  if (row.cells.size() > header_.size())
    return fail(Code::kUnprocessable,
                fmt::format("{}: {} cells, but the header has {}", row.place(header_.size()),
                            row.cells.size(), header_.size()));
  return long_ ? long_row(row) : wide_row(row);
}

Result<> TableImport::finish(const std::string& state) {
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    if (texts_[i].texts == 0) continue;
    importer_.leave_out(fmt::format("cells of column '{}' that are not numbers", header_[i]),
                        texts_[i].texts);
  }
  if (decimal_ == ',') importer_.note("numbers are read with decimal commas: 0,5 is a half");
  if (!runs_.empty() && !time_)
    importer_.note("the table has no time: row n counts as n seconds after 1970");
  if (const std::string unit = times_.unit(); time_ && !unit.empty() && unit != "nanoseconds")
    importer_.note(fmt::format("column '{}' is read as Unix {}", header_[*time_], unit));
  for (auto& [name, run] : runs_) {
    run.sink->remember(state);
    TRY(run.sink->finish({.start = run.first,
                          .end = run.last.value_or(UtcTime{}),
                          .exit_code = {},
                          .running = false}));
  }
  return {};
}

// ---- a file
namespace {

// The beginning of a file.
struct Beginning {
  std::int64_t size = 0;
  std::string digest;   // SHA-256 of its bytes
  bool closed = false;  // a line or the file ends with it

  [[nodiscard]] std::string text() const { return fmt::format("{} {}", size, digest); }
};

// Reads the first `size` bytes, or as many as there are.
Result<Beginning> read_beginning(const fs::path& path, std::int64_t size) {
  const sys::Fd file = TRY(open_regular(path));
  Sha256Stream hash;
  std::string buffer;
  std::int64_t left = size;
  bool line_end = false;
  bool more = false;
  const auto take = [&](std::string_view piece) -> Result<> {
    const auto part = piece.substr(0, static_cast<std::size_t>(left));
    more = part.size() < piece.size();
    if (!part.empty()) line_end = part.back() == '\n';
    left -= static_cast<std::int64_t>(part.size());
    hash.add(part);
    return {};
  };
  while (!more && TRY(read_piece(file, path, buffer, take)) > 0) {
  }
  return Beginning{.size = size - left, .digest = hex(hash.finish()), .closed = line_end || !more};
}

// Returns true if the file still begins with the rows of which an import remembered this.
Result<bool> begins_as(const fs::path& path, const std::string& state) {
  const auto size = parse_int(std::string_view(state).substr(0, state.find(' ')));
  if (!size || *size <= 0) return false;
  const Beginning now = TRY(read_beginning(path, *size));
  return now.closed && now.text() == state;
}

// Returns an identity under which nothing, or the same beginning of this file, was imported.
Result<std::string> file_identity(const fs::path& path, const std::string& run,
                                  Importer& importer) {
  std::error_code error;
  const fs::path whole = fs::canonical(path, error);
  for (int version = 0;; ++version) {
    std::string identity = fmt::format("table {} {} {}", version, run, whole.string());
    const auto state = TRY(importer.remembered(identity));
    if (!state || TRY(begins_as(path, *state))) return identity;
  }
}

}  // namespace

Result<> import_csv(const fs::path& path, const ImportOptions& options, Importer& importer) {
  const sys::Fd file = TRY(open_regular(path));
  std::error_code error;
  const auto total = static_cast<std::int64_t>(fs::file_size(path, error));
  TableImport table(
      options, path.stem().string(),
      [&](const std::string& run) { return file_identity(path, run, importer); }, importer);
  CsvStream rows;
  std::int64_t done = 0;
  std::int64_t taken = 0;  // bytes up to the end of the last row
  const auto take_row = [&](const CsvRow& row) -> Result<> {
    TRY(table.row(row));
    taken = static_cast<std::int64_t>(row.end);
    return {};
  };
  const auto take = [&](std::string_view piece) -> Result<> {
    done += static_cast<std::int64_t>(piece.size());
    TRY(rows.add(piece, take_row));
    return importer.at("importing", done, total);
  };
  std::string buffer;
  const auto read_all = [&]() -> Result<> {
    while (TRY(read_piece(file, path, buffer, take)) > 0) {
    }
    TRY(rows.finish(take_row));
    return table.has_header() ? Result<>() : fail(Code::kUnprocessable, "there is no header");
  };
  const auto read = read_all();
  if (rows.comments() > 0) importer.leave_out("lines that begin with #", rows.comments());
  // Rows before an error stay imported: the corrected file goes on after them.
  const auto finished = table.finish(TRY(read_beginning(path, taken)).text());
  return read ? finished : tl::unexpected(read.error().with_context(path.string()));
}

}  // namespace corral::imports
