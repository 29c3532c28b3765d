// store_stats: the contents and size of a store, by table, level and run.
//
// Reads only, in one snapshot; frames that wait in batch rows are decoded to count their points.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "store/engine/database.h"
#include "store/maintain/watch.h"

namespace corral::store::maintain {

struct TableSize {
  std::string name;
  std::int64_t rows = 0;
  // Bytes of the data itself (blobs), without the engine's own; nothing: not measured.
  std::optional<std::int64_t> bytes{};
};
struct LevelSize {
  std::string name;  // "batch rows", "row groups", "blocks", "pyramid"
  std::int64_t points = 0, bytes = 0;
};
struct RunSize {
  RunId id;
  std::string name;
  std::int64_t bytes = 0;  // points and output; a workload's series count for its first run
};
struct StoreStats {
  int schema = 0;
  std::int64_t bytes = 0;   // on disk, everything included
  std::int64_t points = 0;  // values of series
  std::int64_t runs = 0, experiments = 0, series = 0, sessions = 0;
  std::vector<TableSize> tables;
  std::vector<LevelSize> levels;
  std::vector<RunSize> biggest;
  std::optional<UtcTime> oldest_start;
  std::string oldest_run;
};

Result<StoreStats> store_stats(sql::Connection& db, std::size_t biggest, const Watch& watch);

}  // namespace corral::store::maintain
