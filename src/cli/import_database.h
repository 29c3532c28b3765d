// A database of MLflow's or radT's into the store, which nobody else has meanwhile.
#pragma once

#include <string>

namespace corral::cli {

struct DatabaseFlags {
  std::string from, store, artifacts, artifacts_from;
  bool copy_artifacts = false;
};

// Returns the directory of MLflow's file store (`mlruns`) that `from` is or holds; empty: none.
std::string find_file_store(const std::string& from);
// The commands that import it: MLflow reads its own files best.
std::string file_store_advice(const std::string& store);

// Prints what was imported, or the error. Returns the exit status.
int import_database(const DatabaseFlags& flags);

}  // namespace corral::cli
