// For tests: points of any kind, made up by rapidcheck, and their buckets; equality to the last
// bit.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "codec/block/pyramid.h"
#include "codec/test_frames.h"

namespace corral::codec::testing {

struct Points {
  std::vector<std::int64_t> times, steps;
  std::vector<double> values;
};

inline Bucket bucket_of(const Points& points) {
  return make_bucket(points.times, points.steps, points.values);
}
inline Points part_of(const Points& points, std::size_t first, std::size_t count) {
  const auto cut = [&]<class T>(const std::vector<T>& all) {
    if (all.empty()) return all;
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    return std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  return {.times = cut(points.times), .steps = cut(points.steps), .values = cut(points.values)};
}

inline bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}
inline bool same_bits(const Bucket& a, const Bucket& b) {
  return a == b && same_bits(a.min, b.min) && same_bits(a.max, b.max) &&
         same_bits(a.first, b.first) && same_bits(a.last, b.last) && same_bits(a.sum, b.sum);
}

// ---- generators: called within a property
inline double any_value(int shape) {
  if (shape == 0) return *rc::gen::inRange(-4, 5) / 2.0;
  if (shape == 1) return *rc::gen::inRange(0, 1'000'000) / 1000.0;
  return any_double();
}
inline Points any_points(int count) {
  Points points;
  const int shape = *rc::gen::inRange(0, 3);
  const int steps = *rc::gen::inRange(0, 3);  // none, ascending, any
  for (int i = 0; i < count; ++i) {
    points.values.push_back(any_value(shape));
    points.times.push_back(steps == 2 ? any_number() : *rc::gen::inRange(-1000, 1000));
    if (steps != 0) points.steps.push_back(*rc::gen::inRange(-50, 1000));
  }
  std::sort(points.times.begin(), points.times.end());
  if (steps == 1) std::sort(points.steps.begin(), points.steps.end());
  if (shape == 2 && *rc::gen::arbitrary<bool>())
    std::fill(points.values.begin(), points.values.end(), any_double());
  return points;
}

}  // namespace corral::codec::testing
