// Vectors of values: decimals, floats or bits, and the few values that are neither.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>

#include "codec/block/column_parts.h"
#include "codec/block/kernel.h"

namespace corral::codec {
namespace {

using Numbers = std::array<std::uint64_t, kVectorEntries>;

constexpr std::array<double, kMostExponent + 1> kPowers = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

// Adding this to a number below 2^51 rounds it and leaves it, as an integer, in the low bits.
constexpr double kRounder = 0x1.8p52;
constexpr std::uint64_t kRounderBits = std::bit_cast<std::uint64_t>(kRounder);
constexpr double kDecimalLimit = 0x1p51;

CORRAL_KERNEL double decimal_of(std::uint64_t number, double power) {
  return (std::bit_cast<double>(number + kRounderBits) - kRounder) / power;
}
// The decimal that is nearest to the value; `bad` is not 0 when it is not the value itself.
CORRAL_KERNEL std::uint64_t nearest_decimal(double value, double power, std::uint64_t& bad) {
  const double scaled = value * power;
  const std::uint64_t number = std::bit_cast<std::uint64_t>(scaled + kRounder) - kRounderBits;
  const bool inside = scaled < kDecimalLimit && scaled > -kDecimalLimit;
  const std::uint64_t difference =
      std::bit_cast<std::uint64_t>(decimal_of(number, power)) ^ std::bit_cast<std::uint64_t>(value);
  bad = inside ? difference : 1;
  return number;
}
CORRAL_KERNEL double value_of_float(std::uint64_t number) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(number)));
}
CORRAL_KERNEL std::uint64_t nearest_float(double value, std::uint64_t& bad) {
  const std::uint64_t number = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  bad = std::bit_cast<std::uint64_t>(value_of_float(number)) ^ std::bit_cast<std::uint64_t>(value);
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
  for (std::size_t i = 0; i < n; ++i) values[i] = decimal_of(numbers[i], power);
}
CORRAL_KERNEL void from_floats(const std::uint64_t* numbers, std::size_t n, double* values) {
  for (std::size_t i = 0; i < n; ++i) values[i] = value_of_float(numbers[i]);
}

// ---- one vector as numbers
struct Mapped {
  Numbers numbers;
  Numbers bad;
  std::size_t exceptions = 0;
};

void map_vector(std::span<const double> values, Map map, unsigned exponent, Mapped& mapped) {
  const std::size_t n = values.size();
  mapped.exceptions = 0;
  if (map == Map::kBits) {
    std::ranges::transform(values, mapped.numbers.begin(),
                           [](double v) { return std::bit_cast<std::uint64_t>(v); });
    return;
  }
  if (map == Map::kDecimal) {
    run<to_decimals>(values.data(), n, kPowers[exponent], mapped.numbers.data(), mapped.bad.data());
  } else {
    run<to_floats>(values.data(), n, mapped.numbers.data(), mapped.bad.data());
  }
  mapped.exceptions = run<count_bad>(static_cast<const std::uint64_t*>(mapped.bad.data()), n);
}

// Exceptions take the number of the nearest good entry, so that they widen nothing.
void fill_exceptions(Mapped& mapped, std::size_t n) {
  std::size_t good = 0;
  while (good < n && mapped.bad[good] != 0) ++good;
  std::uint64_t last = good < n ? mapped.numbers[good] : 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (mapped.bad[i] != 0) mapped.numbers[i] = last;
    last = mapped.numbers[i];
  }
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
  nearest_decimal(value, kPowers[exponent], bad);
  return bad == 0;
}
// The least exponent from `from` on that gives this value, else kMostExponent + 1.
unsigned exponent_of(double value, unsigned from) {
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
    const unsigned needed = exponent_of(values[i], exponent);
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
    const std::uint64_t decimal = nearest_decimal(values[i], kPowers[exponent], bad);
    decimals.add(decimal, bad);
    const std::uint64_t as_float = nearest_float(values[i], bad);
    floats.add(as_float, bad);
    bits.add(std::bit_cast<std::uint64_t>(values[i]), 0);
  }
  // Many digits mean a binary fraction more often than a decimal one: finer ones may follow.
  const int doubt = exponent > 1 ? 2 : 0;
  if (decimals.width() + doubt <= std::min(floats.width(), bits.width()))
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
    const unsigned needed = exponent_of(values[i], exponent);
    if (needed <= kMostExponent) exponent = needed;
  }
  if (exponent == plan.exponent) return false;
  plan.exponent = exponent;
  return true;
}

bool too_many(std::size_t exceptions, std::size_t n) { return exceptions > n / 16; }

// Maps with the plan, with a better one when too much does not fit, with bits at last.
void map_somehow(std::span<const double> values, Plan& plan, Mapped& mapped) {
  map_vector(values, plan.map, plan.exponent, mapped);
  if (mapped.exceptions * 64 > values.size() && plan.map == Map::kDecimal) {
    Plan raised = plan;
    if (raise_exponent(values, mapped, raised)) {
      plan = raised;
      map_vector(values, plan.map, plan.exponent, mapped);
    }
  }
  if (!too_many(mapped.exceptions, values.size())) return;
  plan = plan_map(values);
  map_vector(values, plan.map, plan.exponent, mapped);
  if (!too_many(mapped.exceptions, values.size())) return;
  plan = {};
  map_vector(values, plan.map, plan.exponent, mapped);
}

}  // namespace

Plan plan_values(std::span<const double> values, Effort effort) {
  Plan plan = plan_map(values);
  const std::size_t n = std::min(values.size(), kVectorEntries);
  const auto probe = values.subspan((values.size() - n) / 2, n);
  Mapped mapped;
  Plan probed = plan;
  map_somehow(probe, probed, mapped);
  if (mapped.exceptions > 0) fill_exceptions(mapped, n);
  constexpr std::array kCandidates = {Order::kPlain, Order::kFirst, Order::kSecond};
  plan.order = best_order(std::span(mapped.numbers).first(n), kCandidates, effort);
  return plan;
}

void append_vector(std::string& out, std::span<const double> values, Plan& plan, Effort effort) {
  Mapped mapped;
  map_somehow(values, plan, mapped);
  if (mapped.exceptions > 0) fill_exceptions(mapped, values.size());
  put_plan(out, plan, mapped.exceptions > 0);
  if (mapped.exceptions > 0) put_exceptions(out, values, mapped);
  append_numbers(out, std::span(mapped.numbers).first(values.size()), plan.order, effort);
}

namespace {

void from_numbers(const Plan& plan, const std::uint64_t* numbers, std::span<double> values) {
  switch (plan.map) {
    case Map::kDecimal:
      if (plan.exponent == 0) return run<from_integers>(numbers, values.size(), values.data());
      return run<from_decimals>(numbers, values.size(), kPowers[plan.exponent], values.data());
    case Map::kFloat:
      return run<from_floats>(numbers, values.size(), values.data());
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

}  // namespace

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

}  // namespace corral::codec
