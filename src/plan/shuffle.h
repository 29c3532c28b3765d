// Shuffles by splitmix64: one seed gives the same order on every machine.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace corral::plan {

class Shuffler {
 public:
  explicit Shuffler(std::uint64_t seed) : state_(seed) {}
  // A second call goes on with the generator's state.
  template <class T>
  void shuffle(std::vector<T>& list) {
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[next() % i]);
  }

 private:
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30u)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27u)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31u);
  }
  std::uint64_t state_;
};

}  // namespace corral::plan
