// Profilers that `corral run --profile` starts: their choice, their steps and their command lines.
//
// nsys and ncu are put in front of the command; their window is opened and closed by the Python
// package at the borders of steps (CORRAL_PROFILE_STEPS), but for the raw ones, which record the
// whole run. PyTorch's own profiler is the package's business alone. Everything is decided before
// anything is started, from PATH and /proc alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace corral::run {

enum class ProfileTool { kTorch, kNsys, kNcu, kNsysRaw, kNcuRaw, kNcuAttach };

struct ProfilePlan {
  ProfileTool tool = ProfileTool::kTorch;
  std::int64_t first = 10;  // steps, from 0; of tools with a window
  std::int64_t last = 12;
};

// "torch", "nsys:steps=100-103", "ncuraw": kInvalidArgument names the expected form.
Result<ProfilePlan> parse_profile(std::string_view text);
// The words of --listeners without profilers, and those, both joined by +: radT has them in one
// list.
std::pair<std::string, std::string> split_profilers(std::string_view listeners);

std::string_view profiler_name(ProfileTool tool);
bool has_window(ProfileTool tool);
// "torch:10-12", as CORRAL_PROFILE_STEPS has it; empty without a window.
std::string profile_window(const ProfilePlan& plan);
// Returns the name of its artifacts: "nsys-10-12", "ncuraw". It is also the run's tag
// `corral.profiler`.
std::string profile_id(const ProfilePlan& plan);

// Returns the path of the tool's program; empty for a tool without a program. kNotFound and
// kPermission say what is missing and how to get it. `proc` is /proc.
Result<std::filesystem::path> find_profiler(const ProfilePlan& plan, const std::string& path,
                                            const std::filesystem::path& proc);
// Returns the command with the profiler in front; the report will be `report` plus the tool's file
// ending.
std::vector<std::string> profiled_command(const ProfilePlan& plan,
                                          const std::filesystem::path& program,
                                          const std::filesystem::path& report,
                                          std::vector<std::string> command);

}  // namespace corral::run
