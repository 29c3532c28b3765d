// The host's page cache before a start: dropped (cold) or filled with a run's data (warm). Both
// affect the whole machine; neither needs an undo.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/result.h"
#include "sys/file.h"

namespace corral::collocate {

namespace fs = std::filesystem;

// Writes dirty pages out, then drops clean ones, with directory entries. kPermission without
// CAP_SYS_ADMIN.
Result<> drop_page_cache(const fs::path& root);
[[nodiscard]] bool may_drop_page_cache(const fs::path& root);

struct Warmed {
  std::uint64_t bytes = 0;
  bool whole = true;  // false: stopped, because memory was short or it was cancelled
};
// Reads all files at and below the paths through, at most half of the memory that is available;
// `cancelled` is polled every few MiB and may be empty. Unreadable files are skipped.
Warmed warm_page_cache(const std::vector<fs::path>& paths, const fs::path& root,
                       const std::function<bool()>& cancelled);

}  // namespace corral::collocate
