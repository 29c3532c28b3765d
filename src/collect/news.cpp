#include "collect/news.h"

#include <algorithm>

namespace corral::collect {
namespace {

// Cuts between characters, not inside one.
template <std::size_t kRoom>
std::uint8_t copy_text(std::string_view text, std::array<char, kRoom>& to) {
  static_assert(kRoom <= 256);
  std::size_t size = std::min(text.size(), kRoom - 1);
  if (size < text.size()) {
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) --size;
  }
  std::copy_n(text.data(), size, to.data());
  return static_cast<std::uint8_t>(size);
}

}  // namespace

void News::put(const Item& item) {
  const std::uint64_t at = written_.load(std::memory_order_relaxed);
  if (at - taken_.load(std::memory_order_acquire) >= kItems) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  Slot& slot = slots_[at % kItems];
  slot.source_size = copy_text(item.source, slot.source);
  slot.text_size = copy_text(item.text, slot.text);
  slot.note = item.note;
  written_.store(at + 1, std::memory_order_release);
}

void News::drain(const std::function<void(const Item&)>& take) {
  const std::uint64_t end = written_.load(std::memory_order_acquire);
  for (std::uint64_t at = taken_.load(std::memory_order_relaxed); at < end; ++at) {
    const Slot& slot = slots_[at % kItems];
    take({.source = {slot.source.data(), slot.source_size},
          .text = {slot.text.data(), slot.text_size},
          .note = slot.note});
    taken_.store(at + 1, std::memory_order_release);
  }
}

}  // namespace corral::collect
