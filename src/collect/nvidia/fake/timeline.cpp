#include "collect/nvidia/fake/timeline.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <optional>
#include <utility>

namespace corral::collect::nvidia::fake {
namespace {

constexpr auto kStatuses = std::to_array<std::pair<std::string_view, Status>>({
    {"SUCCESS", Status::kSuccess},
    {"UNINITIALIZED", Status::kUninitialized},
    {"INVALID_ARGUMENT", Status::kInvalidArgument},
    {"NOT_SUPPORTED", Status::kNotSupported},
    {"NO_PERMISSION", Status::kNoPermission},
    {"NOT_FOUND", Status::kNotFound},
    {"DRIVER_NOT_LOADED", Status::kDriverNotLoaded},
    {"TIMEOUT", Status::kTimeout},
    {"GPU_IS_LOST", Status::kGpuIsLost},
    {"UNKNOWN", Status::kUnknown},
});

std::string_view next_word(std::string_view& rest) {
  const auto begin = rest.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return rest = {};
  rest.remove_prefix(begin);
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
  rest.remove_prefix(word.size());
  return word;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Value value_of(std::string_view text, double from) {
  Value value{.from = from, .status = Status::kSuccess, .number = 0, .per_second = 0, .text = {}};
  for (const auto& [name, status] : kStatuses) {
    if (text == name) value.status = status;
  }
  const auto plus = text.find('+', 1);
  const auto first = number(text.substr(0, plus));
  const auto rate =
      plus == std::string_view::npos ? std::optional(0.0) : number(text.substr(plus + 1));
  if (first && rate) {
    value.number = *first;
    value.per_second = *rate;
  }
  value.text = text;
  return value;
}

}  // namespace

bool Timeline::add(std::string_view line) {
  std::string_view rest = line.substr(0, line.find('#'));
  std::string_view key = next_word(rest);
  if (key.empty()) return true;
  double from = 0;
  if (key == "at") {
    const auto time = number(next_word(rest));
    if (!time) return false;
    from = *time;
    key = next_word(rest);
  }
  const auto begin = rest.find_first_not_of(" \t");
  if (key.empty() || begin == std::string_view::npos) return false;
  rest = rest.substr(begin, rest.find_last_not_of(" \t") - begin + 1);
  auto& values = keys_[std::string(key)];
  if (!values.empty() && values.back().from > from) return false;
  values.push_back(value_of(rest, from));
  return true;
}

bool Timeline::load(const char* path) {
  std::ifstream in(path);
  std::string line;
  for (int n = 1; std::getline(in, line); ++n) {
    if (add(line)) continue;
    std::fprintf(stderr, "%s:%d: %s\n", path, n, line.c_str());
    return false;
  }
  return in.eof();
}

const Value* Timeline::find(std::string_view key, double time) const {
  const auto at = keys_.find(key);
  if (at == keys_.end()) return nullptr;
  const Value* found = nullptr;
  for (const Value& value : at->second) {
    if (value.from <= time) found = &value;
  }
  return found;
}

}  // namespace corral::collect::nvidia::fake
