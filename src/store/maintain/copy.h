// copy_store: copies a whole store into an empty one, between any two engines: for backup, load and
// migrate.
//
// Tables are copied in the order of their keys, a few MiB per transaction, from one snapshot. Then
// both sides are read again and compared by count and checksum. Until that is done the destination
// carries a mark. No program opens a marked database as a store (engine/schema.cpp), and a copy
// that was killed continues by the mark: the destination holds a prefix of each table. A source
// that has changed since is copied from the start. Keys that the source has ever used are not used
// again. One thread; the caller holds the destination's lock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/engine/database.h"
#include "store/maintain/watch.h"

namespace corral::store::maintain {

struct CopiedTable {
  std::string name;
  std::int64_t rows = 0;
  std::uint32_t checksum = 0;  // crc32c of the rows in the order of their keys, engine-neutral
};
struct CopyReport {
  std::vector<CopiedTable> tables;
  bool continued = false;
  std::int64_t rows = 0, bytes = 0;  // carried over by this call
};

// kAlreadyExists: the destination holds other data. kCorruption: the copies differ, or the source
// cannot be read. kUnavailable: stopped by `watch`.
Result<CopyReport> copy_store(sql::Connection& from, sql::Connection& to, const Watch& watch);

// Count and checksum of a table inside the caller's snapshot.
struct Table;
Result<CopiedTable> sum_table(sql::Connection& db, const Table& table, const Watch& watch);

}  // namespace corral::store::maintain
