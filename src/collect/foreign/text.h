// Text of programs and people: its lines, its numbers, and excerpts of it for messages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace corral::collect::foreign {

// The whole text: "12", "+1.5e-3", "nan", "-Inf"; nothing when it is anything else or has no place
// in a double.
std::optional<double> read_number(std::string_view text);

// A number and what stands right behind it: "35.20 W", "98%", "12ms".
struct NumberWithUnit {
  double value;
  std::string_view unit;  // without blanks around; a view of the text
};
std::optional<NumberWithUnit> read_number_with_unit(std::string_view text);

// The step that a value stands for; nothing unless it is a whole number.
std::optional<std::int64_t> to_step(double value);

// The start of a text for a message: what cannot be printed is '?'.
std::string excerpt(std::string_view text);

// LineSplitter: pieces of a byte stream -> its lines.
//
// Lines end with \n, or with \r too, so that every state of a progress bar is a line. A line longer
// than the limit is handed over cut; the rest of it is skipped. Empty lines are left out.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t limit) : limit_(limit) {}

  // Calls take(line, cut) for each line that these bytes end; the view is valid during the call.
  template <class Take>
  void feed(std::string_view bytes, Take&& take) {
    while (!bytes.empty()) {
      const auto* const stop =
          std::ranges::find_if(bytes, [](char c) { return c == '\n' || c == '\r'; });
      const auto end = static_cast<std::size_t>(stop - bytes.begin());
      const std::string_view part = bytes.substr(0, end);
      if (end == bytes.size()) {
        keep(part);
        return;
      }
      bytes.remove_prefix(end + 1);
      if (kept_.empty() && part.size() <= limit_) {
        if (!part.empty()) take(part, false);
        continue;
      }
      keep(part);
      finish(take);
    }
  }
  // The line that nothing ended.
  template <class Take>
  void finish(Take&& take) {
    if (!kept_.empty()) take(std::string_view(kept_), cut_);
    kept_.clear();
    cut_ = false;
  }

 private:
  void keep(std::string_view part) {
    const std::size_t room = limit_ - kept_.size();
    cut_ = cut_ || part.size() > room;
    kept_ += part.substr(0, room);
  }
  std::size_t limit_;
  std::string kept_;
  bool cut_ = false;
};

}  // namespace corral::collect::foreign
