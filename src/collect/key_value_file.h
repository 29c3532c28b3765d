// KeyValueFile: lines "key value" of one file of /proc or /sys, some of which are metrics.
//
// Opened on the supervisor's thread, then read by the sampler's, without allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collect/proc_file.h"
#include "collect/series.h"

namespace corral::collect {

// Bytes of a page of memory.
double page_bytes();

class KeyValueFile {
 public:
  struct Line {
    std::string_view key;
    std::string_view metric;
    double scale = 1;               // from the file's unit to the metric's
    std::string_view less_of = {};  // the value is that key's less this one's
  };
  enum class Missing : std::uint8_t { kReported, kIgnored };

  KeyValueFile() = default;  // no file: nothing is declared
  explicit KeyValueFile(std::optional<ProcFile> file) : file_(std::move(file)) {}

  // Declares the series of the lines that the file has, in addition to earlier ones. At most 32
  // keys in all.
  void add(std::span<const Line> lines, const std::string& source, SeriesTable& table,
           Missing missing = Missing::kIgnored);
  void sample(Row& row);

 private:
  struct Output {
    Column column = kNoColumn;
    std::size_t key = 0;
    std::size_t less_of = 0;  // the same as `key`: nothing is subtracted
    double scale = 1;
  };
  std::size_t key_index(std::string_view key);
  std::uint32_t read_values();
  void note_end(std::string_view text);

  std::optional<ProcFile> file_;
  std::vector<std::string_view> keys_;
  std::vector<std::uint64_t> values_;
  std::uint32_t there_ = 0;  // the keys that the file had when they were added, a bit each
  std::size_t enough_ = 0;   // bytes that hold all of these lines and some more
  std::vector<Output> outputs_;
};

}  // namespace corral::collect
