#include "codec/block/vector.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "codec/block/kernel.h"
#include "core/result.h"

namespace corral::codec {
namespace {

using Numbers = std::array<std::uint64_t, kVectorEntries>;

// ---- bit packing
constexpr std::size_t kLanes = 16;
constexpr std::size_t kRows = kVectorEntries / kLanes;
// One row more than the widest vector takes: a number's upper half is read and written there.
using Words = std::array<std::uint64_t, kVectorEntries + kLanes>;

CORRAL_KERNEL void pack_rows(std::uint64_t* words, const std::uint64_t* numbers, unsigned width) {
  for (std::size_t row = 0; row < kRows; ++row) {
    const std::size_t bit = row * width;
    const unsigned shift = bit % 64;
    const unsigned rest = 63 - shift;
    std::uint64_t* low = words + bit / 64 * kLanes;
    std::uint64_t* high = low + kLanes;
    const std::uint64_t* from = numbers + row * kLanes;
    for (std::size_t lane = 0; lane < kLanes; ++lane) low[lane] |= from[lane] << shift;
    for (std::size_t lane = 0; lane < kLanes; ++lane) high[lane] |= from[lane] >> 1 >> rest;
  }
}

CORRAL_KERNEL void unpack_rows(const std::uint64_t* words, std::uint64_t* numbers, unsigned width) {
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
  for (std::size_t row = 0; row < kRows; ++row) {
    const std::size_t bit = row * width;
    const unsigned shift = bit % 64;
    const unsigned rest = 63 - shift;
    const std::uint64_t* low = words + bit / 64 * kLanes;
    const std::uint64_t* high = low + kLanes;
    std::uint64_t* to = numbers + row * kLanes;
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      to[lane] = (low[lane] >> shift | high[lane] << 1 << rest) & mask;
  }
}

void pack_sequence(Words& words, std::span<const std::uint64_t> numbers, unsigned width) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t bit = i * width;
    words[bit / 64] |= numbers[i] << bit % 64;
    words[bit / 64 + 1] |= numbers[i] >> 1 >> (63 - bit % 64);
  }
}

void unpack_sequence(const Words& words, std::span<std::uint64_t> numbers, unsigned width) {
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t bit = i * width;
    numbers[i] = (words[bit / 64] >> bit % 64 | words[bit / 64 + 1] << 1 << (63 - bit % 64)) & mask;
  }
}

}  // namespace

void pack(std::string& out, std::span<const std::uint64_t> numbers, unsigned width) {
  CORRAL_ASSERT(numbers.size() <= kVectorEntries && width <= kMostWidth);
  if (width == 0 || numbers.empty()) return;
  alignas(64) Words words;
  const std::size_t bytes = packed_bytes(numbers.size(), width);
  std::memset(words.data(), 0, bytes + kLanes * sizeof(std::uint64_t));
  if (numbers.size() == kVectorEntries) {
    run<pack_rows>(words.data(), numbers.data(), width);
  } else {
    pack_sequence(words, numbers, width);
  }
  out.append(reinterpret_cast<const char*>(words.data()), bytes);
}

void unpack(std::span<const std::uint8_t> in, unsigned width, std::span<std::uint64_t> out) {
  CORRAL_ASSERT(out.size() <= kVectorEntries && width <= kMostWidth &&
                in.size() == packed_bytes(out.size(), width));
  if (width == 0 || out.empty()) {
    std::memset(out.data(), 0, out.size_bytes());
    return;
  }
  alignas(64) Words words;
  std::memcpy(words.data(), in.data(), in.size());
  std::memset(reinterpret_cast<char*>(words.data()) + in.size(), 0, kLanes * sizeof(std::uint64_t));
  if (out.size() == kVectorEntries) {
    run<unpack_rows>(words.data(), out.data(), width);
  } else {
    unpack_sequence(words, out, width);
  }
}

namespace {

constexpr unsigned kLineBits = 10;  // a line's slope is in 1/1024

std::uint64_t arithmetic_shift(std::uint64_t value, unsigned by) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value) >> by);
}

// ---- differences: leave the first `order` slots to the caller
CORRAL_KERNEL void subtract_previous(const std::uint64_t* from, std::uint64_t* to, std::size_t n) {
  for (std::size_t i = 1; i < n; ++i) to[i] = from[i] - from[i - 1];
}
CORRAL_KERNEL void subtract_second(const std::uint64_t* from, std::uint64_t* to, std::size_t n) {
  for (std::size_t i = 2; i < n; ++i) to[i] = from[i] - 2 * from[i - 1] + from[i - 2];
}
CORRAL_KERNEL void subtract_third(const std::uint64_t* from, std::uint64_t* to, std::size_t n) {
  for (std::size_t i = 3; i < n; ++i)
    to[i] = from[i] - from[i - 3] + 3 * (from[i - 2] - from[i - 1]);
}

std::uint64_t line_slope(std::span<const std::uint64_t> numbers) {
  if (numbers.size() < 2) return 0;
  const std::uint64_t rise = (numbers.back() - numbers.front()) << kLineBits;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(rise) /
                                    static_cast<std::int64_t>(numbers.size() - 1));
}

// The numbers that the header of a vector holds.
using Head = std::array<std::uint64_t, 3>;

// The result of an order.
struct Differences {
  std::size_t skipped = 0;  // slots that the header stands for
  Head head{};
  std::size_t heads = 0;
};

Differences differences(std::span<const std::uint64_t> numbers, Order order, Numbers& out) {
  const std::size_t n = numbers.size();
  switch (order) {
    case Order::kPlain:
      std::ranges::copy(numbers, out.begin());
      return {};
    case Order::kFirst:
      run<subtract_previous>(numbers.data(), out.data(), n);
      return {.skipped = 1, .head = {numbers[0]}, .heads = 1};
    case Order::kSecond:
      run<subtract_second>(numbers.data(), out.data(), n);
      return {.skipped = 2, .head = {numbers[0], n > 1 ? numbers[1] - numbers[0] : 0}, .heads = 2};
    case Order::kThird:
      run<subtract_third>(numbers.data(), out.data(), n);
      return {.skipped = 3,
              .head = {numbers[0], n > 1 ? numbers[1] - numbers[0] : 0,
                       n > 2 ? numbers[2] - 2 * numbers[1] + numbers[0] : 0},
              .heads = 3};
    case Order::kLine:
      break;
  }
  const std::uint64_t slope = line_slope(numbers);
  for (std::size_t i = 0; i < n; ++i) out[i] = numbers[i] - arithmetic_shift(i * slope, kLineBits);
  return {.skipped = 0, .head = {slope}, .heads = 1};
}

void add_up(std::span<std::uint64_t> numbers, std::uint64_t first) {
  std::uint64_t sum = first;
  numbers[0] = sum;
  for (std::size_t i = 1; i < numbers.size(); ++i) numbers[i] = sum += numbers[i];
}

std::size_t head_count(Order order) {
  switch (order) {
    case Order::kPlain:
      return 0;
    case Order::kFirst:
    case Order::kLine:
      return 1;
    case Order::kSecond:
      return 2;
    case Order::kThird:
      break;
  }
  return 3;
}

void undo_differences(std::span<std::uint64_t> numbers, Order order, const Head& head) {
  if (order == Order::kLine) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] += arithmetic_shift(i * head[0], kLineBits);
    return;
  }
  for (std::size_t left = std::min(head_count(order), numbers.size()); left > 0; --left)
    add_up(numbers.subspan(left - 1), head[left - 1]);
}

// ---- frame of reference
CORRAL_KERNEL std::int64_t least_number(const std::uint64_t* numbers, std::size_t n) {
  std::int64_t least = static_cast<std::int64_t>(numbers[0]);
  for (std::size_t i = 1; i < n; ++i)
    least = std::min(least, static_cast<std::int64_t>(numbers[i]));
  return least;
}
CORRAL_KERNEL std::uint64_t subtract_all(std::uint64_t* numbers, std::size_t n, std::uint64_t by) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < n; ++i) {
    numbers[i] -= by;
    bits |= numbers[i];
  }
  return bits;
}
CORRAL_KERNEL void shift_right(std::uint64_t* numbers, std::size_t n, unsigned by) {
  for (std::size_t i = 0; i < n; ++i) numbers[i] >>= by;
}
CORRAL_KERNEL void shift_back(std::uint64_t* numbers, std::size_t n, unsigned shift,
                              std::uint64_t least) {
  for (std::size_t i = 0; i < n; ++i) numbers[i] = (numbers[i] << shift) + least;
}
CORRAL_KERNEL void multiply_back(std::uint64_t* numbers, std::size_t n, std::uint64_t factor,
                                 std::uint64_t least) {
  for (std::size_t i = 0; i < n; ++i) numbers[i] = numbers[i] * factor + least;
}

// Sensors with steps (15 MHz, 0.25 V) leave a common divisor; noise ends the search at once.
std::uint64_t common_divisor(std::span<const std::uint64_t> numbers) {
  std::uint64_t divisor = 0;
  for (const std::uint64_t number : numbers) {
    if (divisor == 0 || number % divisor != 0) divisor = std::gcd(divisor, number);
    if (divisor == 1) break;
  }
  return divisor;
}

struct FrameOfReference {
  std::uint64_t least = 0;
  std::uint64_t factor = 1;  // odd
  unsigned width = 0;
  unsigned shift = 0;
};

// The numbers become (number - least) / (factor << shift), below 2^width; skipped ones become 0.
FrameOfReference make_frame(std::span<std::uint64_t> numbers, std::size_t skipped) {
  skipped = std::min(skipped, numbers.size());
  std::fill_n(numbers.begin(), skipped, 0);
  const auto rest = numbers.subspan(skipped);
  if (rest.empty()) return {};
  FrameOfReference frame;
  frame.least = static_cast<std::uint64_t>(
      run<least_number>(static_cast<const std::uint64_t*>(rest.data()), rest.size()));
  const std::uint64_t bits = run<subtract_all>(rest.data(), rest.size(), frame.least);
  if (bits == 0) return frame;
  frame.shift = static_cast<unsigned>(std::countr_zero(bits));
  frame.width = static_cast<unsigned>(std::bit_width(bits)) - frame.shift;
  if (frame.shift > 0) run<shift_right>(rest.data(), rest.size(), frame.shift);
  frame.factor = common_divisor(rest);
  if (frame.factor == 1) return frame;
  std::uint64_t left = 0;
  for (std::uint64_t& number : rest) left |= number /= frame.factor;
  frame.width = static_cast<unsigned>(std::bit_width(left));
  return frame;
}

// ---- bytes through zstd, one frame without its magic number; each thread keeps one context of
// each direction for its life (about 100 KB)
constexpr std::array<std::uint8_t, 4> kMagic = {0x28, 0xB5, 0x2F, 0xFD};
constexpr std::size_t kMostPlaneBytes = std::size_t{8} * 1024;  // before compression
constexpr std::size_t kMostCompressed = ZSTD_COMPRESSBOUND(kMostPlaneBytes);

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// Appends the compressed bytes and returns their number; appends nothing and returns 0 when there
// would be `most` of them or more.
std::size_t append_compressed(std::string& out, std::span<const std::uint8_t> bytes, int level,
                              std::size_t most) {
  CORRAL_ASSERT(bytes.size() <= kMostPlaneBytes);
  static thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  CORRAL_ASSERT(context != nullptr);
  std::array<char, kMostCompressed> frame;
  const std::size_t n = ZSTD_compressCCtx(context.get(), frame.data(), frame.size(), bytes.data(),
                                          bytes.size(), level);
  if (ZSTD_isError(n) != 0 || n - kMagic.size() >= most) return 0;
  out.append(frame.data() + kMagic.size(), n - kMagic.size());
  return n - kMagic.size();
}

// False: not a frame of exactly out.size() bytes.
bool decompress(std::span<const std::uint8_t> in, std::span<std::uint8_t> out) {
  if (in.empty() || in.size() > kMostCompressed - kMagic.size()) return false;
  static thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  CORRAL_ASSERT(context != nullptr);
  std::array<std::uint8_t, kMostCompressed> frame;
  std::memcpy(frame.data(), kMagic.data(), kMagic.size());
  std::memcpy(frame.data() + kMagic.size(), in.data(), in.size());
  const std::size_t n = ZSTD_decompressDCtx(context.get(), out.data(), out.size(), frame.data(),
                                            kMagic.size() + in.size());
  return ZSTD_isError(n) == 0 && n == out.size();
}

// ---- byte planes of what is above `low` bits
CORRAL_KERNEL void copy_plane(const std::uint64_t* numbers, std::uint8_t* plane, std::size_t n,
                              unsigned shift) {
  for (std::size_t i = 0; i < n; ++i) plane[i] = static_cast<std::uint8_t>(numbers[i] >> shift);
}
CORRAL_KERNEL void add_plane(std::uint64_t* numbers, const std::uint8_t* plane, std::size_t n,
                             unsigned shift) {
  for (std::size_t i = 0; i < n; ++i) numbers[i] |= std::uint64_t{plane[i]} << shift;
}
CORRAL_KERNEL void keep_low(const std::uint64_t* numbers, std::uint64_t* to, std::size_t n,
                            std::uint64_t mask) {
  for (std::size_t i = 0; i < n; ++i) to[i] = numbers[i] & mask;
}
CORRAL_KERNEL std::uint64_t count_changes(const std::uint64_t* numbers, std::size_t n) {
  std::uint64_t changes = 0;
  for (std::size_t i = 1; i < n; ++i) changes += numbers[i] != numbers[i - 1] ? 1u : 0u;
  return changes;
}

struct Planes {
  std::array<std::uint8_t, kMostPlaneBytes> bytes;
  std::size_t size = 0;
};

Planes planes_above(std::span<const std::uint64_t> numbers, unsigned low, unsigned width) {
  Planes planes;
  for (unsigned shift = low; shift < width; shift += 8) {
    run<copy_plane>(numbers.data(), planes.bytes.data() + planes.size, numbers.size(), shift);
    planes.size += numbers.size();
  }
  return planes;
}

// ---- whether zstd is worth trying
struct Coding {
  bool coded = false;
  unsigned low = 0;      // bits left to packing
  std::size_t most = 0;  // bytes that zstd may give
  int level = 1;
};

using Counts = std::array<std::uint16_t, 256>;

// Counts each value of the top eight bits.
Counts count_tops(std::span<const std::uint64_t> numbers, unsigned shift) {
  std::array<Counts, 2> halves{};  // equal neighbours do not wait for one another's counter
  for (std::size_t i = 0; i < numbers.size(); ++i)
    ++halves[i & 1][static_cast<std::uint8_t>(numbers[i] >> shift)];
  Counts counts;
  for (std::size_t i = 0; i < counts.size(); ++i)
    counts[i] = static_cast<std::uint16_t>(halves[0][i] + halves[1][i]);
  return counts;
}

// Bytes that `n` symbols with these counts take, with their table.
double entropy_bytes(std::span<const std::uint16_t> counts, std::size_t n) {
  static const auto f_log_f = [] {  // f log2 f
    std::array<float, kVectorEntries + 1> terms{};
    for (std::size_t f = 1; f < terms.size(); ++f)
      terms[f] = static_cast<float>(f) * std::log2(static_cast<float>(f));
    return terms;
  }();
  constexpr double kFrame = 12;
  constexpr double kBytesOfSymbol = 0.35;
  float bits = f_log_f[n];
  unsigned symbols = 0;
  for (const std::uint16_t count : counts) {
    bits -= f_log_f[count];
    symbols += count != 0 ? 1u : 0u;
  }
  return static_cast<double>(bits) / 8 + kBytesOfSymbol * symbols + kFrame;
}

// Returns the cut between noise below, packed, and the bits above it, which entropy coding makes
// small. With each bit less above, the table halves and less is gained.
std::pair<double, unsigned> cheapest_cut(std::span<const std::uint64_t> numbers, unsigned width) {
  constexpr unsigned kFewestBits = 4;
  unsigned low = width > 8 ? width - 8 : 0;
  Counts counts = count_tops(numbers, low);
  std::pair<double, unsigned> best{1e9, low};
  for (unsigned bits = 8; bits >= kFewestBits; --bits, ++low) {
    const auto bins = std::span(counts).first(std::size_t{1} << bits);
    const double cost = static_cast<double>(packed_bytes(numbers.size(), low)) +
                        entropy_bytes(bins, numbers.size());
    if (cost < best.first) best = {cost, low};
    if (low + 1 >= width) break;
    for (std::size_t i = 0; i < bins.size() / 2; ++i)
      counts[i] = static_cast<std::uint16_t>(counts[2 * i] + counts[2 * i + 1]);
  }
  return best;
}

Coding choose_coding(std::span<const std::uint64_t> numbers, unsigned width, Effort effort) {
  constexpr std::size_t kFewest = 32;
  constexpr double kBytesOfChange = 1.5;  // and plane
  constexpr double kBytesOfRuns = 15;
  constexpr int kLevelOfRuns = 7;
  if (width == 0 || numbers.size() < kFewest) return {};
  const bool best = effort == Effort::kBest;
  const double worth =
      (best ? 0.97 : 0.85) * static_cast<double>(packed_bytes(numbers.size(), width));
  const auto [split, low] = cheapest_cut(numbers, width);
  const auto changes = run<count_changes>(numbers.data(), numbers.size());
  const double runs =
      kBytesOfChange * (width + 7) / 8 * static_cast<double>(changes) + kBytesOfRuns;
  if (runs < split && runs < worth) {
    return {.coded = true,
            .low = 0,
            .most = static_cast<std::size_t>(worth),
            .level = best ? kLevelOfRuns : 1};
  }
  if (split >= worth) return {};
  return {.coded = true,
          .low = low,
          .most = static_cast<std::size_t>(worth) - packed_bytes(numbers.size(), low)};
}

constexpr std::uint8_t kCoded = 0x80;   // with the width
constexpr std::uint8_t kFactor = 0x80;  // with the shift

void append_stored(std::string& out, std::span<const std::uint64_t> numbers, unsigned width,
                   Effort effort) {
  const std::size_t width_at = out.size();
  put(out, static_cast<std::uint8_t>(width));
  const Coding coding = choose_coding(numbers, width, effort);
  if (coding.coded) {
    put(out, static_cast<std::uint8_t>(coding.low));
    put(out, std::uint16_t{0});
    const Planes planes = planes_above(numbers, coding.low, width);
    const std::size_t bytes = append_compressed(out, std::span(planes.bytes).first(planes.size),
                                                coding.level, coding.most);
    if (bytes > 0) {
      const auto stored = static_cast<std::uint16_t>(bytes);
      out[width_at] = static_cast<char>(static_cast<std::uint8_t>(width) | kCoded);
      std::memcpy(out.data() + width_at + 2, &stored, sizeof stored);
      Numbers low;
      run<keep_low>(numbers.data(), low.data(), numbers.size(),
                    (std::uint64_t{1} << coding.low) - 1);
      pack(out, std::span(low).first(numbers.size()), coding.low);
      return;
    }
    out.resize(width_at + 1);
  }
  pack(out, numbers, width);
}

void read_planes(WireReader& in, unsigned width, std::span<std::uint64_t> numbers) {
  const unsigned low = in.get<std::uint8_t>("low bits");
  const auto coded = in.take(in.get<std::uint16_t>("coded bytes"), "coded bytes");
  if (low >= width) in.bad("low bits", "as many as bits in all");
  const auto packed = in.ok() ? in.take(packed_bytes(numbers.size(), low), "numbers") : coded;
  if (!in.ok()) return;
  unpack(packed, low, numbers);
  std::array<std::uint8_t, kMostPlaneBytes> planes;
  const std::size_t bytes = (width - low + 7) / 8 * numbers.size();
  if (!decompress(coded, std::span(planes).first(bytes))) {
    in.bad("coded bytes", "not what was written");
    return;
  }
  for (std::size_t at = 0; at < bytes; at += numbers.size()) {
    run<add_plane>(numbers.data(), static_cast<const std::uint8_t*>(planes.data()) + at,
                   numbers.size(), low + static_cast<unsigned>(at / numbers.size() * 8));
  }
}

void read_stored(WireReader& in, std::span<std::uint64_t> numbers) {
  const auto first = in.get<std::uint8_t>("width");
  const unsigned width = first & ~unsigned{kCoded};
  if (width > kMostWidth) in.bad("width", "more than 64 bits");
  if (!in.ok()) return;
  if ((first & kCoded) != 0) return read_planes(in, width, numbers);
  const auto packed = in.take(packed_bytes(numbers.size(), width), "numbers");
  if (in.ok()) unpack(packed, width, numbers);
}

}  // namespace

void put_varint(std::string& out, std::uint64_t value) {
  std::uint64_t bits = value << 1 ^ arithmetic_shift(value, 63);
  for (; bits >= 0x80; bits >>= 7) out.push_back(static_cast<char>(bits | 0x80));
  out.push_back(static_cast<char>(bits));
}

void append_numbers(std::string& out, std::span<const std::uint64_t> numbers, Order order,
                    Effort effort) {
  CORRAL_ASSERT(!numbers.empty() && numbers.size() <= kVectorEntries);
  Numbers buffer;
  const auto left = std::span(buffer).first(numbers.size());
  const Differences taken = differences(numbers, order, buffer);
  for (std::size_t i = 0; i < taken.heads; ++i) put_varint(out, taken.head[i]);
  const FrameOfReference frame = make_frame(left, taken.skipped);
  put_varint(out, frame.least);
  put(out, static_cast<std::uint8_t>(frame.shift | (frame.factor > 1 ? kFactor : 0)));
  if (frame.factor > 1) put_varint(out, frame.factor);
  append_stored(out, left, frame.width, effort);
}

void read_numbers(WireReader& in, Order order, std::span<std::uint64_t> numbers) {
  Head head{};
  for (std::size_t i = 0; i < head_count(order); ++i)
    head[i] = static_cast<std::uint64_t>(in.varint("first numbers"));
  const auto least = static_cast<std::uint64_t>(in.varint("least number"));
  const auto scale = in.get<std::uint8_t>("shift");
  const unsigned shift = scale & ~unsigned{kFactor};
  if (shift >= kMostWidth) in.bad("shift", "more than 63 bits");
  const auto factor =
      (scale & kFactor) != 0 ? static_cast<std::uint64_t>(in.varint("factor")) : std::uint64_t{1};
  if (!in.ok()) return;
  read_stored(in, numbers);
  if (!in.ok()) return;
  if (factor != 1) {
    run<multiply_back>(numbers.data(), numbers.size(), factor << shift, least);
  } else {
    run<shift_back>(numbers.data(), numbers.size(), shift, least);
  }
  undo_differences(numbers, order, head);
}

OrderChoice best_order(std::span<const std::uint64_t> numbers, std::span<const Order> candidates,
                       Effort effort) {
  OrderChoice best{.order = candidates[0], .size = ~std::size_t{0}};
  std::string scratch;
  Numbers buffer;
  for (const Order order : candidates) {
    std::size_t size = 0;
    if (effort == Effort::kBest) {
      scratch.clear();
      append_numbers(scratch, numbers, order, effort);
      size = scratch.size();
    } else {
      const Differences taken = differences(numbers, order, buffer);
      size = taken.heads + make_frame(std::span(buffer).first(numbers.size()), taken.skipped).width;
    }
    if (size < best.size) best = {.order = order, .size = size};
  }
  return best;
}

}  // namespace corral::codec
