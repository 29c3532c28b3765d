// LevelCache: keeps recently decoded rows while there is room. Rows that it holds never change
// under their key. Any thread.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <utility>

#include "core/mutex.h"

namespace corral::store::sql {

template <class Key, class Value>
class LevelCache {
 public:
  explicit LevelCache(std::size_t bytes) : room_(bytes) {}

  std::shared_ptr<const Value> find(const Key& key) {
    const Lock lock(mutex_);
    const auto known = places_.find(key);
    if (known == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, known->second);
    return known->second->value;
  }
  // `bytes`: size of the value in memory.
  void add(const Key& key, std::shared_ptr<const Value> value, std::size_t bytes) {
    const Lock lock(mutex_);
    if (bytes > room_ || places_.contains(key)) return;
    used_ += bytes;
    entries_.push_front({.key = key, .value = std::move(value), .bytes = bytes});
    places_.emplace(key, entries_.begin());
    while (used_ > room_) {
      used_ -= entries_.back().bytes;
      places_.erase(entries_.back().key);
      entries_.pop_back();
    }
  }

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const Value> value;
    std::size_t bytes = 0;
  };
  // Constant after construction.
  const std::size_t room_;

  Mutex mutex_;
  // Guarded by mutex_.
  std::size_t used_ GUARDED_BY(mutex_) = 0;
  std::list<Entry> entries_ GUARDED_BY(mutex_);  // newest first
  std::map<Key, typename std::list<Entry>::iterator> places_ GUARDED_BY(mutex_);
};

}  // namespace corral::store::sql
