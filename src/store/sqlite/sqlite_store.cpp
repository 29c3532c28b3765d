#include "store/sqlite/sqlite_store.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <condition_variable>
#include <mutex>
#include <system_error>

#include "store/sqlite/database.h"
#include "store/sqlite/reads.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/writer.h"
#include "sys/file.h"

namespace corral::store {
namespace fs = std::filesystem;
namespace sqlite {
namespace {

// Read-only connections, opened when needed; idle ones are kept.
class Readers {
 public:
  Readers(fs::path file, std::size_t most) : file_(std::move(file)), most_(most) {}

  // Calls read(connection) inside one snapshot.
  template <class Read>
  auto with(Read&& read) -> decltype(read(std::declval<Connection&>())) {
    std::unique_ptr<Connection> connection = TRY(borrow());
    auto result = in_snapshot(*connection, std::forward<Read>(read));
    give_back(std::move(connection));
    return result;
  }

 private:
  template <class Read>
  static auto in_snapshot(Connection& connection, Read&& read) -> decltype(read(connection)) {
    TRY(connection.script("BEGIN"));
    auto result = read(connection);
    TRY(connection.script("COMMIT"));
    return result;
  }

  Result<std::unique_ptr<Connection>> borrow() {
    {
      std::unique_lock lock(mutex_);
      free_.wait(lock, [&] { return !idle_.empty() || open_ < most_; });
      if (!idle_.empty()) {
        auto connection = std::move(idle_.back());
        idle_.pop_back();
        return connection;
      }
      ++open_;
    }
    Result<Connection> opened = Connection::open(file_, Connection::Mode::kReadOnly);
    if (!opened) {
      give_back(nullptr);
      return tl::unexpected(opened.error());
    }
    return std::make_unique<Connection>(*std::move(opened));
  }

  // A connection that is stuck in its transaction is closed instead of kept.
  void give_back(std::unique_ptr<Connection> connection) {
    if (connection && connection->in_transaction()) connection.reset();
    {
      const std::scoped_lock lock(mutex_);
      connection ? idle_.push_back(std::move(connection)) : static_cast<void>(--open_);
    }
    free_.notify_one();
  }

  const fs::path file_;
  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable free_;
  std::vector<std::unique_ptr<Connection>> idle_;
  std::size_t open_ = 0;
};

class SqliteStore final : public Store {
 public:
  SqliteStore(fs::path file, std::size_t readers, Connection writer)
      : file_(std::move(file)), writer_(std::move(writer)), readers_(file_, readers) {}

  Result<AppendResult> append(std::span<const codec::Frame> frames) override {
    return writer_.append(frames);
  }
  Result<std::optional<Ack>> session(SessionId id) override {
    return readers_.with([&](Connection& db) { return read_session(db, id); });
  }
  Result<std::vector<Experiment>> experiments() override { return readers_.with(read_experiments); }
  Result<std::vector<Workload>> workloads(std::optional<ExperimentId> experiment) override {
    return readers_.with([&](Connection& db) { return read_workloads(db, experiment); });
  }
  Result<RunPage> runs(const RunFilter& filter) override {
    return readers_.with([&](Connection& db) { return read_runs(db, filter); });
  }
  Result<std::optional<Run>> run(RunId id) override {
    return readers_.with([&](Connection& db) { return read_run(db, id); });
  }
  Result<std::vector<RunId>> find_runs(std::string_view text) override {
    return readers_.with([&](Connection& db) { return read_matching_runs(db, text); });
  }
  Result<std::vector<Series>> series_of(RunId run) override {
    return readers_.with([&](Connection& db) { return read_series_of(db, run); });
  }
  Result<std::vector<Series>> series(std::span<const SeriesId> ids) override {
    return readers_.with([&](Connection& db) { return read_series(db, ids); });
  }
  Result<std::vector<std::pair<RunId, Series>>> series_ending(std::span<const RunId> runs,
                                                              std::string_view suffix) override {
    return readers_.with([&](Connection& db) { return read_series_ending(db, runs, suffix); });
  }
  Result<> batches(const BatchQuery& query,
                   const std::function<bool(const Batch&)>& take) override {
    return readers_.with([&](Connection& db) { return read_batches(db, query, take); });
  }
  Result<std::vector<Phase>> phases(RunId run) override {
    return readers_.with([&](Connection& db) { return read_phases(db, run); });
  }
  Result<std::vector<StoredEvent>> events(RunId run) override {
    return readers_.with([&](Connection& db) { return read_events(db, run); });
  }
  Result<std::vector<LogChunk>> logs(const LogQuery& query) override {
    return readers_.with([&](Connection& db) { return read_logs(db, query); });
  }
  Result<std::vector<LogExtent>> log_extents(RunId run) override {
    return readers_.with([&](Connection& db) { return read_log_extents(db, run); });
  }
  Result<StoreInfo> info() override;

 private:
  const fs::path file_;
  Writer writer_;  // closed last: its connection makes the final checkpoint
  Readers readers_;
};

Result<StoreInfo> SqliteStore::info() {
  StoreInfo info;
  info.location = file_.string();
  info.schema_version = TRY(readers_.with(schema_version));
  for (const char* suffix : {"", "-wal"}) {
    std::error_code error;
    const auto bytes = fs::file_size(file_.string() + suffix, error);
    if (!error) info.bytes += static_cast<std::int64_t>(bytes);
  }
  return info;
}

// The system's own words for a directory that cannot be made or written; SQLite's are "unable to
// open database file".
Result<> check_place(const fs::path& directory, const fs::path& file) {
  const sys::FilesystemKind kind = TRY(sys::filesystem_of(directory));
  if (kind.network) {
    return fail(Code::kUnsupported,
                fmt::format("{} is on a network filesystem ({}), where an embedded store is not "
                            "safe: use a local directory "
                            "(--store DIR) or a database server (--store postgresql://...)",
                            directory.string(), kind.name));
  }
  TRY(sys::make_directories(directory));
  TRY(sys::open_file(file, O_RDWR | O_CREAT, 0600));
  return {};
}

}  // namespace
}  // namespace sqlite

Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteOptions& options) {
  const auto open = [&]() -> Result<std::unique_ptr<Store>> {
    const fs::path file = options.directory / "corral.db";
    TRY(sqlite::check_place(options.directory, file));
    sqlite::Connection writer =
        TRY(sqlite::Connection::open(file, sqlite::Connection::Mode::kReadWrite));
    TRY(sqlite::migrate(writer));
    return std::make_unique<sqlite::SqliteStore>(file, options.readers, std::move(writer));
  };
  auto store = open();
  if (!store)
    return tl::unexpected(store.error().with_context("store " + options.directory.string()));
  return store;
}

}  // namespace corral::store
