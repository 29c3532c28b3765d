// Ingest: turns frames into rows, on the writer's connection, inside a transaction that the caller
// holds.
//
// It knows the sessions' sequence rule (docs/format-frame.md): a session's frames come in order and
// without gaps, old ones are acknowledged and ignored, and after one refusal the rest of that
// session in the call is refused too. The changes of a call stay in this object's cache of
// sessions: the caller must call keep() or drop() after its savepoint, and forget() after a
// rollback of the whole transaction. Rows of runs are written once per transaction, by
// finish_group(). If several processes write to one database (Dialect::shared), a session's row is
// locked before its frames are stored, and its cache entry is used only if durable_seq has not
// changed. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/engine/database.h"
#include "store/model/content.h"
#include "store/model/records.h"
#include "store/model/statistics.h"
#include "store/model/transaction.h"

namespace corral::store::sql {

// A session as the writer remembers it; `key`, `run`, `workload` and `machine` are row keys.
struct SessionState {
  SessionId id;
  RunId run_id;
  std::int64_t key = 0;
  std::int64_t run = 0;
  std::int64_t workload = 0;
  std::optional<std::int64_t> machine;  // key of the host, if the writer named one
  bool feeds_host = false;
  bool removed = false;  // its run is gone: only points of its host are stored
  // Number among the supervisors that record the run together; nullopt: it has none beside it.
  std::optional<std::int64_t> member;
  std::uint64_t durable_seq = 0;
  ClockAnchor anchor;
  SeriesMap series;
};

// The error when another writer made the same row first. The caller rolls back and retries, which
// finds the row.
inline tl::unexpected<Error> lost_race() {
  return fail(Code::kConflict, "another server stored the same thing at the same moment");
}

struct NewWorkload {
  WorkloadId id;
  std::int64_t experiment = 0;
  std::string name;  // empty: a run's own
  UtcTime created;
};
// The key of the workload with this id, which is made when it is missing; an earlier `created`
// replaces its own. One of this id in another space is not meant. kConflict: lost_race().
Result<std::int64_t> find_or_make_workload(Connection& db, const NewWorkload& workload);

struct StoredBatch {
  std::int64_t session = 0;  // key
  std::size_t bytes = 0;
  std::uint64_t points = 0;
};

class Ingest {
 public:
  explicit Ingest(Connection& database) : db_(database) {}
  // The time at which the rows of a call's runs are locked: all at the end, in the order of their
  // keys; or at once, so that a row which another process holds fails this call alone.
  enum class LockRuns : std::uint8_t { kAtTheEnd, kAtOnce };
  // Refusals are in the answer; an Error means that the caller must roll back.
  Result<AppendResult> append(std::span<const codec::Frame> frames, const Sender& sender,
                              LockRuns lock);
  // Keeps the writes of the last append() in the transaction.
  void keep();
  // Drops the writes of the last append(), which was rolled back, also after an error.
  void drop(std::span<const codec::Frame> frames);
  // Call directly before the COMMIT.
  Result<> finish_group();
  void forget();
  // Batch rows kept since the last call.
  std::vector<StoredBatch> take_batches() { return std::exchange(batches_, {}); }

 private:
  // Work that is done once for many calls, or reported when they are stored.
  using Newest = std::map<std::int64_t, std::int64_t>;  // run key -> newest UTC time
  using Batches = std::vector<StoredBatch>;
  // State of one append() call.
  struct Call {
    const Sender* sender = nullptr;
    AppendResult result;
    std::map<SessionId, std::shared_ptr<SessionState>> touched;  // null: not known to the store
    std::set<SessionId> refused;
    std::set<RunId> changed_runs, data_runs;
    std::set<std::int64_t> data_workloads, data_hosts;  // keys whose shared series grew
  };

  Result<> accept(Call& call, const codec::Frame& frame, std::size_t index);
  Result<std::shared_ptr<SessionState>> find_session(SessionId id);
  Result<bool> is_current(const SessionState& session);
  Result<std::optional<Error>> contradiction(const SessionState* session, const Content& content);
  Result<std::optional<Error>> redeclared(const SessionState& session, const Content& content);
  Result<> finish(Call& call, LockRuns lock);
  void remember(const std::shared_ptr<SessionState>& session);

  // The rows of one accepted frame.
  Result<> store(Call& call, SessionState& session, const codec::Frame& frame,
                 const Content& content);
  // The run was removed, and its supervisor still measures the host for the other runs there.
  Result<> store_for_host(Call& call, SessionState& session, const codec::Frame& frame);
  Result<> store_batch(Call& call, SessionState& session, const codec::Frame& frame,
                       const Content& content);
  Result<> store_phases(const SessionState& session, const std::vector<codec::PhaseRecord>& phases);
  Result<bool> store_facts(const Call& call, SessionState& session,
                           const std::vector<codec::Fact>& facts);
  // The run's start is known.
  Result<> begin_run(Call& call, const SessionState& session, UtcTime at);
  Result<> store_event(const SessionState& session, UtcTime time, const codec::Event& event);
  Result<std::int64_t> log_length(std::int64_t run, std::int64_t stream);
  Result<> store_log(const SessionState& session, const codec::LogBody& log);
  Result<std::optional<std::int64_t>> member_now(const SessionState& session);
  Result<> store_end(Call& call, SessionState& session, const codec::RunEndBody& end);
  Result<> store_gap(Call& call, const SessionState& session, const codec::Frame& frame,
                     const codec::GapBody& gap);
  // A fact of an MLflow client that changes the run's row. True: the fact is no row of its own.
  Result<bool> apply_client_fact(const Call& call, const SessionState& session,
                                 const codec::Fact& fact);
  Result<> move_run(std::int64_t run, const std::string& experiment);
  Result<> client_status(std::int64_t run, std::int64_t status, std::int64_t end_ms);
  using SeriesDefs = std::vector<const codec::SeriesDef*>;
  // The stored series of a frame, by owner kind, name and source.
  using KnownSeries =
      std::map<std::tuple<metric::Owner, std::string_view, std::string_view>, SeriesId>;
  Result<> declare(SessionState& session, const std::vector<codec::SeriesDef>& defs);
  Result<> make_series(const SessionState& session, const SeriesDefs& defs);
  Result<KnownSeries> find_series(const SessionState& session, const SeriesDefs& defs);
  Result<> find_few(const SessionState& session, const SeriesDefs& defs, KnownSeries& known);
  Result<> find_many(const SessionState& session, const SeriesDefs& defs, KnownSeries& known);

  // Experiment, workload, run and session of a first frame.
  Result<std::shared_ptr<SessionState>> open_session(Call& call, const codec::Frame& frame,
                                                     const codec::SessionBody& body);
  Result<std::int64_t> find_or_make_experiment(const std::string& name, UtcTime created);
  Result<std::optional<std::int64_t>> find_or_make_host(const codec::SessionBody& body);
  struct RunRow {
    std::int64_t key = 0;
    std::int64_t workload = 0;
    bool removed = false;
  };
  Result<std::optional<RunRow>> find_run(RunId id);
  Result<RunRow> find_or_make_run(Call& call, const codec::SessionBody& body, UtcTime started);
  Result<> supervise(Call& call, const codec::SessionBody& body, UtcTime started,
                     const SessionState& session, bool joins);

  Connection& db_;
  Newest newest_, call_newest_;     // from kept calls; from the current call
  Batches batches_, call_batches_;  // from kept calls; from the current call
  std::unordered_map<SessionId, std::shared_ptr<SessionState>> sessions_;
  std::size_t remembered_series_ = 0;  // in all sessions_ since they were last cleared
};

}  // namespace corral::store::sql
