#include "store/remover.h"

#include "core/failpoint.h"
#include "sys/clock.h"

namespace corral::store::sql {
namespace {

constexpr int kAttempts = 5;

}  // namespace

// Another server's writes may come between, or the connection be lost.
Result<> Remover::transact(const Writer::Write& write) {
  Result<> done;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    done = writer_.transact(write, Writer::Sessions::kForget);
    if (done || (done.error().code != Code::kConflict && done.error().code != Code::kUnavailable))
      break;
  }
  return done;
}

Result<std::vector<RunId>> Remover::mark(std::span<const RunId> runs, OfRunning running) {
  std::vector<RunId> all;
  while (!runs.empty()) {
    std::size_t looked_at = 0;
    std::vector<RunId> marked;
    const auto some = [&](Connection& db) -> Result<> {
      const BootTime until = sys::boot_now() + kRemovalSlice;
      marked.clear();
      for (looked_at = 0; looked_at < runs.size() && (looked_at == 0 || sys::boot_now() < until);
           ++looked_at) {
        if (TRY(mark_removed(db, runs[looked_at], running))) marked.push_back(runs[looked_at]);
      }
      return {};
    };
    TRY(transact(some));
    failpoint::reach("remove.after_mark");
    sealer_.note_removal();
    all.insert(all.end(), marked.begin(), marked.end());
    runs = runs.subspan(looked_at);
  }
  return all;
}

Result<Removal> Remover::remove(std::span<const RunId> runs, OfRunning running, bool dry_run) {
  Removal removal =
      TRY(readers_.with([&](Connection& db) { return size_of_removal(db, runs, running); }));
  if (dry_run) return removal;
  auto marked = TRY(mark(removal.runs, running));
  // Runs that were started meanwhile stay; another server may have removed the rest, which is the
  // same.
  if (running == OfRunning::kSkip) removal.runs = std::move(marked);
  return removal;
}

Result<Removal> Remover::remove_runs(std::span<const RunId> runs, const RemoveOptions& options) {
  return remove(runs, options.force ? OfRunning::kTake : OfRunning::kRefuse, options.dry_run);
}

Result<Removal> Remover::remove_experiment(ExperimentId id, const RemoveOptions& options) {
  const auto runs = TRY(readers_.with([&](Connection& db) { return runs_to_remove(db, id); }));
  Removal removal = TRY(remove_runs(runs, options));
  if (!options.dry_run) TRY(transact([&](Connection& db) { return drop_experiment(db, id); }));
  return removal;
}

// Runs removed before shall be gone; outlived() leaves out those that are removed meanwhile.
Result<Removal> Remover::prune(const Retention& retention, UtcTime now, bool dry_run) {
  if (retention.bytes && !dry_run) TRY(sealer_.clean_all());
  const auto runs =
      TRY(readers_.with([&](Connection& db) { return outlived(db, retention, now); }));
  return remove(runs, OfRunning::kSkip, dry_run);
}

}  // namespace corral::store::sql
