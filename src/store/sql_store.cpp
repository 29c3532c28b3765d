#include "store/sql_store.h"

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

namespace corral::store::sql {
namespace {

class SqlStore final : public Store {
 public:
  explicit SqlStore(StoreParts parts)
      : location_(std::move(parts.location)),
        intact_(std::move(parts.intact)),
        writer_(std::move(parts.writer), intact_,
                [this](const StoredBatch& batch) {
                  points_.fetch_add(batch.points, std::memory_order_relaxed);
                  sealer_.note(batch.session, batch.bytes);
                }),
        readers_(parts.open_reader, parts.readers),
        charts_(parts.open_chart_reader
                    ? std::make_unique<Readers>(std::move(parts.open_chart_reader), parts.readers)
                    : nullptr),
        sealer_(readers_, writer_, std::move(parts.repair)),
        remover_(readers_, writer_, sealer_) {}

  [[nodiscard]] Result<> intact() const override { return intact_ ? intact_() : Result<>(); }
  Result<AppendResult> append(std::span<const codec::Frame> frames) override {
    sealer_.pace();
    return writer_.append(frames);
  }
  Result<AppendResult> append(std::span<const codec::Frame> frames, const Change& before) override {
    sealer_.pace();
    return writer_.append(frames, before);
  }
  Result<> change(const Change& change) override {
    TRY(writer_.append({}, change));
    return {};
  }
  Result<> inspect(const Inspect& inspect) override {
    return readers_.with([&](Connection& db) -> Result<> {
      Reading reading{db, latest_};
      return inspect(reading);
    });
  }
  Result<std::optional<Ack>> session(SessionId id) override {
    return readers_.with([&](Connection& db) { return read_session(db, id); });
  }
  Result<std::vector<Experiment>> experiments() override { return readers_.with(read_experiments); }
  Result<std::vector<Workload>> workloads(std::optional<ExperimentId> experiment) override {
    return readers_.with([&](Connection& db) { return read_workloads(db, experiment); });
  }
  Result<RunPage> runs(const RunFilter& filter) override {
    return readers_.with([&](Connection& db) { return read_runs(db, filter); });
  }
  Result<std::optional<Run>> run(RunId id) override {
    return readers_.with([&](Connection& db) { return read_run(db, id); });
  }
  Result<std::vector<RunId>> find_runs(std::string_view text) override {
    return readers_.with([&](Connection& db) { return read_matching_runs(db, text); });
  }
  Result<std::vector<Series>> series_of(RunId run) override {
    return readers_.with([&](Connection& db) { return read_series_of(db, caches_, run); });
  }
  Result<std::vector<Series>> series(std::span<const SeriesId> ids) override {
    return readers_.with([&](Connection& db) { return read_series(db, caches_, ids); });
  }
  Result<std::vector<std::pair<RunId, Series>>> series_ending(std::span<const RunId> runs,
                                                              std::string_view suffix) override {
    return readers_.with(
        [&](Connection& db) { return read_series_ending(db, caches_, runs, suffix); });
  }
  Result<> view(std::span<const SeriesId> series,
                const std::function<Result<>(PointView&)>& read) override {
    return view_by(charts(), series, read);
  }
  Result<> fresh_view(std::span<const SeriesId> series,
                      const std::function<Result<>(PointView&)>& read) override {
    return view_by(readers_, series, read);
  }
  Result<std::vector<Phase>> phases(RunId run) override {
    return readers_.with([&](Connection& db) { return read_phases(db, run); });
  }
  Result<std::vector<Phase>> phases_after(RunId run, const std::optional<PhasePlace>& place,
                                          std::size_t limit) override {
    return readers_.with([&](Connection& db) { return read_phases_after(db, run, place, limit); });
  }
  Result<PhaseCounts> count_phases(RunId run) override {
    return readers_.with([&](Connection& db) { return read_phase_counts(db, run); });
  }
  Result<std::vector<std::pair<std::int64_t, std::uint64_t>>> linked_phases(
      RunId run, std::size_t limit) override {
    return readers_.with([&](Connection& db) { return read_linked_phases(db, run, limit); });
  }
  Result<std::vector<StoredEvent>> events(RunId run) override {
    return readers_.with([&](Connection& db) { return read_events(db, run); });
  }
  Result<std::vector<LogChunk>> logs(const LogQuery& query) override {
    return readers_.with([&](Connection& db) { return read_logs(db, query); });
  }
  Result<std::vector<LogExtent>> log_extents(RunId run) override {
    return readers_.with([&](Connection& db) { return read_log_extents(db, run); });
  }
  Result<StoreInfo> info() override;
  [[nodiscard]] StoreActivity activity() const override;
  Result<Removal> remove_runs(std::span<const RunId> runs, const RemoveOptions& options) override {
    return remover_.remove_runs(runs, options);
  }
  Result<Removal> remove_experiment(ExperimentId id, const RemoveOptions& options) override {
    return remover_.remove_experiment(id, options);
  }
  Result<Removal> prune(const Retention& retention, UtcTime now, bool dry_run) override {
    return remover_.prune(retention, now, dry_run);
  }
  Result<> seal(bool settle) override { return sealer_.seal_all(settle); }

 private:
  const std::string location_;
  const Intact intact_;
  std::atomic<std::uint64_t> points_{0};
  Writer writer_;  // closed last: its connection makes the final checkpoint
  Readers& charts() { return charts_ ? *charts_ : readers_; }
  Result<> view_by(Readers& readers, std::span<const SeriesId> series,
                   const std::function<Result<>(PointView&)>& read) {
    return readers.with([&](Connection& db) -> Result<> {
      const auto view = TRY(open_view(db, caches_, series));
      return read(*view);
    });
  }

  Readers readers_;
  const std::unique_ptr<Readers> charts_;  // null: the same as readers_
  Caches caches_;
  LatestMetrics latest_{caches_};
  Sealer sealer_;  // its thread is ended first
  Remover remover_;
};

Result<StoreInfo> SqlStore::info() {
  StoreInfo info;
  info.location = location_;
  info.schema_version = TRY(readers_.with(schema_version));
  info.bytes = TRY(readers_.with([](Connection& db) { return db.bytes(); }));
  info.problem = sealer_.problem();
  return info;
}

StoreActivity SqlStore::activity() const {
  StoreActivity activity = sealer_.waiting();
  activity.points = points_.load(std::memory_order_relaxed);
  return activity;
}

}  // namespace

std::unique_ptr<Store> make_store(StoreParts parts) {
  return std::make_unique<SqlStore>(std::move(parts));
}

}  // namespace corral::store::sql
