#include "cli/store_place.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <atomic>

#include "cli/answers.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "core/text.h"
#include "store/open/postgres_store.h"
#include "store/open/sqlite_store.h"
#include "sys/store_paths.h"

namespace corral::cli {
namespace {

namespace fs = sys::fs;
using store::RawMode;
using store::RawStore;

std::atomic<bool> interrupt = false;

// Returns the process that holds the flock of this file, as the kernel names it.
std::optional<std::int64_t> lock_holder(const fs::path& lock) {
  struct stat info {};
  if (::stat(lock.c_str(), &info) != 0) return std::nullopt;
  const auto locks = sys::read_file("/proc/locks");
  if (!locks) return std::nullopt;
  const std::string wanted =
      fmt::format("{:02x}:{:02x}:{}", major(info.st_dev), minor(info.st_dev), info.st_ino);
  for (const std::string_view line : split(*locks, '\n')) {
    std::vector<std::string_view> words;
    for (const std::string_view word : split(line, ' ')) {
      if (!word.empty()) words.push_back(word);
    }
    if (words.size() > 5 && words[1] == "FLOCK" && words[5] == wanted) return parse_int(words[4]);
  }
  return std::nullopt;
}

Result<RawStore> open_file(const StoreLocation& place, RawMode mode) {
  if (const auto found = find_database(place.file.parent_path());
      !found && found.error().code == Code::kPermission)
    return tl::unexpected(found.error());
  std::error_code error;
  if (!fs::exists(place.file, error)) {
    return fail(Code::kNotFound,
                fmt::format("there is no store at {}; --store DIR names another one", place.name));
  }
  return store::open_raw_sqlite(place.file, mode);
}

Result<RawStore> open_location(const StoreLocation& place, RawMode mode) {
  auto db = place.file.empty() ? TRY(store::open_raw_postgres(place.database, mode))
                               : TRY(open_file(place, mode));
  const auto version = db.schema();
  if (!version && version.error().message.find("not a database") != std::string::npos)
    return fail(Code::kUnsupported, place.name + " is not a store");
  if (!version) return tl::unexpected(version.error());
  if (*version == 0) return fail(Code::kNotFound, place.name + " is empty: there is no store yet");
  if (*version != store::newest_schema()) {
    const bool alone = place.directory.empty() && !place.file.empty();  // a backup
    return fail(
        Code::kUnsupported,
        fmt::format("{} has the older schema {}: {}corral serve brings it up to date", place.name,
                    *version, alone ? "copied to DIR/corral.db, with --store DIR, " : ""));
  }
  return db;
}

}  // namespace

Result<StoreLocation> find_store(const std::string& store) {
  std::error_code error;
  if (!store.empty() && fs::is_regular_file(store, error))
    return StoreLocation{.name = store, .directory = {}, .file = store, .database = {}};
  DestinationFlags flags;
  flags.store = store;
  const spool::Destination destination = TRY(usable_destination(flags));
  StoreLocation place{.name = store_name(destination),
                      .directory = destination.store,
                      .file = {},
                      .database = destination.database};
  if (place.database.empty()) place.file = place.directory / "corral.db";
  return place;
}

Result<HeldStore> open_to_read(const StoreLocation& place) {
  return HeldStore{.lock = {}, .db = TRY(open_location(place, RawMode::kRead))};
}

Result<std::optional<server::StoreLock>> lock_location(const StoreLocation& place) {
  if (place.directory.empty()) return std::nullopt;
  auto lock = server::lock_store(place.directory);
  if (lock) return std::optional(*std::move(lock));
  if (lock.error().code != Code::kAlreadyExists) return tl::unexpected(lock.error());
  std::string message = lock.error().message;
  const auto pid = lock_holder(sys::server_lock_path(place.directory));
  if (pid && message.find("pid") == std::string::npos) message += fmt::format(" (pid {})", *pid);
  return fail(Code::kAlreadyExists,
              fmt::format("{}: end it first, a server with corral serve --stop --store {}", message,
                          place.name));
}

Result<HeldStore> open_to_change(const StoreLocation& place) {
  std::error_code error;
  if (!place.file.empty() && !fs::exists(place.file, error))
    TRY(open_file(place, RawMode::kWrite));  // before the lock makes a directory
  HeldStore held;
  held.lock = TRY(lock_location(place));
  held.db = TRY(open_location(place, RawMode::kWrite));
  // The lock stops only those that name the database by the same URL on this machine.
  if (place.file.empty()) TRY(store::refuse_when_in_use(*held.db));
  return held;
}

Result<HeldStore> open_to_fill(const StoreLocation& place) {
  HeldStore held;
  held.lock = TRY(lock_location(place));
  if (place.file.empty()) {
    held.db = TRY(store::open_raw_postgres(place.database, RawMode::kWrite));
    TRY(store::refuse_when_in_use(*held.db));
  } else {
    held.db.emplace(TRY(store::open_sqlite_target(place.file, store::CopyTarget::kStore)));
  }
  return held;
}

Progress::Progress() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupt = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  watch_.stop = [] { return interrupted(); };
  watch_.tell = [this](std::string_view what, std::int64_t done, std::int64_t total) {
    line_.tell(what, done, total);
  };
}

bool Progress::interrupted() { return interrupt; }

int store_failed(std::string_view command, const Error& error, std::string_view advice) {
  if (!Progress::interrupted()) return report(command, error);
  fmt::print(stderr, "corral {}: interrupted{}\n", command, advice);
  return kInterrupted;
}

}  // namespace corral::cli
