#include "store/seal/levels.h"

#include <deque>
#include <set>
#include <span>

#include "core/failpoint.h"
#include "metric/catalogue.h"
#include "store/engine/stored.h"
#include "store/seal/gather.h"

namespace corral::store::sql {
namespace {

// ---- writing a plan
tl::unexpected<Error> changed_meanwhile() {
  return fail(Code::kConflict, "what was to be sealed has changed meanwhile");
}

Result<> delete_rows(Connection& db, std::string_view sql, const std::vector<std::int64_t>& rows) {
  Statement remove = TRY(db.query(sql));
  for (const std::int64_t id : rows) {
    remove.bind_all(id);
    if (!TRY(remove.step())) return changed_meanwhile();
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
  return deleted == plan.batches.size() ? Result<>() : changed_meanwhile();
}

Result<> write_row_group(Connection& db, std::int64_t session, const NewRowGroup& group) {
  if (group.id) {
    return db.defer(
        "INSERT INTO row_groups (id, session, slice, state, t0, t1, points, data) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        *group.id, session, group.slice, group.state, group.t0, group.t1, group.points,
        to_blob(group.data));
  }
  return db.defer(
      "INSERT INTO row_groups (session, slice, state, t0, t1, points, data) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
      session, group.slice, group.state, group.t0, group.t1, group.points, to_blob(group.data));
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
                 plan.session, slice, to_blob(encode_statistics(statistics))));
  }
  for (const NewRowGroup& group : plan.new_groups) TRY(write_row_group(db, plan.session, group));
  return {};
}

Result<> write_blocks(Connection& db, const SealPlan& plan) {
  for (const auto& [series, counts] : plan.block_counts) {
    const auto changed =
        TRY(db.number("UPDATE series SET blocks = ?3 WHERE id = ?1 AND blocks = ?2 RETURNING id",
                      series, counts.first, counts.second));
    if (!changed) return changed_meanwhile();
  }
  std::vector<std::int64_t> times;
  for (const std::string& data : plan.times) {
    const auto id =
        TRY(db.number("INSERT INTO block_times (session, data) VALUES (?1, ?2) RETURNING id",
                      plan.session, to_blob(data)));
    times.push_back(id.value_or(0));
  }
  for (const NewBlock& block : plan.blocks) {
    TRY(db.defer(
        "INSERT INTO blocks (series, no, session, times, data) VALUES (?1, ?2, ?3, ?4, ?5)",
        block.series, block.no, plan.session, times.at(block.times), to_blob(block.data)));
  }
  for (const NewPyramidRow& row : plan.pyramid) {
    TRY(db.defer(
        "INSERT INTO pyramid (series, channel, tier, no, data) VALUES (?1, ?2, ?3, ?4, ?5) "
        "ON CONFLICT (series, channel, tier, no) DO UPDATE SET data = excluded.data",
        row.series, row.channel, row.tier, row.no, to_blob(row.data)));
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

namespace {

// ---- making a plan
// Limits of one plan: stored, and decoded. They bound a transaction's writes and a sealer's memory.
constexpr std::int64_t kSealBytes = 4 << 20;
constexpr std::int64_t kSealRows = 256;
constexpr std::size_t kSealDecoded = 32u << 20;
// Points of the longest series in the row groups of one plan.
constexpr std::int64_t kSealPoints = 4 * static_cast<std::int64_t>(codec::kColumnEntries);

struct SealedSession {
  ClockAnchor anchor;
  SeriesMap series;
  std::map<SeriesId, std::int64_t> slices;
  std::set<SeriesId> of_host;
};

Result<SealedSession> read_session(Connection& db, std::int64_t key) {
  SealedSession session;
  {
    Statement row =
        TRY(db.query("SELECT utc_minus_boot, clock_error FROM sessions WHERE key = ?1", key));
    if (!TRY(row.step())) return fail(Code::kNotFound, "no such session");
    session.anchor = {.utc_minus_boot = Nanos(row.integer(0)), .error = Nanos(row.integer(1))};
  }
  Statement row =
      TRY(db.query("SELECT m.local, m.series, m.slice, x.owner_kind FROM session_series m JOIN "
                   "series x ON x.id = m.series WHERE m.session = ?1",
                   key));
  while (TRY(row.step())) {
    session.series[static_cast<std::uint32_t>(row.integer(0))] = SeriesId{row.integer(1)};
    if (!row.is_null(2)) session.slices[SeriesId{row.integer(1)}] = row.integer(2);
    if (static_cast<metric::Owner>(row.integer(3)) == metric::Owner::kHost)
      session.of_host.insert(SeriesId{row.integer(1)});
  }
  return session;
}

struct BatchRows {
  std::vector<std::int64_t> rows, damaged;
  std::deque<std::vector<codec::SamplesBody>> samples;  // stable: Gather points into it
};

std::size_t decoded_bytes(const std::vector<codec::SamplesBody>& bodies) {
  std::size_t values = 0;
  for (const auto& body : bodies) {
    for (const auto& group : body.groups) {
      values += group.times.size() + group.steps.size();
      for (const auto& column : group.columns) values += column.values.size();
    }
  }
  return values * sizeof(double);
}

// The last of the oldest rows that one plan takes; nothing when there is none.
Result<std::optional<std::int64_t>> last_batch(Connection& db, std::int64_t session) {
  std::optional<std::int64_t> last;
  Statement row =
      TRY(db.query("SELECT id, length(frame) FROM batches WHERE session = ?1 AND damaged = 0 "
                   "ORDER BY id LIMIT ?2",
                   session, kSealRows));
  for (std::int64_t bytes = 0; bytes < kSealBytes && TRY(row.step()); bytes += row.integer(1))
    last = row.integer(0);
  return last;
}

Result<BatchRows> read_batches(Connection& db, std::int64_t session) {
  BatchRows batches;
  const auto last = TRY(last_batch(db, session));
  if (!last) return batches;
  Statement row =
      TRY(db.query("SELECT id, frame FROM batches WHERE session = ?1 AND damaged = 0 AND id <= ?2 "
                   "ORDER BY id",
                   session, *last));
  std::size_t decoded = 0;
  while (decoded < kSealDecoded && TRY(row.step())) {
    auto samples = decode_batch(row.blob(1));
    if (!samples) {
      batches.damaged.push_back(row.integer(0));
      continue;
    }
    decoded += decoded_bytes(*samples);
    batches.rows.push_back(row.integer(0));
    batches.samples.push_back(*std::move(samples));
  }
  return batches;
}

struct RowGroupSize {
  std::int64_t id = 0;
  RowGroupState state = RowGroupState::kOpen;
  std::int64_t points = 0;
};

Result<std::vector<RowGroupSize>> read_row_groups(Connection& db, const SliceKey& key) {
  return read_all(
      db.query("SELECT id, state, points FROM row_groups WHERE session = ?1 AND slice = "
               "?2 AND state < ?3 ORDER BY id",
               key.session, key.slice, RowGroupState::kSetAside),
      [](const Statement& row) {
        return RowGroupSize{.id = row.integer(0),
                            .state = static_cast<RowGroupState>(row.integer(1)),
                            .points = row.integer(2)};
      });
}

using Rows = std::span<const RowGroupSize>;

// The oldest rows that together have points enough for one plan.
Rows oldest(Rows groups) {
  std::int64_t points = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    points += groups[i].points;
    if (points >= kSealPoints) return groups.first(i + 1);
  }
  return groups;
}

// The longest run of neighbours that are all smaller.
Rows neighbours_below(Rows groups, std::int64_t size) {
  Rows best;
  for (std::size_t first = 0; first < groups.size();) {
    std::size_t last = first;
    while (last < groups.size() && groups[last].points < size) ++last;
    if (last - first > best.size()) best = groups.subspan(first, last - first);
    first = last + 1;
  }
  return best;
}

// The rows that are worth merging now, neighbours. Sixteen of like size become one, so that a point
// is written again a few times only, however small the first pieces are.
Rows choose(Rows groups, RowGroupState state) {
  constexpr std::size_t kMerge = 16;
  std::int64_t points = 0;
  for (const RowGroupSize& group : groups) points += group.points;
  // It may hold more points than a block and fill none: with and without steps, in several groups.
  const bool done = groups.size() == 1 && groups[0].state == RowGroupState::kSettled;
  if (state == RowGroupState::kSettled) return done ? Rows() : oldest(groups);
  if (points >= static_cast<std::int64_t>(codec::kColumnEntries)) return oldest(groups);
  for (std::int64_t size = 16; size <= static_cast<std::int64_t>(codec::kColumnEntries);
       size *= 16) {
    const Rows rows = neighbours_below(groups, size);
    if (rows.size() >= kMerge) return rows;
  }
  return {};
}

// Nothing: the series was removed with its run.
Result<std::optional<SeriesToSeal>> series_to_seal(Connection& db, SeriesId id) {
  SeriesToSeal series;
  {
    Statement row = TRY(db.query("SELECT blocks, kind FROM series WHERE id = ?1", id));
    if (!TRY(row.step())) return std::nullopt;
    series.blocks = row.integer(0);
    series.counter = row.integer(1) == static_cast<std::int64_t>(metric::Kind::kCounter);
  }
  if (series.blocks > 0) {
    series.last_session = TRY(db.number("SELECT session FROM blocks WHERE series = ?1 AND no = ?2",
                                        id, series.blocks - 1))
                              .value_or(0);
  }
  return series;
}

// Omits columns of series that were removed.
Result<> find_series(Connection& db, RowGroupsToSeal& work) {
  std::set<SeriesId> gone;
  for (const auto& group : work.groups) {
    for (const auto& column : group.columns) {
      if (work.series.contains(column.series) || gone.contains(column.series)) continue;
      if (const auto known = TRY(series_to_seal(db, column.series))) {
        work.series[column.series] = *known;
      } else {
        gone.insert(column.series);
      }
    }
  }
  if (gone.empty()) return {};
  for (auto& group : work.groups)
    std::erase_if(group.columns, [&](const auto& column) { return gone.contains(column.series); });
  std::erase_if(work.groups, [](const auto& group) { return group.columns.empty(); });
  return {};
}

}  // namespace

Result<std::optional<SealPlan>> plan_batches(Connection& db, std::int64_t session,
                                             RowGroupState state) {
  BatchRows batches = TRY(read_batches(db, session));
  if (batches.rows.empty() && batches.damaged.empty()) return std::nullopt;
  SealedSession known = TRY(read_session(db, session));
  Gather gather;
  for (const auto& bodies : batches.samples) {
    for (const auto& samples : bodies) gather.add(samples, known.series, known.anchor);
  }
  BatchesToSeal work{.session = session,
                     .rows = std::move(batches.rows),
                     .groups = gather.take(),
                     .slices = std::move(known.slices),
                     .of_host = std::move(known.of_host),
                     .statistics = {},
                     .state = state};
  Statement row = TRY(db.query("SELECT slice, statistics FROM slices WHERE session = ?1", session));
  while (TRY(row.step()))
    work.statistics.emplace(row.integer(0), TRY(stored(decode_statistics(row.blob(1)))));
  SealPlan plan = seal_batches(std::move(work));
  plan.damaged_batches = std::move(batches.damaged);
  return plan;
}

Result<std::optional<SealPlan>> plan_row_groups(Connection& db, const SliceKey& key,
                                                RowGroupState state) {
  const auto all = TRY(read_row_groups(db, key));
  const Rows lot = choose(all, state);
  if (lot.size() < all.size()) state = RowGroupState::kOpen;
  RowGroupsToSeal work{.session = key.session,
                       .slice = key.slice,
                       .rows = {},
                       .groups = {},
                       .series = {},
                       .state = state};
  std::vector<std::int64_t> damaged;
  std::deque<std::vector<codec::SamplingGroup>> decoded;
  Gather gather;
  for (const RowGroupSize& group : lot) {
    const std::int64_t id = group.id;
    Statement row = TRY(db.query("SELECT data FROM row_groups WHERE id = ?1", id));
    if (!TRY(row.step())) return fail(Code::kConflict, "a row group is gone");
    auto groups = codec::decode_row_group(row.blob(0));
    if (!groups) {
      damaged.push_back(id);
      continue;
    }
    work.rows.push_back(id);
    gather.add(decoded.emplace_back(*std::move(groups)));
  }
  if (work.rows.empty() && damaged.empty()) return std::nullopt;
  work.groups = gather.take();
  TRY(find_series(db, work));
  SealPlan plan = TRY(seal_row_groups(
      std::move(work), [&](SeriesId series, Channel channel, int tier, std::int64_t no) {
        return read_pyramid_row(db, {series, channel, tier, no});
      }));
  plan.damaged_row_groups = std::move(damaged);
  // One row group of enough points, of which no series can fill a block: it is good as it is.
  const bool idle = plan.blocks.empty() && plan.row_groups.size() == 1 &&
                    plan.damaged_row_groups.empty() && state == RowGroupState::kOpen;
  if (idle) return std::nullopt;
  return plan;
}

Result<LeftOver> find_left_over_rows(Connection& db, const SeenRows& seen) {
  LeftOver found;
  found.shared = db.dialect().shared;
  found.newest.batch = TRY(db.number("SELECT max(id) FROM batches")).value_or(0);
  found.newest.row_group = TRY(db.number("SELECT max(id) FROM row_groups")).value_or(0);
  const SeenRows upto = found.shared ? seen : found.newest;
  found.sessions = TRY(db.numbers(
      "SELECT session FROM batches WHERE damaged = 0 AND id <= ?1 UNION "
      "SELECT g.session FROM row_groups g JOIN sessions s ON s.key = g.session "
      "JOIN runs r ON r.key = s.run WHERE g.state = 0 AND g.id <= ?2 AND (r.status <> 0 OR ?3 = 0)",
      upto.batch, upto.row_group, found.shared));
  return found;
}

Result<std::vector<std::int64_t>> read_slices(Connection& db, std::int64_t session) {
  return db.numbers("SELECT slice FROM slices WHERE session = ?1 ORDER BY slice", session);
}

}  // namespace corral::store::sql
