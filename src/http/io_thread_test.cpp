#include "http/io_thread.h"

#include <gtest/gtest.h>

#include <thread>

namespace corral::http {
namespace {

TEST(IoThreads, AConnectionAsksAloneOnceTheOthersAreQuiet) {
  IoThread thread;
  const auto at = [](int ms) {
    return std::chrono::steady_clock::time_point(std::chrono::hours(1)) +
           std::chrono::milliseconds(ms);
  };
  EXPECT_TRUE(thread.asks_alone(1, at(0)));
  EXPECT_TRUE(thread.asks_alone(1, at(1)));
  EXPECT_FALSE(thread.asks_alone(2, at(2)));
  EXPECT_FALSE(thread.asks_alone(2, at(101)));
  EXPECT_TRUE(thread.asks_alone(2, at(102)));
  EXPECT_FALSE(thread.asks_alone(1, at(103)));
}

TEST(IoThreads, ASlowRequestIsTheLastForAMoment) {
  IoThread thread;
  const auto now = std::chrono::steady_clock::now();
  EXPECT_TRUE(thread.asks_alone(1, now));
  EXPECT_TRUE(thread.run([&thread] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return thread.busy();
  }));
  EXPECT_FALSE(thread.busy());
  EXPECT_FALSE(thread.asks_alone(1, now + std::chrono::milliseconds(1019)));
  EXPECT_TRUE(thread.asks_alone(1, now + std::chrono::hours(1)));
}

}  // namespace
}  // namespace corral::http
