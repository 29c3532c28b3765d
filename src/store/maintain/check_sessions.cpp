#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "codec/block/row_group.h"
#include "codec/frame.h"
#include "store/engine/stored.h"
#include "store/maintain/check_parts.h"
#include "store/seal/plan.h"

namespace corral::store::maintain {
namespace {

struct Batch {
  std::int64_t id = 0, first = 0, last = 0;
  bool set_aside = false;
};

class SessionCheck {
 public:
  SessionCheck(CheckWork& work, std::int64_t session)
      : work_(work), db_(work.db), session_(session) {}

  Result<> run() {
    TRY(read_series());
    TRY(check_batches());
    TRY(check_row_groups());
    return check_statistics();
  }

 private:
  struct OneSeries {
    std::int64_t slice = -1, blocks = 0, points = 0;  // points: in row groups
  };
  void found(const char* table, const std::string& what) {
    work_.findings.add_session(table, what, session_);
  }
  Result<> read_series();
  Result<> check_batches();
  Result<std::string> problem_of(const Batch& batch);
  Result<> check_row_groups();
  std::string problem_of(const sql::Statement& row);
  Result<> check_statistics();
  void check_slice(std::int64_t slice, const SliceStatistics& statistics);

  CheckWork& work_;
  sql::Connection& db_;
  const std::int64_t session_;
  SessionId id_;
  bool removed_ = false;  // the run was removed: some series are gone, others may exist
  std::set<std::uint32_t> locals_;
  std::map<SeriesId, OneSeries> series_;
  std::set<std::int64_t> damaged_slices_;
};

Result<> SessionCheck::read_series() {
  {
    sql::Statement row =
        TRY(db_.query("SELECT id, removed FROM sessions WHERE key = ?1", session_));
    if (TRY(row.step())) {
      id_ = row.id128<SessionId>(0);
      removed_ = row.integer(1) != 0;
    }
  }
  sql::Statement row = TRY(
      db_.query("SELECT m.local, m.series, m.slice, (SELECT count(*) FROM blocks b WHERE b.series "
                "= m.series AND b.session = m.session) FROM session_series m WHERE m.session = ?1",
                session_));
  while (TRY(row.step())) {
    locals_.insert(static_cast<std::uint32_t>(row.integer(0)));
    OneSeries& one = series_[SeriesId{row.integer(1)}];
    if (!row.is_null(2)) one.slice = row.integer(2);
    one.blocks = row.integer(3);
  }
  return {};
}

Result<> SessionCheck::check_batches() {
  std::vector<Batch> batches;
  {
    sql::Statement row = TRY(db_.query(
        "SELECT id, first_seq, last_seq, damaged FROM batches WHERE session = ?1 ORDER BY id",
        session_));
    while (TRY(row.step()))
      batches.push_back({.id = row.integer(0),
                         .first = row.integer(1),
                         .last = row.integer(2),
                         .set_aside = row.integer(3) != 0});
  }
  for (const Batch& batch : batches) {
    const std::string problem = TRY(problem_of(batch));
    ++work_.report.batches;
    if (problem.empty()) continue;
    found("batches", fmt::format("row {}, numbers {} to {}: {}{}", batch.id, batch.first,
                                 batch.last, problem, batch.set_aside ? " (set aside)" : ""));
  }
  return {};
}

Result<std::string> SessionCheck::problem_of(const Batch& batch) {
  sql::Statement row = TRY(db_.query("SELECT frame FROM batches WHERE id = ?1", batch.id));
  if (!TRY(row.step())) return std::string();
  const auto frame = codec::decode_frame(row.blob(0));
  if (!frame) return frame.error().message;
  const auto samples = sql::samples_of(row.blob(0));
  if (!samples) return samples.error().message;
  if (frame->header.session != id_ ||
      frame->header.first != static_cast<std::uint64_t>(batch.first) ||
      frame->header.last != static_cast<std::uint64_t>(batch.last))
    return std::string("its frame is another one");
  for (const codec::SamplesBody& body : *samples) {
    for (const auto& group : body.groups) {
      for (const auto& column : group.columns) {
        if (!removed_ && !locals_.contains(column.series))
          return fmt::format("series {} was never declared", column.series);
      }
    }
  }
  return std::string(batch.set_aside ? "it was damaged once and is good now" : "");
}

Result<> SessionCheck::check_row_groups() {
  std::vector<std::int64_t> rows;
  {
    sql::Statement row =
        TRY(db_.query("SELECT id FROM row_groups WHERE session = ?1 ORDER BY id", session_));
    while (TRY(row.step())) rows.push_back(row.integer(0));
  }
  for (const std::int64_t id : rows) {
    sql::Statement row = TRY(
        db_.query("SELECT slice, state, t0, t1, points, data FROM row_groups WHERE id = ?1", id));
    if (!TRY(row.step())) continue;
    ++work_.report.row_groups;
    const std::int64_t slice = row.integer(0);
    const std::string problem = problem_of(row);
    if (problem.empty()) continue;
    damaged_slices_.insert(slice);
    const bool aside = row.integer(1) == static_cast<std::int64_t>(RowGroupState::kSetAside);
    found("row_groups",
          fmt::format("row {} of slice {}: {}{}", id, slice, problem, aside ? " (set aside)" : ""));
  }
  return {};
}

std::string SessionCheck::problem_of(const sql::Statement& row) {
  const auto groups = codec::decode_row_group(row.blob(5));
  if (!groups) return groups.error().message;
  std::map<SeriesId, std::int64_t> points;
  std::int64_t most = 0;
  for (const auto& group : *groups) {
    const bool inside = std::ranges::is_sorted(group.times) &&
                        group.times.front() >= row.integer(2) &&
                        group.times.back() <= row.integer(3);
    if (!inside) return "its times are not as it says";
    for (const auto& column : group.columns) {
      const auto known = series_.find(column.series);
      if (!removed_ && (known == series_.end() || known->second.slice != row.integer(0)))
        return fmt::format("series {} is not in its slice", column.series.value);
      most = std::max(most, points[column.series] += static_cast<std::int64_t>(group.times.size()));
    }
  }
  if (most != row.integer(4)) return "it has not the points that it says";
  for (const auto& [series, count] : points) series_[series].points += count;
  return {};
}

Result<> SessionCheck::check_statistics() {
  sql::Statement row =
      TRY(db_.query("SELECT slice, statistics FROM slices WHERE session = ?1", session_));
  std::set<std::int64_t> slices;
  while (TRY(row.step())) {
    slices.insert(row.integer(0));
    const auto statistics = decode_statistics(row.blob(1));
    if (!statistics) {
      found("slices", fmt::format("slice {}: {}", row.integer(0), statistics.error().message));
    } else if (!removed_ && !damaged_slices_.contains(row.integer(0))) {
      check_slice(row.integer(0), *statistics);
    }
  }
  for (const auto& [id, one] : series_) {
    if (!removed_ && one.blocks > 0 && !slices.contains(one.slice))
      work_.findings.add_series("slices", fmt::format("no statistics of session {}", session_), id);
  }
  return {};
}

void SessionCheck::check_slice(std::int64_t slice, const SliceStatistics& statistics) {
  constexpr auto kPoints = static_cast<std::int64_t>(codec::kColumnEntries);
  for (const auto& [id, one] : series_) {
    if (one.slice != slice) continue;
    const auto known = statistics.find(id);
    const std::int64_t said = known == statistics.end() ? 0 : known->second.points;
    const std::int64_t there = one.points + one.blocks * kPoints;
    if (said == there) continue;
    work_.findings.add_series(
        "slices",
        fmt::format("session {}: its statistics count {} points, there are {}", session_, said,
                    there),
        id);
  }
}

}  // namespace

Result<> check_sessions(CheckWork& work) {
  constexpr const char* kNext = "SELECT key FROM sessions WHERE key > ?1 ORDER BY key LIMIT 1000";
  TRY(work.snapshot.next_unit());
  const auto total = TRY(work.db.number("SELECT count(*) FROM sessions")).value_or(0);
  for (std::int64_t after = 0;;) {
    TRY(work.snapshot.next_unit());
    const auto keys = TRY(keys_after(work.db, kNext, after));
    if (keys.empty()) return {};
    after = keys.back();
    for (const std::int64_t session : keys) {
      TRY(work.watch.at("sessions", work.report.sessions++, total));
      TRY(work.unit([&] { return SessionCheck(work, session).run(); }));
    }
  }
}

}  // namespace corral::store::maintain
