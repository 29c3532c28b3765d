// SetUp: what a run was made with, as texts by part and name: its params, code, packages and
// settings, without its results. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/model/records.h"

namespace corral::analyze {

// In the order in which they are shown.
inline constexpr auto kSetUpParts = std::to_array<std::string_view>(
    {"run", "param", "tag", "code", "package", "variable", "environment", "set-up", "at start"});
// The first of a key is the index of its part.
using SetUp = std::map<std::pair<std::size_t, std::string>, std::string>;

// A sensor that was not there is part of it: "not available: no cpufreq".
SetUp read_set_up(const store::Run& run);

// A fact of a run as text, a list of words with blanks between them; empty: not recorded.
std::string fact_text(const store::Run& run, std::string_view key);
// Empty: it has no such tag.
std::string tag_text(const store::Run& run, std::string_view key);

// Something that is one thing in all of these.
struct CommonSetUp {
  std::string_view part;
  std::string key, text;
};
std::vector<CommonSetUp> find_common_set_up(std::span<const SetUp> all);

// Something that is one thing in all runs of A and another in all runs of B; "–": they lack it.
struct SetUpDifference {
  std::string_view part;
  std::string key, a, b;
};
// Each run's, without seeds, and without what runs were at their start (part "at start").
std::vector<SetUp> read_set_ups(std::span<const store::Run> runs);
std::vector<SetUpDifference> find_set_up_differences(std::span<const SetUp> a,
                                                     std::span<const SetUp> b);

}  // namespace corral::analyze
