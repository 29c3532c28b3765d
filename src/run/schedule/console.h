// Console: the scheduler's messages on standard error. A terminal shows permanent lines and, below
// them, lines that are redrawn; other outputs get only permanent lines. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/mutex.h"

namespace corral::run::schedule {

class Console {
 public:
  explicit Console(bool quiet);
  ~Console();  // removes the drawn lines
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void say(const std::string& line);   // not with --quiet
  void warn(const std::string& line);  // always
  // True if draw() shows anything; width() is the greatest length of its lines.
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
