#include "store/seal/levels.h"

#include "core/failpoint.h"
#include "store/engine/stored.h"

namespace corral::store::sql {
namespace {

Blob blob_of(const std::string& bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

tl::unexpected<Error> moved_on() {
  return fail(Code::kConflict, "what was to be sealed has changed meanwhile");
}

Result<> delete_rows(Connection& db, std::string_view sql, const std::vector<std::int64_t>& rows) {
  Statement remove = TRY(db.query(sql));
  for (const std::int64_t id : rows) {
    remove.bind_all(id);
    if (!TRY(remove.step())) return moved_on();
    remove.reset();
  }
  return {};
}

// A row that the plan does not know among them, stored meanwhile with a lower number, is a
// conflict.
Result<> delete_batches(Connection& db, const SealPlan& plan) {
  if (plan.batches.empty()) return {};
  std::size_t deleted = 0;
  Statement row = TRY(
      db.query("DELETE FROM batches WHERE session = ?1 AND damaged = 0 AND id BETWEEN ?2 AND ?3 "
               "RETURNING id",
               plan.session, plan.batches.front(), plan.batches.back()));
  while (TRY(row.step())) ++deleted;
  return deleted == plan.batches.size() ? Result<>() : moved_on();
}

Result<> write_row_group(Connection& db, std::int64_t session, const NewRowGroup& group) {
  if (group.id) {
    return db.defer(
        "INSERT INTO row_groups (id, session, slice, state, t0, t1, points, data) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        *group.id, session, group.slice, group.state, group.t0, group.t1, group.points,
        blob_of(group.data));
  }
  return db.defer(
      "INSERT INTO row_groups (session, slice, state, t0, t1, points, data) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
      session, group.slice, group.state, group.t0, group.t1, group.points, blob_of(group.data));
}

Result<> write_slices(Connection& db, const SealPlan& plan) {
  for (const auto& [series, slice] : plan.dealt) {
    TRY(db.defer("UPDATE session_series SET slice = ?3 WHERE session = ?1 AND series = ?2",
                 plan.session, series, slice));
  }
  for (const auto& [slice, statistics] : plan.statistics) {
    TRY(
        db.defer("INSERT INTO slices (session, slice, statistics) VALUES (?1, ?2, ?3) "
                 "ON CONFLICT (session, slice) DO UPDATE SET statistics = excluded.statistics",
                 plan.session, slice, blob_of(encode_statistics(statistics))));
  }
  for (const NewRowGroup& group : plan.new_groups) TRY(write_row_group(db, plan.session, group));
  return {};
}

Result<> write_blocks(Connection& db, const SealPlan& plan) {
  for (const auto& [series, counts] : plan.block_counts) {
    const auto changed =
        TRY(db.number("UPDATE series SET blocks = ?3 WHERE id = ?1 AND blocks = ?2 RETURNING id",
                      series, counts.first, counts.second));
    if (!changed) return moved_on();
  }
  std::vector<std::int64_t> times;
  for (const std::string& data : plan.times) {
    const auto id =
        TRY(db.number("INSERT INTO block_times (session, data) VALUES (?1, ?2) RETURNING id",
                      plan.session, blob_of(data)));
    times.push_back(id.value_or(0));
  }
  for (const NewBlock& block : plan.blocks) {
    TRY(db.defer(
        "INSERT INTO blocks (series, no, session, times, data) VALUES (?1, ?2, ?3, ?4, ?5)",
        block.series, block.no, plan.session, times.at(block.times), blob_of(block.data)));
  }
  for (const NewPyramidRow& row : plan.pyramid) {
    TRY(db.defer(
        "INSERT INTO pyramid (series, channel, tier, no, data) VALUES (?1, ?2, ?3, ?4, ?5) "
        "ON CONFLICT (series, channel, tier, no) DO UPDATE SET data = excluded.data",
        row.series, row.channel, row.tier, row.no, blob_of(row.data)));
  }
  return {};
}

}  // namespace

Result<codec::PyramidRow> read_pyramid_row(Connection& db, const PyramidKey& key) {
  Statement row =
      TRY(db.query("SELECT data FROM pyramid WHERE series = ?1 AND channel = ?2 AND tier = ?3 AND "
                   "no = ?4",
                   key.series, key.channel, key.tier, key.no));
  if (!TRY(row.step())) return fail(Code::kNotFound, "no such pyramid row");
  return stored(codec::decode_pyramid_row(row.blob(0)));
}

Result<> write_plan(Connection& db, const SealPlan& plan) {
  for (const std::int64_t id : plan.damaged_batches)
    TRY(db.defer("UPDATE batches SET damaged = 1 WHERE id = ?1", id));
  TRY(delete_batches(db, plan));
  TRY(delete_rows(db, "DELETE FROM row_groups WHERE id = ?1 RETURNING id", plan.row_groups));
  failpoint::reach("seal.deleted");
  for (const std::int64_t id : plan.damaged_row_groups)
    TRY(db.defer("UPDATE row_groups SET state = ?2 WHERE id = ?1", id, RowGroupState::kSetAside));
  TRY(write_slices(db, plan));
  failpoint::reach("seal.slices");
  return write_blocks(db, plan);
}

}  // namespace corral::store::sql
