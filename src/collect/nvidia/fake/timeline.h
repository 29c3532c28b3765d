// Timeline: what the fake driver says, and when; read from a file.
//
// Lines are `[at SECONDS] KEY VALUE`; '#' begins a comment. A value is a number, a number that
// grows per second ("1000+250"), a status that refuses ("NOT_SUPPORTED"), or text. It holds from
// its time on, 0 when none is said. A key that is never said is NOT_SUPPORTED. find() allocates
// nothing.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "collect/nvidia/nvml_types.h"

namespace corral::collect::nvidia::fake {

struct Value {
  double from = 0;  // s
  Status status = Status::kSuccess;
  double number = 0;
  double per_second = 0;
  std::string text;

  [[nodiscard]] double at(double time) const { return number + per_second * (time - from); }
};

class Timeline {
 public:
  // False when the file cannot be read or a line makes no sense; the line goes to stderr.
  bool load(const char* path);
  // The value that holds at that time; null when there is none yet.
  [[nodiscard]] const Value* find(std::string_view key, double time) const;
  using Keys = std::map<std::string, std::vector<Value>, std::less<>>;
  [[nodiscard]] const Keys& keys() const { return keys_; }

 private:
  bool add(std::string_view line);
  Keys keys_;
};

}  // namespace corral::collect::nvidia::fake
