#include "store/postgres/postgres_store.h"

#include "store/postgres/database.h"
#include "store/sql/schema.h"
#include "store/sql/sql_store.h"

namespace corral::store {
namespace {

sql::OpenConnection reader_of(const std::string& url) {
  return [url] { return postgres::open_database(url, postgres::Mode::kReadOnly); };
}

}  // namespace

Result<std::unique_ptr<Store>> open_postgres_store(const PostgresOptions& options) {
  auto writer = TRY(postgres::open_database(options.url, postgres::Mode::kReadWrite));
  TRY(sql::migrate(*writer));
  sql::StoreParts parts;
  parts.location = writer->name();
  parts.writer = std::move(writer);
  parts.open_reader = reader_of(options.url);
  if (!options.read_url.empty()) {
    // A wrong address shows now, not at the first chart.
    TRY(postgres::open_database(options.read_url, postgres::Mode::kReadOnly));
    parts.open_chart_reader = reader_of(options.read_url);
  }
  parts.readers = options.readers;
  return sql::make_store(std::move(parts));
}

}  // namespace corral::store
