// Tests device codes as rows, on both engines.
#include "store/tables/device_codes.h"

#include <set>
#include <string>

#include "store/search/test_search.h"

namespace corral::store::accounts {
namespace {

class DeviceCodes : public tracking::SearchTest {
 protected:
  Result<> ask(const std::string& secret, const std::string& code, std::int64_t now = 10) {
    const Device asking{.secret = sha256(secret),
                        .code = code,
                        .client = "node7",
                        .address = "10.0.0.7",
                        .expires = utc_time(now + 100)};
    return store_->change(
        [&](Writing& writing) { return add_device(writing, asking, utc_time(now)); });
  }
  std::optional<Device> look(const std::string& code, std::int64_t now = 20) {
    return read([&](Reading& reading) { return device(reading, code, utc_time(now)); });
  }
  bool answer(const std::string& code, const DeviceAnswer& said, std::int64_t now = 20) {
    return write([&](Writing& writing) -> Result<bool> {
      return answer_device(writing, code, said, utc_time(now));
    });
  }
  Result<std::optional<DeviceAnswer>> answer_to(const std::string& secret, std::int64_t now = 20) {
    std::optional<DeviceAnswer> answer;
    const auto inspect = [&](Reading& reading) -> Result<> {
      answer = TRY(device_answer(reading, sha256(secret), utc_time(now)));
      return {};
    };
    TRY(Reader(*store_, Access::everything()).inspect(inspect));
    return answer;
  }
  bool take(const std::string& secret) {
    return write(
        [&](Writing& writing) -> Result<bool> { return take_device(writing, sha256(secret)); });
  }
};

INSTANTIATE_TEST_SUITE_P(Engines, DeviceCodes, tracking::both_engines(), tracking::engine_name);

TEST_P(DeviceCodes, TheAnswerOfAUserReachesTheProgramOnce) {
  ASSERT_TRUE(ask("secret", "BCDF-GHJK"));
  ASSERT_TRUE(look("BCDF-GHJK"));
  EXPECT_EQ(look("BCDF-GHJK")->client, "node7");
  EXPECT_EQ(look("BCDF-GHJK")->address, "10.0.0.7");
  EXPECT_FALSE(look("BCDF-GHJL"));
  const auto before = answer_to("secret");
  ASSERT_TRUE(before);
  EXPECT_FALSE(*before) << "nobody has answered";

  EXPECT_TRUE(answer("BCDF-GHJK", {.token = "adas", .role = Role::kOwner}));
  EXPECT_FALSE(answer("BCDF-GHJK", {.token = "bobs", .role = Role::kAdmin})) << "the first counts";
  EXPECT_FALSE(look("BCDF-GHJK")) << "it does not wait any more";
  const auto after = answer_to("secret");
  ASSERT_TRUE(after && *after);
  EXPECT_EQ((*after)->token, "adas");
  EXPECT_EQ((*after)->role, Role::kOwner);
  EXPECT_EQ((*after)->asked.client, "node7");
  EXPECT_EQ((*after)->asked.address, "10.0.0.7");
  EXPECT_EQ(answer_to("BCDF-GHJK").error().code, Code::kNotFound) << "the code is no secret";

  EXPECT_TRUE(take("secret"));
  EXPECT_FALSE(take("secret"));
  EXPECT_EQ(answer_to("secret").error().code, Code::kNotFound);
}

TEST_P(DeviceCodes, WhatHasExpiredIsOver) {
  ASSERT_TRUE(ask("secret", "BCDF-GHJK"));
  EXPECT_TRUE(look("BCDF-GHJK", 109));
  EXPECT_FALSE(look("BCDF-GHJK", 110));
  EXPECT_FALSE(answer("BCDF-GHJK", {.token = "adas", .role = Role::kReader}, 110));
  EXPECT_EQ(answer_to("secret", 110).error().code, Code::kNotFound);
  EXPECT_EQ(ask("another", "BCDF-GHJK", 109).error().code, Code::kAlreadyExists);
  EXPECT_TRUE(ask("another", "BCDF-GHJK", 110)) << "its row was deleted";
}

TEST_P(DeviceCodes, OnlySoManyWait) {
  const auto fill = store_->change([&](Writing& writing) -> Result<> {
    for (std::int64_t i = 0; i < kMostDevices; ++i) {
      TRY(add_device(writing,
                     {.secret = sha256(std::to_string(i)),
                      .code = std::to_string(i),
                      .client = "",
                      .address = "",
                      .expires = utc_time(100)},
                     utc_time(1)));
    }
    return {};
  });
  ASSERT_TRUE(fill) << fill.error().message;
  EXPECT_EQ(ask("secret", "BCDF-GHJK").error().code, Code::kUnavailable);
  EXPECT_TRUE(answer("7", {.token = "adas", .role = Role::kReader}));
  EXPECT_TRUE(ask("secret", "BCDF-GHJK")) << "one waits less";
  EXPECT_EQ(ask("another", "BCDF-GHJL").error().code, Code::kUnavailable);
  EXPECT_TRUE(ask("another", "BCDF-GHJL", 100));
}

TEST(DeviceCode, NamesOfProgramsHaveNothingToReadIntoThem) {
  EXPECT_TRUE(valid_client_name("node7.lab_A-1"));
  EXPECT_TRUE(valid_client_name(std::string(64, 'x')));
  for (const std::string wrong : {"", "a b", "a\nb", "a,", "\xE2\x80\xAE"})
    EXPECT_FALSE(valid_client_name(wrong)) << wrong;
  EXPECT_FALSE(valid_client_name(std::string(65, 'x')));
}

TEST(DeviceCode, IsReadAsPeopleTypeIt) {
  EXPECT_EQ(read_device_code("BCDF-GHJK"), "BCDF-GHJK");
  EXPECT_EQ(read_device_code(" bcdf ghjk "), "BCDF-GHJK");
  for (const char* wrong :
       {"", "BCDF-GHJ", "BCDF-GHJKL", "ACDF-GHJK", "BCDF-GHJ1", "BCDF_GHJK", "BCDF-GHJ\xC3\x9F"})
    EXPECT_EQ(read_device_code(wrong), "") << wrong;
}

TEST(DeviceCode, IsRandomAndReadable) {
  std::set<std::string> codes;
  std::set<char> letters;
  for (int i = 0; i < 200; ++i) {
    const std::string code = new_device_code();
    EXPECT_EQ(read_device_code(code), code);
    codes.insert(code);
    letters.insert(code.begin(), code.end());
  }
  EXPECT_EQ(codes.size(), 200U);
  EXPECT_EQ(letters.size(), 21U) << "all letters, and the hyphen";
}

}  // namespace
}  // namespace corral::store::accounts
