// The command line of an MLproject's entry point.
#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"
#include "environment/mlproject.h"

namespace corral::environment {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

// The arguments behind the entry point's name.
struct Given {
  Values values;                   // --key value, --key=value, -P key=value
  std::vector<std::string> words;  // everything else, as it stands
};

Given given_of(const std::vector<std::string>& command) {
  Given given;
  for (std::size_t i = 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    const bool last = i + 1 == command.size();
    const std::size_t equals = word.find('=');
    if (word == "-P" && !last && command[i + 1].find('=') != std::string::npos) {
      const std::string& pair = command[++i];
      given.values.emplace_back(pair.substr(0, pair.find('=')), pair.substr(pair.find('=') + 1));
    } else if (word.starts_with("--") && word.size() > 2 && equals != std::string::npos) {
      given.values.emplace_back(word.substr(2, equals - 2), word.substr(equals + 1));
    } else if (word.starts_with("--") && word.size() > 2 && !last &&
               !command[i + 1].starts_with("--")) {
      given.values.emplace_back(word.substr(2), command[++i]);
    } else {
      given.words.push_back(word);
    }
  }
  return given;
}

const std::string* value_of(const Values& values, std::string_view name) {
  const auto found = std::ranges::find(values, name, &Values::value_type::first);
  return found == values.end() ? nullptr : &found->second;
}

Result<std::string> checked(const Project& project, const Parameter& parameter,
                            const std::string& value) {
  if (parameter.type == "float" && !parse_double(value))
    return fail(Code::kInvalidArgument,
                fmt::format("parameter {}: '{}' is not a number", parameter.name, value));
  if (parameter.type != "path" || value.find("://") != std::string::npos) return value;
  std::error_code error;
  const fs::path path = (project.directory / value).lexically_normal();
  if (!fs::exists(path, error))
    return fail(Code::kNotFound, fmt::format("parameter {}: {}: no such file or directory",
                                             parameter.name, path.string()));
  return path.string();
}

// Python's str.format for plain names: {lr}, {{ and }}.
Result<std::string> formatted(const std::string& pattern, const Values& values) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if ((c == '{' || c == '}') && i + 1 < pattern.size() && pattern[i + 1] == c) {
      out += c;
      ++i;
    } else if (c == '{') {
      const std::size_t end = pattern.find('}', i);
      if (end == std::string::npos)
        return fail(Code::kInvalidArgument, "its command has a { without a }");
      const std::string name = pattern.substr(i + 1, end - i - 1);
      const std::string* value = value_of(values, name);
      if (value == nullptr)
        return fail(
            Code::kInvalidArgument,
            fmt::format("its command uses {{{}}}, which is not one of its parameters", name));
      out += shell_quoted(*value);
      i = end;
    } else if (c == '}') {
      return fail(Code::kInvalidArgument, "its command has a } without a {");
    } else {
      out += c;
    }
  }
  return out;
}

Result<std::string> command_line(const Project& project, const EntryPoint& entry, Given given) {
  Values values;
  std::vector<std::string> missing;
  for (const Parameter& parameter : entry.parameters) {
    const std::string* value = value_of(given.values, parameter.name);
    if (value == nullptr && !parameter.preset) {
      missing.push_back(parameter.name);
      continue;
    }
    const std::string text =
        TRY(checked(project, parameter, value != nullptr ? *value : *parameter.preset));
    values.emplace_back(parameter.name, text);
    std::erase_if(given.values, [&](const auto& v) { return v.first == parameter.name; });
  }
  if (!missing.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("needs {}: give --{} VALUE", join(missing, ", "), missing[0]));
  std::string line = TRY(formatted(entry.command, values));
  for (const auto& [key, value] : given.values)
    line += fmt::format(" {} {}", shell_quoted("--" + key), shell_quoted(value));
  for (const std::string& word : given.words) line += " " + shell_quoted(word);
  return line;
}

}  // namespace

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(word);
  std::string quoted = "'";
  for (const char c : word) c == '\'' ? quoted += "'\"'\"'" : quoted += c;
  return quoted + "'";
}

Result<std::vector<std::string>> command_of(const Project& project,
                                            const std::vector<std::string>& command) {
  if (command.empty()) return command;
  const auto entry = std::ranges::find(project.entry_points, command[0], &EntryPoint::name);
  if (entry == project.entry_points.end()) {
    std::vector<std::string> words = command;
    const fs::path inside = project.directory / command[0];
    std::error_code error;
    if (!fs::exists(command[0], error) && fs::is_regular_file(inside, error))
      words[0] = inside.string();
    return words;
  }
  const auto line = command_line(project, *entry, given_of(command));
  if (!line) return tl::unexpected(line.error().with_context("entry point " + entry->name));
  return std::vector<std::string>{
      "/bin/sh", "-c", fmt::format("cd {} && {}", shell_quoted(project.directory.string()), *line)};
}

}  // namespace corral::environment
