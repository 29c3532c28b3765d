#include "store/maintain/stats.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "codec/block/column.h"
#include "store/engine/schema.h"
#include "store/engine/stored.h"
#include "store/maintain/tables.h"
#include "store/model/statistics.h"

namespace corral::store::maintain {
namespace {

using sql::Connection;
using sql::Statement;

Result<> read_tables(Connection& db, StoreStats& stats, const Watch& watch) {
  std::int64_t done = 0;
  for (const Table& table : tables()) {
    TRY(watch.at("tables", done++, static_cast<std::int64_t>(tables().size())));
    const Column last = parse_columns(table).back();
    // A blob's length is read without its pages.
    const bool measured = last.type == sql::Type::kBlob;
    const std::string bytes =
        measured ? fmt::format("coalesce(sum(length({})), 0)", last.name) : "0";
    Statement row = TRY(
        db.query(fmt::format("SELECT count(*), CAST({} AS BIGINT) FROM {}", bytes, table.name)));
    if (!TRY(row.step())) continue;
    stats.tables.push_back({.name = std::string(table.name), .rows = row.integer(0)});
    if (measured) stats.tables.back().bytes = row.integer(1);
  }
  return {};
}

const TableSize& find_table(const StoreStats& stats, std::string_view table) {
  return *std::ranges::find(stats.tables, table, &TableSize::name);
}

std::int64_t table_bytes(const StoreStats& stats, std::string_view table) {
  return find_table(stats, table).bytes.value_or(0);
}

// Points of everything above batch rows.
Result<std::int64_t> points_in_slices(Connection& db, const Watch& watch) {
  std::int64_t points = 0, done = 0;
  Statement row = TRY(db.query("SELECT statistics FROM slices"));
  while (TRY(row.step())) {
    TRY(watch.at("statistics", done++, 0));
    const auto statistics = decode_statistics(row.blob(0));
    if (!statistics) continue;
    for (const auto& [series, one] : *statistics) points += one.points;
  }
  return points;
}

Result<std::int64_t> points_in_batches(Connection& db, const Watch& watch) {
  const auto rows = TRY(db.numbers("SELECT id FROM batches ORDER BY id"));
  std::int64_t points = 0, done = 0;
  for (const std::int64_t id : rows) {
    TRY(watch.at("batch rows", done++, static_cast<std::int64_t>(rows.size())));
    Statement row = TRY(db.query("SELECT frame FROM batches WHERE id = ?1", id));
    if (!TRY(row.step())) continue;
    if (const auto samples = sql::decode_batch(row.blob(0))) points += sql::count_points(*samples);
  }
  return points;
}

Result<> read_levels(Connection& db, StoreStats& stats, const Watch& watch) {
  const std::int64_t batches = TRY(points_in_batches(db, watch));
  const std::int64_t sealed = TRY(points_in_slices(db, watch));
  const std::int64_t blocks =
      find_table(stats, "blocks").rows * static_cast<std::int64_t>(codec::kColumnEntries);
  stats.points = batches + sealed;
  stats.levels = {{.name = "batch rows", .points = batches, .bytes = table_bytes(stats, "batches")},
                  {.name = "row groups",
                   .points = std::max<std::int64_t>(sealed - blocks, 0),
                   .bytes = table_bytes(stats, "row_groups")},
                  {.name = "blocks",
                   .points = blocks,
                   .bytes = table_bytes(stats, "blocks") + table_bytes(stats, "block_times")},
                  {.name = "pyramid", .points = 0, .bytes = table_bytes(stats, "pyramid")}};
  return {};
}

Result<> add_bytes(Connection& db, const char* sql, std::map<std::int64_t, std::int64_t>& runs) {
  Statement row = TRY(db.query(sql));
  while (TRY(row.step())) runs[row.integer(0)] += row.integer(1);
  return {};
}

Result<> read_biggest(Connection& db, StoreStats& stats, std::size_t most, const Watch& watch) {
  constexpr const char* kSizes[] = {
      "SELECT s.run, CAST(sum(length(t.data)) AS BIGINT) FROM block_times t JOIN sessions s ON "
      "s.key = t.session GROUP BY s.run",
      "SELECT s.run, CAST(sum(length(b.data)) AS BIGINT) FROM blocks b JOIN sessions s ON s.key = "
      "b.session GROUP BY s.run",
      "SELECT s.run, CAST(sum(length(g.data)) AS BIGINT) FROM row_groups g JOIN sessions s ON "
      "s.key = g.session GROUP BY s.run",
      "SELECT s.run, CAST(sum(length(b.frame)) AS BIGINT) FROM batches b JOIN sessions s ON s.key "
      "= b.session GROUP BY s.run",
      "SELECT r.key, CAST(sum(length(p.data)) AS BIGINT) FROM pyramid p JOIN series s ON s.id = "
      "p.series JOIN runs r ON r.key = CASE s.owner_kind WHEN 0 THEN s.owner WHEN 1 THEN (SELECT "
      "min(w.key) FROM runs w WHERE w.workload = s.owner) ELSE (SELECT min(w.key) FROM runs w "
      "WHERE w.machine = s.owner) END GROUP BY r.key",
      "SELECT run, CAST(sum(length(bytes)) AS BIGINT) FROM logs GROUP BY run"};
  std::map<std::int64_t, std::int64_t> runs;
  std::int64_t done = 0;
  for (const char* sql : kSizes) {
    TRY(watch.at("runs", done++, std::size(kSizes)));
    TRY(add_bytes(db, sql, runs));
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> order;  // bytes, key
  order.reserve(runs.size());
  for (const auto& [key, bytes] : runs) order.emplace_back(bytes, key);
  std::ranges::sort(order, std::greater());
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i) {
    Statement row = TRY(db.query("SELECT id, name FROM runs WHERE key = ?1", order[i].second));
    if (!TRY(row.step())) continue;
    stats.biggest.push_back(
        {.id = row.id128<RunId>(0), .name = row.text(1), .bytes = order[i].first});
  }
  return {};
}

}  // namespace

Result<StoreStats> store_stats(Connection& db, std::size_t biggest, const Watch& watch) {
  Snapshot snapshot(db);
  TRY(snapshot.next_unit());
  StoreStats stats;
  stats.schema = TRY(sql::schema_version(db));
  stats.bytes = TRY(db.bytes());
  TRY(read_tables(db, stats, watch));
  TRY(read_levels(db, stats, watch));
  TRY(read_biggest(db, stats, biggest, watch));
  stats.runs = find_table(stats, "runs").rows;
  stats.experiments = find_table(stats, "experiments").rows;
  stats.series = find_table(stats, "series").rows;
  stats.sessions = find_table(stats, "sessions").rows;
  Statement row = TRY(db.query("SELECT name, started FROM runs ORDER BY started LIMIT 1"));
  if (TRY(row.step())) {
    stats.oldest_run = row.text(0);
    stats.oldest_start = row.utc(1);
  }
  return stats;
}

}  // namespace corral::store::maintain
