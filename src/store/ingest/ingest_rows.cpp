#include <algorithm>
#include <charconv>

#include "codec/frame.h"
#include "core/json.h"
#include "core/limits.h"
#include "store/ingest/ingest.h"

namespace corral::store::sql {
namespace {

std::string links_json(const std::vector<std::uint64_t>& links) {
  std::string json;
  for (const std::uint64_t link : links) json += (json.empty() ? "" : ",") + std::to_string(link);
  return json;
}

std::int64_t owner_of(const SessionState& session, metric::Owner owner) {
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

auto key_of(const codec::SeriesDef& def) {
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
  if (TRY(store_facts(session, content.facts))) call.changed_runs.insert(session.run_id);
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
        def->owner, owner_of(session, def->owner), def->name, def->source));
    if (id) known[key_of(*def)] = SeriesId{*id};
  }
  return {};
}

Result<> Ingest::find_many(const SessionState& session, const SeriesDefs& defs,
                           KnownSeries& known) {
  std::set<KnownSeries::key_type> wanted;
  std::set<metric::Owner> owners;
  for (const codec::SeriesDef* def : defs) {
    wanted.insert(key_of(*def));
    owners.insert(def->owner);
  }
  for (const metric::Owner owner : owners) {
    Statement row =
        TRY(db_.query("SELECT id, name, source FROM series WHERE owner_kind = ?1 AND owner = ?2",
                      owner, owner_of(session, owner)));
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
    if (!known.contains(key_of(*def))) missing.push_back(def);
  }
  TRY(make_series(session, missing));
  if (!missing.empty()) known.merge(TRY(find_series(session, missing)));
  for (const codec::SeriesDef* def : fresh) {
    const auto made = known.find(key_of(*def));
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
  for (const codec::SeriesDef* def : defs) in_order.emplace(key_of(*def), def);
  for (const auto& [key, def] : in_order) {
    TRY(
        db_.defer("INSERT INTO series (owner_kind, owner, name, source, unit, kind, aggregation) "
                  "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) "
                  "ON CONFLICT (owner_kind, owner, name, source) DO NOTHING",
                  def->owner, owner_of(session, def->owner), def->name, def->source, def->unit,
                  def->kind, def->aggregation));
  }
  return {};
}

std::uint64_t Ingest::points_of(const std::vector<codec::SamplesBody>& samples) {
  std::uint64_t points = 0;
  for (const codec::SamplesBody& body : samples) {
    for (const codec::SampleGroup& group : body.groups) {
      for (const codec::Column& column : group.columns) points += column.values.size();
    }
  }
  return points;
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
  call_batches_.push_back(
      {.session = session.key, .bytes = frame.raw.size(), .points = points_of(content.samples)});
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
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT (session, id) DO "
        "UPDATE SET "
        "parent = CASE WHEN excluded.started IS NULL THEN phases.parent ELSE excluded.parent END, "
        "kind = CASE WHEN excluded.started IS NULL THEN phases.kind ELSE excluded.kind END, "
        "started = coalesce(excluded.started, phases.started), ended = coalesce(excluded.ended, "
        "phases.ended), "
        "name = CASE WHEN excluded.name = '' THEN phases.name ELSE excluded.name END, "
        "type = CASE WHEN excluded.type = '' THEN phases.type ELSE excluded.type END, "
        "lane = CASE WHEN excluded.lane = '' THEN phases.lane ELSE excluded.lane END, "
        "links = CASE WHEN excluded.links = '' THEN phases.links ELSE excluded.links END, "
        "attributes = CASE WHEN excluded.attributes = '' THEN phases.attributes ELSE "
        "excluded.attributes "
        "END",
        session.key, phase.id, session.run, phase.parent, phase.kind, utc(phase.begin),
        utc(phase.end), phase.name, phase.type, phase.lane, links_json(phase.links),
        attributes_json(phase.attributes)));
  }
  return {};
}

// True when there were any. Counts of drops (decimal) only grow: a supervisor that took over starts
// its own at 0.
Result<bool> Ingest::store_facts(const SessionState& session,
                                 const std::vector<codec::Fact>& facts) {
  for (const codec::Fact& fact : facts) {
    if (TRY(client_says(session, fact))) continue;
    const bool drop = fact.kind == codec::FactKind::kDrop;
    TRY(db_.defer(drop
                      ? "INSERT INTO facts (run, kind, key, value) VALUES (?1, ?2, ?3, ?4) ON "
                        "CONFLICT (run, kind, key) DO UPDATE "
                        "SET value = excluded.value WHERE (length(excluded.value), excluded.value) "
                        "> (length(facts.value), facts.value)"
                      : "INSERT INTO facts (run, kind, key, value) VALUES (?1, ?2, ?3, ?4) ON "
                        "CONFLICT (run, kind, key) DO UPDATE "
                        "SET value = excluded.value",
                  session.run, fact.kind, fact.key, fact.value));
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
Result<std::int64_t> Ingest::log_length(std::int64_t run, codec::LogStream stream) {
  const std::string sql = "SELECT length FROM log_streams WHERE run = ?1 AND stream = ?2" +
                          std::string(db_.dialect().lock_row);
  if (const auto known = TRY(db_.number(sql, run, stream))) return *known;
  if (!db_.dialect().shared) return 0;
  TRY(
      db_.defer("INSERT INTO log_streams (run, stream, length) VALUES (?1, ?2, 0) "
                "ON CONFLICT (run, stream) DO NOTHING",
                run, stream));
  return TRY(db_.number(sql, run, stream)).value_or(0);
}

// Only bytes beyond the end of the stream are new: a supervisor that took over reads its output
// file from the start.
Result<> Ingest::store_log(const SessionState& session, const codec::LogBody& log) {
  const std::int64_t known = TRY(log_length(session.run, log.stream));
  const auto length = static_cast<std::int64_t>(log.bytes.size());
  const std::int64_t end = log.offset + length;
  if (end <= known) return {};
  const std::int64_t start = std::max(log.offset, known);
  const auto fresh =
      std::string_view(log.bytes).substr(static_cast<std::size_t>(start - log.offset));
  TRY(db_.defer(
      "INSERT INTO logs (run, stream, start, length, time, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
      session.run, log.stream, start, end - start, session.anchor.to_utc(log.time),
      Blob(reinterpret_cast<const std::uint8_t*>(fresh.data()), fresh.size())));
  TRY(
      db_.defer("INSERT INTO log_streams (run, stream, length) VALUES (?1, ?2, ?3) "
                "ON CONFLICT (run, stream) DO UPDATE SET length = excluded.length",
                session.run, log.stream, end));
  return db_.defer(
      "DELETE FROM logs WHERE run = ?1 AND stream = ?2 AND start >= ?3 AND start < ?4 AND start + "
      "length <= ?4",
      session.run, log.stream, limits::kLogHeadBytes, end - limits::kLogTailBytes);
}

// A known outcome wins over an unknown one, whichever comes last.
Result<> Ingest::store_end(Call& call, const SessionState& session, const codec::RunEndBody& end) {
  call.changed_runs.insert(session.run_id);
  return db_.defer(
      "UPDATE runs SET status = ?2, ended = ?3, end_reason = ?4, exit_code = ?5, exit_signal = ?6, "
      "client_status = CASE WHEN client_status <= 2 THEN NULL ELSE client_status END "
      "WHERE key = ?1 AND (end_reason IS NULL OR end_reason = ?7 OR ?4 <> ?7)",
      session.run, status_of(end), session.anchor.to_utc(end.time), end.reason, end.exit_code,
      end.exit_signal, codec::EndReason::kUnknown);
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

}  // namespace corral::store::sql
