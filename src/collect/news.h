// News: events that a listener notices while it samples (a device is lost, a call became slow),
// from its lane's thread to the user and the run's facts.
//
// Fixed memory, no locks, no allocation: tell() may be called in a sample. Messages that do not fit
// in the queue are counted; a text is truncated to its room. One producer thread, one consumer
// thread. Each listener reports an event once.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace corral::collect {

class News {
 public:
  struct Item {
    std::string_view source;  // "gpu0", or a pattern of metrics, as Unavailable's
    std::string_view text;
  };

  void tell(std::string_view source, std::string_view text);
  // The item's views end with the call.
  void drain(const std::function<void(const Item&)>& take);
  [[nodiscard]] std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kItems = 64;
  struct Slot {
    std::array<char, 64> source;
    std::array<char, 240> text;
    std::uint8_t source_size = 0;
    std::uint8_t text_size = 0;
  };

  std::array<Slot, kItems> slots_;
  alignas(64) std::atomic<std::uint64_t> written_{0};
  alignas(64) std::atomic<std::uint64_t> taken_{0};
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace corral::collect
