#include "plan/mig.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bitset>

#include "core/text.h"

namespace corral::plan {
namespace {

constexpr int kMostMemorySlices = 8;

// Devices of seven compute and eight memory slices differ in the sizes of memory alone.
struct SevenSlices {
  std::string_view device;
  int one, two, half, whole;  // GB of 1g (and half a 2g), 2g, 3g and 4g, 7g
};
constexpr std::array kSevenSlices = {
    SevenSlices{"A100 40GB", 5, 10, 20, 40},  SevenSlices{"A100 80GB, H100 80GB", 10, 20, 40, 80},
    SevenSlices{"H100 94GB", 12, 24, 47, 94}, SevenSlices{"H100 96GB, GH200 96GB", 12, 24, 48, 96},
    SevenSlices{"H200", 18, 35, 71, 141},     SevenSlices{"B200", 23, 45, 90, 180},
    SevenSlices{"GB200", 23, 47, 93, 186},
};

MigTable seven_slices(const SevenSlices& sizes) {
  const auto named = [](int slices, int gb) { return fmt::format("{}g.{}gb", slices, gb); };
  const std::vector<int> each = {0, 1, 2, 3, 4, 5, 6};
  MigTable table;
  table.device = sizes.device;
  table.profiles = {
      {named(1, sizes.one), 1, 1, each, 7},         {named(1, sizes.one) + "+me", 1, 1, each, 1},
      {named(1, sizes.two), 1, 2, {0, 2, 4, 6}, 4}, {named(2, sizes.two), 2, 2, {0, 2, 4}, 3},
      {named(3, sizes.half), 3, 4, {0, 4}, 2},      {named(4, sizes.half), 4, 4, {0}, 1},
      {named(7, sizes.whole), 7, 8, {0}, 1},
  };
  return table;
}

MigTable a30() {
  return {"A30",
          4,
          4,
          {{"1g.6gb", 1, 1, {0, 1, 2, 3}, 4},
           {"1g.6gb+me", 1, 1, {0, 1, 2, 3}, 1},
           {"2g.12gb", 2, 2, {0, 2}, 2},
           {"2g.12gb+me", 2, 2, {0, 2}, 1},
           {"4g.24gb", 4, 4, {0}, 1}}};
}

using Room = std::bitset<kMostMemorySlices>;

// Backtracking over at most 8 instances with at most 8 placements each, the largest first.
bool place(std::span<const MigProfile* const> rest, Room taken) {
  if (rest.empty()) return true;
  const MigProfile& profile = *rest.front();
  for (const int from : profile.placements) {
    Room wanted;
    for (int s = from; s < std::min(from + profile.memory_slices, kMostMemorySlices); ++s)
      wanted.set(static_cast<std::size_t>(s));
    if ((taken & wanted).none() && place(rest.subspan(1), taken | wanted)) return true;
  }
  return false;
}

std::string sum(const std::vector<const MigProfile*>& all, int MigProfile::*size) {
  std::string text;
  int total = 0;
  for (const MigProfile* profile : all) {
    text += fmt::format("{}{}", text.empty() ? "" : " + ", profile->*size);
    total += profile->*size;
  }
  return all.size() == 1 ? text : fmt::format("{} = {}", text, total);
}

std::optional<std::string> over(const std::vector<const MigProfile*>& all, const MigTable& table) {
  if (all.size() > static_cast<std::size_t>(table.slices))
    return fmt::format("{} instances, the device ({}) has {} slices", all.size(), table.device,
                       table.slices);
  int slices = 0;
  int memory = 0;
  for (const MigProfile* profile : all) {
    slices += profile->slices;
    memory += profile->memory_slices;
    const auto same = std::ranges::count(all, profile);
    if (same > profile->most)
      return fmt::format("{} of {}, the device ({}) takes {}", same, profile->name, table.device,
                         profile->most);
  }
  if (slices > table.slices)
    return fmt::format("{} compute slices, the device ({}) has {}", sum(all, &MigProfile::slices),
                       table.device, table.slices);
  if (memory > table.memory_slices)
    return fmt::format("{} memory slices, the device ({}) has {}",
                       sum(all, &MigProfile::memory_slices), table.device, table.memory_slices);
  return std::nullopt;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 3 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

const std::vector<MigTable>& published_tables() {
  static const std::vector<MigTable> tables = [] {
    std::vector<MigTable> all;
    all.reserve(kSevenSlices.size() + 1);
    for (const SevenSlices& sizes : kSevenSlices) all.push_back(seven_slices(sizes));
    all.push_back(a30());
    return all;
  }();
  return tables;
}

const MigProfile* find_profile(const MigTable& table, std::string_view name) {
  const auto found = std::ranges::find(table.profiles, name, &MigProfile::name);
  return found == table.profiles.end() ? nullptr : &*found;
}

bool looks_like_profile(std::string_view word) {
  const std::size_t plus = word.find('+');
  if (plus != std::string_view::npos && word.substr(plus) != "+me") return false;
  std::string_view rest = word.substr(0, plus);
  const std::size_t share = rest.find("c.");
  if (share != std::string_view::npos) {
    if (!is_number(rest.substr(0, share))) return false;
    rest = rest.substr(share + 2);
  }
  const std::size_t dot = rest.find("g.");
  if (dot == std::string_view::npos || !rest.ends_with("gb")) return false;
  const std::string_view memory = rest.substr(dot + 2);
  return is_number(rest.substr(0, dot)) && is_number(memory.substr(0, memory.size() - 2));
}

std::optional<std::string> cannot_fit(const MigTable& table,
                                      std::span<const std::string> profiles) {
  std::vector<const MigProfile*> all;
  for (const std::string& name : profiles) {
    const MigProfile* profile = find_profile(table, name);
    if (profile == nullptr) return fmt::format("the device ({}) has no {}", table.device, name);
    all.push_back(profile);
  }
  if (auto reason = over(all, table)) return reason;
  std::ranges::stable_sort(all, std::greater<>(), &MigProfile::memory_slices);
  if (place(all, {})) return std::nullopt;
  return fmt::format("no order of placement fits all of them on the device ({})", table.device);
}

}  // namespace corral::plan
