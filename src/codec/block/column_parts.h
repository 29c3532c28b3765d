// Shared parts of the column files: writing and reading one vector of values or of integers
// (docs/format-block.md, "Vectors"). Private to codec/block.
//
// A plan holds the findings from a sample of a column; a vector that it does not fit is stored in
// another way, which each vector names. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "codec/block/column.h"
#include "codec/block/vector.h"
#include "codec/wire.h"

namespace corral::codec {

// The numbers that stand for the entries of a vector.
enum class Map : std::uint8_t {
  kDecimal = 0,  // values: number / 10^exponent, correctly rounded
  kFloat = 1,    // values: the bits of the float that equals the value
  kBits = 2,     // values: their bits
  kInteger = 3,  // times and steps: origin + number * 10^exponent
};

struct Plan {
  Map map = Map::kBits;
  unsigned exponent = 0;
  Order order = Order::kPlain;
};

inline constexpr unsigned kMostExponent = 15;

// The first byte of a vector, and the second where its map has an exponent.
void put_plan(std::string& out, const Plan& plan, bool exceptions);
struct ReadPlan {
  Plan plan;
  bool exceptions = false;
};
ReadPlan get_plan(WireReader& in);

Plan plan_values(std::span<const double> values, Effort effort);
// May change the plan for the vectors that follow.
void append_vector(std::string& out, std::span<const double> values, Plan& plan, Effort effort);
void read_vector(WireReader& in, std::span<double> values);

Plan plan_integers(std::span<const std::int64_t> integers, std::span<const Order> candidates,
                   Effort effort);
void append_vector(std::string& out, std::span<const std::int64_t> integers, Plan& plan,
                   Effort effort);
void read_vector(WireReader& in, std::span<std::int64_t> integers);

}  // namespace corral::codec
