#include "store/maintain/copy.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "codec/crc32c.h"
#include "core/failpoint.h"
#include "store/engine/keys.h"
#include "store/engine/schema.h"
#include "store/maintain/tables.h"

namespace corral::store::maintain {
namespace {

// ---- rows of any table, page by page in the order of their keys
struct Value {
  bool null = false;
  std::int64_t integer = 0;
  std::string bytes;  // text or blob
};
using Row = std::vector<Value>;

Value value_at(const sql::Statement& row, int column, sql::Type type) {
  Value value;
  value.null = row.is_null(column);
  if (value.null) return value;
  if (type == sql::Type::kInteger) {
    value.integer = row.integer(column);
  } else if (type == sql::Type::kReal) {
    value.integer = std::bit_cast<std::int64_t>(row.real(column));
  } else if (type == sql::Type::kText) {
    value.bytes = row.text(column);
  } else {
    const sql::Blob blob = row.blob(column);
    value.bytes.assign(blob.begin(), blob.end());
  }
  return value;
}

Row row_at(const sql::Statement& row, const std::vector<Column>& columns, std::size_t count) {
  Row values;
  values.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(value_at(row, static_cast<int>(i), columns[i].type));
  return values;
}

void append_number(std::string& out, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(number >> shift & 0xFF);
}

// "a, b, c" of the first `count` columns.
std::string column_names(const std::vector<Column>& columns, std::size_t count,
                         const std::string& suffix = "") {
  std::string names;
  for (std::size_t i = 0; i < count; ++i) names += (i == 0 ? "" : ", ") + columns[i].name + suffix;
  return names;
}

// Sets parameter `index` (from 1).
void bind_value(sql::Statement& statement, int index, sql::Type type, const Value& value) {
  if (type == sql::Type::kInteger) {
    statement.set(index, value.null ? std::nullopt : std::optional(value.integer));
  } else if (type == sql::Type::kReal) {
    statement.set(index,
                  value.null ? std::nullopt : std::optional(std::bit_cast<double>(value.integer)));
  } else if (type == sql::Type::kText) {
    statement.set(index, value.null ? std::nullopt : std::optional<std::string_view>(value.bytes));
  } else {
    statement.set(index, value.null ? std::nullopt : std::optional(sql::to_blob(value.bytes)));
  }
}

// Appends the row as bytes that are the same for every engine.
void append_row(std::string& out, const Row& row) {
  for (const Value& value : row) {
    out += value.null ? '\0' : '\1';
    append_number(out, static_cast<std::uint64_t>(value.integer));
    append_number(out, value.bytes.size());
    out += value.bytes;
  }
}

// Memory stays at one page, whatever the driver holds of a result.
class RowReader {
 public:
  RowReader(sql::Connection& db, const Table& table);
  // Goes on after the row with this key (values of the key's columns).
  void start_after(Row key) { key_ = std::move(key); }
  // The next page; empty at the end.
  Result<std::vector<Row>> next();

 private:
  sql::Connection& db_;
  const Table& table_;
  const std::vector<Column> columns_;
  std::string first_, later_;
  Row key_;
};

RowReader::RowReader(sql::Connection& db, const Table& table)
    : db_(db), table_(table), columns_(parse_columns(table)) {
  const std::string keys = column_names(columns_, table.keys);
  const std::string select =
      fmt::format("SELECT {} FROM {}", column_names(columns_, columns_.size()), table.name);
  const std::string tail = fmt::format(" ORDER BY {} LIMIT {}", keys, table.page);
  first_ = select + tail;
  later_ =
      fmt::format("{} WHERE ({}) > {}{}", select, keys, sql::parameter_list(1, table.keys), tail);
}

Result<std::vector<Row>> RowReader::next() {
  sql::Statement row = TRY(db_.query(key_.empty() ? first_ : later_));
  for (std::size_t i = 0; i < key_.size(); ++i)
    bind_value(row, static_cast<int>(i + 1), columns_[i].type, key_[i]);
  std::vector<Row> rows;
  while (TRY(row.step())) rows.push_back(row_at(row, columns_, columns_.size()));
  if (!rows.empty()) {
    const auto end = rows.back().begin() + static_cast<std::ptrdiff_t>(table_.keys);
    key_.assign(rows.back().begin(), end);
  }
  return rows;
}

// Key of the last row; empty when there is none.
Result<Row> last_key(sql::Connection& db, const Table& table) {
  const auto columns = parse_columns(table);
  sql::Statement row = TRY(db.query(fmt::format("SELECT {} FROM {} ORDER BY {} LIMIT 1",
                                                column_names(columns, table.keys), table.name,
                                                column_names(columns, table.keys, " DESC"))));
  if (!TRY(row.step())) return Row();
  return row_at(row, columns, table.keys);
}

// ---- keys are never reused
// The destination gives no row a key that the source has ever used, also for a row that was
// deleted. Otherwise a removal that was pending during the copy, or a tombstone, would apply to the
// new row.

// The last keys of tables whose newest rows may have been deleted.
struct Trace {
  std::string_view table, sql;
};
constexpr std::array kTraces = {
    Trace{"runs", "SELECT max(key) FROM removed_runs"},
    Trace{"runs", "SELECT max(owner) FROM removals WHERE owner_kind = 0"},
    Trace{"runs", "SELECT max(run) FROM sessions"},
    Trace{"runs", "SELECT max(owner) FROM series WHERE owner_kind = 0"},
    Trace{"runs", "SELECT max(run) FROM facts"},
    Trace{"runs", "SELECT max(run) FROM phases"},
    Trace{"runs", "SELECT max(run) FROM events"},
    Trace{"runs", "SELECT max(run) FROM logs"},
    Trace{"runs", "SELECT max(run) FROM log_streams"},
    Trace{"workloads", "SELECT max(workload) FROM removed_runs"},
    Trace{"workloads", "SELECT max(workload) FROM removals"},
    Trace{"workloads", "SELECT max(owner) FROM removals WHERE owner_kind = 1"},
    Trace{"workloads", "SELECT max(workload) FROM sessions"},
    Trace{"workloads", "SELECT max(owner) FROM series WHERE owner_kind = 1"},
    Trace{"hosts", "SELECT max(owner) FROM removals WHERE owner_kind = 2"},
    Trace{"hosts", "SELECT max(machine) FROM sessions"},
    Trace{"hosts", "SELECT max(owner) FROM series WHERE owner_kind = 2"},
    Trace{"series", "SELECT max(series) FROM session_series"},
    Trace{"series", "SELECT max(series) FROM blocks"},
    Trace{"series", "SELECT max(series) FROM pyramid"},
    Trace{"block_times", "SELECT max(times) FROM blocks"},
};

std::string with_names(std::string_view sql, const Table& table, std::int64_t last) {
  return fmt::format(fmt::runtime(sql), table.name, parse_columns(table).front().name, last);
}

// New rows of the table, whose rows the engine numbers, get keys in `to` that are greater than
// every key that was given in `from`, or that a row of `to` has or refers to. After all tables were
// copied, outside a transaction.
Result<> skip_used_keys(sql::Connection& from, sql::Connection& to, const Table& table) {
  std::int64_t last = TRY(from.number(with_names(from.dialect().last_key, table, 0))).value_or(0);
  last =
      std::max(last, TRY(to.number(with_names("SELECT max({1}) FROM {0}", table, 0))).value_or(0));
  for (const Trace& trace : kTraces) {
    if (trace.table == table.name) last = std::max(last, TRY(to.number(trace.sql)).value_or(0));
  }
  if (last <= 0) return {};
  return to.script(with_names(to.dialect().skip_keys, table, last));
}

// ---- the copy
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

Result<std::optional<std::int64_t>> read_mark(Connection& db) {
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
  const auto mark = TRY(read_mark(to_));
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
  const auto columns = parse_columns(table);
  const std::string sql =
      fmt::format("INSERT INTO {} ({}) VALUES {}", table.name,
                  column_names(columns, columns.size()), sql::parameter_list(1, columns.size()));
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
    const auto group = [&]() -> Result<> {
      for (std::size_t page = 0; page < kPages && more; ++page) {
        const auto rows = TRY(reader.next());
        more = !rows.empty();
        done += static_cast<std::int64_t>(rows.size());
        TRY(insert(table, rows));
      }
      return {};
    };
    TRY(sql::transact(to_, group));
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
  from.roll_back();
  return done;
}

}  // namespace corral::store::maintain
