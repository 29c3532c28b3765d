#include "store/ingest/members.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "store/engine/stored.h"
#include "store/model/content.h"

namespace corral::store::sql {
namespace {

using codec::kOutcomeReasonTag;
using codec::kOutcomeTag;

struct Ended {
  RunStatus status = RunStatus::kFinished;
  UtcTime at;
  codec::RunEndBody end = {};
  std::string outcome, reason;
};

// The lower, the worse.
int badness(RunStatus status) {
  switch (status) {
    case RunStatus::kFailed:
      return 0;
    case RunStatus::kStopped:
      return 1;
    case RunStatus::kUnknown:
      return 2;
    default:
      return 3;
  }
}

// Nothing: a member of the newest attempt runs.
Result<std::optional<std::vector<Ended>>> newest_ended(Connection& db, std::int64_t run) {
  std::vector<Ended> all;
  Statement row =
      TRY(db.query("SELECT ended, end_reason, exit_code, exit_signal, outcome, reason FROM members "
                   "WHERE run = ?1 AND attempt = (SELECT max(attempt) FROM members WHERE run = ?1)",
                   run));
  while (TRY(row.step())) {
    if (row.is_null(0)) return std::optional<std::vector<Ended>>();
    Ended one{.at = row.utc(0), .outcome = row.text(4), .reason = row.text(5)};
    one.end.reason = static_cast<codec::EndReason>(row.integer(1));
    if (!row.is_null(2)) one.end.exit_code = static_cast<std::int32_t>(row.integer(2));
    if (!row.is_null(3)) one.end.exit_signal = static_cast<std::int32_t>(row.integer(3));
    one.status = final_status(one.end);
    all.push_back(std::move(one));
  }
  return std::optional(std::move(all));
}

Result<> set_tag(Connection& db, std::int64_t run, std::string_view key, const std::string& value) {
  if (value.empty())
    return db.exec("DELETE FROM facts WHERE run = ?1 AND kind = ?2 AND key = ?3", run,
                   codec::FactKind::kTag, std::string(key));
  return db.exec(
      "INSERT INTO facts (run, kind, key, value) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (run, kind, "
      "key) DO UPDATE SET value = excluded.value",
      run, codec::FactKind::kTag, std::string(key), value);
}

Result<> end_run(Connection& db, std::int64_t run) {
  const auto ended = TRY(newest_ended(db, run));
  if (!ended || ended->empty()) return {};
  const Ended* worst = &ended->front();
  UtcTime last = worst->at;
  for (const Ended& one : *ended) {
    last = std::max(last, one.at);
    if (std::tuple(badness(one.status), one.at) < std::tuple(badness(worst->status), worst->at))
      worst = &one;
  }
  TRY(set_tag(db, run, kOutcomeTag, worst->outcome));
  TRY(set_tag(db, run, kOutcomeReasonTag, worst->reason));
  return db.exec(
      "UPDATE runs SET status = ?2, ended = ?3, end_reason = ?4, exit_code = ?5, exit_signal = ?6, "
      "client_status = CASE WHEN client_status <= 2 THEN NULL ELSE client_status END WHERE key = "
      "?1",
      run, worst->status, last, worst->end.reason, worst->end.exit_code, worst->end.exit_signal);
}

// The supervisor that recorded the run before it had members; its output has the streams of number
// 0 already.
Result<> add_first_attempt(Connection& db, const NewMember& next) {
  return db.exec(
      "INSERT INTO members (run, no, session, attempt, rank, host, machine, started, ended, "
      "end_reason, exit_code, exit_signal, outcome, reason) SELECT r.key, 0, s.key, 0, s.rank, "
      "s.host, s.machine, r.started, r.ended, r.end_reason, r.exit_code, r.exit_signal, "
      "coalesce((SELECT f.value FROM facts f WHERE f.run = r.key AND f.kind = ?3 AND f.key = ?4), "
      "''), coalesce((SELECT f.value FROM facts f WHERE f.run = r.key AND f.kind = ?3 AND f.key = "
      "?5), '') FROM runs r JOIN sessions s ON s.run = r.key WHERE r.key = ?1 AND s.role = "
      "'supervisor' AND s.key <> ?2 AND NOT EXISTS (SELECT 1 FROM members m WHERE m.run = ?1) "
      "ORDER BY s.key LIMIT 1",
      next.run, next.session, codec::FactKind::kTag, std::string(kOutcomeTag),
      std::string(kOutcomeReasonTag));
}

}  // namespace

Result<bool> has_members(Connection& db, std::int64_t run) {
  return TRY(db.number("SELECT 1 FROM members WHERE run = ?1 LIMIT 1", run)).has_value();
}

Result<std::int64_t> add_member(Connection& db, const NewMember& member,
                                const codec::SessionBody& body) {
  const auto attempt = static_cast<std::int64_t>(body.attempt.value_or(0));
  if (attempt > 0) TRY(add_first_attempt(db, member));
  const std::int64_t no =
      TRY(db.number("SELECT coalesce(max(no), -1) + 1 FROM members WHERE run = ?1", member.run))
          .value_or(0);
  TRY(db.exec(
      "INSERT INTO members (run, no, session, attempt, rank, host, machine, started, outcome, "
      "reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, '', '')",
      member.run, no, member.session, attempt, body.rank, body.host, member.machine,
      member.started));
  if (TRY(db.number("SELECT 1 FROM members WHERE run = ?1 AND attempt > ?2 LIMIT 1", member.run,
                    attempt)))
    return no;
  TRY(
      db.exec("UPDATE runs SET status = ?2, ended = NULL, end_reason = NULL, exit_code = NULL, "
              "exit_signal = NULL WHERE key = ?1 AND ended IS NOT NULL",
              member.run, RunStatus::kRunning));
  TRY(set_tag(db, member.run, kOutcomeTag, ""));
  TRY(set_tag(db, member.run, kOutcomeReasonTag, ""));
  return no;
}

Result<std::optional<std::int64_t>> find_member(Connection& db, std::int64_t session) {
  return db.number("SELECT no FROM members WHERE session = ?1", session);
}

Result<> begin_member(Connection& db, const MemberKey& member, UtcTime at) {
  TRY(db.exec("UPDATE members SET started = ?3 WHERE run = ?1 AND no = ?2", member.run, member.no,
              at));
  return db.exec(
      "UPDATE runs SET started = (SELECT min(started) FROM members WHERE run = ?1), newest = "
      "greatest(newest, ?2) WHERE key = ?1",
      member.run, at);
}

Result<bool> keep_outcome(Connection& db, const MemberKey& member, const codec::Fact& fact) {
  if (!codec::is_outcome(fact)) return false;
  TRY(db.exec(fact.key == kOutcomeTag ? "UPDATE members SET outcome = ?3 WHERE run = ?1 AND no = ?2"
                                      : "UPDATE members SET reason = ?3 WHERE run = ?1 AND no = ?2",
              member.run, member.no, fact.value));
  return true;
}

Result<> end_member(Connection& db, const MemberKey& member, const codec::RunEndBody& end,
                    UtcTime at) {
  // Two that end at the same moment, at two servers, would each take the other for running.
  TRY(db.exec("SELECT key FROM runs WHERE key = ?1" + std::string(db.dialect().lock_row),
              member.run));
  TRY(
      db.exec("UPDATE members SET ended = ?3, end_reason = ?4, exit_code = ?5, exit_signal = ?6 "
              "WHERE run = ?1 AND no = ?2 AND (end_reason IS NULL OR end_reason = ?7 OR ?4 <> ?7)",
              member.run, member.no, at, end.reason, end.exit_code, end.exit_signal,
              codec::EndReason::kUnknown));
  return end_run(db, member.run);
}

}  // namespace corral::store::sql
