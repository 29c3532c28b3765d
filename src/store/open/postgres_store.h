// The store on a PostgreSQL server: any number of `corral serve` nodes share one database.
//
// Each node has one writing connection (ingest/writer.h) and a pool for reading. A lost connection
// is reopened with growing pauses. Meanwhile append() returns kUnavailable, and no data is lost
// because its caller retries. Acknowledged means committed with synchronous_commit on.
#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "store/open/raw_store.h"
#include "store/store.h"

namespace corral::store {

struct PostgresOptions {
  std::string url;         // postgresql://...; postgres/database.h
  std::string read_url{};  // points are read here: a replica, which may lag; empty: the same
  std::size_t readers = 8;
  bool relaxed = false;  // acknowledges before it is on the database's disk
};

// The first opening makes the tables. Errors as in postgres/database.h; kUnsupported also for a
// newer schema and for a schema with another program's tables.
Result<std::unique_ptr<Store>> open_postgres_store(const PostgresOptions& options);

// kAlreadyExists when another program of Corral's is connected to the database as this role; says
// which process of the database's it is.
Result<> refuse_when_in_use(const RawStore& store);

}  // namespace corral::store
