// A database of MLflow's or radT's into the store, which nobody else has meanwhile.
#pragma once

#include <string>

namespace corral::cli {

struct DatabaseFlags {
  std::string from, store, artifacts, artifacts_from;
  bool copy_artifacts = false;
};

// Prints what was imported, or the error. Returns the exit status.
int import_database(const DatabaseFlags& flags);

}  // namespace corral::cli
