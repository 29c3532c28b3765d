// Four read-only indexes of sorted 64-bit keys, as index.py calls them: how each finds the position
// of a key.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace {

using Key = std::uint64_t;
using Keys = std::vector<Key>;

class Index {
 public:
  virtual ~Index() = default;
  // The position of the first key that is not less; the number of keys if there is none. A hash
  // table knows only the keys that it holds.
  [[nodiscard]] virtual std::size_t find(Key key) const = 0;
};

std::size_t find_between(const Keys& keys, std::size_t from, std::size_t to, Key key) {
  const auto at = [&](std::size_t i) { return keys.begin() + static_cast<std::ptrdiff_t>(i); };
  return static_cast<std::size_t>(std::lower_bound(at(from), at(to), key) - keys.begin());
}

class BinarySearch : public Index {
 public:
  explicit BinarySearch(const Keys& keys) : keys_(keys) {}
  [[nodiscard]] std::size_t find(Key key) const override {
    return find_between(keys_, 0, keys_.size(), key);
  }

 private:
  const Keys& keys_;
};

// A B+ tree without pointers: every level holds each 16th key of the level below, so that a node is
// two cache lines.
class BTree : public Index {
 public:
  explicit BTree(const Keys& keys) : keys_(keys) {
    for (const Keys* below = &keys_; below->size() > kNode; below = &levels_.back()) {
      Keys level;
      for (std::size_t i = 0; i < below->size(); i += kNode) level.push_back((*below)[i]);
      levels_.push_back(std::move(level));
    }
  }
  [[nodiscard]] std::size_t find(Key key) const override {
    std::size_t node = 0;
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level)
      node = last_not_greater(*level, node, key);
    return find_between(keys_, node * kNode, std::min((node + 1) * kNode, keys_.size()), key);
  }

 private:
  static constexpr std::size_t kNode = 16;

  static std::size_t last_not_greater(const Keys& level, std::size_t node, Key key) {
    const std::size_t end = std::min((node + 1) * kNode, level.size());
    std::size_t child = node * kNode;
    for (std::size_t i = child + 1; i < end; ++i) child += level[i] <= key ? 1 : 0;
    return child;
  }

  const Keys& keys_;
  std::vector<Keys> levels_;  // the lowest first
};

// Open addressing with linear probing, at most half full.
class HashTable : public Index {
 public:
  explicit HashTable(const Keys& keys) : nothing_(keys.size()) {
    while ((std::size_t{1} << bits_) < 2 * keys.size()) ++bits_;
    slots_.resize(std::size_t{1} << bits_, {0, nothing_});
    for (std::size_t i = 0; i < keys.size(); ++i) slots_[slot_of(keys[i])] = {keys[i], i};
  }
  [[nodiscard]] std::size_t find(Key key) const override { return slots_[slot_of(key)].position; }

 private:
  struct Slot {
    Key key;
    std::size_t position;
  };

  // The slot that has the key, or the free one where it would go.
  [[nodiscard]] std::size_t slot_of(Key key) const {
    std::size_t slot = (key * 0x9e3779b97f4a7c15U) >> (64 - bits_);
    while (slots_[slot].position != nothing_ && slots_[slot].key != key)
      slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }

  std::size_t nothing_;
  unsigned bits_ = 1;
  std::vector<Slot> slots_;
};

// A learned index: a line through the keys of each of many equal stretches predicts the position;
// the greatest error of the stretch bounds the search from there. The stretch is found by binary
// search over the first keys, which are few.
class Learned : public Index {
 public:
  explicit Learned(const Keys& keys) : keys_(keys) {
    for (std::size_t from = 0; from < keys.size(); from += kStretch) {
      firsts_.push_back(keys[from]);
      lines_.push_back(line_through(from, std::min(from + kStretch, keys.size())));
    }
  }
  [[nodiscard]] std::size_t find(Key key) const override {
    const std::size_t after = static_cast<std::size_t>(
        std::upper_bound(firsts_.begin(), firsts_.end(), key) - firsts_.begin());
    if (after == 0) return 0;
    const Line& line = lines_[after - 1];
    const auto [from, to] = around(line, predict(line, key));
    return find_between(keys_, from, to, key);
  }

 private:
  static constexpr std::size_t kStretch = 1024;

  struct Line {
    std::size_t begin, end;  // the stretch
    double slope;
    std::size_t error;
  };

  [[nodiscard]] std::size_t predict(const Line& line, Key key) const {
    const double offset = line.slope * static_cast<double>(key - keys_[line.begin]);
    return std::min(line.begin + static_cast<std::size_t>(offset), line.end - 1);
  }
  static std::pair<std::size_t, std::size_t> around(const Line& line, std::size_t place) {
    return {std::max(line.begin, place - std::min(place, line.error)),
            std::min(line.end, place + line.error + 1)};
  }
  [[nodiscard]] Line line_through(std::size_t begin, std::size_t end) const {
    const auto width = static_cast<double>(keys_[end - 1] - keys_[begin]);
    Line line{begin, end, width > 0 ? static_cast<double>(end - 1 - begin) / width : 0, 0};
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t place = predict(line, keys_[i]);
      line.error = std::max(line.error, place > i ? place - i : i - place);
    }
    ++line.error;  // keys between two others
    return line;
  }

  const Keys& keys_;
  Keys firsts_;
  std::vector<Line> lines_;
};

struct Data {
  Keys keys;
  std::unique_ptr<Index> index;
};

}  // namespace

extern "C" {

Data* data_new(const Key* keys, std::size_t count) {
  return new Data{Keys(keys, keys + count), nullptr};
}
void data_delete(Data* data) { delete data; }

// Makes the index anew; 0 if there is none of that name.
int build(Data* data, const char* name) {
  const std::string_view kind = name;
  data->index.reset();
  if (kind == "binary") data->index = std::make_unique<BinarySearch>(data->keys);
  if (kind == "btree") data->index = std::make_unique<BTree>(data->keys);
  if (kind == "hash") data->index = std::make_unique<HashTable>(data->keys);
  if (kind == "learned") data->index = std::make_unique<Learned>(data->keys);
  return data->index ? 1 : 0;
}

// The sum of the positions of these keys.
std::uint64_t look_up(const Data* data, const Key* probes, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += data->index->find(probes[i]);
  return sum;
}

// The sum of `length` keys from each of these on.
std::uint64_t scan(const Data* data, const Key* probes, std::size_t count, std::size_t length) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = data->index->find(probes[i]);
    const std::size_t to = std::min(from + length, data->keys.size());
    for (std::size_t at = from; at < to; ++at) sum += data->keys[at];
  }
  return sum;
}
}
