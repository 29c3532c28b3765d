// The files of control groups, of v1 and v2 alike: reading and writing them, listing members,
// ending them and removing the group. Nothing here knows the purpose of a group.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/time.h"
#include "sys/file.h"
#include "sys/process.h"

namespace corral::collocate {

namespace fs = std::filesystem;

// A group of Corral is known by its name: "corral-<label>-<8 hex digits>".
inline constexpr std::string_view kGroupPrefix = "corral-";

// Returns true if the path exists and is the kernel's: a group, not a directory that looks like
// one.
bool in_kernel(const fs::path& path);
// Writes the text in one write, as the kernel requires it. Under a test's root, where no kernel
// fills a new directory, the file is made.
Result<> write_control(const fs::path& file, std::string_view text);
// Returns the first line, without its end; empty if there is no such file.
std::string read_control(const fs::path& file);

// Returns the processes in the group itself.
std::vector<pid_t> own_members(const fs::path& group);
// Returns the processes in the group and in the groups below it.
std::vector<pid_t> members(const fs::path& group);

// Ends the members of these directories of one group: all stopped at once if possible, so that none
// forks away, SIGTERM, after `grace` SIGKILL. kUnavailable if some are still there after that
// (uninterruptible sleep).
Result<> end_members(std::span<const fs::path> directories, Nanos grace);

// The same for commands that no group holds, with their descendants, even if some ignore SIGTERM;
// processes that had left a command's tree before are not searched.
void end_commands(const std::vector<sys::ProcessIdentity>& commands, Nanos grace);

// Removes a group with the groups below it; waits a second for the last process to leave. False: it
// did not exist.
Result<bool> remove_group(const fs::path& group);

}  // namespace corral::collocate
