// corral store rebuild, gc and prune: they change a store that nobody else has.
#include <fmt/core.h>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/store_place.h"
#include "cli/store_verbs.h"
#include "core/text.h"
#include "store/maintain/collect.h"
#include "store/maintain/rebuild.h"
#include "store/open/postgres_store.h"
#include "store/open/sqlite_store.h"
#include "sys/clock.h"

namespace corral::cli {
namespace {

constexpr const char* kStoreHelp =
    "directory or postgresql://USER@HOST/DB (default: ~/.local/share/corral)";

std::string size_text(std::int64_t bytes) { return human_bytes(static_cast<double>(bytes)); }

Result<std::unique_ptr<store::Store>> open_store(const StorePlace& place) {
  if (place.file.empty()) return store::open_postgres_store({.url = place.database});
  std::error_code error;
  if (!sys::fs::exists(place.file, error))
    return fail(Code::kNotFound, fmt::format("there is no store at {}", place.name));
  return store::open_sqlite_store({.directory = place.directory});
}

Result<store::Removal> prune(const StorePlace& place, const store::Retention& retention,
                             bool dry_run) {
  std::optional<server::StoreLock> lock;
  std::error_code error;
  // A database server's store may be served meanwhile.
  if (!place.file.empty() && sys::fs::exists(place.file, error)) lock = TRY(lock_place(place));
  const auto store = TRY(open_store(place));
  auto removal = TRY(store->prune(retention, sys::utc_now(), dry_run));
  // Waits until the rows are gone, too.
  if (!dry_run && !removal.runs.empty()) TRY(store->seal(true));
  return removal;
}

}  // namespace

int store_rebuild(std::span<char* const> args) {
  std::string store;
  bool anew = false;
  Arguments arguments(
      "store rebuild",
      "Rebuilds the pyramid and the statistics from the points. Lists damaged blocks "
      "and leaves gaps for them. Repeat the command to resume an interrupted "
      "rebuild. Stop the store's server first.",
      "  corral serve --stop && corral store rebuild\n");
  arguments.text("store", store, kStoreHelp);
  arguments.flag("anew", anew, "start over instead of resuming");
  if (const auto status = arguments.parse(args)) return *status;
  const auto place = place_of(store);
  if (!place) return store_failed("rebuild", place.error());
  Progress progress;
  const auto held = open_to_change(*place);
  if (!held) return store_failed("rebuild", held.error());
  progress.guard(*held->db);
  const auto report = store::maintain::rebuild_store(*held->db, anew, progress.watch());
  progress.clear();
  if (!report) return store_failed("rebuild", report.error());
  for (const auto& gap : report->gaps) {
    std::string runs;
    for (const RunId run : gap.runs) runs += " " + run.hex();
    fmt::print("{}: {}; a gap now\n{}", gap.table, gap.what,
               runs.empty() ? "" : "    touches run" + runs + "\n");
  }
  fmt::print("{}: {} pyramid rows of {} series made anew, {} statistics corrected{}\n", place->name,
             report->pyramid_rows, report->series, report->slices,
             report->continued ? " (went on where an earlier one was ended)" : "");
  return kDone;
}

int store_gc(std::span<char* const> args) {
  std::string store;
  Arguments arguments("store gc",
                      "Finishes removals, deletes orphaned rows and returns free space to the "
                      "filesystem. Stop the store's server first.",
                      "  corral serve --stop && corral store gc\n");
  arguments.text("store", store, kStoreHelp);
  if (const auto status = arguments.parse(args)) return *status;
  const auto place = place_of(store);
  if (!place) return store_failed("gc", place.error());
  Progress progress;
  const auto held = open_to_change(*place);
  if (!held) return store_failed("gc", held.error());
  progress.guard(*held->db);
  const auto report = store::maintain::collect_garbage(*held->db, progress.watch());
  progress.clear();
  if (!report) return store_failed("gc", report.error());
  for (const auto& [table, rows] : report->removed)
    fmt::print("{} rows of {} removed\n", rows, table);
  fmt::print("{}: {} before, {} now\n", place->name, size_text(report->bytes_before),
             size_text(report->bytes_after));
  return kDone;
}

int store_prune(std::span<char* const> args) {
  std::string store;
  Nanos age = kNoDuration;
  std::int64_t keep = -1;
  bool dry_run = false;
  Arguments arguments("store prune",
                      "Removes runs that ended longer ago than --older-than, then the oldest runs "
                      "until the rest fits in --keep-bytes. Stop the server of an embedded store "
                      "first.",
                      "  corral store prune --older-than 90d --dry-run\n"
                      "  corral store prune --keep-bytes 200GiB\n");
  arguments.text("store", store, kStoreHelp);
  arguments.duration("older-than", age, "remove runs that ended longer ago than this");
  arguments.bytes("keep-bytes", keep, "remove the oldest runs until the rest fits in this size");
  arguments.flag("dry-run", dry_run, "print what would be removed, and exit");
  if (const auto status = arguments.parse(args)) return *status;
  if (age != kNoDuration && age <= Nanos(0))
    return store_failed("prune", {.code = Code::kInvalidArgument,
                                  .message = "--older-than must be greater than 0, e.g. 90d"});
  if (age == kNoDuration && keep < 0)
    return store_failed("prune", {.code = Code::kInvalidArgument,
                                  .message = "give --older-than AGE or --keep-bytes SIZE"});
  const auto place = place_of(store);
  if (!place) return store_failed("prune", place.error());
  store::Retention retention;
  if (age != kNoDuration) retention.age = age;
  if (keep >= 0) retention.bytes = keep;
  const auto removal = prune(*place, retention, dry_run);
  if (!removal) return store_failed("prune", removal.error());
  for (const RunId run : removal->runs) fmt::print("{}\n", run.hex());
  fmt::print("{} {} run{} with {} points, {}\n", dry_run ? "would remove" : "removed",
             removal->runs.size(), removal->runs.size() == 1 ? "" : "s", removal->points,
             size_text(removal->bytes));
  return kDone;
}

}  // namespace corral::cli
