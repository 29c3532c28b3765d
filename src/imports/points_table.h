// Tables of points: CSV files, and what the Python package makes of Parquet files.
//
// A wide table has a column for each metric, beside those that say step and time; a long one has
// `metric` and `value`, as `corral export` writes it. TableImport takes the rows one by one; the
// first is the header. Memory is bounded by the columns and the runs, not by the rows.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "imports/csv_stream.h"
#include "imports/imported_run.h"
#include "imports/source.h"

namespace corral::imports {

// The instant that a cell names, and how its numbers are to be read.
class TimeCells {
 public:
  // `exact_ns`: numbers are nanoseconds. Otherwise the first number's size tells seconds from
  // milli-, micro- and nanoseconds, and holds for all. Texts are ISO 8601; without a zone: UTC.
  explicit TimeCells(bool exact_ns = false) : unit_(exact_ns ? kNanos : 0) {}
  std::optional<UtcTime> read(std::string_view text);
  // "seconds", "milliseconds", ...; empty: there was no number.
  [[nodiscard]] std::string unit() const;

 private:
  static constexpr std::int64_t kNanos = 1;
  std::int64_t unit_;  // ns per 1; 0: not known yet
};

// A number as tools write it: also "NaN", "inf", "Infinity", "+1"; nothing for anything else.
std::optional<double> number_of(std::string_view text);

class TableImport {
 public:
  // `identity_of(run)` gives the identity of a run of the table, "" being a table of one run; it is
  // asked at the run's first row.
  using IdentityOf = std::function<Result<std::string>(const std::string& run)>;
  TableImport(ImportOptions options, std::string name, IdentityOf identity_of, Importer& importer)
      : options_(std::move(options)),
        name_(std::move(name)),
        identity_of_(std::move(identity_of)),
        importer_(importer) {}

  // Errors name line and column.
  Result<> row(const CsvRow& row);
  // Sends what remains; `state` is remembered of each run.
  Result<> finish(const std::string& state);
  [[nodiscard]] bool has_header() const { return !header_.empty(); }

 private:
  struct Run {
    std::unique_ptr<RunSink> sink;
    std::optional<UtcTime> first, last;
    std::int64_t rows = 0;
  };
  struct Texts {
    std::uint64_t texts = 0;    // cells that are no numbers
    std::uint64_t numbers = 0;  // cells that are
  };

  Result<> read_header(const CsvRow& row);
  Result<> long_row(const CsvRow& row);
  Result<> wide_row(const CsvRow& row);
  std::optional<double> number(std::string_view text);
  Result<Run*> run_of(const std::string& name, UtcTime first);
  Result<std::optional<std::int64_t>> step_of(const CsvRow& row);
  Result<UtcTime> time_of(const CsvRow& row, std::int64_t number);
  // Bounds the memory of a table whose rows are of many runs by turns.
  Result<> after_point();

  const ImportOptions options_;
  const std::string name_;
  const IdentityOf identity_of_;
  Importer& importer_;
  std::vector<std::string> header_;
  bool long_ = false;
  bool semicolons_ = false;  // they separate the cells, so that commas may be decimal ones
  char decimal_ = 0;         // '.' or ',', as in the first number that has one; 0: none yet
  std::optional<std::size_t> run_, metric_, source_, value_, step_, time_;
  bool step_is_epoch_ = false;
  TimeCells times_;
  std::vector<std::size_t> metrics_;  // the metrics of a wide table
  std::vector<Texts> texts_;          // by column
  std::map<std::string, Run> runs_;
  std::int64_t rows_ = 0;
  std::size_t waiting_ = 0;  // points that the runs together may hold
};

// Imports a CSV file. A file that grew adds its new rows to its run; one whose imported rows have
// changed becomes another run.
Result<> import_csv(const sys::fs::path& path, const ImportOptions& options, Importer& importer);

}  // namespace corral::imports
