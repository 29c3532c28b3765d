#include "http/io_thread.h"

#include <gtest/gtest.h>

namespace corral::http {
namespace {

std::chrono::steady_clock::time_point at(int ms) {
  return std::chrono::steady_clock::time_point(std::chrono::hours(1)) +
         std::chrono::milliseconds(ms);
}

TEST(IoThreads, AConnectionAsksAloneOnceTheOthersAreQuiet) {
  IoThread thread;
  EXPECT_TRUE(thread.asks_alone(1, at(0)));
  EXPECT_TRUE(thread.asks_alone(1, at(1)));
  EXPECT_FALSE(thread.asks_alone(2, at(2)));
  EXPECT_FALSE(thread.asks_alone(2, at(101)));
  EXPECT_TRUE(thread.asks_alone(2, at(102)));
  EXPECT_FALSE(thread.asks_alone(1, at(103)));
}

TEST(IoThreads, ASlowRequestIsTheLastForAsLongAsItDeserves) {
  IoThread thread;
  thread.took(at(0), at(5));
  EXPECT_TRUE(thread.asks_alone(1, at(5)));
  thread.took(at(10), at(16));
  EXPECT_FALSE(thread.asks_alone(1, at(16 + 999))) << "at least a second";
  EXPECT_TRUE(thread.asks_alone(1, at(16 + 1000)));
  thread.took(at(2000), at(2050));
  EXPECT_FALSE(thread.asks_alone(1, at(2050 + 4999))) << "a hundred times as long";
  EXPECT_TRUE(thread.asks_alone(1, at(2050 + 5000)));
  thread.took(at(10'000), at(20'000));
  EXPECT_FALSE(thread.asks_alone(1, at(20'000 + 59'999)));
  EXPECT_TRUE(thread.asks_alone(1, at(20'000 + 60'000))) << "at most a minute";
}

TEST(IoThreads, IsBusyWithARequestAlsoWhenThatThrows) {
  IoThread thread;
  EXPECT_FALSE(thread.busy());
  EXPECT_TRUE(thread.run([&thread] { return thread.busy(); }));
  EXPECT_FALSE(thread.busy());
  EXPECT_THROW(thread.run([]() -> bool { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_FALSE(thread.busy());
}

}  // namespace
}  // namespace corral::http
