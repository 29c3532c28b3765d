#include "plan/mig.h"

#include <gtest/gtest.h>

namespace corral::plan {
namespace {

using Words = std::vector<std::string>;

const MigTable& a100() { return published_tables().front(); }
bool fits(const Words& profiles) { return !cannot_fit(a100(), profiles); }

TEST(Mig, WhatFitsOnAnA100) {
  EXPECT_TRUE(fits({"7g.40gb"}));
  EXPECT_TRUE(fits({"3g.20gb", "4g.20gb"}));
  EXPECT_TRUE(fits({"3g.20gb", "3g.20gb"}));
  EXPECT_TRUE(fits({"1g.5gb", "2g.10gb", "4g.20gb"}));
  EXPECT_TRUE(fits({"2g.10gb", "2g.10gb", "2g.10gb", "1g.5gb"}));
  EXPECT_TRUE(fits(Words(7, "1g.5gb")));
  EXPECT_TRUE(fits({"1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb"}));
}

TEST(Mig, WhatDoesNot) {
  EXPECT_EQ(cannot_fit(a100(), Words(8, "1g.5gb")),
            "8 instances, the device (A100 40GB) has 7 slices");
  EXPECT_EQ(cannot_fit(a100(), Words(2, "4g.20gb")),
            "2 of 4g.20gb, the device (A100 40GB) takes 1");
  EXPECT_EQ(cannot_fit(a100(), Words{"4g.20gb", "2g.10gb", "2g.10gb"}),
            "4 + 2 + 2 = 8 compute slices, the device (A100 40GB) has 7");
  EXPECT_EQ(cannot_fit(a100(), Words{"3g.20gb", "3g.20gb", "1g.5gb"}),
            "4 + 4 + 1 = 9 memory slices, the device (A100 40GB) has 8");
  EXPECT_EQ(cannot_fit(a100(), Words{"3g.40gb"}), "the device (A100 40GB) has no 3g.40gb");
  EXPECT_FALSE(fits({"1g.5gb+me", "1g.5gb+me"}));
  // Room enough, but none where it would have to be.
  const MigTable odd{"odd", 7, 8, {{"3g", 3, 4, {0, 4}, 2}, {"2g", 2, 2, {3}, 1}}};
  EXPECT_EQ(cannot_fit(odd, Words{"3g", "2g"}),
            "no order of placement fits all of them on the device (odd)");
}

TEST(Mig, WhatLooksLikeAProfile) {
  for (const char* word : {"3g.20gb", "1g.5gb+me", "1c.3g.20gb", "7g.141gb"})
    EXPECT_TRUE(looks_like_profile(word)) << word;
  for (const char* word : {"", "3g", "g.20gb", "3g.gb", "3g.20", "mps", "3g.20gb+x", "c.3g.20gb"})
    EXPECT_FALSE(looks_like_profile(word)) << word;
}

}  // namespace
}  // namespace corral::plan
