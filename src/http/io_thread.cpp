#include "http/io_thread.h"

#include <algorithm>

namespace corral::http {
namespace {

// So long after another connection's request a thread's connections do not ask alone.
constexpr auto kTogether = std::chrono::milliseconds(100);
// A request that takes longer is none to be handled where it was read: a slow disk, a lock.
constexpr auto kQuick = std::chrono::milliseconds(5);
// So many times as long none is handled there after it, within these bounds.
constexpr int kSlowFactor = 100;
constexpr std::chrono::steady_clock::duration kLeast = std::chrono::seconds(1);
constexpr std::chrono::steady_clock::duration kMost = std::chrono::seconds(60);

}  // namespace

bool IoThread::asks_alone(std::uint64_t connection, std::chrono::steady_clock::time_point now) {
  if (connection != last_ && last_ != 0) not_before_ = std::max(not_before_, now + kTogether);
  last_ = connection;
  return now >= not_before_;
}

void IoThread::took(std::chrono::steady_clock::time_point began,
                    std::chrono::steady_clock::time_point ended) {
  if (ended - began > kQuick)
    not_before_ = ended + std::clamp(kSlowFactor * (ended - began), kLeast, kMost);
}

}  // namespace corral::http
