// The files of control groups, of v1 and v2 alike: reading and writing them, who is in a group,
// ending those and removing it. Nothing here knows what a group is for.
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

// A group of ours is known by its name: "corral-<label>-<8 hex digits>".
inline constexpr std::string_view kGroupPrefix = "corral-";

// Returns true if the path exists and is the kernel's: a group, not a directory that looks like
// one.
bool in_kernel(const fs::path& path);
// One write, as the kernel wants it. Under a test's root, where no kernel fills a new directory,
// the file is made.
Result<> write_control(const fs::path& file, std::string_view text);
// The first line, without its end; empty when there is no such file.
std::string read_control(const fs::path& file);

// Processes in the group itself.
std::vector<pid_t> own_members(const fs::path& group);
// Those and the ones in the groups below it.
std::vector<pid_t> members(const fs::path& group);

// Ends whoever is in these directories of one group: all stopped at once where that can be done, so
// that nobody forks away, SIGTERM, after `grace` SIGKILL. kUnavailable when some are still there
// after that (uninterruptible sleep).
Result<> end_members(std::span<const fs::path> directories, Nanos grace);

// The same for commands that no group holds, with what they have started, whoever of them ignores
// SIGTERM; what had left a command's tree before is not looked for.
void end_commands(const std::vector<sys::ProcessIdentity>& commands, Nanos grace);

// Removes a group with those below it; waits a second for the last to leave. False: was not there.
Result<bool> remove_group(const fs::path& group);

}  // namespace corral::collocate
