#include "store/store.h"

#include "core/failpoint.h"
#include "store/engine/schema.h"
#include "store/machinery.h"
#include "store/read/host_series.h"
#include "store/read/reads.h"
#include "sys/clock.h"

namespace corral::store {

using sql::Connection;

namespace {

constexpr int kAttempts = 5;

sql::IfRunning if_running(const RemoveOptions& options) {
  return options.force ? sql::IfRunning::kRemove : sql::IfRunning::kRefuse;
}

}  // namespace

Store::Store(StoreParts parts) : machinery_(std::make_unique<Machinery>(std::move(parts))) {}
Store::~Store() = default;

Result<> Store::intact() const { return machinery_->intact ? machinery_->intact() : Result<>(); }

Result<AppendResult> Store::append(std::span<const codec::Frame> frames, const Change& before,
                                   const Sender& sender) {
  machinery_->sealer.pace();
  return machinery_->writer.append(frames, before, sender);
}

Result<> Store::change(const Change& change) {
  TRY(machinery_->writer.append({}, change));
  return {};
}

Result<std::optional<Ack>> Store::session(SessionId id) {
  return machinery_->readers.with([&](Connection& db) { return sql::read_session(db, id); });
}

Result<StoreInfo> Store::info() {
  StoreInfo info;
  info.location = machinery_->location;
  info.schema_version = TRY(machinery_->readers.with(sql::schema_version));
  info.bytes = TRY(machinery_->readers.with([](Connection& db) { return db.bytes(); }));
  info.problem = machinery_->sealer.problem();
  return info;
}

Result<StoreTime> Store::now() {
  if (machinery_->clock.empty()) return StoreTime{.time = sys::utc_now(), .of_this_machine = true};
  const auto ns =
      TRY(machinery_->readers.with([&](Connection& db) { return db.number(machinery_->clock); }));
  if (!ns) return fail(Code::kUnavailable, "the database tells no time");
  return StoreTime{.time = utc_time(*ns), .of_this_machine = false};
}

StoreActivity Store::activity() const {
  StoreActivity activity = machinery_->sealer.waiting();
  activity.points = machinery_->points.load(std::memory_order_relaxed);
  return activity;
}

Result<> Store::Machinery::check_seen(const Access& access, std::span<const SeriesId> series) {
  if (access.sees_all()) return {};
  return read(access, [&](Connection& db) -> Result<> {
    for (const SeriesId id : series) {
      const auto part = sql::parse_host_part(id);
      const auto seen =
          part ? TRY(db.number("SELECT 1 FROM workloads WHERE key = ?1", part->workload))
               : TRY(db.number("SELECT 1 FROM series WHERE id = ?1", id));
      if (!seen) return fail(Code::kNotFound, "there is no series " + std::to_string(id.value));
    }
    return {};
  });
}

// ---- removal
// Another server's writes may come between, or the connection be lost.
Result<> Store::Machinery::transact(const sql::Writer::Write& write) {
  Result<> done;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    done = writer.transact(write, sql::Writer::Sessions::kForget);
    if (done || (done.error().code != Code::kConflict && done.error().code != Code::kUnavailable))
      break;
  }
  return done;
}

Result<std::vector<RunId>> Store::Machinery::mark(std::span<const RunId> runs,
                                                  sql::IfRunning running,
                                                  std::optional<UtcTime> trashed_before) {
  std::vector<RunId> all;
  while (!runs.empty()) {
    std::size_t looked_at = 0;
    std::vector<RunId> marked;
    const auto some = [&](Connection& db) -> Result<> {
      const BootTime until = sys::boot_now() + sql::kRemovalSlice;
      marked.clear();
      for (looked_at = 0; looked_at < runs.size() && (looked_at == 0 || sys::boot_now() < until);
           ++looked_at) {
        const RunId run = runs[looked_at];
        if (TRY(sql::mark_removed(db, run, running, trashed_before))) marked.push_back(run);
      }
      return {};
    };
    TRY(transact(some));
    failpoint::reach("remove.after_mark");
    sealer.note_removal();
    all.insert(all.end(), marked.begin(), marked.end());
    runs = runs.subspan(looked_at);
  }
  return all;
}

Result<Removal> Store::Machinery::remove(std::span<const RunId> runs, sql::IfRunning running,
                                         bool dry_run, std::optional<UtcTime> trashed_before) {
  Removal removal =
      TRY(readers.with([&](Connection& db) { return sql::size_of_removal(db, runs, running); }));
  if (dry_run) return removal;
  auto marked = TRY(mark(removal.runs, running, trashed_before));
  // Runs that were started meanwhile stay; another server may have removed the rest, which is the
  // same.
  if (running == sql::IfRunning::kSkip) removal.runs = std::move(marked);
  return removal;
}

Result<Removal> Store::remove_runs(std::span<const RunId> runs, const RemoveOptions& options) {
  return machinery_->remove(runs, if_running(options), options.dry_run);
}

Result<Removal> Store::remove_trashed(RunId run, const RemoveOptions& options) {
  return machinery_->remove(std::span(&run, 1), if_running(options), options.dry_run,
                            UtcTime::max());
}

Result<Removal> Store::remove_experiment(ExperimentId id, const RemoveOptions& options) {
  const auto runs =
      TRY(machinery_->readers.with([&](Connection& db) { return sql::runs_to_remove(db, id); }));
  Removal removal = TRY(remove_runs(runs, options));
  if (!options.dry_run)
    TRY(machinery_->transact([&](Connection& db) { return sql::drop_experiment(db, id); }));
  return removal;
}

// Runs removed before shall be gone; runs_beyond_retention() leaves out those that are removed
// meanwhile.
Result<Removal> Store::prune(const Retention& retention, UtcTime now, bool dry_run) {
  if (retention.bytes && !dry_run) TRY(machinery_->sealer.clean_all());
  const auto runs = TRY(machinery_->readers.with(
      [&](Connection& db) { return sql::runs_beyond_retention(db, retention, now); }));
  return machinery_->remove(runs, sql::IfRunning::kSkip, dry_run);
}

Result<Removal> Store::empty_trash(UtcTime now) {
  if (!TRY(machinery_->readers.with(sql::anything_in_trash))) return Removal{};
  TRY(machinery_->transact([&](Connection& db) { return sql::date_trash(db, now); }));
  const auto runs = TRY(
      machinery_->readers.with([&](Connection& db) { return sql::runs_beyond_trash(db, now); }));
  // Somebody may restore some of them meanwhile.
  Removal removal = TRY(machinery_->remove(runs, sql::IfRunning::kSkip, false, now - kTrashKept));
  TRY(machinery_->transact([&](Connection& db) { return sql::drop_deleted_experiments(db, now); }));
  return removal;
}

Result<> Store::seal(bool settle) { return machinery_->sealer.seal_all(settle); }

}  // namespace corral::store
