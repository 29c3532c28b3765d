#include "collect/sampler/ticks.h"

#include <gtest/gtest.h>

namespace corral::collect {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(Lateness, IsNothingBeforeTheFirstTick) {
  const Lateness lateness;
  EXPECT_EQ(lateness.count(), 0u);
  EXPECT_EQ(lateness.quantile(0.5), Nanos(0));
  EXPECT_EQ(lateness.greatest(), Nanos(0));
}

TEST(Lateness, QuantilesLieWithinABucketAboveTheTrueOnes) {
  Lateness lateness;
  for (int us = 1; us <= 10'000; ++us) lateness.add(microseconds(us));
  for (const double q : {0.01, 0.5, 0.9, 0.99, 1.0}) {
    const double exact = q * 10'000e-6;
    EXPECT_GE(seconds(lateness.quantile(q)), exact) << q;
    EXPECT_LE(seconds(lateness.quantile(q)), exact * 1.125) << q;
  }
  EXPECT_EQ(lateness.greatest(), milliseconds(10));
  EXPECT_EQ(lateness.count(), 10'000u);
  EXPECT_EQ(lateness.late(), 5'000u) << "those beyond 5 ms";
}

TEST(Lateness, TakesAnyTime) {
  Lateness lateness;
  for (const Nanos n : {Nanos(-5), Nanos(0), Nanos(1023), Nanos(1024), Nanos::max()})
    lateness.add(n);
  EXPECT_EQ(lateness.count(), 5u);
  EXPECT_LE(lateness.quantile(0.2), Nanos(1024)) << "early is on time";
  EXPECT_EQ(lateness.greatest(), Nanos::max());
}

TEST(Lateness, MergedItIsThatOfAllTicks) {
  Lateness a;
  Lateness b;
  Lateness both;
  for (int i = 0; i < 1000; ++i) {
    a.add(microseconds(i));
    both.add(microseconds(i));
    b.add(microseconds(50 * i));
    both.add(microseconds(50 * i));
  }
  a.merge(b);
  EXPECT_EQ(a.count(), both.count());
  EXPECT_EQ(a.late(), both.late());
  EXPECT_EQ(a.quantile(0.99), both.quantile(0.99));
  EXPECT_EQ(a.greatest(), both.greatest());
}

}  // namespace
}  // namespace corral::collect
