#include "codec/block/column.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "codec/block/column_parts.h"
#include "codec/crc32c.h"
#include "codec/wire.h"

namespace corral::codec {
namespace {

constexpr std::uint8_t kVersion = 1;

enum class Scheme : std::uint8_t {
  kSame = 0,     // every entry has the bits of the first
  kLine = 1,     // integers: the first and what each next one adds
  kVectors = 2,  // a directory of lengths, then the vectors
};
constexpr std::uint8_t kFirstOfIntegers = 0x10;  // a scheme of times and steps, not of values

// The header as it lies in the bytes.
struct Header {
  std::uint8_t version;
  std::uint8_t scheme;
  std::uint16_t entries;
  std::uint32_t bytes;  // size of the whole column
  std::uint32_t crc;    // checksum of all other bytes
};
constexpr std::size_t kHeaderBytes = sizeof(Header);
constexpr std::size_t kCrcAt = offsetof(Header, crc);
static_assert(kHeaderBytes == 12 && kCrcAt == 8);

template <class T>
constexpr std::uint8_t kKind = std::is_same_v<T, double> ? 0 : kFirstOfIntegers;

using LengthOfVector = std::uint16_t;

constexpr std::size_t vectors_of(std::size_t entries) {
  return (entries + kVectorEntries - 1) / kVectorEntries;
}
// A column of one vector needs no directory.
constexpr std::size_t directory_bytes(std::size_t entries) {
  return entries <= kVectorEntries ? 0 : vectors_of(entries) * sizeof(LengthOfVector);
}
constexpr std::size_t entries_in(std::size_t entries, std::size_t vector) {
  return std::min(kVectorEntries, entries - vector * kVectorEntries);
}

std::uint32_t crc_of(std::span<const std::uint8_t> column) {
  return crc32c(column.data() + kHeaderBytes, column.size() - kHeaderBytes,
                crc32c(column.data(), kCrcAt));
}

// Writes the header over the place that was left for it.
template <class T>
void finish(std::string& out, std::size_t begin, Scheme scheme, std::size_t entries) {
  auto* const bytes = reinterpret_cast<std::uint8_t*>(out.data()) + begin;
  const std::size_t size = out.size() - begin;
  Header header{.version = kVersion,
                .scheme = static_cast<std::uint8_t>(static_cast<std::uint8_t>(scheme) | kKind<T>),
                .entries = static_cast<std::uint16_t>(entries),
                .bytes = static_cast<std::uint32_t>(size),
                .crc = 0};
  std::memcpy(bytes, &header, sizeof header);
  header.crc = crc_of({bytes, size});
  std::memcpy(bytes + kCrcAt, &header.crc, sizeof header.crc);
}

template <class T>
bool all_same(std::span<const T> entries) {
  return entries.size() < 2 ||
         std::memcmp(entries.data(), entries.data() + 1, entries.size_bytes() - sizeof(T)) == 0;
}

bool is_line(std::span<const std::int64_t> entries, std::uint64_t step) {
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (static_cast<std::uint64_t>(entries[i]) - static_cast<std::uint64_t>(entries[i - 1]) != step)
      return false;
  }
  return true;
}

// Takes what one of the two short schemes can say.
template <class T>
bool append_short(std::string& out, std::span<const T> entries) {
  const std::size_t begin = out.size();
  if (all_same(entries)) {
    out.append(kHeaderBytes, '\0');
    if (!entries.empty()) put(out, entries[0]);
    finish<T>(out, begin, Scheme::kSame, entries.size());
    return true;
  }
  if constexpr (std::is_same_v<T, std::int64_t>) {
    const std::uint64_t step =
        static_cast<std::uint64_t>(entries[1]) - static_cast<std::uint64_t>(entries[0]);
    if (is_line(entries, step)) {
      out.append(kHeaderBytes, '\0');
      put(out, entries[0]);
      put(out, step);
      finish<T>(out, begin, Scheme::kLine, entries.size());
      return true;
    }
  }
  return false;
}

template <class T>
void append_vectors(std::string& out, std::span<const T> entries, Plan plan, Effort effort) {
  const std::size_t begin = out.size();
  const std::size_t directory = directory_bytes(entries.size());
  out.append(kHeaderBytes + directory, '\0');
  for (std::size_t at = 0; at < entries.size(); at += kVectorEntries) {
    const std::size_t before = out.size();
    append_vector(out, entries.subspan(at, std::min(kVectorEntries, entries.size() - at)), plan,
                  effort);
    const auto length = static_cast<LengthOfVector>(out.size() - before);
    if (directory > 0) {
      std::memcpy(out.data() + begin + kHeaderBytes + at / kVectorEntries * sizeof length, &length,
                  sizeof length);
    }
  }
  finish<T>(out, begin, Scheme::kVectors, entries.size());
}

auto damaged(std::string_view what) {
  return fail(Code::kCorruption, fmt::format("damaged column: {}", what));
}

std::size_t length_of(std::span<const std::uint8_t> column, std::size_t vector) {
  LengthOfVector length = 0;
  std::memcpy(&length, column.data() + kHeaderBytes + vector * sizeof length, sizeof length);
  return length;
}

template <class T>
bool known(std::uint8_t scheme) {
  if (static_cast<Scheme>(scheme) == Scheme::kLine) return std::is_same_v<T, std::int64_t>;
  return scheme <= static_cast<std::uint8_t>(Scheme::kVectors);
}

// The bytes behind the header are as many as the scheme says.
bool body_fits(std::span<const std::uint8_t> column, Scheme scheme, std::size_t entries) {
  const std::size_t body = column.size() - kHeaderBytes;
  switch (scheme) {
    case Scheme::kSame:
      return body == (entries == 0 ? 0 : sizeof(std::uint64_t));
    case Scheme::kLine:
      return entries > 0 && body == 2 * sizeof(std::uint64_t);
    case Scheme::kVectors:
      break;
  }
  const std::size_t directory = directory_bytes(entries);
  if (entries == 0 || body < directory) return false;
  if (directory == 0) return true;
  std::size_t sum = directory;
  for (std::size_t v = 0; v < vectors_of(entries); ++v) sum += length_of(column, v);
  return sum == body;
}

template <class T>
void fill_line(std::span<const std::uint8_t> body, std::size_t first, std::span<T> out) {
  std::uint64_t begin = 0;
  std::uint64_t step = 0;
  std::memcpy(&begin, body.data(), sizeof begin);
  std::memcpy(&step, body.data() + sizeof begin, sizeof step);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t entry = begin + (first + i) * step;
    std::memcpy(&out[i], &entry, sizeof entry);
  }
}

template <class T>
Result<> decode_vector(std::span<const std::uint8_t> bytes, std::span<T> out) {
  WireReader in(bytes);
  read_vector(in, out);
  if (const auto end = in.finish(true); !end) return damaged(end.error().message);
  return {};
}

}  // namespace

void put_plan(std::string& out, const Plan& plan, bool exceptions) {
  put(out, static_cast<std::uint8_t>(static_cast<unsigned>(plan.map) |
                                     static_cast<unsigned>(plan.order) << 2 |
                                     (exceptions ? 1u << 4 : 0)));
  if (plan.map == Map::kDecimal || plan.map == Map::kInteger)
    put(out, static_cast<std::uint8_t>(plan.exponent));
}

ReadPlan get_plan(WireReader& in) {
  const auto byte = in.get<std::uint8_t>("map");
  if (byte >= 1u << 5) in.bad("map", "unknown");
  ReadPlan read{
      .plan = {.map = static_cast<Map>(byte & 3u), .order = static_cast<Order>(byte >> 2 & 3u)},
      .exceptions = (byte >> 4 & 1u) != 0};
  if (read.plan.map == Map::kDecimal || read.plan.map == Map::kInteger)
    read.plan.exponent = in.get<std::uint8_t>("exponent");
  if (read.plan.exponent > kMostExponent) {
    in.bad("exponent", "more than 15");
    read.plan.exponent = 0;
  }
  return read;
}

void append_values(std::string& out, std::span<const double> values, Effort effort) {
  CORRAL_ASSERT(values.size() <= kColumnEntries);
  if (append_short(out, values)) return;
  append_vectors(out, values, plan_values(values, effort), effort);
}

void append_times(std::string& out, std::span<const std::int64_t> times, Effort effort) {
  CORRAL_ASSERT(times.size() <= kColumnEntries);
  constexpr std::array kCandidates = {Order::kLine, Order::kFirst};
  if (append_short(out, times)) return;
  append_vectors(out, times, plan_integers(times, kCandidates, effort), effort);
}

void append_steps(std::string& out, std::span<const std::int64_t> steps, Effort effort) {
  CORRAL_ASSERT(steps.size() <= kColumnEntries);
  constexpr std::array kCandidates = {Order::kFirst};
  if (append_short(out, steps)) return;
  append_vectors(out, steps, plan_integers(steps, kCandidates, effort), effort);
}

template <class T>
Result<ColumnReader<T>> ColumnReader<T>::open(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kHeaderBytes) return damaged("ends inside its header");
  Header header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version > kVersion) {
    return fail(Code::kUnsupported,
                fmt::format("column version {} is newer than {}, the newest that this Corral reads",
                            header.version, kVersion));
  }
  if (header.version == 0) return damaged("no version");
  if (header.bytes < kHeaderBytes || header.bytes > bytes.size())
    return damaged("ends before its length");
  ColumnReader reader;
  reader.bytes_ = bytes.first(header.bytes);
  reader.entries_ = header.entries;
  reader.scheme_ = static_cast<std::uint8_t>(header.scheme ^ kKind<T>);
  if (crc_of(reader.bytes_) != header.crc) return damaged("checksum does not match");
  if (!known<T>(reader.scheme_)) return damaged("of another kind");
  if (header.entries > kColumnEntries ||
      !body_fits(reader.bytes_, static_cast<Scheme>(reader.scheme_), header.entries))
    return damaged("entries and length contradict each other");
  return reader;
}

template <class T>
Result<> ColumnReader<T>::read(std::size_t first, std::span<T> out) const {
  CORRAL_ASSERT(first <= entries_ && out.size() <= entries_ - first);
  if (out.empty()) return {};
  const auto body = bytes_.subspan(kHeaderBytes);
  if (static_cast<Scheme>(scheme_) == Scheme::kSame) {
    T entry{};
    std::memcpy(&entry, body.data(), sizeof entry);
    std::ranges::fill(out, entry);
    return {};
  }
  if (static_cast<Scheme>(scheme_) == Scheme::kLine) {
    fill_line(body, first, out);
    return {};
  }
  const bool directory = directory_bytes(entries_) > 0;
  std::size_t at = directory_bytes(entries_);
  for (std::size_t v = 0; v * kVectorEntries < first + out.size(); ++v) {
    const std::size_t length = directory ? length_of(bytes_, v) : body.size();
    const std::size_t begin = v * kVectorEntries;
    const std::size_t n = entries_in(entries_, v);
    const auto bytes = body.subspan(at, length);
    at += length;
    if (begin + n <= first) continue;
    const std::size_t end = std::min(begin + n, first + out.size());
    if (begin >= first && begin + n == end) {
      TRY(decode_vector(bytes, out.subspan(begin - first, n)));
      continue;
    }
    std::array<T, kVectorEntries> whole;
    TRY(decode_vector(bytes, std::span(whole).first(n)));
    const std::size_t from = std::max(begin, first);
    std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(from - begin), end - from,
                out.begin() + static_cast<std::ptrdiff_t>(from - first));
  }
  return {};
}

template <class T>
Result<std::vector<T>> ColumnReader<T>::read_all() const {
  std::vector<T> all(entries_);
  TRY(read(0, all));
  return all;
}

template class ColumnReader<double>;
template class ColumnReader<std::int64_t>;

}  // namespace corral::codec
