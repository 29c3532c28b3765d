// RawStore: the tables of a store without its writer and sealer, for `corral store` (check, stats,
// copy, rebuild...). Functions of maintain/ take it.
//
// One thread at a time. To change a store, the caller holds its lock.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "core/result.h"

namespace corral::store {

namespace sql {
class Connection;
}

class RawStore {
 public:
  explicit RawStore(std::unique_ptr<sql::Connection> db);
  RawStore(RawStore&&) noexcept;
  RawStore& operator=(RawStore&&) noexcept;
  ~RawStore();

  // A statement that runs while `stop` gives true ends early with an error, where the engine can.
  void stop_when(const std::function<bool()>& stop) const;
  // The version of its tables; 0: there are none. Errors as of sql::schema_version().
  [[nodiscard]] Result<int> schema() const;
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator sql::Connection&() const { return *db_; }

 private:
  std::unique_ptr<sql::Connection> db_;
};

// The version of the tables that this program writes.
int newest_schema();

enum class RawMode { kRead, kWrite };
// Makes no tables. Errors as in engine/sqlite/database.h and engine/postgres/database.h.
Result<RawStore> open_raw_sqlite(const std::filesystem::path& file, RawMode mode);
Result<RawStore> open_raw_postgres(const std::string& url, RawMode mode);

}  // namespace corral::store
