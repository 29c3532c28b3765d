#include "server/core/rate.h"

#include <gtest/gtest.h>

namespace corral::server {
namespace {

using std::chrono::seconds;

BootTime at(double s) { return BootTime(Nanos(static_cast<std::int64_t>(s * 1e9))); }

TEST(Rate, GivesItsBurstAndThenOneEachPause) {
  Rate rate(3, seconds(10));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(rate.take("a", at(100)));
  EXPECT_EQ(rate.take("a", at(100)), seconds(10));
  EXPECT_EQ(rate.take("a", at(109.5)), seconds(1)) << "a refused one costs nothing";
  EXPECT_FALSE(rate.take("b", at(100))) << "each key has its own";
  EXPECT_FALSE(rate.take("a", at(110)));
  EXPECT_EQ(rate.take("a", at(110)), seconds(10));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(rate.take("a", at(1000))) << "no more than the burst";
  EXPECT_TRUE(rate.take("a", at(1000)));
}

TEST(Rate, TooManyKeysShareABucketUntilOthersAreFullAgain) {
  Rate rate(1, seconds(10));
  for (std::size_t i = 0; i < Rate::kMostKeys; ++i)
    ASSERT_FALSE(rate.take(std::to_string(i), at(100)));
  EXPECT_FALSE(rate.take("x", at(100)));
  EXPECT_TRUE(rate.take("y", at(100)));
  EXPECT_FALSE(rate.take("y", at(111)));
}

}  // namespace
}  // namespace corral::server
