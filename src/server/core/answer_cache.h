// AnswerCache: bodies of answers that cost a second to make, by a key that names the question and
// the state of the data. The least recently used ones are forgotten first, and each after
// `longest`. Any thread.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "core/guarded.h"
#include "core/time.h"

namespace corral::server {

class AnswerCache {
 public:
  static constexpr std::size_t kMostBytes = 32u << 20;
  // The key may miss a change: a host's metrics that come through the runs of others, or points
  // that a replica lacks yet.
  static constexpr Nanos kLongest = std::chrono::minutes(1);

  explicit AnswerCache(Nanos longest) : longest_(longest) {}

  [[nodiscard]] std::optional<std::string> find(std::string_view key);
  void keep(std::string key, std::string body);

  // For tests: acts as if this much time had passed.
  void age(Nanos time);

 private:
  struct Kept {
    std::string key, body;
    std::chrono::steady_clock::time_point since;
    [[nodiscard]] std::size_t bytes() const { return key.size() + body.size(); }
  };
  const Nanos longest_;
  Guarded<std::list<Kept>> kept_;  // the most recently used first
};

}  // namespace corral::server
