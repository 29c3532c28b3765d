// The Store over any Connection: writes go through one thread (writer.h), reads through a small
// pool of connections (readers.h), each call in a snapshot of its own.
#pragma once

#include <memory>
#include <string>

#include "store/engine/readers.h"
#include "store/seal/sealer.h"
#include "store/store.h"

namespace corral::store::sql {

struct StoreParts {
  std::string location;                // for people; no password
  std::unique_ptr<Connection> writer;  // migrated
  OpenConnection open_reader;
  // Where points are read from, when that is another place (a replica, which may lag behind).
  OpenConnection open_chart_reader;
  std::size_t readers = 16;  // at once, of each kind; more wait
  Repair repair;             // may be empty
  Intact intact{};           // empty: it always is
};

std::unique_ptr<Store> make_store(StoreParts parts);

}  // namespace corral::store::sql
