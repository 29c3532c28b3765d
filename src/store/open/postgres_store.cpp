#include "store/open/postgres_store.h"

#include <fmt/core.h>

#include "store/engine/postgres/database.h"
#include "store/engine/schema.h"
#include "store/machinery.h"
#include "store/maintain/repair.h"

namespace corral::store {
namespace {

sql::OpenConnection reader_of(const std::string& url) {
  return [url] { return postgres::open_database(url, postgres::Mode::kReadOnly); };
}

}  // namespace

Result<std::unique_ptr<Store>> open_postgres_store(const PostgresOptions& options) {
  auto writer = TRY(postgres::open_database(
      options.url, options.relaxed ? postgres::Mode::kRelaxed : postgres::Mode::kReadWrite));
  TRY(sql::migrate(*writer));
  StoreParts parts;
  parts.location = writer->name();
  parts.writer = std::move(writer);
  parts.open_reader = reader_of(options.url);
  if (!options.read_url.empty()) {
    // A wrong address shows now, not at the first chart.
    TRY(postgres::open_database(options.read_url, postgres::Mode::kReadOnly));
    parts.open_chart_reader = reader_of(options.read_url);
  }
  parts.readers = options.readers;
  parts.repair = maintain::repair_session;
  return std::make_unique<Store>(std::move(parts));
}

Result<> refuse_when_in_use(const RawStore& store) {
  sql::Connection& database = store;
  auto other = TRY(database.query(
      "SELECT pid, coalesce(host(client_addr), 'this host') FROM pg_stat_activity WHERE "
      "application_name = 'corral' AND datname = current_database() AND usename = current_user AND "
      "pid <> pg_backend_pid() ORDER BY pid LIMIT 1"));
  if (!TRY(other.step())) return {};
  return fail(Code::kAlreadyExists,
              fmt::format("{} is in use by a program of Corral's at {} (pid {} in "
                          "pg_stat_activity): end its corral serve first",
                          database.name(), other.text(1), other.integer(0)));
}

}  // namespace corral::store
