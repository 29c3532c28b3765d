#include "store/maintain/copy.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "codec/crc32c.h"
#include "core/failpoint.h"
#include "store/engine/schema.h"
#include "store/maintain/key_counters.h"
#include "store/maintain/rows.h"

namespace corral::store::maintain {
namespace {

using sql::Connection;
using sql::Statement;

constexpr const char* kMark = "SELECT value FROM meta WHERE key = 'copying'";

// A digest of everything that a write changes: counts, last keys, sequence numbers, blocks.
Result<std::int64_t> fingerprint(Connection& db, const Watch& watch) {
  std::string all;
  for (const Table& table : tables()) {
    TRY(watch.at("looking", 0, 0));
    const auto rows = TRY(db.number(fmt::format("SELECT count(*) FROM {}", table.name)));
    all += fmt::format("{}:{};", table.name, rows.value_or(0));
    append_row(all, TRY(last_key(db, table)));
  }
  for (const char* sum :
       {"SELECT CAST(sum(durable_seq) AS BIGINT) FROM sessions",
        "SELECT CAST(sum(blocks) AS BIGINT) FROM series", "SELECT max(newest) FROM runs"})
    all += fmt::format("{};", TRY(db.number(sum)).value_or(0));
  const std::uint32_t low = codec::crc32c(all.data(), all.size());
  return static_cast<std::int64_t>(low) + (static_cast<std::int64_t>(all.size()) << 32);
}

class Copy {
 public:
  Copy(Connection& from, Connection& to, const Watch& watch)
      : from_(from), to_(to), watch_(watch) {}

  Result<CopyReport> run() {
    const int version = TRY(sql::schema_version(from_));
    if (version != sql::newest_schema())
      return fail(Code::kUnsupported,
                  fmt::format("{} has schema {}, this program copies schema {}: open it once with "
                              "corral serve, which brings it there",
                              from_.name(), version, sql::newest_schema()));
    const std::int64_t print = TRY(fingerprint(from_, watch_));
    TRY(prepare(print));
    for (const Table& table : tables()) TRY(copy(table));
    for (const Table& table : tables()) TRY(verify(table));
    for (const Table& table : tables()) {
      if (table.identity) TRY(skip_used_keys(from_, to_, table));
    }
    TRY(to_.exec("DELETE FROM meta WHERE key = 'copying'"));
    return std::move(report_);
  }

 private:
  Result<> prepare(std::int64_t print);
  Result<> clear();
  Result<> copy(const Table& table);
  Result<> insert(const Table& table, const std::vector<Row>& rows);
  Result<> verify(const Table& table);

  Connection& from_;
  Connection& to_;
  const Watch& watch_;
  CopyReport report_;
};

Result<std::optional<std::int64_t>> mark_of(Connection& db) {
  if (!TRY(db.has_table("meta"))) return std::nullopt;
  return db.number(kMark);
}

Result<> refuse_data(Connection& db) {
  for (const Table& table : tables()) {
    // Every store begins with experiment 0.
    const std::string_view own = table.name == "experiments" ? " WHERE id <> 0" : "";
    if (TRY(db.number(fmt::format("SELECT 1 FROM {}{} LIMIT 1", table.name, own)))) {
      return fail(Code::kAlreadyExists,
                  db.name() + " holds data already: a copy goes into an empty store, name another");
    }
  }
  return {};
}

Result<> Copy::prepare(std::int64_t print) {
  const auto mark = TRY(mark_of(to_));
  if (!mark) {
    TRY(sql::migrate(to_));
    TRY(refuse_data(to_));
    TRY(to_.exec("INSERT INTO meta (key, value) VALUES ('copying', 0)"));
  } else {
    report_.continued = *mark == print;
    if (report_.continued) return {};
    TRY(to_.exec("UPDATE meta SET value = 0 WHERE key = 'copying'"));
  }
  TRY(clear());
  return to_.exec("UPDATE meta SET value = ?1 WHERE key = 'copying'", print);
}

Result<> Copy::clear() {
  const auto all = tables();
  for (auto table = all.rbegin(); table != all.rend(); ++table) {
    TRY(watch_.at("clearing", 0, 0));
    TRY(to_.exec(fmt::format("DELETE FROM {}", table->name)));
  }
  return {};
}

Result<> Copy::insert(const Table& table, const std::vector<Row>& rows) {
  const auto columns = columns_of(table);
  const std::string sql =
      fmt::format("INSERT INTO {} ({}) VALUES ({})", table.name, names_of(columns, columns.size()),
                  parameters(columns.size()));
  for (const Row& row : rows) {
    Statement statement = TRY(to_.query(sql));
    for (std::size_t i = 0; i < columns.size(); ++i) {
      bind_value(statement, static_cast<int>(i + 1), columns[i].type, row[i]);
      report_.bytes += static_cast<std::int64_t>(row[i].bytes.size() + 8);
    }
    TRY(statement.defer());
  }
  report_.rows += static_cast<std::int64_t>(rows.size());
  return to_.flush();
}

Result<> Copy::copy(const Table& table) {
  constexpr std::size_t kPages = 8;  // per transaction
  const auto total =
      TRY(from_.number(fmt::format("SELECT count(*) FROM {}", table.name))).value_or(0);
  auto done = TRY(to_.number(fmt::format("SELECT count(*) FROM {}", table.name))).value_or(0);
  RowReader reader(from_, table);
  reader.start_after(TRY(last_key(to_, table)));
  for (bool more = true; more;) {
    TRY(watch_.at(table.name, done, total));
    TRY(to_.script(std::string(to_.dialect().begin_write)));
    const auto group = [&]() -> Result<> {
      for (std::size_t page = 0; page < kPages && more; ++page) {
        const auto rows = TRY(reader.next());
        more = !rows.empty();
        done += static_cast<std::int64_t>(rows.size());
        TRY(insert(table, rows));
      }
      return to_.script("COMMIT");
    };
    Result<> written = group();
    if (!written && to_.in_transaction()) static_cast<void>(to_.script("ROLLBACK"));
    if (!written) return written;
    failpoint::reach("copy.committed");
  }
  return {};
}

Result<> Copy::verify(const Table& table) {
  auto source = TRY(sum_table(from_, table, watch_));
  const auto copied = TRY(sum_table(to_, table, watch_));
  if (source.rows == copied.rows && source.checksum == copied.checksum) {
    report_.tables.push_back(std::move(source));
    return {};
  }
  TRY(to_.exec("UPDATE meta SET value = 0 WHERE key = 'copying'"));
  return fail(Code::kCorruption,
              fmt::format("the copy of table {} differs: {} rows with checksum {:08x} in {}, {} "
                          "with {:08x} in {}; run it again, it starts anew",
                          table.name, source.rows, source.checksum, from_.name(), copied.rows,
                          copied.checksum, to_.name()));
}

}  // namespace

Result<CopiedTable> sum_table(Connection& db, const Table& table, const Watch& watch) {
  CopiedTable sum{.name = std::string(table.name), .rows = 0, .checksum = 0};
  RowReader reader(db, table);
  std::string bytes;
  for (;;) {
    TRY(watch.at("verifying " + sum.name, sum.rows, 0));
    const auto rows = TRY(reader.next());
    if (rows.empty()) return sum;
    for (const Row& row : rows) {
      bytes.clear();
      append_row(bytes, row);
      sum.checksum = codec::crc32c(bytes.data(), bytes.size(), sum.checksum);
    }
    sum.rows += static_cast<std::int64_t>(rows.size());
  }
}

Result<CopyReport> copy_store(Connection& from, Connection& to, const Watch& watch) {
  TRY(from.script(std::string(from.dialect().begin_read)));
  auto done = Copy(from, to, watch).run();
  if (from.in_transaction()) static_cast<void>(from.script("ROLLBACK"));
  return done;
}

}  // namespace corral::store::maintain
