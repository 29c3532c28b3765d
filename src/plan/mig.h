// MIG profiles: their sizes, and whether several fit on one device at once. Pure; a driver's report
// about its own device comes first, the published tables are for machines without that GPU.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace corral::plan {

struct MigProfile {
  std::string name;             // "3g.20gb"
  int slices = 0;               // compute slices
  int memory_slices = 0;        // length of an instance from its placement
  std::vector<int> placements;  // possible placements, in memory slices
  int most = 7;                 // instances of it at once
};

struct MigTable {
  std::string device;  // "A100 40GB"
  int slices = 7;
  int memory_slices = 8;
  std::vector<MigProfile> profiles;
};

// Returns the profiles that the driver's documentation lists.
const std::vector<MigTable>& published_tables();

const MigProfile* find_profile(const MigTable& table, std::string_view name);
// "3g.20gb", "1g.5gb+me", "1c.3g.20gb": looks like a profile, whether there is one or not.
bool looks_like_profile(std::string_view word);

// Returns nullopt if they fit together in some order, else the reason for people.
std::optional<std::string> cannot_fit(const MigTable& table, std::span<const std::string> profiles);

}  // namespace corral::plan
