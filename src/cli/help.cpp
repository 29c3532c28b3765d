#include "cli/help.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"

namespace corral::cli {
namespace {

constexpr std::size_t kOptionColumns = 26;

}  // namespace

void Help::add(const std::string& heading, const std::string& option, const std::string& text) {
  auto group = std::ranges::find(groups_, heading, &Group::heading);
  if (group == groups_.end())
    group = groups_.insert(groups_.end(), {.heading = heading, .lines = {}});
  group->lines.push_back({.option = option, .text = text});
}

void Help::remove(std::string_view option) {
  for (Group& group : groups_)
    std::erase_if(group.lines, [&](const Line& line) {
      return std::string_view(line.option).substr(0, line.option.find(' ')) == option;
    });
}

void Help::move_to_end(std::string_view heading) {
  std::stable_partition(groups_.begin(), groups_.end(),
                        [&](const Group& g) { return g.heading != heading; });
}

std::string Help::text() const {
  std::string text;
  for (const Group& group : groups_) {
    if (group.lines.empty()) continue;
    text += fmt::format("\n{}:\n", group.heading);
    for (const Line& line : group.lines)
      text += fmt::format("  {:<{}}{}\n", line.option + "  ", kOptionColumns, line.text);
  }
  return text;
}

std::string wrapped(std::string_view text) {
  std::string lines;
  std::size_t column = 0;
  for (const std::string_view word : split(text, ' ')) {
    const bool fits = column + 1 + word.size() <= kHelpColumns;
    if (column > 0) lines += fits ? ' ' : '\n';
    column = column > 0 && fits ? column + 1 + word.size() : word.size();
    lines += word;
  }
  return lines;
}

}  // namespace corral::cli
