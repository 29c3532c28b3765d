// Store::Machinery: the connections, threads and caches of a store, and StoreParts, which they are
// made of. Used by store.cpp, reader.cpp and open/.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "store/engine/readers.h"
#include "store/engine/views.h"
#include "store/ingest/writer.h"
#include "store/read/latest_metrics.h"
#include "store/read/view.h"
#include "store/remove/remove.h"
#include "store/seal/sealer.h"
#include "store/store.h"

namespace corral::store {

// The connections and settings that make a Store; open/ fills them in.
struct StoreParts {
  std::string location;                     // for people; no password
  std::unique_ptr<sql::Connection> writer;  // migrated
  sql::OpenConnection open_reader;
  // Connections to the database that points are read from, if it is another one (a replica, which
  // may lag behind).
  sql::OpenConnection open_chart_reader;
  std::size_t readers = 16;  // at once, of each kind; more wait
  sql::Repair repair;        // may be empty
  sql::Intact intact{};      // empty: it always is
};

struct Store::Machinery {
  explicit Machinery(StoreParts parts)
      : location(std::move(parts.location)),
        intact(std::move(parts.intact)),
        clock(parts.writer->dialect().clock),
        writer(std::move(parts.writer), intact,
               [this](const sql::StoredBatch& batch) {
                 points.fetch_add(batch.points, std::memory_order_relaxed);
                 sealer.note(batch.session, batch.bytes);
               }),
        readers(parts.open_reader, parts.readers),
        readers_of_some(
            [open = parts.open_reader]() -> Result<std::unique_ptr<sql::Connection>> {
              auto reader = TRY(open());
              TRY(sql::put_views_before_tables(*reader));
              return reader;
            },
            parts.readers),
        chart_readers(
            parts.open_chart_reader
                ? std::make_unique<sql::Readers>(std::move(parts.open_chart_reader), parts.readers)
                : nullptr),
        sealer(readers, writer, std::move(parts.repair)) {}

  // Calls read(connection) in a snapshot of what `access` sees.
  template <class Read>
  auto read(const Access& access, Read&& read) -> decltype(read(std::declval<sql::Connection&>())) {
    if (access.sees_all()) return readers.with(std::forward<Read>(read));
    return readers_of_some.with([&](sql::Connection& db) -> decltype(read(db)) {
      TRY(db.hide(access.hidden()));
      return read(db);
    });
  }
  // kNotFound, unless it sees all of them.
  Result<> check_seen(const Access& access, std::span<const SeriesId> series);
  sql::Readers& charts() { return chart_readers ? *chart_readers : readers; }
  Result<> view(sql::Readers& from, std::span<const SeriesId> series,
                const std::function<Result<>(PointView&)>& read, Levels levels) {
    return from.with([&](sql::Connection& db) -> Result<> {
      const auto view = TRY(sql::open_view(db, caches, series, levels));
      return read(*view);
    });
  }

  // Measures in a snapshot, marks in short transactions, and leaves the deleting to the sealer.
  // `trashed_before` as for sql::mark_removed().
  Result<Removal> remove(std::span<const RunId> runs, sql::IfRunning running, bool dry_run,
                         std::optional<UtcTime> trashed_before = {});
  Result<> transact(const sql::Writer::Write& write);

  const std::string location;
  const sql::Intact intact;
  const std::string clock;  // a statement (Dialect::clock)
  std::atomic<std::uint64_t> points{0};
  sql::Writer writer;  // closed last: its connection makes the final checkpoint
  sql::Readers readers;
  sql::Readers readers_of_some;                       // behind views, for those who do not see all
  const std::unique_ptr<sql::Readers> chart_readers;  // null: the same as readers
  sql::Caches caches;
  sql::LatestMetrics latest{caches};
  sql::Sealer sealer;  // its thread is ended first

 private:
  // Those that were marked.
  Result<std::vector<RunId>> mark(std::span<const RunId> runs, sql::IfRunning running,
                                  std::optional<UtcTime> trashed_before);
};

}  // namespace corral::store
