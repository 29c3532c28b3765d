#include "collect/foreign/pattern.h"

#include <fmt/core.h>

namespace corral::collect::foreign {
namespace {

// The memory that one pattern may take: its program and the states met so far.
constexpr std::int64_t kPatternBytes = 2 << 20;

std::string with_named_groups(std::string_view pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    out += pattern[i];
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      out += pattern[++i];
    } else if (out.ends_with("(?") && pattern.substr(i + 1).starts_with('<')) {
      out += 'P';
    }
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<const re2::RE2>> compile_pattern(std::string_view pattern) {
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(kPatternBytes);
  // Output is bytes: invalid UTF-8 must not hide the rest of its line.
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  auto compiled = std::make_unique<const re2::RE2>(with_named_groups(pattern), options);
  if (!compiled->ok()) {
    return fail(Code::kInvalidArgument,
                fmt::format("'{}' is not a regular expression: {}", pattern, compiled->error()));
  }
  return compiled;
}

}  // namespace corral::collect::foreign
