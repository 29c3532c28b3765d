// The kinds of sources that `corral import` recognizes at a path.
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
  std::string name;        // empty: the source's name of the run
  std::string experiment;  // empty: the source's, else "default"
};

// Recognizes a directory by what is in it and a file by how it begins, a CSV file by its name.
// Nothing: it is none of these; kInvalidArgument: a directory holds two kinds.
Result<std::optional<SourceKind>> find_source(const sys::fs::path& path);

}  // namespace corral::imports
