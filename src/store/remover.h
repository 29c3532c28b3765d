// Remover: removes runs for callers of the store (remove/remove.h describes the removal).
//
// It measures in a snapshot for reading, marks in short transactions of the writer's, and leaves
// the deleting to the sealer. Any thread.
#pragma once

#include <span>
#include <vector>

#include "store/engine/readers.h"
#include "store/ingest/writer.h"
#include "store/model/records.h"
#include "store/remove/remove.h"
#include "store/seal/sealer.h"

namespace corral::store::sql {

class Remover {
 public:
  Remover(Readers& readers, Writer& writer, Sealer& sealer)
      : readers_(readers), writer_(writer), sealer_(sealer) {}

  Result<Removal> remove_runs(std::span<const RunId> runs, const RemoveOptions& options);
  Result<Removal> remove_experiment(ExperimentId id, const RemoveOptions& options);
  Result<Removal> prune(const Retention& retention, UtcTime now, bool dry_run);

 private:
  Result<Removal> remove(std::span<const RunId> runs, OfRunning running, bool dry_run);
  // Those that were marked.
  Result<std::vector<RunId>> mark(std::span<const RunId> runs, OfRunning running);
  Result<> transact(const Writer::Write& write);

  Readers& readers_;
  Writer& writer_;
  Sealer& sealer_;
};

}  // namespace corral::store::sql
