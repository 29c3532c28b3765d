// Protocol buffers' wire form (https://protobuf.dev/programming-guides/encoding/), for the few
// messages of others that Corral reads and writes: OTLP's spans, Perfetto's traces.
//
// ProtoReader walks over one message's fields and views its bytes; a message inside is a field
// whose bytes get a reader of their own. It never reads past its bytes; after the first malformed
// field it ends and ok() is false. Groups, which no message of today has, are malformed.
// ProtoWriter appends fields to a string; a message inside is written first and put in whole. Pure,
// any thread.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace corral::codec {

enum class ProtoWire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct ProtoField {
  std::uint32_t number = 0;
  ProtoWire wire = ProtoWire::kVarint;
  std::uint64_t value = 0;  // for kVarint, kFixed64, kFixed32
  std::string_view bytes;   // for kBytes

  // Returns true if it is this field in this form; a field that came in another form is an unknown
  // one.
  [[nodiscard]] bool is(std::uint32_t n, ProtoWire w) const { return number == n && wire == w; }
  [[nodiscard]] double real() const { return std::bit_cast<double>(value); }
};

class ProtoReader {
 public:
  explicit ProtoReader(std::string_view message) : rest_(message) {}

  // False at the end and for a malformed field.
  bool next(ProtoField& field) {
    std::uint64_t tag = 0;
    if (!ok_ || rest_.empty() || !varint(tag)) return false;
    if (tag >> 3 == 0 || tag >> 3 > kMaxNumber) return fail();
    field = ProtoField{.number = static_cast<std::uint32_t>(tag >> 3),
                       .wire = static_cast<ProtoWire>(tag & 7),
                       .value = 0,
                       .bytes = {}};
    switch (field.wire) {
      case ProtoWire::kVarint:
        return varint(field.value);
      case ProtoWire::kFixed64:
        return fixed(field.value, 8);
      case ProtoWire::kFixed32:
        return fixed(field.value, 4);
      case ProtoWire::kBytes:
        return bytes(field.bytes);
    }
    return fail();
  }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  static constexpr std::uint64_t kMaxNumber = (1u << 29) - 1;

  bool fail() {
    ok_ = false;
    return false;
  }
  bool varint(std::uint64_t& value) {
    value = 0;
    for (unsigned i = 0; i < 10 && i < rest_.size(); ++i) {
      const auto byte = static_cast<std::uint8_t>(rest_[i]);
      if (i == 9 && byte > 1) break;
      value |= static_cast<std::uint64_t>(byte & 0x7F) << (7 * i);
      if ((byte & 0x80) != 0) continue;
      rest_.remove_prefix(i + 1);
      return true;
    }
    return fail();
  }
  bool fixed(std::uint64_t& value, std::size_t size) {
    static_assert(std::endian::native == std::endian::little);
    if (rest_.size() < size) return fail();
    std::memcpy(&value, rest_.data(), size);
    rest_.remove_prefix(size);
    return true;
  }
  bool bytes(std::string_view& value) {
    std::uint64_t size = 0;
    if (!varint(size)) return false;
    if (size > rest_.size()) return fail();
    value = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(static_cast<std::size_t>(size));
    return true;
  }

  std::string_view rest_;
  bool ok_ = true;
};

class ProtoWriter {
 public:
  ProtoWriter& number(std::uint32_t field, std::uint64_t value) {
    tag(field, ProtoWire::kVarint);
    varint(value);
    return *this;
  }
  ProtoWriter& fixed(std::uint32_t field, std::uint64_t value) {
    tag(field, ProtoWire::kFixed64);
    for (unsigned i = 0; i < 8; ++i) out_ += static_cast<char>(value >> (8 * i));
    return *this;
  }
  ProtoWriter& real(std::uint32_t field, double value) {
    return fixed(field, std::bit_cast<std::uint64_t>(value));
  }
  ProtoWriter& bytes(std::uint32_t field, std::string_view value) {
    tag(field, ProtoWire::kBytes);
    varint(value.size());
    out_ += value;
    return *this;
  }
  ProtoWriter& message(std::uint32_t field, const ProtoWriter& inner) {
    return bytes(field, inner.out_);
  }
  [[nodiscard]] const std::string& text() const { return out_; }
  void clear() { out_.clear(); }

 private:
  void tag(std::uint32_t field, ProtoWire wire) {
    varint(std::uint64_t{field} << 3 | static_cast<std::uint64_t>(wire));
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }

  std::string out_;
};

}  // namespace corral::codec
