// A line on standard error that rewrites itself while a command works, from the second second on;
// nothing when that is no terminal. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/time.h"

namespace corral::cli {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // `what` is done up to `done` of `total`; a total of 0 is unknown.
  void tell(std::string_view what, std::int64_t done, std::int64_t total);
  // So many bytes of `what` have come.
  void tell_bytes(std::string_view what, std::int64_t bytes);
  // Takes the line away.
  void clear();

 private:
  [[nodiscard]] bool due();
  void show(const std::string& text);

  const bool terminal_;
  const BootTime begun_;
  BootTime told_;
  bool shown_ = false;
};

// " 45 %  checking runs 9 of 20, about 12 s left": the text of such a line after `passed`.
std::string progress_text(std::string_view what, std::int64_t done, std::int64_t total,
                          Nanos passed);

}  // namespace corral::cli
