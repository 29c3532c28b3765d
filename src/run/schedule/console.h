// Console: what the scheduler tells a person, on standard error: on a terminal lines that stay and
// below them lines that are drawn anew, elsewhere lines that stay alone. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/mutex.h"

namespace corral::run::schedule {

class Console {
 public:
  explicit Console(bool quiet);
  ~Console();  // takes the drawn lines away
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void say(const std::string& line);   // not with --quiet
  void warn(const std::string& line);  // always
  // Whether draw() shows anything, and how wide a line may be.
  [[nodiscard]] bool live() const { return live_; }
  [[nodiscard]] static std::size_t width();
  void draw(std::vector<std::string> lines);

 private:
  void put(const std::string& line) EXCLUDES(mutex_);
  void erase() REQUIRES(mutex_);
  void paint() REQUIRES(mutex_);
  Mutex mutex_;
  bool quiet_;
  bool live_;
  std::vector<std::string> drawn_ GUARDED_BY(mutex_);
};

}  // namespace corral::run::schedule
