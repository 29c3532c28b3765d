#include "compat/mlflow/wire/image_name.h"

#include <gtest/gtest.h>

namespace corral::mlflow {
namespace {

TEST(ImageName, KeyStepAndTimeOfBothForms) {
  const auto image = parse_image_name(
      "dogs#val%step%3%timestamp%1795800000123%g1b2c3d4-0000-4000-8000-000000000000.png");
  ASSERT_TRUE(image);
  EXPECT_EQ(image->key, "dogs/val");
  EXPECT_EQ(image->step, 3);
  EXPECT_EQ(image->time, utc_time(1'795'800'000'123'000'000));
  EXPECT_FALSE(image->compressed);
  EXPECT_EQ(parse_image_name("a+b+step+-1+timestamp+5+uuid.png")->key, "a+b");
  EXPECT_EQ(parse_image_name("a+b+step+-1+timestamp+5+uuid.png")->step, -1);
  EXPECT_TRUE(parse_image_name("a%step%1%timestamp%5%uuid%compressed.webp")->compressed);
}

TEST(ImageName, OtherNamesAreNone) {
  for (const char* name :
       {"", "a.png", "a%step%1.png", "a%step%x%timestamp%5%u.png", "%step%1%timestamp%5%u.png",
        "a%step%1%timestamp%-5%u.png", "a%step%1%timestamp%99999999999999%u.png",
        "a%stop%1%timestamp%5%u.png", "compressed.webp"})
    EXPECT_FALSE(parse_image_name(name)) << name;
}

}  // namespace
}  // namespace corral::mlflow
