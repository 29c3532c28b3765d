// Views that stand before the tables of a store and show only what lies in no hidden space, so that
// a reader who may not see all reads by the same SQL as one who may.
#pragma once

#include <span>
#include <string_view>

#include "core/result.h"
#include "store/engine/database.h"

namespace corral::store::sql {

// From now on names of tables mean these views, for this connection alone; each of its transactions
// that reads must hide() first. They cannot be written to. Call it outside of a transaction.
//
// Rows of a run, experiment, workload, registered model, logged model or trace are hidden with it,
// and so are boards, lists and reports by their names. Tables of sessions and points (batches,
// blocks, pyramids...) are as before: they are read by the ids of series and sessions, which are
// not.
//
// Further views show hidden rows: hidden_experiments (id, artifact_location), hidden_runs (all
// columns), hidden_facts (plan, devices and CPUs of hidden runs), hidden_ids (id: those of runs,
// workloads and sessions) and hidden_names (id: those of logged models and traces, which are
// texts); whole_workloads shows all of them.
Result<> put_views_before_tables(Connection& db);
// Names all rows of "facts", for queries that reach them by the keys of runs that were seen
// already: the view would look each of these up again.
std::string_view whole_facts(const Connection& db);
// Names of the tables that get one.
std::span<const std::string_view> tables_behind_views();

}  // namespace corral::store::sql
