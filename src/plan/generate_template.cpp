#include "plan/generate_template.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace corral::plan {
namespace {

constexpr std::array kGiven =
    std::to_array<std::string_view>({"n", "i", "k", "job", "sharing", "experiment"});

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_name_character(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// Calls `text_part` and `name` for the parts of a template, in order.
template <class Text, class Name>
Result<> walk(std::string_view text, const Text& text_part, const Name& name) {
  while (!text.empty()) {
    const std::size_t bracket = std::min(text.find_first_of("{}"), text.size());
    text_part(text.substr(0, bracket));
    text.remove_prefix(bracket);
    if (text.empty()) break;
    if (text.size() > 1 && text[1] == text[0]) {
      text_part(text.substr(0, 1));
      text.remove_prefix(2);
      continue;
    }
    const std::size_t end = text.find('}');
    if (text[0] == '}' || end == std::string_view::npos)
      return fail(
          Code::kInvalidArgument,
          fmt::format("has a single {}; write {}{} for the character", text[0], text[0], text[0]));
    const std::string_view inner = text.substr(1, end - 1);
    if (!is_value_name(inner))
      return fail(Code::kInvalidArgument, fmt::format("{{{}}} is not the name of a value", inner));
    TRY(name(inner));
    text.remove_prefix(end + 1);
  }
  return {};
}

}  // namespace

std::span<const std::string_view> given_values() { return kGiven; }

bool is_given_value(std::string_view name) {
  return std::ranges::find(kGiven, name) != kGiven.end();
}

bool is_value_name(std::string_view name) {
  return !name.empty() && is_letter(name[0]) && std::ranges::all_of(name, is_name_character);
}

Result<std::vector<std::string>> template_names(std::string_view text) {
  std::vector<std::string> names;
  const auto skip = [](std::string_view) {};
  const auto note = [&names](std::string_view name) -> Result<> {
    names.emplace_back(name);
    return {};
  };
  TRY(walk(text, skip, note));
  return names;
}

Result<std::string> fill_template(std::string_view text, const ValueOf& value) {
  std::string filled;
  const auto append = [&filled](std::string_view part) { filled += part; };
  const auto put = [&](std::string_view name) -> Result<> {
    const auto found = value(name);
    if (!found) return fail(Code::kNotFound, std::string(name));
    filled += *found;
    return {};
  };
  TRY(walk(text, append, put));
  return filled;
}

}  // namespace corral::plan
