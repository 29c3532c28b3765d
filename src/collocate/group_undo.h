// Group undo: undoes the changes of run_group.h: kinds "cgroup" (directories joined by ':') and
// "subtree-control" (controllers enabled in a group of others). For the table of undo.cpp.
#pragma once

#include <string>

#include "collocate/undo.h"

namespace corral::collocate {

// Ends the remaining processes of the group (freeze, SIGTERM, SIGKILL) and removes it.
Result<bool> put_back_group(const Standing& entry, const UndoOptions& options);
// Returns the run's processes in the group.
std::string users_of_group(const Standing& entry, const UndoOptions& options);
Result<bool> put_back_controllers(const Standing& entry, const UndoOptions& options);

}  // namespace corral::collocate
