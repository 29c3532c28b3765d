#include "store/open/postgres_store.h"

#include <fmt/core.h>

#include "store/engine/postgres/database.h"
#include "store/engine/schema.h"
#include "store/machinery.h"
#include "store/maintain/repair.h"
#include "sys/clock.h"

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

namespace {

// A connection is listed for a moment after its client has closed it.
constexpr Nanos kLeaving{std::chrono::seconds(2)};
constexpr Nanos kLook{std::chrono::milliseconds(50)};

// The place of another program that has the database open.
Result<std::optional<std::string>> program_in(sql::Connection& database) {
  return sql::read_first(
      database.query(
          "SELECT pid, coalesce(host(client_addr), 'this host') FROM pg_stat_activity WHERE "
          "application_name = 'corral' AND datname = current_database() AND usename = current_user "
          "AND pid <> pg_backend_pid() ORDER BY pid LIMIT 1"),
      [](const sql::Statement& row) {
        return fmt::format("{} (pid {} in pg_stat_activity)", row.text(1), row.integer(0));
      });
}

}  // namespace

Result<> refuse_when_in_use(const RawStore& store) {
  sql::Connection& database = store;
  const BootTime until = sys::boot_now() + kLeaving;
  for (;;) {
    const auto other = TRY(program_in(database));
    if (!other) return {};
    if (sys::boot_now() >= until) {
      return fail(Code::kAlreadyExists, fmt::format("{} is in use by a program of Corral's at {}: "
                                                    "end its corral serve first",
                                                    database.name(), *other));
    }
    sys::system_clock().sleep_until(sys::boot_now() + kLook);
  }
}

}  // namespace corral::store
