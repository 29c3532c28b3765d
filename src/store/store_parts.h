// StoreParts: the connections and settings that make a Store. Used by open/.
#pragma once

#include <memory>
#include <string>

#include "store/engine/readers.h"
#include "store/ingest/writer.h"
#include "store/seal/sealer.h"

namespace corral::store {

struct StoreParts {
  std::string location;                     // for people; no password
  std::unique_ptr<sql::Connection> writer;  // migrated
  sql::OpenConnection open_reader;
  // Connections to the database that points are read from, if it is another one (a replica, which
  // may lag behind).
  sql::OpenConnection open_chart_reader;
  std::size_t readers = 16;  // at once, of each kind; more wait
  sql::Repair repair;        // may be empty
  sql::Intact intact{};      // empty: it always is
};

}  // namespace corral::store
