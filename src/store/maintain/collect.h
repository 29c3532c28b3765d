// collect_garbage: removes rows that nothing refers to any more, and gives the space back.
//
// Its own transactions, each small; the caller holds the store's lock. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "store/engine/database.h"
#include "store/maintain/watch.h"

namespace corral::store::maintain {

struct GarbageReport {
  std::vector<std::pair<std::string, std::int64_t>> removed;  // rows by table, those with any
  std::int64_t bytes_before = 0, bytes_after = 0;
};

Result<GarbageReport> collect_garbage(sql::Connection& db, const Watch& watch);

}  // namespace corral::store::maintain
