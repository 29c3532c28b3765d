// The undo functions of each kind of change on a GPU; rows of undo.cpp's table.
#pragma once

#include <span>

#include "collocate/journal/undo_handler.h"

namespace corral::collocate::nvidia {

// "persistence", "mig-mode", "compute-mode", "clocks", "power", "mig-instance", "compute-instance",
// "mps".
std::span<const KindHandler> handlers();

}  // namespace corral::collocate::nvidia
