// Noise: the properties of a host that make measurements differ, at the start of a run.
//
// `set_up.*` are settings (two runs with equal ones should be comparable), `at_start.*` are states,
// which differ by themselves. A missing value is "unavailable" with the reason. Some thirty small
// files are read under `root`; nothing is written and no program is run. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/frame.h"

namespace corral::run::set_up {

// Returns the value of the first line "key: value" in a file of /proc; nullopt if there is none.
std::optional<std::string> proc_value(const std::filesystem::path& file, std::string_view key);
// Returns the value of a line "key: 12 kB" in bytes.
std::optional<std::int64_t> proc_bytes(const std::filesystem::path& file, std::string_view key);

// Values that come from no file.
struct Outside {
  std::optional<bool> clock_synchronised;
  std::optional<std::int64_t> disk_free_bytes;  // on the filesystem in which the run works
};
Outside read_outside(const std::filesystem::path& directory);

std::vector<codec::Fact> noise(const std::filesystem::path& root, const Outside& outside);

}  // namespace corral::run::set_up
