// Columns of anybody: the first byte says whether the rest is a column as it comes, the body of one
// behind a right header and checksum, or values or integers that must come back to the last bit.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "codec/block/column.h"
#include "codec/crc32c.h"

namespace {

namespace codec = corral::codec;
using Bytes = std::span<const std::uint8_t>;

void check(bool holds) {
  if (!holds) std::abort();
}
Bytes bytes_of(const std::string& column) {
  return {reinterpret_cast<const std::uint8_t*>(column.data()), column.size()};
}

// Whole and in two parts: the same or, damaged, an error of the right kind.
template <class T>
void read_column(Bytes bytes) {
  const auto reader = codec::ColumnReader<T>::open(bytes);
  if (!reader) {
    check(reader.error().code == corral::Code::kCorruption ||
          reader.error().code == corral::Code::kUnsupported);
    return;
  }
  check(reader->bytes() <= bytes.size() && reader->entries() <= codec::kColumnEntries);
  const auto all = reader->read_all();
  if (!all) return check(all.error().code == corral::Code::kCorruption);
  std::vector<T> parts(all->size());
  const std::size_t cut = parts.size() / 3;
  const std::span both(parts);
  check(reader->read(0, both.first(cut)).has_value());
  check(reader->read(cut, both.subspan(cut)).has_value());
  check(parts.empty() || std::memcmp(parts.data(), all->data(), both.size_bytes()) == 0);
}

// Two bytes of scheme and entries, then what follows the header.
template <class T>
void read_sealed(Bytes data) {
  if (data.size() < 3) return;
  std::string column(12, '\0');
  column[0] = 2;
  column[1] = static_cast<char>(data[0]);
  std::memcpy(column.data() + 2, data.data() + 1, 2);
  column.append(reinterpret_cast<const char*>(data.data()) + 3, data.size() - 3);
  const auto length = static_cast<std::uint32_t>(column.size());
  std::memcpy(column.data() + 4, &length, sizeof length);
  const std::uint32_t crc =
      codec::crc32c(column.data() + 12, column.size() - 12, codec::crc32c(column.data(), 8));
  std::memcpy(column.data() + 8, &crc, sizeof crc);
  read_column<T>(bytes_of(column));
}

template <class T, class Append>
void round_trip(Bytes data, Append append) {
  std::vector<T> entries(std::min(data.size() / sizeof(T), codec::kColumnEntries));
  if (!entries.empty()) std::memcpy(entries.data(), data.data(), entries.size() * sizeof(T));
  for (const codec::Effort effort : {codec::Effort::kFast, codec::Effort::kBest}) {
    std::string column;
    append(column, entries, effort);
    const auto back = codec::ColumnReader<T>::open(bytes_of(column)).value().read_all();
    check(back.has_value() && back->size() == entries.size());
    check(entries.empty() ||
          std::memcmp(back->data(), entries.data(), entries.size() * sizeof(T)) == 0);
  }
}

// Values as sensors give them: decimals, told by pairs of bytes.
void round_trip_of_decimals(Bytes data) {
  if (data.empty()) return;
  double power = 1;
  for (int i = data[0] % 16; i > 0; --i) power *= 10;
  std::vector<double> values;
  for (std::size_t i = 1; i + 1 < data.size() && values.size() < codec::kColumnEntries; i += 2)
    values.push_back((data[i] * 256.0 + data[i + 1] - 1000) / power);
  round_trip<double>(
      {reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(double)},
      codec::append_values);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Bytes rest(data + 1, size - 1);
  switch (data[0] % 8) {
    case 0:
      read_column<double>(rest);
      break;
    case 1:
      read_column<std::int64_t>(rest);
      break;
    case 2:
      read_sealed<double>(rest);
      break;
    case 3:
      read_sealed<std::int64_t>(rest);
      break;
    case 4:
      round_trip<double>(rest, codec::append_values);
      break;
    case 5:
      round_trip<std::int64_t>(rest, codec::append_times);
      break;
    case 6:
      round_trip<std::int64_t>(rest, codec::append_steps);
      break;
    default:
      round_trip_of_decimals(rest);
  }
  return 0;
}
