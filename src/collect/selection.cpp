#include "collect/selection.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "collect/listener.h"
#include "core/text.h"

namespace corral::collect {
namespace {

// The listener that stands for one of radT, whose names may be joined by +; or the reason why there
// is none.
struct RadtName {
  std::string_view name;
  std::string_view listeners;
  std::string_view instead{};
};

constexpr std::string_view kProfiler = "it is a profiler, not a listener; see corral run --profile";

constexpr auto kRadtNames = std::to_array<RadtName>({
    {"smi", "nvidia"},
    {"dcgmi", "nvidia+dcgm"},
    {"dcgm", "nvidia+dcgm"},
    {"top", "proc+tree"},
    {"ps", "tree"},
    {"iostat", "proc"},
    {"free", "proc"},
    {"macmon", "",
     "it exists only on Apple's machines: record it as an exec source, docs/sources.md"},
    {"nsys", "", kProfiler},
    {"nsysraw", "", kProfiler},
    {"ncu", "", kProfiler},
    {"ncuraw", "", kProfiler},
    {"ncuattach", "", kProfiler},
});

// Those that are accepted, here or as --profile.
std::span<const std::string_view> radt_words() {
  static const auto words = [] {
    std::vector<std::string_view> names;
    for (const RadtName& radt : kRadtNames)
      if (!radt.listeners.empty() || radt.instead == kProfiler) names.push_back(radt.name);
    return names;
  }();
  return words;
}

}  // namespace

Result<std::vector<std::string>> select_listeners(std::string_view words) {
  std::vector<std::string> wanted;
  std::string joined(words);
  std::ranges::replace(joined, ',', '+');
  for (const std::string_view part : split(joined, '+')) {
    const std::string_view word = trim(part);
    if (word.empty()) continue;
    const auto radt = std::ranges::find(kRadtNames, word, &RadtName::name);
    if (radt == kRadtNames.end()) {
      wanted.emplace_back(TRY(require_listener(word, radt_words()))->name);
      continue;
    }
    if (radt->listeners.empty())
      return fail(Code::kUnsupported, fmt::format("listener '{}': {}", word, radt->instead));
    for (const std::string_view name : split(radt->listeners, '+')) wanted.emplace_back(name);
  }
  std::vector<std::string> names;
  for (const ListenerEntry& entry : listeners()) {
    if (wanted.empty() || std::ranges::find(wanted, entry.name) != wanted.end())
      names.emplace_back(entry.name);
  }
  return names;
}

}  // namespace corral::collect
