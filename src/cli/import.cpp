// corral import: a database of MLflow's or radT's, or the trace of a profiler.
#include <fmt/core.h>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/import_database.h"
#include "cli/import_trace.h"

namespace corral::cli {
namespace {

constexpr const char* kImportExamples =
    "  corral import mlflow.db\n"
    "  corral import postgresql://mlflow@db.lab/mlflow --store ./results\n"
    "  corral import mlflow.db --copy-artifacts --artifacts-from ./mlartifacts\n"
    "  corral import trace.json.gz --run @1     phases of the newest run\n"
    "  corral import trace.json.gz --name job   a run of its own\n";

struct ImportFlags {
  DatabaseFlags database;
  TraceFlags trace;
  std::string from;
};

void declare(Arguments& arguments, ImportFlags& flags) {
  arguments.positional("from", flags.from,
                       "trace, SQLite file, or URL of MLflow's --backend-store-uri", true);
  arguments.group("Databases");
  arguments.flag("copy-artifacts", flags.database.copy_artifacts,
                 "copy artifacts instead of referring to them");
  arguments.text("artifacts", flags.database.artifacts,
                 "DIR or s3://BUCKET/PREFIX of the store (default: STORE/artifacts)");
  arguments.text("artifacts-from", flags.database.artifacts_from,
                 "DIR or s3://BUCKET/PREFIX of the old server's artifacts");
  arguments.group("Traces");
  arguments.text("run", flags.trace.run, "run that gets the phases (default: a new run)");
  arguments.text("name", flags.trace.name, "name of the new run (default: the file's)");
  arguments.text("experiment", flags.trace.experiment,
                 "experiment of the new run (default: default)");
  arguments.flag("operators", flags.trace.operators, "import the operators too");
  for (const char* name : {"run", "name", "operators"}) arguments.as_flag_only(name);
  for (const char* name : {"run", "name", "experiment"}) arguments.never_empty(name);
  arguments.group("Store");
  add_destination(arguments, flags.trace.destination);
}

// Why these flags do not fit; empty: they do.
std::string misfit(const ImportFlags& flags, bool trace) {
  const bool of_database = flags.database.copy_artifacts || !flags.database.artifacts.empty() ||
                           !flags.database.artifacts_from.empty();
  const bool of_trace =
      !flags.trace.run.empty() || !flags.trace.name.empty() || flags.trace.operators;
  if (trace && of_database) return "a trace has no artifacts: those options are for databases";
  if (!trace && of_trace) return "--run, --name and --operators are for traces in JSON";
  if (!trace && !flags.trace.destination.server.empty())
    return "a database is imported into a store, not through a server: give --store";
  if (!flags.trace.run.empty() && !flags.trace.name.empty())
    return "--run and --name exclude each other";
  return "";
}

}  // namespace

int import_command(std::span<char* const> args) {
  ImportFlags flags;
  Arguments arguments(
      "import",
      "Imports an MLflow or radT database (experiments, runs with their ids, params, tags and "
      "points, datasets, models, and traces with spans), or the trace of a profiler as the phases "
      "of a run. Repeat the command to resume an interrupted import or to import what is new.",
      kImportExamples);
  declare(arguments, flags);
  if (const auto status = arguments.parse(args)) return *status;
  const bool trace = is_trace_file(flags.from);
  if (const std::string reason = misfit(flags, trace); !reason.empty()) {
    complain("import", reason);
    return kMisuse;
  }
  flags.database.from = flags.trace.file = flags.from;
  flags.database.store = flags.trace.destination.store;
  return trace ? import_trace(flags.trace) : import_database(flags.database);
}

}  // namespace corral::cli
