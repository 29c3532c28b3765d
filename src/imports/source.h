// What `corral import` finds at a path, and the reader for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "imports/imported_run.h"
#include "sys/file.h"

namespace corral::imports {

enum class SourceKind : std::uint8_t { kTensorboard, kWandb, kAim, kCsv, kParquet };

struct ImportOptions {
  std::string name;        // of the run; empty: what the source calls it
  std::string experiment;  // empty: what the source calls it, else "default"
};

// Recognizes a directory by what is in it and a file by how it begins, a CSV file by its name.
// Nothing: it is none of these; kInvalidArgument: a directory holds two kinds.
Result<std::optional<SourceKind>> find_source(const sys::fs::path& path);

}  // namespace corral::imports
