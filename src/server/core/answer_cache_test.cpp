#include "server/core/answer_cache.h"

#include <gtest/gtest.h>

namespace corral::server {
namespace {

TEST(AnswerCache, KeepsAnAnswerUntilItIsOld) {
  AnswerCache cache(AnswerCache::kLongest);
  EXPECT_EQ(cache.find("a"), std::nullopt);
  cache.keep("a", "1");
  cache.keep("a", "2");
  cache.keep("b", "3");
  EXPECT_EQ(cache.find("a"), "2");
  cache.age(AnswerCache::kLongest / 2);
  cache.keep("b", "4");
  cache.age(AnswerCache::kLongest / 2);
  EXPECT_EQ(cache.find("a"), std::nullopt);
  EXPECT_EQ(cache.find("b"), "4");
}

TEST(AnswerCache, ForgetsTheLeastRecentlyUsedFirst) {
  AnswerCache cache(AnswerCache::kLongest);
  const std::string third(AnswerCache::kMostBytes / 3, 'x');
  cache.keep("a", third);
  cache.keep("b", third);
  EXPECT_TRUE(cache.find("a"));
  cache.keep("c", third);
  EXPECT_TRUE(cache.find("a"));
  EXPECT_FALSE(cache.find("b"));
  EXPECT_TRUE(cache.find("c"));
  cache.keep("d", std::string(AnswerCache::kMostBytes, 'x'));
  EXPECT_FALSE(cache.find("d")) << "larger than all room";
  EXPECT_TRUE(cache.find("c"));
}

}  // namespace
}  // namespace corral::server
