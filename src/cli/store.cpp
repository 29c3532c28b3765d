// corral store: check and stats read beside a running server; backup, load and migrate are one copy
// with three destinations; rebuild, gc and prune change a store that no other process has open.
#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/store_place.h"
#include "core/json.h"
#include "core/text.h"
#include "store/maintain/check.h"
#include "store/maintain/collect.h"
#include "store/maintain/copy.h"
#include "store/maintain/rebuild.h"
#include "store/maintain/stats.h"
#include "store/open/postgres_store.h"
#include "store/open/sqlite_store.h"
#include "sys/clock.h"

namespace corral::cli {
namespace {

namespace fs = sys::fs;
using store::RawStore;
using store::maintain::CheckReport;
using store::maintain::CopyReport;
using store::maintain::GarbageReport;
using store::maintain::RebuildReport;
using store::maintain::StoreStats;
using store::maintain::Watch;

constexpr const char* kReadableStore =
    "directory, backup or postgresql://USER@HOST/DB (~/.local/share/corral)";
constexpr const char* kOwnStore =
    "directory or postgresql://USER@HOST/DB (default: ~/.local/share/corral)";

std::string size_text(std::int64_t bytes) { return human_bytes(static_cast<double>(bytes)); }

// Each with a blank in front.
std::string run_ids(const std::vector<RunId>& runs) {
  std::string text;
  for (const RunId run : runs) text += " " + run.hex();
  return text;
}

Json to_json(const CheckReport& report, const StoreLocation& place) {
  Json::Array findings;
  for (const auto& finding : report.findings) {
    Json::Array runs;
    for (const RunId run : finding.runs) runs.emplace_back(run.hex());
    findings.emplace_back(
        Json::Object{{"table", finding.table}, {"what", finding.what}, {"runs", std::move(runs)}});
  }
  return Json::Object{{"store", place.name},
                      {"ok", report.problems == 0},
                      {"problems", static_cast<std::int64_t>(report.problems)},
                      {"findings", std::move(findings)},
                      {"read", Json::Object{{"runs", report.runs},
                                            {"sessions", report.sessions},
                                            {"series", report.series},
                                            {"batches", report.batches},
                                            {"row_groups", report.row_groups},
                                            {"blocks", report.blocks},
                                            {"pyramid_rows", report.pyramid_rows}}}};
}

void print_report(const CheckReport& report, const StoreLocation& place) {
  for (const auto& finding : report.findings) {
    const std::string runs = run_ids(finding.runs);
    fmt::print("{}: {}{}\n", finding.table, finding.what,
               runs.empty() ? "" : "\n    touches run" + runs);
  }
  if (report.problems > report.findings.size())
    fmt::print("... and {} more\n", report.problems - report.findings.size());
  fmt::print(
      "{}: {} runs, {} sessions, {} series, {} batch rows, {} row groups, {} blocks, {} "
      "pyramid rows read\n",
      place.name, report.runs, report.sessions, report.series, report.batches, report.row_groups,
      report.blocks, report.pyramid_rows);
  if (report.problems == 0) {
    fmt::print("all is well\n");
  } else {
    fmt::print("{}; docs/store.md says what to do about each kind\n",
               counted(report.problems, "problem"));
  }
}

Json to_json(const StoreStats& stats, const StoreLocation& place) {
  Json::Array tables, levels, biggest;
  for (const auto& t : stats.tables)
    tables.emplace_back(Json::Object{
        {"table", t.name}, {"rows", t.rows}, {"bytes", t.bytes ? Json(*t.bytes) : Json()}});
  for (const auto& l : stats.levels)
    levels.emplace_back(Json::Object{{"level", l.name}, {"points", l.points}, {"bytes", l.bytes}});
  for (const auto& r : stats.biggest)
    biggest.emplace_back(Json::Object{{"id", r.id.hex()}, {"name", r.name}, {"bytes", r.bytes}});
  const Json per_point =
      stats.points == 0
          ? Json()
          : Json(static_cast<double>(stats.bytes) / static_cast<double>(stats.points));
  Json oldest;
  if (stats.oldest_start) {
    oldest = Json::Object{{"name", stats.oldest_run},
                          {"start_ns", std::to_string(ns_of(*stats.oldest_start))}};
  }
  return Json::Object{{"store", place.name},          {"schema", stats.schema},
                      {"bytes", stats.bytes},         {"points", stats.points},
                      {"bytes_per_point", per_point}, {"experiments", stats.experiments},
                      {"runs", stats.runs},           {"sessions", stats.sessions},
                      {"series", stats.series},       {"levels", std::move(levels)},
                      {"tables", std::move(tables)},  {"biggest_runs", std::move(biggest)},
                      {"oldest_run", oldest}};
}

void print_report(const StoreStats& stats, const StoreLocation& place) {
  fmt::print("{}, schema {}\n  {} on disk, {} points", place.name, stats.schema,
             size_text(stats.bytes), stats.points);
  if (stats.points > 0)
    fmt::print(", {:.2f} bytes per point, everything included",
               static_cast<double>(stats.bytes) / static_cast<double>(stats.points));
  fmt::print("\n  {} experiments, {} runs, {} sessions, {} series\n", stats.experiments, stats.runs,
             stats.sessions, stats.series);
  if (stats.oldest_start) {
    fmt::print("  oldest run {}, {}\n", printable(stats.oldest_run),
               time_text(Json(std::to_string(ns_of(*stats.oldest_start)))));
  }
  fmt::print("\n  {:<14} {:>16} {:>12}\n", "level", "points", "bytes");
  for (const auto& l : stats.levels)
    fmt::print("  {:<14} {:>16} {:>12}\n", l.name, l.points, size_text(l.bytes));
  fmt::print("\n  {:<14} {:>16} {:>12}\n", "table", "rows", "data");
  for (const auto& t : stats.tables)
    fmt::print("  {:<14} {:>16} {:>12}\n", t.name, t.rows, t.bytes ? size_text(*t.bytes) : "");
  if (!stats.biggest.empty()) fmt::print("\n  biggest runs\n");
  for (const auto& r : stats.biggest)
    fmt::print("  {}  {:>12}  {}\n", r.id.hex(), size_text(r.bytes), printable(r.name));
}

// A verb that works on one store.
struct StoreVerb {
  std::string_view command;  // "store check"
  const std::string& store;  // as --store takes it
  Result<HeldStore> (*open)(const StoreLocation&);
};

// Opens the store, hands it to `work`, and returns the exit status that `print` gives for the
// report.
template <class Work, class Print>
int run_verb(const StoreVerb& verb, const Work& work, const Print& print) {
  const auto place = find_store(verb.store);
  if (!place) return store_failed(verb.command, place.error());
  Progress progress;
  const auto held = verb.open(*place);
  if (!held) return store_failed(verb.command, held.error());
  progress.guard(*held->db);
  const auto report = work(*held->db, progress.watch());
  progress.clear();
  if (!report) return store_failed(verb.command, report.error());
  return print(*report, *place);
}

template <class Report>
void print_as(const std::string& format, const Report& report, const StoreLocation& place) {
  if (format == "json") {
    fmt::print("{}\n", to_json(report, place).dump());
  } else {
    print_report(report, place);
  }
}

int store_check(std::span<char* const> args) {
  std::string store;
  std::string format = "table";
  Arguments arguments(
      "store check",
      "Verifies every checksum and invariant of the store, also while a server "
      "writes. Lists each problem with the runs it affects. Exit status: 0 if there "
      "is none, else 1.",
      "  corral store check\n  corral store check --store monday.corral --format json\n");
  arguments.text("store", store, kReadableStore);
  arguments.choice("format", format, {"table", "json"}, "output format (default: table)");
  if (const auto status = arguments.parse(args)) return *status;
  return run_verb(
      {"store check", store, open_to_read},
      [](const RawStore& raw, const Watch& watch) {
        return store::maintain::check_store(raw, watch);
      },
      [&](const CheckReport& report, const StoreLocation& place) {
        print_as(format, report, place);
        return report.problems == 0 ? kDone : kFailed;
      });
}

int store_stats(std::span<char* const> args) {
  std::string store;
  std::string format = "table";
  std::int64_t runs = 10;
  Arguments arguments("store stats",
                      "Shows points and bytes by level, table and run, also while a server writes.",
                      "  corral store stats\n  corral store stats --runs 50 --format json\n");
  arguments.text("store", store, kReadableStore);
  arguments.bytes("runs", runs, "number of largest runs to list (default: 10)");
  arguments.choice("format", format, {"table", "json"}, "output format (default: table)");
  if (const auto status = arguments.parse(args)) return *status;
  return run_verb(
      {"store stats", store, open_to_read},
      [&](const RawStore& raw, const Watch& watch) {
        return store::maintain::store_stats(
            raw, static_cast<std::size_t>(std::max<std::int64_t>(runs, 0)), watch);
      },
      [&](const StoreStats& stats, const StoreLocation& place) {
        print_as(format, stats, place);
        return kDone;
      });
}

void print_report(const CopyReport& report, const std::string& to, bool tables) {
  if (tables) {
    for (const auto& table : report.tables)
      fmt::print("  {:<14} {:>12} rows  checksum {:08x}\n", table.name, table.rows, table.checksum);
  }
  std::int64_t rows = 0;
  for (const auto& table : report.tables) rows += table.rows;
  fmt::print("{}: {} rows, verified by count and checksum of every table{}\n", to, rows,
             report.continued ? fmt::format(" ({} of them copied by this call)", report.rows) : "");
}

Result<CopyReport> copy(const RawStore& from, const RawStore& to, const Progress& progress) {
  progress.guard(from);
  progress.guard(to);
  return store::maintain::copy_store(from, to, progress.watch());
}

// Gives the finished file its name, which nobody may have taken meanwhile.
Result<> name_file(const fs::path& partial, const fs::path& path) {
  const sys::Fd file = TRY(sys::open_file(partial, O_RDONLY));
  if (::fsync(file.get()) != 0) return fail_errno(partial.string(), errno);
  if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0)
    return fail_errno(path.string(), errno);
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const sys::Fd parent = TRY(sys::open_file(directory, O_RDONLY | O_DIRECTORY));
  if (::fsync(parent.get()) != 0) return fail_errno(directory.string(), errno);
  return {};
}

void remove_partial(const fs::path& partial) {
  std::error_code error;
  for (const char* suffix : {"", "-journal", "-wal", "-shm"})
    fs::remove(partial.string() + suffix, error);
}

Result<CopyReport> write_backup(const StoreLocation& from, const fs::path& path,
                                const Progress& progress) {
  std::error_code error;
  if (fs::exists(path, error))
    return fail(
        Code::kAlreadyExists,
        path.string() + " exists already; choose another file, a backup never overwrites one");
  if (path.has_parent_path() && !fs::is_directory(path.parent_path(), error)) {
    return fail(Code::kNotFound, fmt::format("there is no directory {}: make it first",
                                             path.parent_path().string()));
  }
  const auto source = TRY(open_to_read(from));
  // Beside it, so that giving it its name is one step; the process's own.
  const fs::path partial = fmt::format("{}.{}.partial", path.string(), ::getpid());
  remove_partial(partial);
  auto done = [&]() -> Result<CopyReport> {
    std::optional<RawStore> target(
        TRY(store::open_sqlite_target(partial, store::CopyTarget::kFile)));
    auto report = TRY(copy(*source.db, *target, progress));
    target.reset();
    TRY(name_file(partial, path));
    return report;
  }();
  if (!done) remove_partial(partial);
  return done;
}

int store_backup(std::span<char* const> args) {
  std::string store, path;
  Arguments arguments("store backup",
                      "Copies the store into one new file and verifies it, also while a server "
                      "writes. Never overwrites a file and leaves no partial one. Restore it with "
                      "corral store load.",
                      "  corral store backup /backup/monday.corral\n");
  arguments.positional("path", path, "new backup file", true);
  arguments.text("store", store, "store to copy (default: the default store)");
  if (const auto status = arguments.parse(args)) return *status;
  const auto place = find_store(store);
  if (!place) return store_failed("store backup", place.error());
  Progress progress;
  const auto report = write_backup(*place, path, progress);
  progress.clear();
  if (!report) return store_failed("store backup", report.error());
  std::error_code error;
  print_report(*report, path, false);
  fmt::print("{}\n", human_bytes(static_cast<double>(fs::file_size(path, error))));
  return kDone;
}

int fill(std::string_view command, const std::string& from, const std::string& to) {
  const auto source_place = find_store(from);
  if (!source_place) return store_failed(command, source_place.error());
  const auto target_place = find_store(to);
  if (!target_place) return store_failed(command, target_place.error());
  if (source_place->name == target_place->name)
    return store_failed(command, {.code = Code::kInvalidArgument,
                                  .message = "both are the same store: " + source_place->name});
  Progress progress;
  const auto source = open_to_read(*source_place);
  if (!source) return store_failed(command, source.error());
  const auto target = open_to_fill(*target_place);
  if (!target) return store_failed(command, target.error());
  const auto report = copy(*source->db, *target->db, progress);
  progress.clear();
  if (!report) {
    const int status = store_failed(command, report.error());
    if (status == kInterrupted)
      fmt::print(stderr, "{} is half copied; the same command goes on\n", target_place->name);
    return status;
  }
  print_report(*report, target_place->name, true);
  return kDone;
}

int store_load(std::span<char* const> args) {
  std::string store, path;
  Arguments arguments(
      "store load",
      "Copies a backup into a new or empty store and verifies it. Repeat the command "
      "to resume an interrupted load.",
      "  corral store load /backup/monday.corral --store ./results\n");
  arguments.positional("path", path, "backup file", true);
  arguments.text("store", store, "store to load into (default: the default store)");
  if (const auto status = arguments.parse(args)) return *status;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return store_failed(
        "store load",
        {.code = Code::kInvalidArgument,
         .message = path + " is a directory, not a backup's file; a store's directory is "
                           "copied by corral store migrate"});
  }
  if (!fs::is_regular_file(path, error)) {
    return store_failed("store load",
                        {.code = Code::kNotFound, .message = "there is no backup at " + path});
  }
  return fill("store load", path, store);
}

int store_migrate(std::span<char* const> args) {
  std::string from, to;
  Arguments arguments(
      "store migrate",
      "Copies a store into an empty one of the same or the other engine and verifies "
      "count and checksum of each table. The source is not changed. Repeat the "
      "command to resume an interrupted migration.",
      "  corral store migrate ./results postgresql://corral@db.lab/corral\n"
      "  corral store migrate postgresql://corral@db.lab/corral ./results\n");
  arguments.positional("from", from, "source: directory or postgresql://USER@HOST/DB", true);
  arguments.positional("to", to, "destination: directory or postgresql://USER@HOST/DB", true);
  if (const auto status = arguments.parse(args)) return *status;
  return fill("store migrate", from, to);
}

Result<std::unique_ptr<store::Store>> open_store(const StoreLocation& place) {
  if (place.file.empty()) return store::open_postgres_store({.url = place.database});
  std::error_code error;
  if (!fs::exists(place.file, error))
    return fail(Code::kNotFound, fmt::format("there is no store at {}", place.name));
  return store::open_sqlite_store({.directory = place.directory});
}

Result<store::Removal> prune(const StoreLocation& place, const store::Retention& retention,
                             bool dry_run) {
  std::optional<server::StoreLock> lock;
  std::error_code error;
  // A database server's store may be served meanwhile.
  if (!place.file.empty() && fs::exists(place.file, error)) lock = TRY(lock_location(place));
  const auto store = TRY(open_store(place));
  auto removal = TRY(store->prune(retention, sys::utc_now(), dry_run));
  // Waits until the rows are gone, too.
  if (!dry_run && !removal.runs.empty()) TRY(store->seal(true));
  return removal;
}

int store_rebuild(std::span<char* const> args) {
  std::string store;
  bool anew = false;
  Arguments arguments(
      "store rebuild",
      "Rebuilds the pyramid and the statistics from the points. Lists damaged blocks "
      "and leaves gaps for them. Repeat the command to resume an interrupted "
      "rebuild. Stop the store's server first.",
      "  corral serve --stop && corral store rebuild\n");
  arguments.text("store", store, kOwnStore);
  arguments.flag("anew", anew, "start over instead of resuming");
  if (const auto status = arguments.parse(args)) return *status;
  return run_verb(
      {"store rebuild", store, open_to_change},
      [&](const RawStore& raw, const Watch& watch) {
        return store::maintain::rebuild_store(raw, anew, watch);
      },
      [](const RebuildReport& report, const StoreLocation& place) {
        for (const auto& gap : report.gaps) {
          const std::string runs = run_ids(gap.runs);
          fmt::print("{}: {}; a gap now\n{}", gap.table, gap.what,
                     runs.empty() ? "" : "    touches run" + runs + "\n");
        }
        fmt::print("{}: {} pyramid rows of {} series made anew, {} statistics corrected{}\n",
                   place.name, report.pyramid_rows, report.series, report.slices,
                   report.continued ? " (went on where an earlier one was ended)" : "");
        return kDone;
      });
}

int store_gc(std::span<char* const> args) {
  std::string store;
  Arguments arguments("store gc",
                      "Finishes removals, deletes orphaned rows and returns free space to the "
                      "filesystem. Stop the store's server first.",
                      "  corral serve --stop && corral store gc\n");
  arguments.text("store", store, kOwnStore);
  if (const auto status = arguments.parse(args)) return *status;
  return run_verb(
      {"store gc", store, open_to_change},
      [](const RawStore& raw, const Watch& watch) {
        return store::maintain::collect_garbage(raw, watch);
      },
      [](const GarbageReport& report, const StoreLocation& place) {
        for (const auto& [table, rows] : report.removed)
          fmt::print("{} rows of {} removed\n", rows, table);
        fmt::print("{}: {} before, {} now\n", place.name, size_text(report.bytes_before),
                   size_text(report.bytes_after));
        return kDone;
      });
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
  arguments.text("store", store, kOwnStore);
  arguments.duration("older-than", age, "remove runs that ended longer ago than this");
  arguments.bytes("keep-bytes", keep, "remove the oldest runs until the rest fits in this size");
  arguments.flag("dry-run", dry_run, "print what would be removed, and exit");
  if (const auto status = arguments.parse(args)) return *status;
  if (age != kNoDuration && age <= Nanos(0))
    return store_failed("store prune",
                        {.code = Code::kInvalidArgument,
                         .message = "--older-than must be greater than 0, e.g. 90d"});
  if (age == kNoDuration && keep < 0)
    return store_failed("store prune", {.code = Code::kInvalidArgument,
                                        .message = "give --older-than AGE or --keep-bytes SIZE"});
  const auto place = find_store(store);
  if (!place) return store_failed("store prune", place.error());
  store::Retention retention;
  if (age != kNoDuration) retention.age = age;
  if (keep >= 0) retention.bytes = keep;
  const auto removal = prune(*place, retention, dry_run);
  if (!removal) return store_failed("store prune", removal.error());
  for (const RunId run : removal->runs) fmt::print("{}\n", run.hex());
  fmt::print("{} {} with {} points, {}\n", dry_run ? "would remove" : "removed",
             counted(removal->runs.size(), "run"), removal->points, size_text(removal->bytes));
  return kDone;
}

constexpr std::array kStoreVerbs = {
    Verb{"check", "verify every checksum and invariant; list problems and affected runs",
         store_check},
    Verb{"stats", "show points and bytes by level, table and run", store_stats},
    Verb{"backup", "copy the store into a file, also while a server writes", store_backup},
    Verb{"load", "copy a backup into an empty store", store_load},
    Verb{"migrate", "copy a store to another engine or place", store_migrate},
    Verb{"rebuild", "rebuild the pyramid and the statistics from the points", store_rebuild},
    Verb{"gc", "delete orphaned rows and return free space to the filesystem", store_gc},
    Verb{"prune", "remove old runs, or the oldest until the rest fits", store_prune},
};

constexpr std::string_view kStoreHead =
    "Maintains a store (docs/store.md).\n\nUsage: corral store VERB [OPTIONS]\n\n";
constexpr std::string_view kStoreFoot =
    "\nExamples:\n"
    "  corral store check                        the default store, also while it is served\n"
    "  corral store backup /backup/monday.corral\n"
    "  corral store migrate ./results postgresql://corral@db.lab/corral\n"
    "\ncorral store VERB --help shows the options.\n";

}  // namespace

int store_command(std::span<char* const> args) {
  return call_verb(
      {.name = "corral store", .head = kStoreHead, .foot = kStoreFoot, .verbs = kStoreVerbs}, args);
}

}  // namespace corral::cli
