#include "server/core/once_codes.h"

#include <gtest/gtest.h>

namespace corral::server {
namespace {

constexpr BootTime kNow = boot_time(1'000'000'000);

TEST(OnceCodes, EachWorksOnce) {
  OnceCodes codes;
  const std::string a = codes.add("a", kNow);
  const std::string b = codes.add("b", kNow);
  EXPECT_NE(a, b);
  EXPECT_EQ(codes.take(b, kNow), "b");
  EXPECT_EQ(codes.take(a, kNow), "a");
  EXPECT_EQ(codes.take(a, kNow), std::nullopt);
  EXPECT_EQ(codes.take("", kNow), std::nullopt);
}

TEST(OnceCodes, EachWorksForAMinute) {
  OnceCodes codes;
  const std::string early = codes.add("early", kNow);
  const std::string late = codes.add("late", kNow);
  EXPECT_EQ(codes.take(early, kNow + OnceCodes::kLifetime - Nanos(1)), "early");
  EXPECT_EQ(codes.take(late, kNow + OnceCodes::kLifetime), std::nullopt);
}

TEST(OnceCodes, TheOldestGoWhenThereAreTooMany) {
  OnceCodes codes;
  const std::string first = codes.add("first", kNow);
  const std::string second = codes.add("second", kNow + Nanos(1));
  for (std::size_t i = 2; i < OnceCodes::kMost; ++i) codes.add("x", kNow + Nanos(2));
  const std::string last = codes.add("last", kNow + Nanos(3));
  EXPECT_EQ(codes.take(first, kNow + Nanos(3)), std::nullopt);
  EXPECT_EQ(codes.take(second, kNow + Nanos(3)), "second");
  EXPECT_EQ(codes.take(last, kNow + Nanos(3)), "last");
}

}  // namespace
}  // namespace corral::server
