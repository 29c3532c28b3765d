#include "store/tables/alerts.h"

#include <fmt/core.h>

#include "store/engine/database.h"

namespace corral::store::alerts {
namespace {

using sql::Statement;

// Columns of the tables `alerts a` and `users u`.
constexpr std::string_view kColumns =
    "a.id, u.name, a.kinds, a.experiment, a.metric, a.above, a.below, a.form, a.target, a.secret, "
    "a.created, a.delivered, a.problem, a.left_out";
constexpr int kColumnCount = 14;

std::int64_t bits_of(const std::set<Kind>& kinds) {
  std::int64_t bits = 0;
  for (const Kind kind : kinds) bits |= std::int64_t{1} << static_cast<unsigned>(kind);
  return bits;
}

std::set<Kind> kinds_of(std::int64_t bits) {
  std::set<Kind> kinds;
  for (std::size_t i = 0; i < kKindNames.size(); ++i)
    if ((bits >> i & 1) != 0) kinds.insert(static_cast<Kind>(i));
  return kinds;
}

Alert alert_from_row(const Statement& row) {
  return {.id = row.integer(0),
          .user = row.text(1),
          .kinds = kinds_of(row.integer(2)),
          .experiment = row.text(3),
          .metric = row.text(4),
          .above = row.maybe_real(5),
          .below = row.maybe_real(6),
          .form = static_cast<Form>(row.integer(7)),
          .target = row.text(8),
          .secret = row.text(9),
          .created = row.utc(10),
          .delivered = row.maybe_utc(11),
          .problem = row.text(12),
          .left_out = row.integer(13)};
}

Candidate candidate_from_row(const Statement& row) {
  return {.key = row.integer(0),
          .id = row.id128<RunId>(1),
          .name = row.text(2),
          .experiment = row.text(3),
          .status = static_cast<RunStatus>(row.integer(4)),
          .supervised = row.integer(5) != 0,
          .newest = row.utc(6),
          .ended = row.maybe_utc(7),
          .exit_code = row.maybe_integer(8),
          .exit_signal = row.maybe_integer(9),
          .frames = row.integer(10)};
}

// With all that belongs to it. First the alert: who tells something of it holds its row.
Result<> remove_alert(Writing& writing, std::int64_t id) {
  TRY(writing->exec("DELETE FROM alerts WHERE id = ?1", id));
  TRY(writing->exec("DELETE FROM alert_states WHERE alert = ?1", id));
  return writing->exec("DELETE FROM alert_outbox WHERE alert = ?1", id);
}

Result<> end_claim(Writing& writing, const Message& message, UtcTime due) {
  return writing->exec("UPDATE alerts SET claimed = 0, due = ?2 WHERE id = ?1", message.alert.id,
                       due);
}

// Nobody else has claimed the alert since; its row is the caller's.
Result<bool> holds(Writing& writing, const Message& message) {
  return TRY(writing->number("UPDATE alerts SET claims = claims WHERE id = ?1 AND claims = ?2 "
                             "RETURNING 1",
                             message.alert.id, message.claim))
      .has_value();
}

}  // namespace

Result<std::int64_t> add(Writing& writing, const Alert& alert) {
  std::optional<std::int64_t> owner;
  if (!alert.user.empty()) {
    owner = TRY(writing->number("SELECT id FROM users WHERE name = ?1", alert.user));
    if (!owner) return fail(Code::kNotFound, fmt::format("there is no user '{}'", alert.user));
  }
  const auto count = TRY(writing->number(
      "SELECT count(*) FROM alerts WHERE owner = ?1 OR (owner IS NULL AND ?1 IS NULL)", owner));
  if (count.value_or(0) >= kMostOfUser)
    return fail(
        Code::kTooLarge,
        fmt::format("you have {} alerts, the most that are kept: remove some", kMostOfUser));
  const auto id = TRY(writing->number(
      "INSERT INTO alerts (owner, kinds, experiment, metric, above, below, form, target, secret, "
      "created) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) RETURNING id",
      owner, bits_of(alert.kinds), alert.experiment, alert.metric, alert.above, alert.below,
      alert.form, alert.target, alert.secret, alert.created));
  return id.value_or(0);
}

Result<std::vector<Alert>> list(Reading& reading) {
  return sql::read_all(
      reading->query(fmt::format("SELECT {}, (SELECT count(*) FROM alert_outbox o WHERE o.alert = "
                                 "a.id) FROM alerts a LEFT JOIN users u ON u.id = a.owner ORDER BY "
                                 "a.id",
                                 kColumns)),
      [](const Statement& row) {
        Alert alert = alert_from_row(row);
        alert.waiting = row.integer(kColumnCount);
        return alert;
      });
}

Result<std::vector<Alert>> active(Reading& reading) {
  return sql::read_all(reading->query(fmt::format(
                           "SELECT {} FROM alerts a LEFT JOIN users u ON u.id = a.owner WHERE "
                           "a.owner IS NULL OR u.disabled = 0 ORDER BY a.id",
                           kColumns)),
                       alert_from_row);
}

Result<bool> remove(Writing& writing, std::int64_t id, const std::optional<std::string>& user) {
  const auto found = TRY(
      writing->number("SELECT 1 FROM alerts a LEFT JOIN users u ON u.id = a.owner WHERE a.id = ?1 "
                      "AND (?2 IS NULL OR u.name = ?2)",
                      id, user));
  if (found) TRY(remove_alert(writing, id));
  return found.has_value();
}

Result<> remove_all_of(Writing& writing, std::int64_t user) {
  for (const std::int64_t id :
       TRY(writing->numbers("SELECT id FROM alerts WHERE owner = ?1 ORDER BY id", user)))
    TRY(remove_alert(writing, id));
  return {};
}

Result<std::vector<Candidate>> candidates(Reading& reading, UtcTime now) {
  std::vector<Candidate> all;
  // The last: a client goes on with a run that had ended.
  for (const std::string_view which :
       {"r.ended IS NULL AND r.newest >= ?1", "r.ended >= ?1 AND r.status <> 0",
        "r.status = 0 AND r.ended IS NOT NULL AND r.newest >= ?1"}) {
    Statement row = TRY(reading->query(
        fmt::format(
            "SELECT r.key, r.id, r.name, e.name, r.status, r.supervised, r.newest, "
            "r.ended, r.exit_code, r.exit_signal, (SELECT CAST(coalesce(sum(s.durable_seq), "
            "0) AS BIGINT) FROM sessions s WHERE s.run = r.key) FROM runs r JOIN experiments "
            "e ON e.id = r.experiment WHERE {} AND r.lifecycle = 0",
            which),
        now - kCounts));
    while (TRY(row.step())) {
      all.push_back(candidate_from_row(row));
      Candidate& run = all.back();
      if (run.status != RunStatus::kRunning && !run.ended) run.ended = run.newest;
      if (run.status == RunStatus::kRunning) run.ended.reset();
    }
  }
  return all;
}

Result<std::set<News>> told(Reading& reading) {
  std::set<News> all;
  Statement row = TRY(reading->query("SELECT alert, run, kind FROM alert_states"));
  while (TRY(row.step())) {
    all.insert({.alert = row.integer(0),
                .run = row.integer(1),
                .kind = static_cast<Kind>(row.integer(2))});
  }
  return all;
}

Result<> tell(Writing& writing, const News& news, const std::string& body, UtcTime now) {
  // Nobody removes the alert meanwhile.
  const auto alert = TRY(writing->number(
      "SELECT id FROM alerts WHERE id = ?1" + std::string(writing->dialect().lock_row),
      news.alert));
  if (!alert) return {};
  const auto is_new = TRY(writing->number(
      "INSERT INTO alert_states (alert, run, kind, told) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO "
      "NOTHING RETURNING 1",
      news.alert, news.run, news.kind, now));
  if (!is_new) return {};
  const auto waiting =
      TRY(writing->number("SELECT count(*) FROM alert_outbox WHERE alert = ?1", news.alert));
  if (waiting.value_or(0) >= kMostWaiting) {
    return writing->exec("UPDATE alerts SET left_out = left_out + 1 WHERE id = ?1", news.alert);
  }
  return writing->exec("INSERT INTO alert_outbox (alert, created, body) VALUES (?1, ?2, ?3)",
                       news.alert, now, body);
}

Result<> forget(Writing& writing, UtcTime now) {
  return writing->exec(
      "DELETE FROM alert_states WHERE told < ?1 AND run NOT IN (SELECT key FROM runs WHERE "
      "status = ?2 OR ended >= ?1 OR (ended IS NULL AND newest >= ?1))",
      now - kCounts, RunStatus::kRunning);
}

namespace {

// An alert `a` of which a message is due at the time ?1.
constexpr std::string_view kDue =
    "FROM alerts a LEFT JOIN users u ON u.id = a.owner WHERE a.due <= ?1 AND a.claimed <= ?1 AND "
    "(a.owner IS NULL OR u.disabled = 0) AND EXISTS (SELECT 1 FROM alert_outbox o WHERE o.alert = "
    "a.id) AND NOT EXISTS (SELECT 1 FROM alerts b WHERE b.claimed > ?1 AND (b.owner = a.owner OR "
    "(b.owner IS NULL AND a.owner IS NULL)))";

}  // namespace

Result<bool> is_due(Reading& reading, UtcTime now) {
  return TRY(reading->number(fmt::format("SELECT 1 {} LIMIT 1", kDue), now)).has_value();
}

Result<bool> any_waits(Reading& reading, UtcTime now) {
  return TRY(reading->number("SELECT 1 FROM alert_outbox WHERE created >= ?1 LIMIT 1",
                             now - kCounts))
      .has_value();
}

Result<std::optional<Message>> claim(Writing& writing, UtcTime now) {
  // The second condition counts when another server's claim came in between.
  const auto alert = TRY(writing->number(
      fmt::format("UPDATE alerts SET claimed = ?2, claims = claims + 1 WHERE id = (SELECT a.id {} "
                  "ORDER BY a.due, a.id LIMIT 1) AND claimed <= ?1 RETURNING id",
                  kDue),
      now, now + kClaimed));
  if (!alert) return std::nullopt;
  TRY(writing->exec("DELETE FROM alert_outbox WHERE alert = ?1 AND created < ?2", *alert,
                    now - kCounts));
  auto message = TRY(sql::read_first(
      writing->query(fmt::format("SELECT {}, o.id, o.body, a.claims, a.failures FROM alerts a JOIN "
                                 "alert_outbox o ON o.alert = a.id LEFT JOIN users u ON u.id = "
                                 "a.owner WHERE a.id = ?1 ORDER BY o.tries, o.id LIMIT 1",
                                 kColumns),
                     *alert),
      [](const Statement& row) {
        return Message{.id = row.integer(kColumnCount),
                       .alert = alert_from_row(row),
                       .body = row.text(kColumnCount + 1),
                       .claim = row.integer(kColumnCount + 2),
                       .failures = row.integer(kColumnCount + 3)};
      }));
  if (!message) TRY(writing->exec("UPDATE alerts SET claimed = 0 WHERE id = ?1", *alert));
  return message;
}

Result<> note_sent(Writing& writing, const Message& message, UtcTime now) {
  const bool held = TRY(holds(writing, message));
  TRY(writing->exec("DELETE FROM alert_outbox WHERE id = ?1", message.id));
  if (!held) return {};
  TRY(writing->exec("UPDATE alerts SET delivered = ?2, problem = NULL, failures = 0 WHERE id = ?1",
                    message.alert.id, now));
  return end_claim(writing, message, now);
}

Result<> note_failed(Writing& writing, const Message& message, const std::string& problem,
                     UtcTime again) {
  if (!TRY(holds(writing, message))) return {};
  TRY(writing->exec("UPDATE alerts SET problem = ?2, failures = failures + 1 WHERE id = ?1",
                    message.alert.id, problem));
  TRY(writing->exec("UPDATE alert_outbox SET tries = tries + 1 WHERE id = ?1", message.id));
  return end_claim(writing, message, again);
}

Result<> release(Writing& writing, const Message& message, UtcTime now) {
  return TRY(holds(writing, message)) ? end_claim(writing, message, now) : Result<>();
}

Result<> note_hidden(Writing& writing, const Message& message, UtcTime now) {
  TRY(release(writing, message, now));
  return writing->exec("DELETE FROM alert_outbox WHERE id = ?1", message.id);
}

}  // namespace corral::store::alerts
