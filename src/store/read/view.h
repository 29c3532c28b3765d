// The PointView of an SQL store: reads through one connection inside the caller's snapshot, and
// keeps recently decoded rows in caches that all views of the store share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "codec/frame.h"
#include "core/mutex.h"
#include "store/engine/database.h"
#include "store/model/point_view.h"
#include "store/seal/levels.h"

namespace corral::store::sql {

// Keeps recently decoded rows while there is room. Rows that it holds never change under their key.
// Any thread.
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

struct Caches {
  using PyramidRowAt = std::pair<PyramidKey, std::int64_t>;  // and how many buckets it has
  using BlockAt = std::pair<SeriesId, std::int64_t>;
  LevelCache<std::int64_t, std::vector<codec::SamplesBody>> batches{48u << 20};  // by row
  LevelCache<PyramidRowAt, codec::PyramidRow> pyramid{48u << 20};
  LevelCache<BlockAt, Block> blocks{32u << 20};
};

// `db` and `caches` must outlive the view.
Result<std::unique_ptr<PointView>> open_view(Connection& db, Caches& caches,
                                             std::span<const SeriesId> series,
                                             Levels levels = Levels::kAll);

// The samples of a batch row, from the cache if they are there. kNotFound, kCorruption.
Result<std::shared_ptr<const std::vector<codec::SamplesBody>>> read_samples(Connection& db,
                                                                            Caches& caches,
                                                                            std::int64_t row);

}  // namespace corral::store::sql
