#include "codec/block/column.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "codec/block/kernel.h"
#include "codec/block/vector.h"
#include "codec/crc32c.h"
#include "codec/wire.h"

namespace corral::codec {
namespace {

using Numbers = std::array<std::uint64_t, kVectorEntries>;

// ---- the plan of a column: the findings from a sample of it; a vector that it does not fit is
// stored in another way, which each vector names (docs/format-block.md, "Vectors")

// The numbers that stand for the entries of a vector.
enum class Map : std::uint8_t {
  kDecimal = 0,  // values: number / 10^exponent, correctly rounded
  kFloat = 1,    // values: the bits of the float that equals the value
  kBits = 2,     // values: their bits
  kInteger = 3,  // times and steps: origin + number * 10^exponent
  kBinary = 4,   // values: number * 2^exponent; since version 2
  kRatio = 5,    // values: numerator / number in a unit; since version 2
};
constexpr unsigned kMaps = 6;

// The unit of the numbers that kRatio divides by: `numerator` / (number * 10^-exponent), or where
// it divides `numerator` / (number / 10^exponent). Programs compute items per second from elapsed
// microseconds in either way; the two differ in their last bit.
struct Unit {
  std::uint8_t exponent = 0;
  bool divides = false;
};

struct Plan {
  Map map = Map::kBits;
  unsigned exponent = 0;    // power of ten
  int binary_exponent = 0;  // power of two, for kBinary
  double numerator = 0;     // for kRatio
  Unit unit = {};           // for kRatio
  Order order = Order::kPlain;
};

constexpr unsigned kMostExponent = 15;
constexpr int kLeastBinaryExponent = -1022;
constexpr int kMostBinaryExponent = 971;

// The first byte of a vector: two bits of the map, two of the order, whether there are exceptions,
// and since version 2 one more bit of the order and of the map.
constexpr unsigned kLowBits = 3;
constexpr unsigned kOrderAt = 2;
constexpr unsigned kExceptionsAt = 4;
constexpr unsigned kHighOrderAt = 5;
constexpr unsigned kHighMapAt = 6;
constexpr std::uint8_t kDivides = 0x10;  // with the exponent of a ratio's unit
bool needs_version_2(const Plan& plan) {
  return plan.map > Map{kLowBits} || plan.order > Order{kLowBits};
}

// That byte, and the exponent where the map has one.
void put_plan(std::string& out, const Plan& plan, bool exceptions) {
  const auto map = static_cast<unsigned>(plan.map);
  const auto order = static_cast<unsigned>(plan.order);
  put(out, static_cast<std::uint8_t>((map & kLowBits) | (order & kLowBits) << kOrderAt |
                                     (exceptions ? 1u << kExceptionsAt : 0) |
                                     order >> 2 << kHighOrderAt | map >> 2 << kHighMapAt));
  if (plan.map == Map::kDecimal || plan.map == Map::kInteger)
    put(out, static_cast<std::uint8_t>(plan.exponent));
  if (plan.map == Map::kBinary) put(out, static_cast<std::int16_t>(plan.binary_exponent));
  if (plan.map == Map::kRatio) {
    put(out, static_cast<std::uint8_t>(plan.unit.exponent | (plan.unit.divides ? kDivides : 0)));
    put(out, plan.numerator);
  }
}

struct ReadPlan {
  Plan plan;
  bool exceptions = false;
};
ReadPlan get_plan(WireReader& in) {
  const unsigned byte = in.get<std::uint8_t>("map");
  const unsigned map = (byte & kLowBits) | (byte >> kHighMapAt & 1u) << 2;
  const unsigned order = (byte >> kOrderAt & kLowBits) | (byte >> kHighOrderAt & 1u) << 2;
  if (byte >> 7 != 0 || map >= kMaps || order >= kOrders) {
    in.bad("map", "unknown");
    return {};
  }
  ReadPlan read{.plan = {.map = Map{static_cast<std::uint8_t>(map)},
                         .order = Order{static_cast<std::uint8_t>(order)}},
                .exceptions = (byte >> kExceptionsAt & 1u) != 0};
  if (read.plan.map == Map::kDecimal || read.plan.map == Map::kInteger)
    read.plan.exponent = in.get<std::uint8_t>("exponent");
  if (read.plan.map == Map::kBinary) read.plan.binary_exponent = in.get<std::int16_t>("exponent");
  if (read.plan.map == Map::kRatio) {
    const unsigned unit = in.get<std::uint8_t>("unit");
    if (unit >= 2u * kDivides) in.bad("unit", "unknown");
    read.plan.unit = {.exponent = static_cast<std::uint8_t>(unit & (kDivides - 1u)),
                      .divides = (unit & kDivides) != 0};
    read.plan.numerator = in.get<double>("numerator");
  }
  if (read.plan.exponent > kMostExponent) {
    in.bad("exponent", "more than 15");
    read.plan.exponent = 0;
  }
  if (read.plan.binary_exponent < kLeastBinaryExponent ||
      read.plan.binary_exponent > kMostBinaryExponent) {
    in.bad("exponent", "not of a double");
    read.plan.binary_exponent = 0;
  }
  return read;
}

// ---- vectors of times and steps
constexpr std::array<std::int64_t, kMostExponent + 1> kIntegerPowers = [] {
  std::array<std::int64_t, kMostExponent + 1> powers{};
  std::int64_t power = 1;
  for (std::int64_t& p : powers) {
    p = power;
    power *= 10;
  }
  return powers;
}();

std::int64_t distance(std::int64_t from, std::int64_t to) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(to) -
                                   static_cast<std::uint64_t>(from));
}

// All distances from the first are multiples of the power.
bool divides(std::span<const std::int64_t> integers, std::size_t stride, unsigned exponent) {
  for (std::size_t i = 0; i < integers.size(); i += stride) {
    if (distance(integers[0], integers[i]) % kIntegerPowers[exponent] != 0) return false;
  }
  return true;
}

std::span<const std::uint64_t> to_numbers(std::span<const std::int64_t> integers, unsigned exponent,
                                          std::array<std::uint64_t, kVectorEntries>& buffer) {
  const auto numbers = std::span(buffer).first(integers.size());
  if (exponent == 0) {
    std::ranges::transform(integers, numbers.begin(),
                           [](std::int64_t v) { return static_cast<std::uint64_t>(v); });
  } else {
    std::ranges::transform(integers, numbers.begin(), [&](std::int64_t v) {
      return static_cast<std::uint64_t>(distance(integers[0], v) / kIntegerPowers[exponent]);
    });
  }
  return numbers;
}

Plan plan_integers(std::span<const std::int64_t> integers, std::span<const Order> candidates,
                   Effort effort) {
  Plan plan{.map = Map::kInteger, .exponent = 0, .order = candidates[0]};
  if (integers.size() < 2) return plan;
  const std::size_t stride = std::max<std::size_t>(1, integers.size() / 32);
  for (const unsigned exponent : {9u, 6u, 3u}) {
    if (plan.exponent == 0 && divides(integers, stride, exponent)) plan.exponent = exponent;
  }
  const std::size_t n = std::min(integers.size(), kVectorEntries);
  const auto probe = integers.subspan((integers.size() - n) / 2, n);
  std::array<std::uint64_t, kVectorEntries> buffer;
  const unsigned exponent = divides(probe, 1, plan.exponent) ? plan.exponent : 0;
  if (candidates.size() > 1)
    plan.order = best_order(to_numbers(probe, exponent, buffer), candidates, effort).order;
  return plan;
}

Plan append_vector(std::string& out, std::span<const std::int64_t> integers, const Plan& plan,
                   Effort effort) {
  Plan fitting = plan;
  while (fitting.exponent > 0 && !divides(integers, 1, fitting.exponent)) fitting.exponent -= 3;
  put_plan(out, fitting, false);
  if (fitting.exponent > 0) put_varint(out, static_cast<std::uint64_t>(integers[0]));
  std::array<std::uint64_t, kVectorEntries> buffer;
  append_numbers(out, to_numbers(integers, fitting.exponent, buffer), fitting.order, effort);
  return fitting;
}

void read_vector(WireReader& in, std::span<std::int64_t> integers) {
  const auto [plan, exceptions] = get_plan(in);
  if (plan.map != Map::kInteger || exceptions) in.bad("map", "not of integers");
  const std::uint64_t origin =
      plan.exponent > 0 ? static_cast<std::uint64_t>(in.varint("origin")) : 0;
  std::array<std::uint64_t, kVectorEntries> buffer;
  const auto numbers = std::span(buffer).first(integers.size());
  read_numbers(in, plan.order, numbers);
  if (!in.ok()) return;
  const auto power = static_cast<std::uint64_t>(kIntegerPowers[plan.exponent]);
  std::ranges::transform(numbers, integers.begin(), [&](std::uint64_t number) {
    return static_cast<std::int64_t>(origin + number * power);
  });
}

// ---- vectors of values: decimals, floats or bits, and the few values that are neither
constexpr std::array<double, kMostExponent + 1> kDecimalPowers = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

// Adding this to a number below 2^51 rounds it and leaves it, as an integer, in the low bits.
constexpr double kRounder = 0x1.8p52;
constexpr std::uint64_t kRounderBits = std::bit_cast<std::uint64_t>(kRounder);
constexpr double kDecimalLimit = 0x1p51;

CORRAL_KERNEL double from_decimal(std::uint64_t number, double power) {
  return (std::bit_cast<double>(number + kRounderBits) - kRounder) / power;
}
// The decimal that is nearest to the value; `bad` is not 0 when it is not the value itself.
CORRAL_KERNEL std::uint64_t nearest_decimal(double value, double power, std::uint64_t& bad) {
  const double scaled = value * power;
  const std::uint64_t number = std::bit_cast<std::uint64_t>(scaled + kRounder) - kRounderBits;
  const bool inside = scaled < kDecimalLimit && scaled > -kDecimalLimit;
  const std::uint64_t difference = std::bit_cast<std::uint64_t>(from_decimal(number, power)) ^
                                   std::bit_cast<std::uint64_t>(value);
  bad = inside ? difference : 1;
  return number;
}
CORRAL_KERNEL double from_float(std::uint64_t number) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(number)));
}
CORRAL_KERNEL std::uint64_t nearest_float(double value, std::uint64_t& bad) {
  const std::uint64_t number = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  bad = std::bit_cast<std::uint64_t>(from_float(number)) ^ std::bit_cast<std::uint64_t>(value);
  return number;
}

// Below this a double turned into an integer loses nothing and overflows nothing.
constexpr double kBinaryLimit = 0x1p62;

CORRAL_KERNEL double from_binary(std::uint64_t number, double power) {
  return static_cast<double>(static_cast<std::int64_t>(number)) * power;
}
// `up` is 1 / `power`, a power of two.
CORRAL_KERNEL std::uint64_t nearest_binary(double value, double up, double power,
                                           std::uint64_t& bad) {
  const double scaled = value * up;
  const bool inside = scaled < kBinaryLimit && scaled > -kBinaryLimit;
  const auto number = static_cast<std::uint64_t>(static_cast<std::int64_t>(inside ? scaled : 0.0));
  bad = std::bit_cast<std::uint64_t>(from_binary(number, power)) ^
        std::bit_cast<std::uint64_t>(value);
  return number;
}

// A number in this unit is multiplied and then divided by these; one of them is 1.
struct UnitFactors {
  double times = 1;
  double over = 1;
};
constexpr std::array<double, kMostExponent + 1> kDecimalInverses = {
    1e0,  1e-1, 1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,
    1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15};
UnitFactors factors_of(Unit unit) {
  if (unit.divides) return {.times = 1, .over = kDecimalPowers[unit.exponent]};
  return {.times = kDecimalInverses[unit.exponent], .over = 1};
}

CORRAL_KERNEL double from_ratio(std::uint64_t number, double numerator, UnitFactors unit) {
  const double whole = std::bit_cast<double>(number + kRounderBits) - kRounder;
  return numerator / (whole * unit.times / unit.over);
}
CORRAL_KERNEL std::uint64_t nearest_ratio(double value, double numerator, UnitFactors unit,
                                          std::uint64_t& bad) {
  const double scaled = numerator / value * unit.over / unit.times;
  const std::uint64_t number = std::bit_cast<std::uint64_t>(scaled + kRounder) - kRounderBits;
  const bool inside = scaled < kDecimalLimit && scaled > -kDecimalLimit;
  const std::uint64_t difference =
      std::bit_cast<std::uint64_t>(from_ratio(number, numerator, unit)) ^
      std::bit_cast<std::uint64_t>(value);
  bad = inside ? difference : 1;
  return number;
}

// ---- whole vectors; `bad` as above for each entry, and the number of entries that are
CORRAL_KERNEL void to_decimals(const double* values, std::size_t n, double power,
                               std::uint64_t* numbers, std::uint64_t* bad) {
  for (std::size_t i = 0; i < n; ++i) numbers[i] = nearest_decimal(values[i], power, bad[i]);
}
CORRAL_KERNEL void to_floats(const double* values, std::size_t n, std::uint64_t* numbers,
                             std::uint64_t* bad) {
  for (std::size_t i = 0; i < n; ++i) numbers[i] = nearest_float(values[i], bad[i]);
}
CORRAL_KERNEL void to_binaries(const double* values, std::size_t n, double up, double power,
                               std::uint64_t* numbers, std::uint64_t* bad) {
  for (std::size_t i = 0; i < n; ++i) numbers[i] = nearest_binary(values[i], up, power, bad[i]);
}
CORRAL_KERNEL void to_ratios(const double* values, std::size_t n, double numerator,
                             UnitFactors unit, std::uint64_t* numbers, std::uint64_t* bad) {
  for (std::size_t i = 0; i < n; ++i)
    numbers[i] = nearest_ratio(values[i], numerator, unit, bad[i]);
}
CORRAL_KERNEL std::uint64_t count_bad(const std::uint64_t* bad, std::size_t n) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < n; ++i) count += bad[i] != 0 ? 1u : 0u;
  return count;
}
CORRAL_KERNEL void from_integers(const std::uint64_t* numbers, std::size_t n, double* values) {
  for (std::size_t i = 0; i < n; ++i)
    values[i] = std::bit_cast<double>(numbers[i] + kRounderBits) - kRounder;
}
CORRAL_KERNEL void from_decimals(const std::uint64_t* numbers, std::size_t n, double power,
                                 double* values) {
  for (std::size_t i = 0; i < n; ++i) values[i] = from_decimal(numbers[i], power);
}
CORRAL_KERNEL void from_floats(const std::uint64_t* numbers, std::size_t n, double* values) {
  for (std::size_t i = 0; i < n; ++i) values[i] = from_float(numbers[i]);
}

CORRAL_KERNEL void from_binaries(const std::uint64_t* numbers, std::size_t n, double power,
                                 double* values) {
  for (std::size_t i = 0; i < n; ++i) values[i] = from_binary(numbers[i], power);
}

CORRAL_KERNEL void from_ratios(const std::uint64_t* numbers, std::size_t n, double numerator,
                               UnitFactors unit, double* values) {
  for (std::size_t i = 0; i < n; ++i) values[i] = from_ratio(numbers[i], numerator, unit);
}

// The greatest exponent of two with which all of these values are whole numbers, raised until the
// greatest of them is below kBinaryLimit: values that differ much in size lose their last bits.
int binary_exponent(std::span<const double> values) {
  constexpr int kMantissaBits = 52;
  int lowest = kMostBinaryExponent;
  int highest = kLeastBinaryExponent;
  for (const double value : values) {
    if (!std::isnormal(value)) continue;
    const int top = std::ilogb(value);
    const auto mantissa = std::bit_cast<std::uint64_t>(value) | std::uint64_t{1} << kMantissaBits;
    lowest = std::min(lowest, top - kMantissaBits + std::countr_zero(mantissa));
    highest = std::max(highest, top);
  }
  constexpr int kBits = 61;  // below kBinaryLimit
  return std::clamp(std::max(lowest, highest - kBits), kLeastBinaryExponent, kMostBinaryExponent);
}

// ---- one vector as numbers
struct Mapped {
  Numbers numbers;
  Numbers bad;
  std::size_t exceptions = 0;
};

void map_vector(std::span<const double> values, const Plan& plan, Mapped& mapped) {
  const std::size_t n = values.size();
  std::uint64_t* const numbers = mapped.numbers.data();
  std::uint64_t* const bad = mapped.bad.data();
  mapped.exceptions = 0;
  switch (plan.map) {
    case Map::kBits:
    case Map::kInteger:
      std::memcpy(numbers, values.data(), values.size_bytes());
      return;
    case Map::kDecimal:
      run<to_decimals>(values.data(), n, kDecimalPowers[plan.exponent], numbers, bad);
      break;
    case Map::kFloat:
      run<to_floats>(values.data(), n, numbers, bad);
      break;
    case Map::kBinary:
      run<to_binaries>(values.data(), n, std::ldexp(1.0, -plan.binary_exponent),
                       std::ldexp(1.0, plan.binary_exponent), numbers, bad);
      break;
    case Map::kRatio:
      run<to_ratios>(values.data(), n, plan.numerator, factors_of(plan.unit), numbers, bad);
  }
  mapped.exceptions = run<count_bad>(static_cast<const std::uint64_t*>(mapped.bad.data()), n);
}

// The number that continues three others in a line of second differences.
std::uint64_t continued(std::uint64_t far, std::uint64_t middle, std::uint64_t near) {
  return far + 3 * (near - middle);
}

// Exceptions take a number that widens nothing: of the last good entry (before the first one, its
// own), or for kBinary, of which second or third differences are stored, the next of the curve.
void fill_exceptions(Mapped& mapped, std::size_t n, Map map) {
  if (mapped.exceptions == 0) return;
  auto& x = mapped.numbers;
  std::size_t good = 0;
  while (good < n && mapped.bad[good] != 0) ++good;
  const bool curve = map == Map::kBinary;
  const std::uint64_t first = good < n ? x[good] : 0;
  for (std::size_t i = good; i < n; ++i) {
    if (mapped.bad[i] == 0) continue;
    x[i] = curve && i >= good + 3 ? continued(x[i - 3], x[i - 2], x[i - 1]) : x[i - 1];
  }
  for (std::size_t i = good; i-- > 0;)
    x[i] = curve && i + 3 < n ? continued(x[i + 3], x[i + 2], x[i + 1]) : first;
}

void put_exceptions(std::string& out, std::span<const double> values, const Mapped& mapped) {
  put(out, static_cast<std::uint16_t>(mapped.exceptions));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (mapped.bad[i] != 0) put(out, static_cast<std::uint16_t>(i));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (mapped.bad[i] != 0) put(out, values[i]);
  }
}

// ---- the plan
constexpr std::size_t kSamples = 32;
constexpr std::size_t kBadSamples = 2;

bool is_decimal(double value, unsigned exponent) {
  std::uint64_t bad = 0;
  nearest_decimal(value, kDecimalPowers[exponent], bad);
  return bad == 0;
}
// The least exponent from `from` on that gives this value, else kMostExponent + 1.
unsigned least_exponent(double value, unsigned from) {
  unsigned exponent = from;
  while (exponent <= kMostExponent && !is_decimal(value, exponent)) ++exponent;
  return exponent;
}

// Bits that the sampled numbers need side by side.
struct Spread {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t greatest = std::numeric_limits<std::int64_t>::min();
  std::uint64_t divisor = 0;  // common divisor of all distances from the first
  std::uint64_t first = 0;
  std::size_t good = 0, bad = 0;

  void add(std::uint64_t number, std::uint64_t is_bad) {
    if (is_bad != 0) {
      ++bad;
      return;
    }
    if (good++ == 0) first = number;
    const auto n = static_cast<std::int64_t>(number);
    least = std::min(least, n);
    greatest = std::max(greatest, n);
    const std::uint64_t distance = number > first ? number - first : first - number;
    if (divisor != 1) divisor = std::gcd(divisor, distance);
  }
  [[nodiscard]] int width() const {
    if (bad > kBadSamples) return 65;
    if (divisor == 0) return 0;
    const auto range = static_cast<std::uint64_t>(greatest) - static_cast<std::uint64_t>(least);
    return static_cast<int>(std::bit_width(range / divisor));
  }
};

Plan plan_map(std::span<const double> values) {
  const std::size_t stride = std::max<std::size_t>(1, values.size() / kSamples);
  unsigned exponent = 0;
  std::size_t odd = 0;  // samples that are no decimals
  for (std::size_t i = 0; i < values.size() && odd <= kBadSamples; i += stride) {
    const unsigned needed = least_exponent(values[i], exponent);
    if (needed > kMostExponent) {
      ++odd;
    } else {
      exponent = needed;
    }
  }
  Spread decimals;
  Spread floats;
  Spread bits;
  decimals.bad = odd > kBadSamples ? odd : 0;
  for (std::size_t i = 0; i < values.size(); i += stride) {
    std::uint64_t bad = 0;
    const std::uint64_t decimal = nearest_decimal(values[i], kDecimalPowers[exponent], bad);
    decimals.add(decimal, bad);
    const std::uint64_t as_float = nearest_float(values[i], bad);
    floats.add(as_float, bad);
    bits.add(std::bit_cast<std::uint64_t>(values[i]), 0);
  }
  // Many digits mean a binary fraction more often than a decimal one: finer ones may follow.
  const int margin = exponent > 1 ? 2 : 0;
  if (decimals.width() + margin <= std::min(floats.width(), bits.width()))
    return {.map = Map::kDecimal, .exponent = exponent};
  return {.map = floats.width() <= bits.width() ? Map::kFloat : Map::kBits};
}

// The plan's exponent raised so far that the exceptions become decimals, if some can.
bool raise_exponent(std::span<const double> values, const Mapped& mapped, Plan& plan) {
  constexpr std::size_t kLookedAt = 8;
  unsigned exponent = plan.exponent;
  std::size_t seen = 0;
  for (std::size_t i = 0; i < values.size() && seen < kLookedAt; ++i) {
    if (mapped.bad[i] == 0) continue;
    ++seen;
    const unsigned needed = least_exponent(values[i], exponent);
    if (needed <= kMostExponent) exponent = needed;
  }
  if (exponent == plan.exponent) return false;
  plan.exponent = exponent;
  return true;
}

bool too_many(std::size_t exceptions, std::size_t n) { return exceptions > n / 16; }

// Maps with the plan, with a better one when too much does not fit, with bits at last.
void map_best(std::span<const double> values, Plan& plan, Mapped& mapped) {
  map_vector(values, plan, mapped);
  if (mapped.exceptions * 64 > values.size() && plan.map == Map::kDecimal) {
    Plan raised = plan;
    if (raise_exponent(values, mapped, raised)) {
      plan = raised;
      map_vector(values, plan, mapped);
    }
  }
  if (!too_many(mapped.exceptions, values.size())) return;
  plan = plan_map(values);
  map_vector(values, plan, mapped);
  if (!too_many(mapped.exceptions, values.size())) return;
  plan = {};
  map_vector(values, plan, mapped);
}

// Maps with this plan, for kBinary with the exponent of these values. False: too many do not fit.
bool map_with(std::span<const double> values, Plan& plan, Mapped& mapped) {
  if (plan.map == Map::kBinary) plan.binary_exponent = binary_exponent(values);
  map_vector(values, plan, mapped);
  fill_exceptions(mapped, values.size(), plan.map);
  return !too_many(mapped.exceptions, values.size());
}

constexpr std::array kOrdersOfValues = {Order::kPlain, Order::kFirst, Order::kSecond};
constexpr std::array kOrdersOfCurves = {Order::kSecond, Order::kThird};

struct PricedPlan {
  Plan plan;
  std::size_t size = ~std::size_t{0};  // as of OrderChoice, exceptions included
};
PricedPlan price(const Plan& plan, const Mapped& mapped, std::size_t n, Effort effort) {
  constexpr std::size_t kExceptionBytes = sizeof(std::uint16_t) + sizeof(double);
  const auto numbers = std::span(mapped.numbers).first(n);
  std::span<const Order> orders = kOrdersOfValues;
  if (plan.map == Map::kBinary) orders = kOrdersOfCurves;
  const OrderChoice choice = best_order(numbers, orders, effort);
  const std::size_t bytes = mapped.exceptions * kExceptionBytes;
  PricedPlan priced{.plan = plan, .size = choice.size};
  priced.plan.order = choice.order;
  priced.size += effort == Effort::kBest ? bytes : (8 * bytes + n - 1) / n;
  return priced;
}

// Smooth values (a learning rate, a decaying average) differ from a curve by a few units of the
// last place. As multiples of one power of two they do so where their exponents change, too.
PricedPlan plan_smooth(std::span<const double> values, Effort effort) {
  Plan plan{.map = Map::kBinary};
  Mapped mapped;
  if (!map_with(values, plan, mapped)) return {};
  return price(plan, mapped, values.size(), effort);
}

// The denominator of the simplest fraction that is the number, as nearly as doubles say; 0 where
// that one is hardly simpler than the double.
std::uint64_t denominator_of(double number) {
  constexpr double kMostProduct = 0x1p47;  // both sides multiplied; a double has 53 bits
  constexpr double kPrecision = 0x1p-51;
  double above = 1;  // the convergents of its continued fraction
  double below = 0;
  double last_above = 0;
  double last_below = 1;
  double rest = number;
  while (true) {
    const double whole = std::floor(rest);
    last_above = std::exchange(above, whole * above + last_above);
    last_below = std::exchange(below, whole * below + last_below);
    if (!(above * below <= kMostProduct)) return 0;  // NaN, too
    if (std::abs(above - number * below) <= kPrecision * above)
      return static_cast<std::uint64_t>(below);
    rest = 1 / (rest - whole);
  }
}

// The numerator with which samples of the values are a ratio of whole numbers; 0: none. `parts` is
// a power of two, the parts of the unit that are counted.
double numerator_of(std::span<const double> values, UnitFactors unit, double parts) {
  constexpr std::size_t kSamplesOfRatio = 8;
  constexpr std::uint64_t kMostNumerator = std::uint64_t{1} << 40;
  std::uint64_t numerator = 1;
  std::size_t odd = 0;
  const std::size_t stride = std::max<std::size_t>(1, values.size() / kSamplesOfRatio);
  for (std::size_t i = 0; i < values.size(); i += stride) {
    const std::uint64_t found =
        values[i] > 0 ? denominator_of(1 / values[i] * unit.over / unit.times * parts) : 0;
    const std::uint64_t more = found == 0 ? 0 : found / std::gcd(numerator, found);
    if (more == 0 || more > kMostNumerator / numerator) {
      if (++odd > kBadSamples) return 0;
    } else {
      numerator *= more;
    }
  }
  return static_cast<double>(numerator) * parts;
}

// Ratios of a whole number to elapsed time in a unit that programs use.
PricedPlan plan_ratio(std::span<const double> values, Effort effort) {
  struct Clock {
    Unit unit;
    double parts = 1;
  };
  // Elapsed time in whole units, or as the difference of two times in seconds: 2^-22 s is the last
  // place of seconds since 1970, 2^-36 s of those since a start a day ago; later ones are coarser.
  constexpr std::array<Clock, 9> kClocks = {{{.unit = {.exponent = 6, .divides = false}},
                                             {.unit = {.exponent = 6, .divides = true}},
                                             {.unit = {.exponent = 9, .divides = false}},
                                             {.unit = {.exponent = 9, .divides = true}},
                                             {.unit = {.exponent = 3, .divides = false}},
                                             {.unit = {.exponent = 3, .divides = true}},
                                             {.unit = {}},
                                             {.unit = {}, .parts = 0x1p22},
                                             {.unit = {}, .parts = 0x1p36}}};
  for (const auto& [unit, parts] : kClocks) {
    const double numerator = numerator_of(values, factors_of(unit), parts);
    if (numerator == 0) continue;
    Plan plan{.map = Map::kRatio, .numerator = numerator, .unit = unit};
    Mapped mapped;
    if (map_with(values, plan, mapped)) return price(plan, mapped, values.size(), effort);
  }
  return {};
}

// The plan of values that only their bits express: with these, or with a map that older Corrals do
// not know and that gains a sixteenth.
Plan plan_bits(std::span<const double> values, const PricedPlan& bits, Effort effort) {
  PricedPlan best = bits;
  for (const PricedPlan& other : {plan_smooth(values, effort), plan_ratio(values, effort)}) {
    const bool is_first = best.plan.map == Map::kBits;
    if (other.size < best.size - (is_first ? best.size / 16 : 0)) best = other;
  }
  return best.plan;
}

Plan plan_values(std::span<const double> values, Effort effort) {
  Plan plan = plan_map(values);
  const std::size_t n = std::min(values.size(), kVectorEntries);
  const auto probe = values.subspan((values.size() - n) / 2, n);
  Mapped mapped;
  Plan probed = plan;
  map_best(probe, probed, mapped);
  fill_exceptions(mapped, n, probed.map);
  const PricedPlan priced = price(probed, mapped, n, effort);
  if (plan.map == Map::kBits) return plan_bits(probe, priced, effort);
  plan.order = priced.plan.order;
  return plan;
}

// Returns the plan that the vector has; may change `plan` for the vectors that follow.
Plan append_vector(std::string& out, std::span<const double> values, Plan& plan, Effort effort) {
  Mapped mapped;
  Plan own = plan;
  if (plan.map != Map::kBinary && plan.map != Map::kRatio) {
    map_best(values, plan, mapped);
    fill_exceptions(mapped, values.size(), plan.map);
    own = plan;
  } else if (!map_with(values, own, mapped)) {
    map_vector(values, {}, mapped);
    own = price({}, mapped, values.size(), effort).plan;
  }
  put_plan(out, own, mapped.exceptions > 0);
  if (mapped.exceptions > 0) put_exceptions(out, values, mapped);
  append_numbers(out, std::span(mapped.numbers).first(values.size()), own.order, effort);
  return own;
}

void from_numbers(const Plan& plan, const std::uint64_t* numbers, std::span<double> values) {
  switch (plan.map) {
    case Map::kDecimal:
      if (plan.exponent == 0) return run<from_integers>(numbers, values.size(), values.data());
      return run<from_decimals>(numbers, values.size(), kDecimalPowers[plan.exponent],
                                values.data());
    case Map::kFloat:
      return run<from_floats>(numbers, values.size(), values.data());
    case Map::kBinary:
      return run<from_binaries>(numbers, values.size(), std::ldexp(1.0, plan.binary_exponent),
                                values.data());
    case Map::kRatio:
      return run<from_ratios>(numbers, values.size(), plan.numerator, factors_of(plan.unit),
                              values.data());
    case Map::kBits:
    case Map::kInteger:
      break;
  }
  std::memcpy(values.data(), numbers, values.size_bytes());
}

// `positions` and `exceptions` hold as many u16 and double.
void patch(WireReader& in, std::span<const std::uint8_t> positions,
           std::span<const std::uint8_t> exceptions, std::span<double> values) {
  for (std::size_t i = 0; i < exceptions.size() / sizeof(double); ++i) {
    std::uint16_t position = 0;
    std::memcpy(&position, positions.data() + i * sizeof position, sizeof position);
    if (position >= values.size()) return in.bad("exceptions", "behind the last entry");
    std::memcpy(&values[position], exceptions.data() + i * sizeof(double), sizeof(double));
  }
}

void read_vector(WireReader& in, std::span<double> values) {
  const auto [plan, has_exceptions] = get_plan(in);
  if (plan.map == Map::kInteger) in.bad("map", "not of values");
  const std::size_t count = has_exceptions ? in.get<std::uint16_t>("exceptions") : 0;
  const auto positions = in.take(count * sizeof(std::uint16_t), "exceptions");
  const auto exceptions = in.take(count * sizeof(double), "exceptions");
  Numbers numbers;
  read_numbers(in, plan.order, std::span(numbers).first(values.size()));
  if (!in.ok()) return;
  from_numbers(plan, numbers.data(), values);
  patch(in, positions, exceptions, values);
}

// ---- columns
// Version 2 has the maps kBinary and kRatio, and third differences. A column without them has
// version 1.
constexpr std::uint8_t kVersion = 2;

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

using VectorLength = std::uint16_t;

constexpr std::size_t vector_count(std::size_t entries) {
  return (entries + kVectorEntries - 1) / kVectorEntries;
}
// A column of one vector needs no directory.
constexpr std::size_t directory_bytes(std::size_t entries) {
  return entries <= kVectorEntries ? 0 : vector_count(entries) * sizeof(VectorLength);
}
constexpr std::size_t entries_in(std::size_t entries, std::size_t vector) {
  return std::min(kVectorEntries, entries - vector * kVectorEntries);
}

std::uint32_t column_crc(std::span<const std::uint8_t> column) {
  return crc32c(column.data() + kHeaderBytes, column.size() - kHeaderBytes,
                crc32c(column.data(), kCrcAt));
}

// Writes the header over the place that was left for it.
struct Ending {
  Scheme scheme;
  std::size_t entries;
  std::uint8_t version = 1;
};
template <class T>
void finish(std::string& out, std::size_t begin, const Ending& ending) {
  auto* const bytes = reinterpret_cast<std::uint8_t*>(out.data()) + begin;
  const std::size_t size = out.size() - begin;
  Header header{
      .version = ending.version,
      .scheme = static_cast<std::uint8_t>(static_cast<std::uint8_t>(ending.scheme) | kKind<T>),
      .entries = static_cast<std::uint16_t>(ending.entries),
      .bytes = static_cast<std::uint32_t>(size),
      .crc = 0};
  std::memcpy(bytes, &header, sizeof header);
  header.crc = column_crc({bytes, size});
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
    finish<T>(out, begin, {.scheme = Scheme::kSame, .entries = entries.size()});
    return true;
  }
  if constexpr (std::is_same_v<T, std::int64_t>) {
    const std::uint64_t step =
        static_cast<std::uint64_t>(entries[1]) - static_cast<std::uint64_t>(entries[0]);
    if (is_line(entries, step)) {
      out.append(kHeaderBytes, '\0');
      put(out, entries[0]);
      put(out, step);
      finish<T>(out, begin, {.scheme = Scheme::kLine, .entries = entries.size()});
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
  Ending ending{.scheme = Scheme::kVectors, .entries = entries.size()};
  for (std::size_t at = 0; at < entries.size(); at += kVectorEntries) {
    const std::size_t before = out.size();
    const auto vector = entries.subspan(at, std::min(kVectorEntries, entries.size() - at));
    if (needs_version_2(append_vector(out, vector, plan, effort))) ending.version = 2;
    const auto length = static_cast<VectorLength>(out.size() - before);
    if (directory > 0) {
      std::memcpy(out.data() + begin + kHeaderBytes + at / kVectorEntries * sizeof length, &length,
                  sizeof length);
    }
  }
  finish<T>(out, begin, ending);
}

auto damaged(std::string_view what) {
  return fail(Code::kCorruption, fmt::format("damaged column: {}", what));
}

std::size_t vector_length(std::span<const std::uint8_t> column, std::size_t vector) {
  VectorLength length = 0;
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
  for (std::size_t v = 0; v < vector_count(entries); ++v) sum += vector_length(column, v);
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
  if (column_crc(reader.bytes_) != header.crc) return damaged("checksum does not match");
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
    const std::size_t length = directory ? vector_length(bytes_, v) : body.size();
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
