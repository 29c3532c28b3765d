// Runs that other tools recorded (TensorBoard, W&B, Aim, CSV, Parquet), through the store's server.
#pragma once

#include <string>

#include "cli/destination.h"
#include "imports/source.h"

namespace corral::cli {

struct RunsFlags {
  DestinationFlags destination;
  std::string from;
  imports::ImportOptions options;
};

// Prints what was imported and what was left out, or the error. Returns the exit status.
int import_runs(imports::SourceKind kind, const RunsFlags& flags);

}  // namespace corral::cli
