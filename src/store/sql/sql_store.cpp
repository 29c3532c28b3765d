#include "store/sql/sql_store.h"

#include <utility>

#include "store/sql/readers.h"
#include "store/sql/reads.h"
#include "store/sql/remover.h"
#include "store/sql/schema.h"
#include "store/sql/sealer.h"
#include "store/sql/view.h"
#include "store/sql/writer.h"

namespace corral::store::sql {
namespace {

class SqlStore final : public Store {
 public:
  explicit SqlStore(StoreParts parts)
      : location_(std::move(parts.location)),
        writer_(std::move(parts.writer),
                [this](std::int64_t session, std::size_t bytes) { sealer_.note(session, bytes); }),
        readers_(parts.open_reader, parts.readers),
        charts_(parts.open_chart_reader
                    ? std::make_unique<Readers>(std::move(parts.open_chart_reader), parts.readers)
                    : nullptr),
        sealer_(readers_, writer_, std::move(parts.repair)),
        remover_(readers_, writer_, sealer_) {}

  Result<AppendResult> append(std::span<const codec::Frame> frames) override {
    sealer_.pace();
    return writer_.append(frames);
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
    return charts().with([&](Connection& db) -> Result<> {
      const auto view = TRY(open_view(db, caches_, series));
      return read(*view);
    });
  }
  Result<std::vector<Phase>> phases(RunId run) override {
    return readers_.with([&](Connection& db) { return read_phases(db, run); });
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
  Writer writer_;  // closed last: its connection makes the final checkpoint
  Readers& charts() { return charts_ ? *charts_ : readers_; }

  Readers readers_;
  const std::unique_ptr<Readers> charts_;  // null: the same as readers_
  Caches caches_;
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

}  // namespace

std::unique_ptr<Store> make_store(StoreParts parts) {
  return std::make_unique<SqlStore>(std::move(parts));
}

}  // namespace corral::store::sql
