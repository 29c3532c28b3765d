// Columns: up to 8,192 values, times or steps of one series at rest (docs/format-block.md).
//
// Each column is encoded adaptively and bit-exactly, carries its version, length and crc32c, and is
// cut into vectors of 1,024 entries that decode alone. open() checks everything that can be checked
// without decoding (length, version, checksum, directory); read() never reads or writes beyond its
// spans, for any bytes. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"

namespace corral::codec {

inline constexpr std::size_t kVectorEntries = 1024;
inline constexpr std::size_t kColumnEntries = 8192;  // most in one column

// kFast: for data that is merged again soon. kBest: for data that stays.
enum class Effort { kFast, kBest };

// Each appends one column to `out`. At most kColumnEntries entries, zero allowed. Entries of any
// bit pattern come back the same.
void append_values(std::string& out, std::span<const double> values, Effort effort);
void append_times(std::string& out, std::span<const std::int64_t> times, Effort effort);
void append_steps(std::string& out, std::span<const std::int64_t> steps, Effort effort);

// A view of an encoded column; the bytes must outlive it.
template <class T>
class ColumnReader {
 public:
  // `bytes` begins with the column and may go on. kCorruption: damaged; kUnsupported: a newer
  // version.
  static Result<ColumnReader> open(std::span<const std::uint8_t> bytes);
  [[nodiscard]] std::size_t entries() const { return entries_; }
  // Bytes of the whole column: where the next one begins.
  [[nodiscard]] std::size_t bytes() const { return bytes_.size(); }
  // Entries [first, first + out.size()); decodes the vectors that they lie in. kCorruption.
  Result<> read(std::size_t first, std::span<T> out) const;
  Result<std::vector<T>> read_all() const;

 private:
  std::span<const std::uint8_t> bytes_;  // header included
  std::size_t entries_ = 0;
  std::uint8_t scheme_ = 0;
};
using ValueReader = ColumnReader<double>;
using IntegerReader = ColumnReader<std::int64_t>;  // times and steps

}  // namespace corral::codec
