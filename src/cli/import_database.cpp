#include "cli/import_database.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/answers.h"
#include "cli/command.h"
#include "cli/store_place.h"
#include "compat/mlflow/import/import.h"
#include "core/text.h"
#include "store/artifacts/open/open_artifacts.h"
#include "store/open/postgres_store.h"
#include "store/open/sqlite_store.h"

namespace corral::cli {
namespace {

using store::artifacts::ArtifactStore;
using store::importing::ImportReport;

Result<std::unique_ptr<ArtifactStore>> open_artifacts(const DatabaseFlags& flags,
                                                      const StoreLocation& place) {
  if (!flags.copy_artifacts) return nullptr;
  if (!flags.artifacts.empty()) return store::artifacts::open_artifact_store(flags.artifacts);
  if (place.file.empty()) {
    return fail(Code::kInvalidArgument,
                "--copy-artifacts into a database server's store needs --artifacts DIR or "
                "s3://bucket/prefix: what corral serve --artifacts names");
  }
  return store::artifacts::open_artifact_store((place.directory / "artifacts").string());
}

Result<ImportReport> run_import(const DatabaseFlags& flags, const StoreLocation& place,
                                const Progress& progress) {
  if (place.directory.empty() && !place.file.empty())
    return fail(Code::kInvalidArgument, place.name + " is a file: --store names a directory");
  auto source = TRY(store::importing::Source::open(flags.from));
  source.stop_when(progress.watch().stop);
  // A database server's store may be served meanwhile.
  std::optional<server::StoreLock> lock;
  if (!place.file.empty()) lock = TRY(lock_location(place));
  const auto store = place.file.empty()
                         ? TRY(store::open_postgres_store({.url = place.database}))
                         : TRY(store::open_sqlite_store({.directory = place.directory}));
  const auto artifacts = TRY(open_artifacts(flags, place));
  auto report = TRY(store::importing::import_database(source, *store,
                                                      {.access = store::Access::everything(),
                                                       .artifacts = artifacts.get(),
                                                       .artifacts_root = flags.artifacts_from},
                                                      progress.watch()));
  TRY(progress.watch().at("sealing", 0, 0));
  TRY(store->seal(true));
  return report;
}

void print_import(const ImportReport& report, const std::string& store) {
  for (const auto& count : report.counts) {
    fmt::print("  {:<28} {:>12} in the source, {:>12} here{}{}\n", count.what, count.source,
               count.stored, count.added ? fmt::format(", {:>12} new", *count.added) : "",
               count.complete() ? "" : "   DIFFERENT");
    for (const std::string& name : count.missing) fmt::print("    missing: {}\n", name);
  }
  for (const std::string& note : report.notes) fmt::print("  {}\n", note);
  if (report.files > 0) {
    fmt::print("  {} artifacts copied, {}\n", report.files,
               human_bytes(static_cast<double>(report.bytes)));
  }
  const bool verified =
      std::ranges::all_of(report.counts, [](auto& one) { return one.complete(); });
  fmt::print("{}: {} points imported, {}{}\n", store, report.new_points,
             verified ? "verified by count" : "and NOT all is there",
             report.uncopied > 0 ? ", but artifacts are missing" : "");
}

int import_failed(const Error& error) {
  return store_failed("import", error, "; the same command goes on");
}

}  // namespace

int import_database(const DatabaseFlags& flags) {
  const auto place = find_store(flags.store);
  if (!place) return import_failed(place.error());
  Progress progress;
  const auto report = run_import(flags, *place, progress);
  progress.clear();
  if (!report) return import_failed(report.error());
  print_import(*report, place->name);
  return report->complete() ? kDone : kFailed;
}

}  // namespace corral::cli
