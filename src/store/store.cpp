#include "store/store.h"

#include <atomic>
#include <utility>

#include "store/engine/readers.h"
#include "store/engine/schema.h"
#include "store/ingest/writer.h"
#include "store/read/latest_metrics.h"
#include "store/read/reads.h"
#include "store/read/view.h"
#include "store/remover.h"
#include "store/seal/sealer.h"
#include "store/store_parts.h"

namespace corral::store {

using sql::Connection;

struct Store::Machinery {
  explicit Machinery(StoreParts parts)
      : location(std::move(parts.location)),
        intact(std::move(parts.intact)),
        writer(std::move(parts.writer), intact,
               [this](const sql::StoredBatch& batch) {
                 points.fetch_add(batch.points, std::memory_order_relaxed);
                 sealer.note(batch.session, batch.bytes);
               }),
        readers(parts.open_reader, parts.readers),
        chart_readers(
            parts.open_chart_reader
                ? std::make_unique<sql::Readers>(std::move(parts.open_chart_reader), parts.readers)
                : nullptr),
        sealer(readers, writer, std::move(parts.repair)),
        remover(readers, writer, sealer) {}

  sql::Readers& charts() { return chart_readers ? *chart_readers : readers; }
  Result<> view(sql::Readers& from, std::span<const SeriesId> series,
                const std::function<Result<>(PointView&)>& read) {
    return from.with([&](Connection& db) -> Result<> {
      const auto view = TRY(sql::open_view(db, caches, series));
      return read(*view);
    });
  }

  const std::string location;
  const sql::Intact intact;
  std::atomic<std::uint64_t> points{0};
  sql::Writer writer;  // closed last: its connection makes the final checkpoint
  sql::Readers readers;
  const std::unique_ptr<sql::Readers> chart_readers;  // null: the same as readers
  sql::Caches caches;
  sql::LatestMetrics latest{caches};
  sql::Sealer sealer;  // its thread is ended first
  sql::Remover remover;
};

Store::Store(StoreParts parts) : machinery_(std::make_unique<Machinery>(std::move(parts))) {}
Store::~Store() = default;

Result<> Store::intact() const { return machinery_->intact ? machinery_->intact() : Result<>(); }

Result<AppendResult> Store::append(std::span<const codec::Frame> frames) {
  machinery_->sealer.pace();
  return machinery_->writer.append(frames);
}

Result<AppendResult> Store::append(std::span<const codec::Frame> frames, const Change& before) {
  machinery_->sealer.pace();
  return machinery_->writer.append(frames, before);
}

Result<> Store::change(const Change& change) {
  TRY(machinery_->writer.append({}, change));
  return {};
}

Result<> Store::inspect(const Inspect& inspect) {
  return machinery_->readers.with([&](Connection& db) -> Result<> {
    Reading reading({.db = db, .latest = machinery_->latest});
    return inspect(reading);
  });
}

Result<std::optional<Ack>> Store::session(SessionId id) {
  return machinery_->readers.with([&](Connection& db) { return sql::read_session(db, id); });
}

Result<std::vector<Experiment>> Store::experiments() {
  return machinery_->readers.with(sql::read_experiments);
}

Result<std::vector<Workload>> Store::workloads(std::optional<ExperimentId> experiment) {
  return machinery_->readers.with(
      [&](Connection& db) { return sql::read_workloads(db, experiment); });
}

Result<RunPage> Store::runs(const RunFilter& filter) {
  return machinery_->readers.with([&](Connection& db) { return sql::read_runs(db, filter); });
}

Result<std::optional<Run>> Store::run(RunId id) {
  return machinery_->readers.with([&](Connection& db) { return sql::read_run(db, id); });
}

Result<std::vector<RunId>> Store::find_runs(std::string_view text) {
  return machinery_->readers.with(
      [&](Connection& db) { return sql::read_matching_runs(db, text); });
}

Result<std::vector<Series>> Store::series_of(RunId run) {
  return machinery_->readers.with(
      [&](Connection& db) { return sql::read_series_of(db, machinery_->caches, run); });
}

Result<std::vector<Series>> Store::series(std::span<const SeriesId> ids) {
  return machinery_->readers.with(
      [&](Connection& db) { return sql::read_series(db, machinery_->caches, ids); });
}

Result<std::vector<std::pair<RunId, Series>>> Store::series_ending(std::span<const RunId> runs,
                                                                   std::string_view suffix) {
  return machinery_->readers.with([&](Connection& db) {
    return sql::read_series_ending(db, machinery_->caches, runs, suffix);
  });
}

Result<> Store::view(std::span<const SeriesId> series,
                     const std::function<Result<>(PointView&)>& read) {
  return machinery_->view(machinery_->charts(), series, read);
}

Result<> Store::fresh_view(std::span<const SeriesId> series,
                           const std::function<Result<>(PointView&)>& read) {
  return machinery_->view(machinery_->readers, series, read);
}

Result<std::vector<Phase>> Store::phases(RunId run) {
  return machinery_->readers.with([&](Connection& db) { return sql::read_phases(db, run); });
}

Result<std::vector<Phase>> Store::phases_after(RunId run, const std::optional<PhasePlace>& place,
                                               std::size_t limit) {
  return machinery_->readers.with(
      [&](Connection& db) { return sql::read_phases_after(db, run, place, limit); });
}

Result<PhaseCounts> Store::count_phases(RunId run) {
  return machinery_->readers.with([&](Connection& db) { return sql::read_phase_counts(db, run); });
}

Result<std::vector<std::pair<std::int64_t, std::uint64_t>>> Store::linked_phases(
    RunId run, std::size_t limit) {
  return machinery_->readers.with(
      [&](Connection& db) { return sql::read_linked_phases(db, run, limit); });
}

Result<std::vector<StoredEvent>> Store::events(RunId run) {
  return machinery_->readers.with([&](Connection& db) { return sql::read_events(db, run); });
}

Result<std::vector<LogChunk>> Store::logs(const LogQuery& query) {
  return machinery_->readers.with([&](Connection& db) { return sql::read_logs(db, query); });
}

Result<std::vector<LogExtent>> Store::log_extents(RunId run) {
  return machinery_->readers.with([&](Connection& db) { return sql::read_log_extents(db, run); });
}

Result<StoreInfo> Store::info() {
  StoreInfo info;
  info.location = machinery_->location;
  info.schema_version = TRY(machinery_->readers.with(sql::schema_version));
  info.bytes = TRY(machinery_->readers.with([](Connection& db) { return db.bytes(); }));
  info.problem = machinery_->sealer.problem();
  return info;
}

StoreActivity Store::activity() const {
  StoreActivity activity = machinery_->sealer.waiting();
  activity.points = machinery_->points.load(std::memory_order_relaxed);
  return activity;
}

Result<Removal> Store::remove_runs(std::span<const RunId> runs, const RemoveOptions& options) {
  return machinery_->remover.remove_runs(runs, options);
}

Result<Removal> Store::remove_experiment(ExperimentId id, const RemoveOptions& options) {
  return machinery_->remover.remove_experiment(id, options);
}

Result<Removal> Store::prune(const Retention& retention, UtcTime now, bool dry_run) {
  return machinery_->remover.prune(retention, now, dry_run);
}

Result<> Store::seal(bool settle) { return machinery_->sealer.seal_all(settle); }

}  // namespace corral::store
