#include "codec/health.h"

#include <gtest/gtest.h>

namespace corral::codec {
namespace {

TEST(Health, IsReadFromTheEventThatTellsIt) {
  for (const HealthState state : {HealthState::kActive, HealthState::kPartial,
                                  HealthState::kGivenUp, HealthState::kNotCaptured}) {
    const Health health{
        .part = "capture.keras.fit", .state = state, .reason = "ValueError: \"no\"\n"};
    const Event event = health_event(boot_time(7), health);
    EXPECT_EQ(event.name, "health");
    EXPECT_EQ(event.origin, "corral");
    EXPECT_EQ(event.time, boot_time(7));
    EXPECT_EQ(health_of(event.attributes), health);
  }
}

TEST(Health, AnActivePartNeedsNoReason) {
  const Health health{.part = "listener.proc"};
  const Event event = health_event(boot_time(0), health);
  EXPECT_EQ(event.attributes.size(), 2U);
  EXPECT_EQ(health_of(event.attributes), health);
}

TEST(Health, LongAndInvalidTextsAreCutToWhatAFrameHolds) {
  const Event event = health_event(boot_time(0), {.part = std::string(1000, 'p') + "\xff",
                                                  .state = HealthState::kGivenUp,
                                                  .reason = std::string(100'000, 'r') + "\xc3"});
  const auto health = health_of(event.attributes);
  ASSERT_TRUE(health);
  EXPECT_EQ(health->part, std::string(250, 'p'));
  EXPECT_EQ(health->reason, std::string(1000, 'r'));
}

TEST(Health, AttributesOfAnotherShapeTellNone) {
  EXPECT_FALSE(health_of({}));
  EXPECT_FALSE(health_of({{"part", R"("a")"}}));
  EXPECT_FALSE(health_of({{"part", R"("a")"}, {"state", R"("fine")"}}));
  EXPECT_FALSE(health_of({{"part", "3"}, {"state", R"("active")"}}));
  EXPECT_FALSE(health_of({{"part", R"("")"}, {"state", R"("active")"}}));
  EXPECT_FALSE(health_of({{"part", R"("a")"}, {"state", "active"}}));
}

}  // namespace
}  // namespace corral::codec
