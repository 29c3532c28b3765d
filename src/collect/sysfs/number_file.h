// Files of /sys that hold one number each: most of what hardware says about itself.
//
// A file stays open and is read again from its start at every sample: one pread, nothing allocated.
// NumberFiles is a list of them with the columns that they fill. One thread at a time. A driver may
// take its time to answer (sensors behind a slow bus): what reads such files belongs to a slow
// group or to the device lane.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collect/series.h"
#include "core/result.h"
#include "sys/fd.h"

namespace corral::collect::sysfs {

// Decimal, with a sign and a fraction where there are any; blanks around it are skipped. Nothing
// when the text does not begin with a number ("max", "<unsupported>").
std::optional<double> parse_number(std::string_view text);

class NumberFile {
 public:
  // Opens and reads it once; an error when either fails, or when there is no number in it.
  static Result<NumberFile> open(const std::filesystem::path& path);
  // As open(), but a word may stand in it for now ("max").
  static Result<NumberFile> open_limit(const std::filesystem::path& path);
  // Nothing when it is gone, refused or not a number now.
  [[nodiscard]] std::optional<double> read() const;

 private:
  sys::Fd fd_;
};

class NumberFiles {
 public:
  struct Spec {
    std::string_view metric;
    std::string source = {};
    std::filesystem::path path;
    double scale = 1;  // from the file's unit to the metric's
  };
  // Opens the file and declares its series; without a file nothing is declared, and the error says
  // why.
  Result<> add(const Spec& spec, SeriesTable& table);
  // As add(), but a file that does not exist is skipped, and every other error is reported to the
  // table. Returns true if the series is declared.
  bool add_if_there(const Spec& spec, SeriesTable& table);
  void sample(Group group, Row& row) const;
  [[nodiscard]] bool empty() const {
    return files_[kFastGroup].empty() && files_[kSlowGroup].empty();
  }

 private:
  struct Entry {
    NumberFile file;
    Column column;
    double scale;
  };
  std::array<std::vector<Entry>, kGroupCount> files_;
};

// The content without blanks around it; empty when it cannot be read.
std::string read_text(const std::filesystem::path& path);
// Names in `directory` that are `prefix` and a number, in the order of the numbers.
std::vector<std::string> numbered_entries(const std::filesystem::path& directory,
                                          std::string_view prefix);

}  // namespace corral::collect::sysfs
