#include "store/open/raw_store.h"

#include "store/engine/postgres/database.h"
#include "store/engine/schema.h"
#include "store/engine/sqlite/database.h"

namespace corral::store {

RawStore::RawStore(std::unique_ptr<sql::Connection> db) : db_(std::move(db)) {}
RawStore::RawStore(RawStore&&) noexcept = default;
RawStore& RawStore::operator=(RawStore&&) noexcept = default;
RawStore::~RawStore() = default;

void RawStore::stop_when(const std::function<bool()>& stop) const { db_->stop_when(stop); }

Result<int> RawStore::schema() const { return sql::schema_version(*db_); }

int newest_schema() { return sql::newest_schema(); }

Result<RawStore> open_raw_sqlite(const std::filesystem::path& file, RawMode mode) {
  return RawStore(TRY(sqlite::open_database(
      file, mode == RawMode::kWrite ? sqlite::Mode::kReadWrite : sqlite::Mode::kReadOnly)));
}

Result<RawStore> open_raw_postgres(const std::string& url, RawMode mode) {
  return RawStore(TRY(postgres::open_database(
      url, mode == RawMode::kWrite ? postgres::Mode::kReadWrite : postgres::Mode::kReadOnly)));
}

}  // namespace corral::store
