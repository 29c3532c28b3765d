#include "store/maintain/rebuild.h"

#include <fmt/core.h>

#include "core/failpoint.h"
#include "store/engine/schema.h"
#include "store/maintain/rebuild_series.h"
#include "store/maintain/rebuild_slices.h"

namespace corral::store::maintain {
namespace {

using sql::Connection;

constexpr const char* kSeries = "rebuilt_series";
constexpr const char* kSessions = "rebuilt_sessions";
constexpr int kAttempts = 5;

// ---- all of them
class Rebuild {
 public:
  Rebuild(Connection& db, const Watch& watch) : db_(db), watch_(watch), findings_(db) {}

  Result<RebuildReport> run(bool anew) {
    TRY(sql::schema_version(db_));
    if (anew) TRY(forget());
    report_.continued = TRY(reached(kSeries)) > 0;
    TRY(walk(kSeries, "SELECT id FROM series WHERE id > ?1 ORDER BY id LIMIT 1",
             "SELECT count(*) FROM series WHERE id > ?1",
             [this](std::int64_t id) { return one_series(SeriesId{id}); }));
    TRY(walk(kSessions, "SELECT key FROM sessions WHERE key > ?1 ORDER BY key LIMIT 1",
             "SELECT count(*) FROM sessions WHERE key > ?1",
             [this](std::int64_t key) { return one_session(key); }));
    TRY(forget());
    report_.gaps = findings_.kept();
    report_.problems = findings_.count();
    return std::move(report_);
  }

 private:
  Result<std::int64_t> reached(const char* mark) {
    return TRY(db_.number("SELECT value FROM meta WHERE key = ?1", std::string_view(mark)))
        .value_or(0);
  }
  Result<> forget() {
    return db_.exec("DELETE FROM meta WHERE key IN ('rebuilt_series', 'rebuilt_sessions')");
  }
  Result<> one_series(SeriesId id) {
    report_.pyramid_rows += TRY(rebuild_series(db_, findings_, id, watch_));
    ++report_.series;
    return {};
  }
  Result<> one_session(std::int64_t key) {
    report_.slices += TRY(rebuild_slices(db_, findings_, key));
    return {};
  }
  template <class One>
  Result<> commit(const char* mark, std::int64_t key, const One& one);
  template <class One>
  Result<> walk(const char* mark, const char* next, const char* left, const One& one);

  Connection& db_;
  const Watch& watch_;
  Findings findings_;
  RebuildReport report_;
};

template <class One>
Result<> Rebuild::commit(const char* mark, std::int64_t key, const One& one) {
  TRY(db_.script(std::string(db_.dialect().begin_write)));
  const auto work = [&]() -> Result<> {
    TRY(one(key));
    TRY(
        db_.exec("INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET "
                 "value = excluded.value",
                 std::string_view(mark), key));
    return db_.script("COMMIT");
  };
  Result<> written = work();
  if (!written && db_.in_transaction()) static_cast<void>(db_.script("ROLLBACK"));
  return written;
}

template <class One>
Result<> Rebuild::walk(const char* mark, const char* next, const char* left, const One& one) {
  std::int64_t after = TRY(reached(mark));
  const std::int64_t total = TRY(db_.number(left, after)).value_or(0);
  for (std::int64_t done = 0;; ++done) {
    TRY(watch_.at(mark == std::string_view(kSeries) ? "series" : "sessions", done, total));
    const auto key = TRY(db_.number(next, after));
    if (!key) return {};
    after = *key;
    Result<> written = commit(mark, after, one);
    for (int again = 0; again < kAttempts && !written && written.error().code == Code::kConflict;
         ++again)
      written = commit(mark, after, one);
    if (!written) return written;
    failpoint::reach("rebuild.committed");
  }
}

}  // namespace

Result<RebuildReport> rebuild_store(Connection& db, bool anew, const Watch& watch) {
  return Rebuild(db, watch).run(anew);
}

}  // namespace corral::store::maintain
