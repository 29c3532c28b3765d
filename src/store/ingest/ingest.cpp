#include "store/ingest/ingest.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/failpoint.h"

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

}  // namespace

Result<AppendResult> Ingest::append(std::span<const codec::Frame> frames, LockRuns lock) {
  if (sessions_.size() > kRememberedSessions || remembered_series_ > kRememberedSeries) {
    sessions_.clear();
    remembered_series_ = 0;
  }
  call_newest_.clear();
  call_batches_.clear();
  Call call;
  // All rows are locked before the first change, in an order that all processes share.
  if (db_.dialect().shared) {
    for (const codec::Frame& frame : frames) call.touched.emplace(frame.header.session, nullptr);
    for (auto& [id, session] : call.touched) session = TRY(find_session(id));
  }
  for (std::size_t i = 0; i < frames.size(); ++i) TRY(take(call, frames[i], i));
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

Result<> Ingest::take(Call& call, const codec::Frame& frame, std::size_t index) {
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
    if (TRY(still_true(*known->second))) return known->second;
    sessions_.erase(known);
  } else if (db_.dialect().shared) {
    TRY(db_.exec(lock_session(db_), id));
  }
  auto state = std::make_shared<SessionState>();
  {
    Statement row = TRY(db_.query(
        "SELECT s.key, s.run, s.workload, s.durable_seq, s.utc_minus_boot, "
        "s.clock_error, s.removed, "
        "r.id, s.machine FROM sessions s LEFT JOIN runs r ON r.key = s.run WHERE s.id = ?1",
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
Result<bool> Ingest::still_true(const SessionState& session) {
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
    Statement row = TRY(db_.query("SELECT id FROM runs WHERE status = 0 AND +machine = ?1", host));
    while (TRY(row.step())) call.data_runs.insert(row.id128<RunId>(0));
  }
  TRY(db_.flush());
  call.result.changed_runs.assign(call.changed_runs.begin(), call.changed_runs.end());
  call.result.data_runs.assign(call.data_runs.begin(), call.data_runs.end());
  return {};
}

}  // namespace corral::store::sql
