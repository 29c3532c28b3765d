#include "core/cpu_list.h"

#include <fmt/core.h>

#include <bitset>

#include "core/text.h"

namespace corral {

Result<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::bitset<kMostCpus> in_list;
  text = trim(text);
  if (text.empty()) return std::vector<int>();
  for (const std::string_view part : split(text, ',')) {
    const std::string_view range = trim(part);
    const std::size_t dash = range.find('-');
    const auto first = parse_int(trim(range.substr(0, dash)));
    const auto last =
        dash == std::string_view::npos ? first : parse_int(trim(range.substr(dash + 1)));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostCpus)
      return fail(Code::kInvalidArgument,
                  fmt::format("'{}' is not a list of CPUs, e.g. 0-3,8", text));
    for (std::int64_t cpu = *first; cpu <= *last; ++cpu) in_list.set(static_cast<std::size_t>(cpu));
  }
  std::vector<int> cpus;
  cpus.reserve(in_list.count());
  for (int cpu = 0; cpu < kMostCpus; ++cpu)
    if (in_list.test(static_cast<std::size_t>(cpu))) cpus.push_back(cpu);
  return cpus;
}

std::string format_cpu_list(std::span<const int> cpus) {
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

}  // namespace corral
