// corral store backup, load and migrate: one copy, three destinations.
#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/store_place.h"
#include "cli/store_verbs.h"
#include "core/text.h"
#include "store/maintain/copy.h"
#include "store/open/sqlite_store.h"

namespace corral::cli {
namespace {

namespace fs = sys::fs;
using store::RawStore;
using store::maintain::CopyReport;

void print(const CopyReport& report, const std::string& to, bool tables) {
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

Result<CopyReport> write_backup(const StorePlace& from, const fs::path& path,
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
    auto report = TRY(copy(source, *target, progress));
    target.reset();
    TRY(name_file(partial, path));
    return report;
  }();
  if (!done) remove_partial(partial);
  return done;
}

}  // namespace

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
  const auto place = place_of(store);
  if (!place) return store_failed("backup", place.error());
  Progress progress;
  const auto report = write_backup(*place, path, progress);
  progress.clear();
  if (!report) return store_failed("backup", report.error());
  std::error_code error;
  print(*report, path, false);
  fmt::print("{}\n", human_bytes(static_cast<double>(fs::file_size(path, error))));
  return kDone;
}

namespace {

int fill(const char* verb, const std::string& from, const std::string& to) {
  const auto source_place = place_of(from);
  if (!source_place) return store_failed(verb, source_place.error());
  const auto target_place = place_of(to);
  if (!target_place) return store_failed(verb, target_place.error());
  if (source_place->name == target_place->name)
    return store_failed(verb, {.code = Code::kInvalidArgument,
                               .message = "both are the same store: " + source_place->name});
  Progress progress;
  const auto source = open_to_read(*source_place);
  if (!source) return store_failed(verb, source.error());
  const auto target = open_to_fill(*target_place);
  if (!target) return store_failed(verb, target.error());
  const auto report = copy(*source, *target->db, progress);
  progress.clear();
  if (!report) {
    const int status = store_failed(verb, report.error());
    if (Progress::interrupted())
      fmt::print(stderr, "{} is half copied; the same command goes on\n", target_place->name);
    return status;
  }
  print(*report, target_place->name, true);
  return kDone;
}

}  // namespace

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
        "load", {.code = Code::kInvalidArgument,
                 .message = path + " is a directory, not a backup's file; a store's directory is "
                                   "copied by corral store migrate"});
  }
  if (!fs::is_regular_file(path, error)) {
    return store_failed("load",
                        {.code = Code::kNotFound, .message = "there is no backup at " + path});
  }
  return fill("load", path, store);
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
  return fill("migrate", from, to);
}

}  // namespace corral::cli
