#include "spool/segment_series.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

#include "spool/segment_format.h"

namespace corral::spool {
namespace {

constexpr std::size_t kBlockBytes = 64u << 10;
constexpr std::size_t kFirstCapacity = 512;
constexpr std::size_t kEntryBytes = sizeof(void*);

}  // namespace

struct SeriesTable::Block {
  Block* older;
  std::size_t used;
};

void* map_private(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

SeriesTable::~SeriesTable() {
  while (blocks_ != nullptr) {
    Block* older = blocks_->older;
    ::munmap(blocks_, kBlockBytes);
    blocks_ = older;
  }
  if (slots_ != nullptr) ::munmap(static_cast<void*>(slots_), capacity_ * kEntryBytes);
}

Series* SeriesTable::find_or_add(const char* name, std::size_t length) {
  if (2 * std::size_t{count_} >= capacity_ && !grow()) return nullptr;
  const std::uint32_t hash = codec::crc32c(name, length);
  std::size_t at = hash & (capacity_ - 1);
  for (; slots_[at] != nullptr; at = (at + 1) & (capacity_ - 1)) {
    Series* found = slots_[at];
    if (found->hash == hash && found->length == length &&
        std::memcmp(found->name, name, length) == 0) {
      return found;
    }
  }
  Series* made = make(name, length, hash);
  slots_[at] = made;
  return made;
}

Series* SeriesTable::make(const char* name, std::size_t length, std::uint32_t hash) {
  if (count_ >= kSegmentSeriesLimit) return nullptr;
  void* memory = allocate(offsetof(Series, name) + length);
  if (memory == nullptr) return nullptr;
  auto* series = ::new (memory) Series{};
  series->id = ++count_;
  series->hash = hash;
  series->length = static_cast<std::uint32_t>(length);
  std::memcpy(series->name, name, length);
  return series;
}

bool SeriesTable::grow() {
  const std::size_t capacity = capacity_ == 0 ? kFirstCapacity : 2 * capacity_;
  auto** slots = static_cast<Series**>(map_private(capacity * kEntryBytes));
  if (slots == nullptr) return false;
  for (std::size_t i = 0; i < capacity_; ++i) {
    if (slots_[i] == nullptr) continue;
    std::size_t at = slots_[i]->hash & (capacity - 1);
    while (slots[at] != nullptr) at = (at + 1) & (capacity - 1);
    slots[at] = slots_[i];
  }
  if (slots_ != nullptr) ::munmap(static_cast<void*>(slots_), capacity_ * kEntryBytes);
  slots_ = slots;
  capacity_ = capacity;
  return true;
}

void* SeriesTable::allocate(std::size_t bytes) {
  if (bytes < sizeof(Series)) bytes = sizeof(Series);
  bytes = (bytes + alignof(Series) - 1) & ~(alignof(Series) - 1);
  if (blocks_ == nullptr || blocks_->used + bytes > kBlockBytes) {
    auto* block = static_cast<Block*>(map_private(kBlockBytes));
    if (block == nullptr) return nullptr;
    block->older = blocks_;
    block->used = sizeof(Block);
    blocks_ = block;
  }
  void* memory = reinterpret_cast<char*>(blocks_) + blocks_->used;
  blocks_->used += bytes;
  return memory;
}

}  // namespace corral::spool
