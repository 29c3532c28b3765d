// Little-endian fields: WireWriter appends them, WireReader takes them off and never reads past its
// bytes.
//
// The reader is sticky: after the first bad field every further read gives zero, and finish()
// returns the error with the field's name and its byte position. Loops must be bounded by count()
// or by ok().
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace corral::codec {

static_assert(std::endian::native == std::endian::little,
              "frames and segments are stored as they lie in memory");

class WireWriter {
 public:
  template <class T>
  void put(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    append(&value, sizeof value);
  }
  void text16(std::string_view s) {
    CORRAL_ASSERT(s.size() <= std::numeric_limits<std::uint16_t>::max());
    put(static_cast<std::uint16_t>(s.size()));
    append(s.data(), s.size());
  }
  void text32(std::string_view s) {
    put(static_cast<std::uint32_t>(s.size()));
    append(s.data(), s.size());
  }
  // Zigzag LEB128 of a signed difference.
  void varint(std::int64_t value) {
    auto bits = static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
    while (bits >= 0x80) {
      bytes_.push_back(static_cast<std::uint8_t>(bits | 0x80));
      bits >>= 7;
    }
    bytes_.push_back(static_cast<std::uint8_t>(bits));
  }
  void append(const void* data, std::size_t n) {
    const auto* p = static_cast<const std::uint8_t*>(data);
    bytes_.insert(bytes_.end(), p, p + n);
  }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

class WireReader {
 public:
  explicit WireReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  template <class T>
  T get(const char* field) {
    T value{};
    const auto raw = take(sizeof value, field);
    if (!raw.empty()) std::memcpy(&value, raw.data(), sizeof value);
    return value;
  }
  std::string text16(const char* field) { return text(get<std::uint16_t>(field), field); }
  std::string text32(const char* field) { return text(get<std::uint32_t>(field), field); }
  std::int64_t varint(const char* field) {
    std::uint64_t bits = 0;
    for (int shift = 0; shift < 64 && ok(); shift += 7) {
      const auto byte = get<std::uint8_t>(field);
      if (shift == 63 && byte > 1) break;
      bits |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return static_cast<std::int64_t>(bits >> 1 ^ (~(bits & 1) + 1));
    }
    bad(field, "a number longer than 64 bits");
    return 0;
  }
  // A count of items that take at least `each` bytes; bounds loops and reservations by the bytes
  // that are present.
  std::size_t count(std::uint64_t n, std::size_t each, const char* field) {
    if (ok() && n > remaining() / each) bad(field, "more entries than bytes");
    return ok() ? static_cast<std::size_t>(n) : 0;
  }
  std::span<const std::uint8_t> take(std::size_t n, const char* field) {
    if (ok() && n > remaining()) bad(field, "the frame ends inside it");
    if (!ok()) return {};
    const auto raw = bytes_.subspan(at_, n);
    at_ += n;
    return raw;
  }
  void bad(const char* field, const char* why) {
    if (ok()) error_ = std::string(field) + " at byte " + std::to_string(at_) + ": " + why;
  }
  [[nodiscard]] bool ok() const { return error_.empty(); }
  [[nodiscard]] std::size_t remaining() const { return bytes_.size() - at_; }

  // The value when every field was good and nothing is left over.
  template <class T>
  Result<T> finish(T value) {
    if (ok() && remaining() != 0) bad("end", "bytes left over");
    if (!ok()) return fail(Code::kInvalidArgument, error_);
    return value;
  }

 private:
  std::string text(std::size_t n, const char* field) {
    const auto raw = take(n, field);
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  std::string error_;
};

}  // namespace corral::codec
