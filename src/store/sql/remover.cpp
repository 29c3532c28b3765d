#include "store/sql/remover.h"

#include "core/failpoint.h"
#include "store/sql/remove.h"
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

Result<> Remover::mark(std::span<const RunId> runs, bool force) {
  while (!runs.empty()) {
    std::size_t marked = 0;
    const auto some = [&](Connection& db) -> Result<> {
      const BootTime until = sys::boot_now() + kRemovalSlice;
      for (marked = 0; marked < runs.size() && (marked == 0 || sys::boot_now() < until); ++marked)
        TRY(mark_removed(db, runs[marked], force));
      return {};
    };
    TRY(transact(some));
    failpoint::reach("remove.after_mark");
    sealer_.note_removal();
    runs = runs.subspan(marked);
  }
  return {};
}

Result<Removal> Remover::remove_runs(std::span<const RunId> runs, const RemoveOptions& options) {
  Removal removal =
      TRY(readers_.with([&](Connection& db) { return size_of_removal(db, runs, options.force); }));
  if (!options.dry_run) TRY(mark(removal.runs, options.force));
  return removal;
}

Result<Removal> Remover::remove_experiment(ExperimentId id, const RemoveOptions& options) {
  const auto runs = TRY(readers_.with([&](Connection& db) { return runs_to_remove(db, id); }));
  Removal removal = TRY(remove_runs(runs, options));
  if (!options.dry_run)
    TRY(transact([&](Connection& db) { return drop_empty_experiment(db, id); }));
  return removal;
}

// What was removed before must be gone, or it would count as taking room.
Result<Removal> Remover::prune(const Retention& retention, UtcTime now, bool dry_run) {
  if (retention.bytes && !dry_run) TRY(sealer_.clean_all());
  const auto runs =
      TRY(readers_.with([&](Connection& db) { return outlived(db, retention, now); }));
  return remove_runs(runs, {.force = false, .dry_run = dry_run});
}

}  // namespace corral::store::sql
