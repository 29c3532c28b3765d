// W&B's offline directories as runs: each run-ID.wandb is a part of the run of that entity, project
// and id, which has several where it was resumed.
#pragma once

#include "imports/imported_run.h"
#include "imports/source.h"
#include "sys/file.h"

namespace corral::imports {

// Imports one such file, or all below a directory. kNotFound: there is none.
Result<> import_wandb(const sys::fs::path& path, const ImportOptions& options, Importer& importer);

}  // namespace corral::imports
