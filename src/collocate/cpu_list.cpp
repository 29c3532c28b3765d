#include "collocate/cpu_list.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"

namespace corral::collocate {
namespace {

// More than any machine has; guards against typing errors.
constexpr std::int64_t kMostCpus = 1 << 16;

tl::unexpected<Error> malformed(std::string_view text) {
  return fail(Code::kInvalidArgument, fmt::format("'{}' is not a list of CPUs, e.g. 0-3,8", text));
}

}  // namespace

Result<std::vector<int>> parse_cpus(std::string_view text) {
  std::vector<int> cpus;
  text = trim(text);
  if (text.empty()) return cpus;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_int(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_int(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostCpus)
      return malformed(text);
    for (std::int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  std::ranges::sort(cpus);
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string format_cpus(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[i]);
    if (end - i > 1) text += fmt::format("-{}", cpus[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace corral::collocate
