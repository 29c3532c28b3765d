// News: events that a listener notices while it samples (a device is lost, a call is slow), from
// its lane's thread to the user and the run's facts. A note is for the run's journal alone: nothing
// is missing.
//
// Fixed memory, no locks, no allocation: put() and tell() may be called in a sample. Messages that
// do not fit in the queue are counted; a text is truncated to its room. One producer thread, one
// consumer thread. Each listener reports an event once.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

namespace corral::collect {

class News {
 public:
  struct Item {
    std::string_view source;  // "gpu0", or a pattern of metrics, as Unavailable's
    std::string_view text;
    bool note = false;
  };

  static constexpr std::size_t kTextBytes = 240;
  void put(const Item& item);
  // The item's views end with the call.
  void drain(const std::function<void(const Item&)>& take);
  [[nodiscard]] std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kItems = 64;
  struct Slot {
    std::array<char, 64> source;
    std::array<char, kTextBytes> text;
    std::uint8_t source_size = 0;
    std::uint8_t text_size = 0;
    bool note = false;
  };

  std::array<Slot, kItems> slots_;
  alignas(64) std::atomic<std::uint64_t> written_{0};
  alignas(64) std::atomic<std::uint64_t> taken_{0};
  std::atomic<std::uint64_t> lost_{0};
};

// Puts a text into `news`, which may be null.
template <class... Args>
void put_news(const std::shared_ptr<News>& news, News::Item item,
              fmt::format_string<Args...> format, Args&&... args) {
  if (news == nullptr) return;
  std::array<char, News::kTextBytes> text{};
  const auto end = fmt::format_to_n(text.data(), text.size(), format, std::forward<Args>(args)...);
  item.text = {text.data(), std::min(end.size, text.size())};
  news->put(item);
}

template <class... Args>
void tell(const std::shared_ptr<News>& news, std::string_view source,
          fmt::format_string<Args...> format, Args&&... args) {
  put_news(news, {.source = source, .text = {}}, format, std::forward<Args>(args)...);
}
template <class... Args>
void note(const std::shared_ptr<News>& news, std::string_view source,
          fmt::format_string<Args...> format, Args&&... args) {
  put_news(news, {.source = source, .text = {}, .note = true}, format, std::forward<Args>(args)...);
}

}  // namespace corral::collect
