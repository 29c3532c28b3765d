#include "store/maintain/collect.h"

#include <fmt/core.h>

#include <array>
#include <map>

#include "store/engine/schema.h"
#include "store/maintain/tables.h"
#include "store/remove/remove.h"
#include "sys/clock.h"

namespace corral::store::maintain {
namespace {

struct Orphans {
  const char* table;
  std::string where;
};

// Children come first, so that no row is deleted that others refer to.
std::vector<Orphans> orphans() {
  std::vector<Orphans> all;
  // The blocks and the pyramid of a series without an owner are deleted with it.
  const std::string lost = fmt::format("(SELECT id FROM series WHERE {})", kLostSeries);
  for (const char* table : {"pyramid", "blocks", "session_series"})
    all.push_back({table, "series IN " + lost});
  all.push_back({"series", "id IN " + lost});
  const auto known = references();
  for (auto reference = known.rbegin(); reference != known.rend(); ++reference)
    all.push_back({reference->table.data(), orphan_condition(*reference)});
  all.push_back({"block_times", "id NOT IN (SELECT times FROM blocks)"});
  all.push_back({"row_groups",
                 "NOT EXISTS (SELECT 1 FROM slices s WHERE s.session = row_groups.session AND "
                 "s.slice = row_groups.slice) AND NOT EXISTS (SELECT 1 FROM session_series m WHERE "
                 "m.session = row_groups.session AND m.slice = row_groups.slice)"});
  all.push_back(
      {"pyramid",
       "NOT EXISTS (SELECT 1 FROM series s WHERE s.id = pyramid.series AND s.blocks > 0)"});
  return all;
}

// Deletes the rows that removed runs have left (remove/remove.h).
Result<> clean(sql::Connection& db, const Watch& watch) {
  for (bool more = true; more;) {
    TRY(watch.at("removed runs", 0, 0));
    const auto some = [&]() -> Result<> {
      more = TRY(sql::clean_removed(db, sys::boot_now() + std::chrono::seconds(1)));
      return {};
    };
    TRY(sql::transact(db, some));
  }
  return {};
}

Result<> give_back(sql::Connection& db, const Watch& watch) {
  TRY(watch.at("giving space back", 0, 0));
  if (db.dialect().vacuum.empty()) return db.give_back_space();
  std::int64_t done = 0;
  for (const Table& table : tables()) {
    TRY(watch.at("giving space back", done++, static_cast<std::int64_t>(tables().size())));
    TRY(db.script(fmt::format("{}{}", db.dialect().vacuum, table.name)));
  }
  return {};
}

}  // namespace

Result<GarbageReport> collect_garbage(sql::Connection& db, const Watch& watch) {
  TRY(sql::schema_version(db));
  GarbageReport report;
  report.bytes_before = TRY(db.bytes());
  TRY(clean(db, watch));
  const auto all = orphans();
  std::map<std::string, std::int64_t> removed;
  // A row that one pass removes may have been the last that referred to another.
  for (bool again = true; again;) {
    again = false;
    std::int64_t done = 0;
    for (const Orphans& one : all) {
      TRY(watch.at("orphans", done++, static_cast<std::int64_t>(all.size())));
      const auto rows =
          TRY(db.number(fmt::format("SELECT count(*) FROM {} WHERE {}", one.table, one.where)));
      if (rows.value_or(0) == 0) continue;
      TRY(db.exec(fmt::format("DELETE FROM {} WHERE {}", one.table, one.where)));
      removed[one.table] += *rows;
      again = true;
    }
  }
  report.removed.assign(removed.begin(), removed.end());
  TRY(give_back(db, watch));
  report.bytes_after = TRY(db.bytes());
  return report;
}

}  // namespace corral::store::maintain
