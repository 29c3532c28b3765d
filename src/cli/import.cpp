// corral import: a database of MLflow's or radT's, runs that other tools recorded, or the trace of
// a profiler.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cstdint>
#include <optional>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/import_database.h"
#include "cli/import_runs.h"
#include "cli/import_trace.h"
#include "environment/mlproject.h"
#include "imports/source.h"
#include "sys/file.h"

namespace corral::cli {
namespace {

constexpr const char* kImportExamples =
    "  corral import mlflow.db\n"
    "  corral import postgresql://mlflow@db.lab/mlflow --store ./results\n"
    "  corral import mlflow.db --copy-artifacts --artifacts-from ./mlartifacts\n"
    "  corral import ./runs                     TensorBoard, W&B or Aim\n"
    "  corral import metrics.csv --name job     CSV or Parquet\n"
    "  corral import trace.json.gz --run @1     phases of the newest run\n"
    "  corral import trace.json.gz --name job   a run of its own\n";

struct ImportFlags {
  DatabaseFlags database;
  TraceFlags trace;
  std::string from;
};

void declare(Arguments& arguments, ImportFlags& flags) {
  arguments.positional("from", flags.from,
                       "directory or file, or URL of MLflow's --backend-store-uri", true);
  arguments.group("Databases");
  arguments.flag("copy-artifacts", flags.database.copy_artifacts,
                 "copy artifacts instead of referring to them");
  arguments.text("artifacts", flags.database.artifacts,
                 "DIR or s3://BUCKET/PREFIX of the store (default: STORE/artifacts)");
  arguments.text("artifacts-from", flags.database.artifacts_from,
                 "DIR or s3://BUCKET/PREFIX of the old server's artifacts");
  arguments.group("Runs of other tools, and traces");
  arguments.text("name", flags.trace.name, "name of the new run (default: the source's)");
  arguments.text("experiment", flags.trace.experiment,
                 "experiment of the new runs (default: the source's, else default)");
  arguments.group("Traces");
  arguments.text("run", flags.trace.run, "run that gets the phases (default: a new run)");
  arguments.flag("operators", flags.trace.operators, "import the operators too");
  for (const char* name : {"run", "name", "operators"}) arguments.as_flag_only(name);
  for (const char* name : {"run", "name", "experiment"}) arguments.never_empty(name);
  arguments.group("Store");
  add_destination(arguments, flags.trace.destination);
}

enum class From : std::uint8_t { kDatabase, kTrace, kRuns };

// Why these flags do not fit; empty: they do.
std::string misfit(const ImportFlags& flags, From from) {
  const bool of_database = flags.database.copy_artifacts || !flags.database.artifacts.empty() ||
                           !flags.database.artifacts_from.empty();
  const bool of_trace = !flags.trace.run.empty() || flags.trace.operators;
  if (from == From::kTrace && of_database)
    return "a trace has no artifacts: those options are for databases";
  if (from == From::kRuns && of_database)
    return "--copy-artifacts, --artifacts and --artifacts-from are for databases";
  if (from != From::kTrace && of_trace) return "--run and --operators are for traces in JSON";
  if (from == From::kDatabase && !flags.trace.name.empty())
    return "--name is for a new run, and the runs of a database have names";
  if (from == From::kDatabase && !flags.trace.destination.server.empty())
    return "a database is imported into a store, not through a server: give --store";
  if (!flags.trace.run.empty() && !flags.trace.name.empty())
    return "--run and --name exclude each other";
  return "";
}

// A directory of experiments, each a directory with a meta.yaml.
bool is_file_store(const sys::fs::path& directory) {
  constexpr int kMostEntries = 10'000;
  constexpr std::size_t kMetaBytes = 1U << 16U;
  std::error_code error;
  int left = kMostEntries;
  for (sys::fs::directory_iterator at(directory, error), end; !error && at != end && left > 0;
       at.increment(error), --left) {
    const auto meta = sys::read_file(at->path() / "meta.yaml", kMetaBytes);
    if (meta && meta->find("experiment_id:") != std::string::npos &&
        meta->find("artifact_location:") != std::string::npos)
      return true;
  }
  return false;
}

// Returns the directory of MLflow's file store (`mlruns`) that `from` is or holds; empty: none.
std::string find_file_store(const std::string& from) {
  if (is_file_store(from)) return from;
  const std::string below = (sys::fs::path(from) / "mlruns").string();
  return is_file_store(below) ? below : std::string();
}

// The commands that import it: MLflow reads its own files best.
std::string file_store_advice(const std::string& store) {
  return fmt::format(
      "{0} is a file store of MLflow; let MLflow 3 make it a database first:\n"
      "  mlflow migrate-filestore --source {1} --target sqlite:///mlflow.db\n"
      "  corral import mlflow.db",
      store, environment::shell_quoted(store));
}

// A file or directory that is there and that no reader knows.
bool is_unknown(const std::string& from) {
  std::error_code error;
  if (sys::fs::is_directory(from, error)) return true;
  if (!sys::fs::is_regular_file(from, error)) return false;
  constexpr std::string_view kSqlite = "SQLite format 3";
  const auto file = sys::open_file(from, O_RDONLY);
  std::string begin(kSqlite.size(), '\0');
  return file && ::read(file->get(), begin.data(), begin.size()) > 0 && begin != kSqlite;
}

constexpr const char* kKnown =
    "a directory of TensorBoard event files, of W&B offline runs or with an Aim repository, one "
    "such file, a CSV or Parquet file, a profiler's trace in JSON, or a database of MLflow or radT";

}  // namespace

int import_command(std::span<char* const> args) {
  ImportFlags flags;
  Arguments arguments(
      "import",
      "Imports an MLflow or radT database (experiments, runs with their ids, params, tags and "
      "points, datasets, models, and traces with spans), runs of TensorBoard, W&B (offline) and "
      "Aim, points in CSV or Parquet, or the trace of a profiler as the phases of a run. Repeat "
      "the command to resume an interrupted import or to import what is new.",
      kImportExamples);
  declare(arguments, flags);
  if (const auto status = arguments.parse(args)) return *status;
  // A file store may hold event files as artifacts, so it comes first.
  if (const std::string store = find_file_store(flags.from); !store.empty()) {
    complain("import", file_store_advice(store));
    return kFailed;
  }
  std::optional<imports::SourceKind> kind;
  From from = is_trace_file(flags.from) ? From::kTrace : From::kDatabase;
  if (from == From::kDatabase) {
    const auto found = imports::find_source(flags.from);
    if (!found) return report("import", found.error());
    kind = *found;
    if (kind) from = From::kRuns;
  }
  if (from == From::kDatabase && is_unknown(flags.from)) {
    complain("import", fmt::format("{} is none of what can be imported: {}", flags.from, kKnown));
    return kFailed;
  }
  if (const std::string reason = misfit(flags, from); !reason.empty()) {
    complain("import", reason);
    return kMisuse;
  }
  flags.database.from = flags.trace.file = flags.from;
  flags.database.store = flags.trace.destination.store;
  if (from == From::kTrace) return import_trace(flags.trace);
  if (from == From::kDatabase) return import_database(flags.database);
  return import_runs(*kind,
                     {.destination = flags.trace.destination,
                      .from = flags.from,
                      .options = {.name = flags.trace.name, .experiment = flags.trace.experiment}});
}

}  // namespace corral::cli
