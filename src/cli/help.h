// Text of `corral COMMAND --help`: one line per option under headings, at most 100 columns.
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace corral::cli {

inline constexpr std::size_t kHelpColumns = 100;
// Heading of the options that choose a store or server.
inline constexpr const char* kPlaces = "Store and server";

class Help {
 public:
  // A line below `heading`; headings appear in the order of their first line.
  void add(const std::string& heading, const std::string& option, const std::string& text);
  // Removes the line of this option, given without its value.
  void remove(std::string_view option);
  // Lines below `heading` come after all others.
  void move_to_end(std::string_view heading);
  [[nodiscard]] std::string text() const;

 private:
  struct Line {
    std::string option, text;
  };
  struct Group {
    std::string heading;
    std::vector<Line> lines;
  };
  std::vector<Group> groups_;
};

// Breaks `text` between words into lines of at most kHelpColumns.
std::string wrapped(std::string_view text);

}  // namespace corral::cli
