// Noise: what of a host makes measurements differ, as it stands when a run starts.
//
// `set_up.*` are settings (two runs with the same should compare), `at_start.*` how things stood
// (they differ by themselves). What cannot be had is "not available" with the reason. Some thirty
// small files are read under `root`; nothing is written or asked of other programs. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "codec/frame.h"

namespace corral::run::set_up {

// What no file says.
struct Outside {
  std::optional<bool> clock_synchronised;
  std::optional<std::int64_t> disk_free_bytes;  // where the run works
};
Outside look_outside(const std::filesystem::path& directory);

std::vector<codec::Fact> noise(const std::filesystem::path& root, const Outside& outside);

}  // namespace corral::run::set_up
