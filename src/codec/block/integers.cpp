// Vectors of times and steps.
#include <algorithm>
#include <array>

#include "codec/block/column_parts.h"

namespace corral::codec {
namespace {

constexpr std::array<std::int64_t, kMostExponent + 1> kPowers = [] {
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
    if (distance(integers[0], integers[i]) % kPowers[exponent] != 0) return false;
  }
  return true;
}

std::span<const std::uint64_t> numbers_of(std::span<const std::int64_t> integers, unsigned exponent,
                                          std::array<std::uint64_t, kVectorEntries>& buffer) {
  const auto numbers = std::span(buffer).first(integers.size());
  if (exponent == 0) {
    std::ranges::transform(integers, numbers.begin(),
                           [](std::int64_t v) { return static_cast<std::uint64_t>(v); });
  } else {
    std::ranges::transform(integers, numbers.begin(), [&](std::int64_t v) {
      return static_cast<std::uint64_t>(distance(integers[0], v) / kPowers[exponent]);
    });
  }
  return numbers;
}

}  // namespace

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
    plan.order = best_order(numbers_of(probe, exponent, buffer), candidates, effort);
  return plan;
}

void append_vector(std::string& out, std::span<const std::int64_t> integers, Plan& plan,
                   Effort effort) {
  Plan fitting = plan;
  while (fitting.exponent > 0 && !divides(integers, 1, fitting.exponent)) fitting.exponent -= 3;
  put_plan(out, fitting, false);
  if (fitting.exponent > 0) put_varint(out, static_cast<std::uint64_t>(integers[0]));
  std::array<std::uint64_t, kVectorEntries> buffer;
  append_numbers(out, numbers_of(integers, fitting.exponent, buffer), fitting.order, effort);
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
  const auto power = static_cast<std::uint64_t>(kPowers[plan.exponent]);
  std::ranges::transform(numbers, integers.begin(), [&](std::uint64_t number) {
    return static_cast<std::int64_t>(origin + number * power);
  });
}

}  // namespace corral::codec
