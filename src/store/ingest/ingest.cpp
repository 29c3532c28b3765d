#include "store/ingest/ingest.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "core/failpoint.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/sha256.h"
#include "store/engine/stored.h"
#include "store/ingest/members.h"
#include "sys/clock.h"

namespace corral::store::sql {
namespace {

// Forgotten sessions are read again from their rows; this only bounds memory: a series takes about
// 50 bytes.
constexpr std::size_t kRememberedSessions = 4096;
constexpr std::size_t kRememberedSeries = 1'000'000;

Error undeclared(std::uint32_t series) {
  return {.code = Code::kUnprocessable,
          .message = fmt::format("series {} was never declared in this session", series)};
}

const codec::Column* first_undeclared(const SessionState& session, const Content& content) {
  const auto declared = [&](std::uint32_t id) {
    return session.series.contains(id) ||
           std::ranges::any_of(content.series, [&](const auto& def) { return def.id == id; });
  };
  for (const codec::SamplesBody& samples : content.samples) {
    for (const codec::SampleGroup& group : samples.groups) {
      for (const codec::Column& column : group.columns) {
        if (!declared(column.series)) return &column;
      }
    }
  }
  return nullptr;
}

std::string lock_session(const Connection& db) {
  return "SELECT key, durable_seq, removed FROM sessions WHERE id = ?1" +
         std::string(db.dialect().lock_row);
}

std::string lock_run(const Connection& db) {
  return "SELECT key FROM runs WHERE key = ?1" + std::string(db.dialect().lock_row);
}

// The id of a workload can be worked out from the name of its experiment: one that is in another
// space was not meant.
Result<WorkloadId> id_in_space(Connection& db, const NewWorkload& workload) {
  const auto elsewhere = TRY(db.number(
      "SELECT 1 FROM workloads w JOIN experiments e ON e.id = w.experiment JOIN experiments x ON "
      "x.id = ?2 WHERE w.id = ?1 AND e.id <> x.id AND EXISTS (SELECT 1 FROM spaces s WHERE "
      "(substr(e.name, 1, length(s.name) + 1) = s.name || '/') <> (substr(x.name, 1, "
      "length(s.name) + 1) = s.name || '/'))",
      workload.id, workload.experiment));
  if (!elsewhere) return workload.id;
  const Sha256 hash = sha256(workload.id.hex() + " in " + std::to_string(workload.experiment));
  WorkloadId other;
  std::copy_n(hash.begin(), other.bytes.size(), other.bytes.begin());
  return other;
}

}  // namespace

Result<std::int64_t> find_or_make_workload(Connection& db, const NewWorkload& given) {
  NewWorkload workload = given;
  workload.id = TRY(id_in_space(db, given));
  if (const auto known = TRY(db.number("SELECT key FROM workloads WHERE id = ?1", workload.id))) {
    TRY(db.exec("UPDATE workloads SET created = ?2 WHERE key = ?1 AND created > ?2", *known,
                workload.created));
    return *known;
  }
  const auto made =
      TRY(db.number("INSERT INTO workloads (id, experiment, name, created) VALUES (?1, ?2, ?3, ?4) "
                    "ON CONFLICT (id) DO NOTHING RETURNING key",
                    workload.id, workload.experiment, workload.name, workload.created));
  if (!made) return lost_race();
  return *made;
}

Result<AppendResult> Ingest::append(std::span<const codec::Frame> frames, const Sender& sender,
                                    LockRuns lock) {
  if (sessions_.size() > kRememberedSessions || remembered_series_ > kRememberedSeries) {
    sessions_.clear();
    remembered_series_ = 0;
  }
  call_newest_.clear();
  call_batches_.clear();
  Call call;
  call.sender = &sender;
  // All rows are locked before the first change, in an order that all processes share.
  if (db_.dialect().shared) {
    for (const codec::Frame& frame : frames) call.touched.emplace(frame.header.session, nullptr);
    for (auto& [id, session] : call.touched) session = TRY(find_session(id));
  }
  for (std::size_t i = 0; i < frames.size(); ++i) TRY(accept(call, frames[i], i));
  TRY(finish(call, lock));
  return std::move(call.result);
}

void Ingest::keep() {
  for (const auto& [run, time] : call_newest_) {
    const auto [known, fresh] = newest_.emplace(run, time);
    if (!fresh) known->second = std::max(known->second, time);
  }
  batches_.insert(batches_.end(), call_batches_.begin(), call_batches_.end());
  call_newest_.clear();
  call_batches_.clear();
}

void Ingest::drop(std::span<const codec::Frame> frames) {
  for (const codec::Frame& frame : frames) sessions_.erase(frame.header.session);
  call_newest_.clear();
  call_batches_.clear();
}

// Writes the rows in the order of their keys, as all processes do, so that they cannot deadlock.
Result<> Ingest::finish_group() {
  for (const auto& [run, newest] : newest_)
    TRY(db_.defer("UPDATE runs SET newest = ?2 WHERE key = ?1 AND newest < ?2", run, newest));
  newest_.clear();
  return db_.flush();
}

void Ingest::forget() {
  sessions_.clear();
  remembered_series_ = 0;
  newest_.clear();
  batches_.clear();
  call_newest_.clear();
  call_batches_.clear();
}

Result<> Ingest::accept(Call& call, const codec::Frame& frame, std::size_t index) {
  const codec::FrameHeader& header = frame.header;
  if (!call.touched.contains(header.session))
    call.touched[header.session] = TRY(find_session(header.session));
  std::shared_ptr<SessionState>& session = call.touched[header.session];
  const std::uint64_t durable = session ? session->durable_seq : 0;
  if (header.last <= durable) return {};
  if (session && session->removed) {
    TRY(store_for_host(call, *session, frame));
    session->durable_seq = header.last;
    return {};
  }

  const auto refuse = [&](Error error) {
    call.result.refusals.push_back({.index = index,
                                    .session = header.session,
                                    .first = header.first,
                                    .last = header.last,
                                    .error = std::move(error)});
    call.refused.insert(header.session);
  };
  if (header.first != durable + 1 || call.refused.contains(header.session)) {
    refuse({.code = Code::kConflict,
            .message = fmt::format(
                "frame starts at {}, the store has everything up to {} and needs {} next",
                header.first, durable, durable + 1)});
    return {};
  }
  const Result<Content> content = decode_content(frame);
  if (!content) {
    refuse(content.error());
    return {};
  }
  if (auto error = TRY(contradiction(session.get(), *content))) {
    refuse(*std::move(error));
    return {};
  }
  if (!session) {
    session = TRY(open_session(call, frame, *content->session));
    remember(session);
  } else {
    TRY(store(call, *session, frame, *content));
  }
  session->durable_seq = header.last;
  failpoint::reach("ingest.frame");
  return {};
}

// The reason why the database refuses this frame; nothing when it may be stored.
Result<std::optional<Error>> Ingest::contradiction(const SessionState* session,
                                                   const Content& content) {
  if (session == nullptr) {
    if (content.session) return std::nullopt;
    return Error{.code = Code::kUnprocessable,
                 .message = "a session starts with a session frame, and this one is unknown"};
  }
  if (content.session && content.session->run != session->run_id) {
    return Error{.code = Code::kUnprocessable,
                 .message = "the session belongs to run " + session->run_id.hex()};
  }
  const auto of_host = [](const codec::SeriesDef& def) {
    return def.owner == metric::Owner::kHost;
  };
  if (!session->machine && std::ranges::any_of(content.series, of_host)) {
    return Error{.code = Code::kUnprocessable,
                 .message = "a host's series in a session that does not name its machine"};
  }
  if (auto error = TRY(redeclared(*session, content))) return error;
  if (const auto* column = first_undeclared(*session, content)) return undeclared(column->series);
  return std::nullopt;
}

Result<std::optional<Error>> Ingest::redeclared(const SessionState& session,
                                                const Content& content) {
  SeriesDefs again;
  for (const codec::SeriesDef& def : content.series) {
    if (session.series.contains(def.id)) again.push_back(&def);
  }
  const KnownSeries known = TRY(find_series(session, again));
  for (const codec::SeriesDef* def : again) {
    const auto same = known.find({def->owner, def->name, def->source});
    if (same != known.end() && same->second == session.series.at(def->id)) continue;
    return Error{
        .code = Code::kUnprocessable,
        .message = fmt::format("series {} is already another metric than {}", def->id, def->name)};
  }
  return std::nullopt;
}

void Ingest::remember(const std::shared_ptr<SessionState>& session) {
  sessions_[session->id] = session;
  remembered_series_ += session->series.size();
}

Result<std::shared_ptr<SessionState>> Ingest::find_session(SessionId id) {
  if (const auto known = sessions_.find(id); known != sessions_.end()) {
    if (TRY(is_current(*known->second))) return known->second;
    sessions_.erase(known);
  } else if (db_.dialect().shared) {
    TRY(db_.exec(lock_session(db_), id));
  }
  auto state = std::make_shared<SessionState>();
  {
    Statement row =
        TRY(db_.query("SELECT s.key, s.run, s.workload, s.durable_seq, s.utc_minus_boot, "
                      "s.clock_error, s.removed, r.id, s.machine FROM sessions s LEFT JOIN runs r "
                      "ON r.key = s.run WHERE s.id = ?1",
                      id));
    if (!TRY(row.step())) return std::shared_ptr<SessionState>();
    state->id = id;
    state->key = row.integer(0);
    state->run = row.integer(1);
    state->workload = row.integer(2);
    state->durable_seq = static_cast<std::uint64_t>(row.integer(3));
    state->anchor = {.utc_minus_boot = Nanos(row.integer(4)), .error = Nanos(row.integer(5))};
    state->removed = row.integer(6) != 0;
    if (!row.is_null(7)) state->run_id = row.id128<RunId>(7);
    if (!row.is_null(8)) state->machine = row.integer(8);
  }
  state->member = TRY(find_member(db_, state->key));
  Statement row =
      TRY(db_.query("SELECT m.local, m.series, x.owner_kind FROM session_series m JOIN series x ON "
                    "x.id = m.series WHERE m.session = ?1",
                    state->key));
  while (TRY(row.step())) {
    state->series[static_cast<std::uint32_t>(row.integer(0))] = SeriesId{row.integer(1)};
    if (static_cast<metric::Owner>(row.integer(2)) == metric::Owner::kHost)
      state->feeds_host = true;
  }
  remember(state);
  return state;
}

// Returns whether `session` still matches the database. Another process that stored frames of the
// session has moved its durable_seq, or it has removed the run.
Result<bool> Ingest::is_current(const SessionState& session) {
  if (!db_.dialect().shared) return true;
  Statement row = TRY(db_.query(lock_session(db_), session.id));
  return TRY(row.step()) && row.integer(0) == session.key &&
         row.integer(1) == static_cast<std::int64_t>(session.durable_seq) &&
         (row.integer(2) != 0) == session.removed;
}

// Writes the durable sequence numbers once per call, and then fills in the answer.
Result<> Ingest::finish(Call& call, LockRuns lock) {
  if (lock == LockRuns::kAtOnce) {
    for (const auto& [run, newest] : call_newest_) TRY(db_.defer(lock_run(db_), run));
  }
  for (const auto& [id, session] : call.touched) {
    call.result.acks.push_back({.session = id, .durable_seq = session ? session->durable_seq : 0});
    if (!session) continue;
    TRY(db_.defer("UPDATE sessions SET durable_seq = ?2 WHERE key = ?1 AND durable_seq <> ?2",
                  session->key, session->durable_seq));
  }
  failpoint::reach("ingest.finish");
  for (const std::int64_t workload : call.data_workloads) {
    // Without the plus SQLite takes the index of the status, that is, it reads every running run.
    Statement row =
        TRY(db_.query("SELECT id FROM runs WHERE workload = ?1 AND +status = 0", workload));
    while (TRY(row.step())) call.data_runs.insert(row.id128<RunId>(0));
  }
  for (const std::int64_t host : call.data_hosts) {
    Statement row = TRY(db_.query(
        "SELECT id FROM runs WHERE status = 0 AND (+machine = ?1 OR key IN (SELECT run FROM "
        "members WHERE machine = ?1))",
        host));
    while (TRY(row.step())) call.data_runs.insert(row.id128<RunId>(0));
  }
  TRY(db_.flush());
  call.result.changed_runs.assign(call.changed_runs.begin(), call.changed_runs.end());
  call.result.data_runs.assign(call.data_runs.begin(), call.data_runs.end());
  return {};
}

// ---- the first frame of a session
Result<std::shared_ptr<SessionState>> Ingest::open_session(Call& call, const codec::Frame& frame,
                                                           const codec::SessionBody& body) {
  const UtcTime started = body.anchor.to_utc(body.started);
  const RunRow run = TRY(find_or_make_run(call, body, started));
  auto state = std::make_shared<SessionState>();
  state->id = frame.header.session;
  state->run_id = body.run;
  state->run = run.key;
  state->workload = run.workload;
  state->removed = run.removed;
  state->anchor = body.anchor;
  if (!run.removed) state->machine = TRY(find_or_make_host(body));
  const bool supervises = body.role == "supervisor" && !run.removed;
  // A first attempt may come after the second, which has made the run one of members.
  const bool joins = supervises && (body.attempt || TRY(has_members(db_, run.key)));
  if (supervises) TRY(supervise(call, body, started, *state, joins));
  const auto key = TRY(db_.number(
      "INSERT INTO sessions (id, run, workload, durable_seq, utc_minus_boot, clock_error, started, "
      "role, host, pid, rank, boot_id, removed, machine) VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7, "
      "?8, ?9, ?10, ?11, ?12, ?13) ON CONFLICT (id) DO NOTHING RETURNING key",
      frame.header.session, run.key, run.workload, body.anchor.utc_minus_boot.count(),
      body.anchor.error.count(), started, body.role, body.host, body.pid, body.rank, body.boot_id,
      run.removed ? 1 : 0, state->machine));
  if (!key) return lost_race();
  state->key = *key;
  if (joins)
    state->member = TRY(add_member(
        db_, {.run = run.key, .session = *key, .machine = state->machine, .started = started},
        body));
  return state;
}

// A deleted experiment is back with its next run; its other runs stay in the trash.
Result<std::int64_t> Ingest::find_or_make_experiment(const std::string& name, UtcTime created) {
  if (const auto known =
          TRY(db_.number("SELECT id FROM experiments WHERE name = ?1 AND lifecycle = 0", name)))
    return *known;
  if (const auto back = TRY(
          db_.number("UPDATE experiments SET lifecycle = 0 WHERE name = ?1 RETURNING id", name)))
    return *back;
  const auto made =
      TRY(db_.number("INSERT INTO experiments (name, created) VALUES (?1, ?2) ON CONFLICT (name) "
                     "DO NOTHING RETURNING id",
                     name, created));
  if (!made) return lost_race();
  return *made;
}

// Finds or makes the host by machine and name. If other processes write too, the row is locked: a
// removal of the host sees this session, or this session makes the host anew.
Result<std::optional<std::int64_t>> Ingest::find_or_make_host(const codec::SessionBody& body) {
  if (body.machine.empty()) return std::nullopt;
  const auto known = TRY(db_.number("SELECT key FROM hosts WHERE machine_id = ?1 AND name = ?2" +
                                        std::string(db_.dialect().lock_row),
                                    body.machine, body.host));
  if (known) {
    TRY(db_.exec("UPDATE hosts SET idle_since = NULL WHERE key = ?1 AND idle_since IS NOT NULL",
                 *known));
    return *known;
  }
  const auto made =
      TRY(db_.number("INSERT INTO hosts (name, machine_id) VALUES (?1, ?2) ON CONFLICT "
                     "(machine_id, name) DO NOTHING RETURNING key",
                     body.host, body.machine));
  if (!made) return lost_race();
  return *made;
}

// A removed run stays removed, also when a session joins it later. If other processes write too,
// the row is locked: a concurrent removal sees this session, or this session sees the removal.
Result<std::optional<Ingest::RunRow>> Ingest::find_run(RunId id) {
  {
    Statement row = TRY(db_.query(
        "SELECT key, workload FROM runs WHERE id = ?1" + std::string(db_.dialect().lock_row), id));
    if (TRY(row.step())) return RunRow{.key = row.integer(0), .workload = row.integer(1)};
  }
  Statement row = TRY(db_.query("SELECT key, workload FROM removed_runs WHERE id = ?1", id));
  if (!TRY(row.step())) return std::nullopt;
  return RunRow{.key = row.integer(0), .workload = row.integer(1), .removed = true};
}

// The run's row; the first session of a run makes it, whatever its role. A run stays in the
// workload of its first session.
Result<Ingest::RunRow> Ingest::find_or_make_run(Call& call, const codec::SessionBody& body,
                                                UtcTime started) {
  if (const auto known = TRY(find_run(body.run))) return *known;
  const std::int64_t experiment = TRY(find_or_make_experiment(body.experiment, started));
  const std::int64_t workload = TRY(find_or_make_workload(db_, {.id = body.workload,
                                                                .experiment = experiment,
                                                                .name = body.workload_name,
                                                                .created = started}));
  const auto key = TRY(db_.number(
      "INSERT INTO runs (id, name, experiment, workload, status, supervised, started, newest, "
      "host, creator) VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?6, ?7, ?8) ON CONFLICT (id) DO NOTHING "
      "RETURNING key",
      body.run, body.run_name, experiment, workload, RunStatus::kRunning, started, body.host,
      call.sender->user));
  if (!key) return lost_race();
  call.changed_runs.insert(body.run);
  return RunRow{.key = *key, .workload = workload};
}

// The first supervisor sets the start of the run. A later one has adopted the run, which counts as
// running again if its end is unknown.
Result<> Ingest::supervise(Call& call, const codec::SessionBody& body, UtcTime started,
                           const SessionState& session, bool joins) {
  const std::int64_t run = session.run;
  TRY(
      db_.exec("UPDATE runs SET supervised = 1, started = ?2, host = ?3, machine = ?4, newest = "
               "greatest(newest, ?2) WHERE key = ?1 AND supervised = 0",
               run, started, body.host, session.machine));
  TRY(db_.exec("UPDATE runs SET name = ?2 WHERE key = ?1 AND name = ''", run, body.run_name));
  if (!joins)
    TRY(
        db_.exec("UPDATE runs SET status = ?2, ended = NULL, end_reason = NULL, exit_code = NULL, "
                 "exit_signal = NULL WHERE key = ?1 AND end_reason = ?3",
                 run, RunStatus::kRunning, codec::EndReason::kUnknown));
  call.changed_runs.insert(body.run);
  return {};
}

// Until then the start is that of the run's first session.
Result<> Ingest::begin_run(Call& call, const SessionState& session, UtcTime at) {
  call.changed_runs.insert(session.run_id);
  if (session.member) return begin_member(db_, {session.run, *session.member}, at);
  return db_.defer("UPDATE runs SET started = ?2, newest = greatest(newest, ?2) WHERE key = ?1",
                   session.run, at);
}

// ---- the rows of a frame
namespace {

std::string links_json(const std::vector<std::uint64_t>& links) {
  std::string json;
  for (const std::uint64_t link : links) json += (json.empty() ? "" : ",") + std::to_string(link);
  return json;
}

std::int64_t owner_key(const SessionState& session, metric::Owner owner) {
  switch (owner) {
    case metric::Owner::kRun:
      return session.run;
    case metric::Owner::kWorkload:
      return session.workload;
    case metric::Owner::kHost:
      break;
  }
  return session.machine.value_or(0);  // contradiction() refuses those without
}

auto series_key(const codec::SeriesDef& def) {
  return std::tuple(def.owner, std::string_view(def.name), std::string_view(def.source));
}

}  // namespace

Result<> Ingest::store(Call& call, SessionState& session, const codec::Frame& frame,
                       const Content& content) {
  TRY(declare(session, content.series));
  if (content.sample_times) TRY(store_batch(call, session, frame, content));
  TRY(store_phases(session, content.phases));
  for (const codec::Event& event : content.events) {
    const UtcTime at = session.anchor.to_utc(event.time);
    TRY(codec::is_run_begin(event) ? begin_run(call, session, at)
                                   : store_event(session, at, event));
  }
  if (content.log) TRY(store_log(session, *content.log));
  if (TRY(store_facts(call, session, content.facts))) call.changed_runs.insert(session.run_id);
  if (content.end) TRY(store_end(call, session, *content.end));
  if (content.gap) TRY(store_gap(call, session, frame, *content.gap));
  if (content.times) {
    const std::int64_t newest = ns_of(session.anchor.to_utc(boot_time(content.times->high)));
    const auto [entry, fresh] = call_newest_.emplace(session.run, newest);
    if (!fresh) entry->second = std::max(entry->second, newest);
    call.data_runs.insert(session.run_id);
  }
  return {};
}

// Series of the run or its workload are not made again, because they would never be removed.
Result<> Ingest::store_for_host(Call& call, SessionState& session, const codec::Frame& frame) {
  if (!session.machine) return {};
  auto content = decode_content(frame);
  if (!content) return {};
  std::erase_if(content->series,
                [](const codec::SeriesDef& def) { return def.owner != metric::Owner::kHost; });
  TRY(declare(session, content->series));
  if (!session.feeds_host || !content->sample_times) return {};
  return store_batch(call, session, frame, *content);
}

// By name and source: one statement each, or all series of an owner where that is less.
Result<Ingest::KnownSeries> Ingest::find_series(const SessionState& session,
                                                const SeriesDefs& defs) {
  constexpr std::size_t kFew = 32;
  KnownSeries known;
  TRY(defs.size() <= kFew ? find_few(session, defs, known) : find_many(session, defs, known));
  return known;
}

Result<> Ingest::find_few(const SessionState& session, const SeriesDefs& defs, KnownSeries& known) {
  for (const codec::SeriesDef* def : defs) {
    const auto id = TRY(db_.number(
        "SELECT id FROM series WHERE owner_kind = ?1 AND owner = ?2 AND name = ?3 AND source = ?4",
        def->owner, owner_key(session, def->owner), def->name, def->source));
    if (id) known[series_key(*def)] = SeriesId{*id};
  }
  return {};
}

Result<> Ingest::find_many(const SessionState& session, const SeriesDefs& defs,
                           KnownSeries& known) {
  std::set<KnownSeries::key_type> wanted;
  std::set<metric::Owner> owners;
  for (const codec::SeriesDef* def : defs) {
    wanted.insert(series_key(*def));
    owners.insert(def->owner);
  }
  for (const metric::Owner owner : owners) {
    Statement row =
        TRY(db_.query("SELECT id, name, source FROM series WHERE owner_kind = ?1 AND owner = ?2",
                      owner, owner_key(session, owner)));
    while (TRY(row.step())) {
      const std::string name = row.text(1);
      const std::string source = row.text(2);
      // The frame's own text is the key: it outlives the row.
      const auto asked = wanted.find({owner, name, source});
      if (asked != wanted.end()) known[*asked] = SeriesId{row.integer(0)};
    }
  }
  return {};
}

// Several sessions may feed one series; the first to declare it says its unit and kind. If other
// processes write too, the insert waits for one that is making the same series. All processes make
// series in the same order, so that they cannot deadlock.
Result<> Ingest::declare(SessionState& session, const std::vector<codec::SeriesDef>& defs) {
  SeriesDefs fresh;
  std::set<std::uint32_t> ids;
  for (const codec::SeriesDef& def : defs) {
    if (!session.series.contains(def.id) && ids.insert(def.id).second) fresh.push_back(&def);
  }
  if (fresh.empty()) return {};
  KnownSeries known = TRY(find_series(session, fresh));
  SeriesDefs missing;
  for (const codec::SeriesDef* def : fresh) {
    if (!known.contains(series_key(*def))) missing.push_back(def);
  }
  TRY(make_series(session, missing));
  if (!missing.empty()) known.merge(TRY(find_series(session, missing)));
  for (const codec::SeriesDef* def : fresh) {
    const auto made = known.find(series_key(*def));
    if (made == known.end()) return lost_race();
    TRY(db_.defer("INSERT INTO session_series (session, local, series) VALUES (?1, ?2, ?3)",
                  session.key, def->id, made->second));
    session.series[def->id] = made->second;
    if (def->owner == metric::Owner::kHost) session.feeds_host = true;
  }
  remembered_series_ += fresh.size();
  return {};
}

Result<> Ingest::make_series(const SessionState& session, const SeriesDefs& defs) {
  // If a series is defined twice, the first definition counts.
  std::map<KnownSeries::key_type, const codec::SeriesDef*> in_order;
  for (const codec::SeriesDef* def : defs) in_order.emplace(series_key(*def), def);
  for (const auto& [key, def] : in_order) {
    TRY(db_.defer(
        "INSERT INTO series (owner_kind, owner, name, source, unit, kind, aggregation) VALUES (?1, "
        "?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (owner_kind, owner, name, source) DO NOTHING",
        def->owner, owner_key(session, def->owner), def->name, def->source, def->unit, def->kind,
        def->aggregation));
  }
  return {};
}

// The row holds the frame as it came; of a bundle, its other sections too (they are small).
Result<> Ingest::store_batch(Call& call, SessionState& session, const codec::Frame& frame,
                             const Content& content) {
  const auto utc = [&](std::int64_t ns) { return session.anchor.to_utc(boot_time(ns)); };
  TRY(
      db_.defer("INSERT INTO batches (session, first_seq, last_seq, t0, t1, frame) VALUES (?1, ?2, "
                "?3, ?4, ?5, ?6)",
                session.key, frame.header.first, frame.header.last, utc(content.sample_times->low),
                utc(content.sample_times->high), frame.raw));
  call_batches_.push_back({.session = session.key,
                           .bytes = frame.raw.size(),
                           .points = static_cast<std::uint64_t>(count_points(content.samples))});
  if (!session.removed) call.data_workloads.insert(session.workload);
  if (session.feeds_host) call.data_hosts.insert(*session.machine);
  return {};
}

Result<> Ingest::store_phases(const SessionState& session,
                              const std::vector<codec::PhaseRecord>& phases) {
  const auto utc = [&](const std::optional<BootTime>& t) {
    return t ? std::optional(session.anchor.to_utc(*t)) : std::nullopt;
  };
  for (const codec::PhaseRecord& phase : phases) {
    // Begin and end may come in either order and in different frames; an end does not overwrite the
    // fields that only a begin has.
    TRY(db_.defer(
        "INSERT INTO phases (session, id, run, parent, kind, started, ended, name, type, lane, "
        "links, attributes) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) "
        "ON CONFLICT (session, id) DO UPDATE SET "
        "parent = CASE WHEN excluded.started IS NULL THEN phases.parent ELSE excluded.parent END, "
        "kind = CASE WHEN excluded.started IS NULL THEN phases.kind ELSE excluded.kind END, "
        "started = coalesce(excluded.started, phases.started), "
        "ended = coalesce(excluded.ended, phases.ended), "
        "name = CASE WHEN excluded.name = '' THEN phases.name ELSE excluded.name END, "
        "type = CASE WHEN excluded.type = '' THEN phases.type ELSE excluded.type END, "
        "lane = CASE WHEN excluded.lane = '' THEN phases.lane ELSE excluded.lane END, "
        "links = CASE WHEN excluded.links = '' THEN phases.links ELSE excluded.links END, "
        "attributes = CASE WHEN excluded.attributes = '' THEN phases.attributes "
        "ELSE excluded.attributes END",
        session.key, phase.id, session.run, phase.parent, phase.kind, utc(phase.begin),
        utc(phase.end), phase.name, phase.type, phase.lane, links_json(phase.links),
        attributes_json(phase.attributes)));
  }
  return {};
}

// True when there were any. Counts of drops (decimal) only grow: a supervisor that took over starts
// its own at 0.
Result<bool> Ingest::store_facts(const Call& call, SessionState& session,
                                 const std::vector<codec::Fact>& facts) {
  for (const codec::Fact& fact : facts) {
    if (codec::is_outcome(fact) && !session.member) session.member = TRY(member_now(session));
    if (session.member && TRY(keep_outcome(db_, {session.run, *session.member}, fact))) continue;
    if (TRY(apply_client_fact(call, session, fact))) continue;
    const bool drop = fact.kind == codec::FactKind::kDrop;
    TRY(db_.defer(
        drop ? "INSERT INTO facts (run, kind, key, value) VALUES (?1, ?2, ?3, ?4) ON CONFLICT "
               "(run, kind, key) DO UPDATE SET value = excluded.value WHERE "
               "(length(excluded.value), excluded.value) > (length(facts.value), facts.value)"
             : "INSERT INTO facts (run, kind, key, value) VALUES (?1, ?2, ?3, ?4) ON CONFLICT "
               "(run, kind, key) DO UPDATE SET value = excluded.value",
        session.run, fact.kind,
        // Each member counts its own; the first one may have been alone before.
        drop && session.member.value_or(0) > 0 ? fmt::format("{} {}", fact.key, *session.member)
                                               : fact.key,
        fact.value));
  }
  return !facts.empty();
}

Result<> Ingest::store_event(const SessionState& session, UtcTime time, const codec::Event& event) {
  return db_.defer(
      "INSERT INTO events (run, session, time, name, origin, attributes) VALUES (?1, ?2, ?3, ?4, "
      "?5, ?6)",
      session.run, session.key, time, event.name, event.origin, attributes_json(event.attributes));
}

// The stream's row; where others write too, it is locked until the end of the
// transaction.
Result<std::int64_t> Ingest::log_length(std::int64_t run, std::int64_t stream) {
  const std::string sql = "SELECT length FROM log_streams WHERE run = ?1 AND stream = ?2" +
                          std::string(db_.dialect().lock_row);
  if (const auto known = TRY(db_.number(sql, run, stream))) return *known;
  if (!db_.dialect().shared) return 0;
  TRY(
      db_.defer("INSERT INTO log_streams (run, stream, length) VALUES (?1, ?2, 0) ON CONFLICT "
                "(run, stream) DO NOTHING",
                run, stream));
  return TRY(db_.number(sql, run, stream)).value_or(0);
}

// Only bytes beyond the end of the stream are new: a supervisor that took over reads its output
// file from the start.
Result<> Ingest::store_log(const SessionState& session, const codec::LogBody& log) {
  const std::int64_t stream = stored_stream(log.stream, session.member.value_or(0));
  const std::int64_t known = TRY(log_length(session.run, stream));
  const auto length = static_cast<std::int64_t>(log.bytes.size());
  const std::int64_t end = log.offset + length;
  if (end <= known) return {};
  const std::int64_t start = std::max(log.offset, known);
  const auto fresh =
      std::string_view(log.bytes).substr(static_cast<std::size_t>(start - log.offset));
  TRY(db_.defer(
      "INSERT INTO logs (run, stream, start, length, time, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
      session.run, stream, start, end - start, session.anchor.to_utc(log.time), to_blob(fresh)));
  TRY(
      db_.defer("INSERT INTO log_streams (run, stream, length) VALUES (?1, ?2, ?3) ON CONFLICT "
                "(run, stream) DO UPDATE SET length = excluded.length",
                session.run, stream, end));
  return db_.defer(
      "DELETE FROM logs WHERE run = ?1 AND stream = ?2 AND start >= ?3 AND start < ?4 AND start + "
      "length <= ?4",
      session.run, stream, limits::kLogHeadBytes, end - limits::kLogTailBytes);
}

// A first attempt may have become a member since this session was read. The run's row is locked:
// another server may be making it one.
Result<std::optional<std::int64_t>> Ingest::member_now(const SessionState& session) {
  if (db_.dialect().shared) TRY(db_.exec(lock_run(db_), session.run));
  return find_member(db_, session.key);
}

// A known outcome wins over an unknown one, whichever comes last.
Result<> Ingest::store_end(Call& call, SessionState& session, const codec::RunEndBody& end) {
  call.changed_runs.insert(session.run_id);
  const UtcTime at = session.anchor.to_utc(end.time);
  if (!session.member) session.member = TRY(member_now(session));
  if (session.member) return end_member(db_, {session.run, *session.member}, end, at);
  return db_.defer(
      "UPDATE runs SET status = ?2, ended = ?3, end_reason = ?4, exit_code = ?5, exit_signal = ?6, "
      "client_status = CASE WHEN client_status <= 2 THEN NULL ELSE client_status END WHERE key = "
      "?1 AND (end_reason IS NULL OR end_reason = ?7 OR ?4 <> ?7)",
      session.run, final_status(end), at, end.reason, end.exit_code, end.exit_signal,
      codec::EndReason::kUnknown);
}

// A gap has no time of its own: its event gets the newest known time of the run.
Result<> Ingest::store_gap(Call& call, const SessionState& session, const codec::Frame& frame,
                           const codec::GapBody& gap) {
  const auto event = codec::event_of_gap(frame.header, gap);
  if (!event) return {};
  std::int64_t newest =
      TRY(db_.number("SELECT newest FROM runs WHERE key = ?1", session.run)).value_or(0);
  for (const Newest* group : {&newest_, &call_newest_}) {
    if (const auto seen = group->find(session.run); seen != group->end())
      newest = std::max(newest, seen->second);
  }
  call.data_runs.insert(session.run_id);
  return store_event(session, utc_time(newest), *event);
}

// ---- facts of an MLflow client, through the relay of its supervisor (compat/mlflow/relay/)
namespace {

// MLflow's numbers.
constexpr std::int64_t kClientScheduled = 2;
constexpr std::int64_t kClientFinished = 3;
constexpr std::int64_t kClientFailed = 4;
constexpr std::int64_t kClientKilled = 5;

RunStatus stored_status(std::int64_t client) {
  if (client == kClientFinished) return RunStatus::kFinished;
  return client == kClientFailed ? RunStatus::kFailed : RunStatus::kStopped;
}

}  // namespace

Result<bool> Ingest::apply_client_fact(const Call& call, const SessionState& session,
                                       const codec::Fact& fact) {
  if (fact.kind == codec::FactKind::kTag && fact.key == "mlflow.runName") {
    TRY(db_.defer("UPDATE runs SET name = ?2 WHERE key = ?1", session.run, fact.value));
    return false;  // it is a tag, too
  }
  if (fact.kind == codec::FactKind::kInfo && fact.key == "mlflow.delete-tag") {
    TRY(db_.defer("DELETE FROM facts WHERE run = ?1 AND kind = ?2 AND key = ?3", session.run,
                  codec::FactKind::kTag, fact.value));
    return true;
  }
  if (fact.kind != codec::FactKind::kInfo || fact.key != "mlflow.update") return false;
  const auto json = Json::parse(fact.value);
  if (!json) return true;
  if (const std::string name = json->get_string("name"); !name.empty())
    TRY(db_.defer("UPDATE runs SET name = ?2 WHERE key = ?1", session.run, name));
  if (const std::string user = json->get_string("user"); !user.empty())
    TRY(db_.defer("UPDATE runs SET user_id = ?2 WHERE key = ?1", session.run, user));
  const std::string experiment = json->get_string("experiment");
  const bool may_move = call.sender->access.hidden_space_of(experiment).empty();
  if (!experiment.empty() && may_move) TRY(move_run(session.run, experiment));
  TRY(client_status(session.run, json->get_int("status"), json->get_int("end_ms")));
  return may_move;  // else it is kept: the run is not where its script wants it
}

// The workload of the run moves with it, unless it has other runs, too.
Result<> Ingest::move_run(std::int64_t run, const std::string& experiment) {
  const std::int64_t id = TRY(find_or_make_experiment(experiment, sys::utc_now()));
  TRY(db_.defer(
      "UPDATE workloads SET experiment = ?2 WHERE key = (SELECT workload FROM runs WHERE key = ?1) "
      "AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.workload = workloads.key AND o.key <> ?1)",
      run, id));
  return db_.defer("UPDATE runs SET experiment = ?2 WHERE key = ?1", run, id);
}

// The status and end of a supervised run come from its supervisor; the client's view is stored
// separately. A client's "running" from before the end says nothing about the end.
Result<> Ingest::client_status(std::int64_t run, std::int64_t status, std::int64_t end_ms) {
  if (status <= 0 || status > kClientKilled) return {};
  if (status <= kClientScheduled) {
    TRY(
        db_.defer("UPDATE runs SET client_status = ?2, client_end = NULL WHERE key = ?1 AND "
                  "(supervised = 0 OR status = ?3)",
                  run, status, RunStatus::kRunning));
    return db_.defer(
        "UPDATE runs SET status = ?2, ended = NULL, end_reason = NULL WHERE key = ?1 AND "
        "supervised = 0",
        run, RunStatus::kRunning);
  }
  const UtcTime end = end_ms != 0 ? utc_time(end_ms * 1'000'000) : sys::utc_now();
  TRY(db_.defer("UPDATE runs SET client_status = ?2, client_end = ?3 WHERE key = ?1", run, status,
                end));
  return db_.defer("UPDATE runs SET status = ?2, ended = ?3 WHERE key = ?1 AND supervised = 0", run,
                   stored_status(status), end);
}

}  // namespace corral::store::sql
