// Store: what the server keeps, whatever database is behind it.
//
// Frames come in through append(), and only there; everything else reads. append() returns when
// what it acknowledges is durable (synchronous=FULL and group commit in sqlite/). All functions may
// be called from any thread. The store knows frames and tables, not HTTP, and does not reduce
// points: query/ does, over view(). Times in the answers are UTC (the session's anchor applied);
// batch frames stay in boot time. What MLflow's interface keeps beside points (experiments, params,
// models...) are rows that store/tracking/ reads and writes through inspect() and change().
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codec/frame.h"
#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "metric/catalogue.h"
#include "store/model/point_view.h"

namespace corral::store {

// ---- ingest
struct Ack {
  SessionId session;
  std::uint64_t durable_seq = 0;  // every number up to this one is stored (or covered by a gap) and
                                  // will never be stored again
};
struct Refusal {
  std::size_t index = 0;  // of the frame in the call
  SessionId session;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  Error error;  // kConflict: first is not durable_seq + 1; kUnprocessable / kInvalidArgument: never
                // acceptable
};
struct AppendResult {
  std::vector<Ack> acks;  // one per session of the call
  std::vector<Refusal> refusals;
  std::vector<RunId> changed_runs;  // status or details changed, or new
  std::vector<RunId> data_runs;     // new points, phases, events or output
};

// ---- what is there
enum class RunStatus : std::uint8_t {
  kRunning = 0,
  kFinished = 1,
  kFailed = 2,
  kStopped = 3,
  kUnknown = 4
};
std::string_view status_name(RunStatus status);

struct Experiment {
  ExperimentId id;
  std::string name;
  UtcTime created;
  std::int64_t runs = 0;
  std::int64_t running = 0;
};
struct Workload {
  WorkloadId id;
  ExperimentId experiment;
  std::string name;  // empty: a run's own
  UtcTime created;
  std::vector<RunId> runs;  // by start
};
struct Run {
  RunId id;
  std::string name;
  ExperimentId experiment;
  std::string experiment_name;
  WorkloadId workload;
  std::string workload_name;
  RunStatus status = RunStatus::kRunning;
  UtcTime start;
  std::optional<UtcTime> end;
  UtcTime newest;  // newest time that any of its frames carries; start when none
  std::optional<codec::EndReason> end_reason;
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> exit_signal;
  std::string host;
  // Facts: info values are JSON text. Empty in lists unless asked for.
  std::vector<std::pair<std::string, std::string>> params, tags, info, unavailable, drops;
};
struct RunFilter {
  std::optional<ExperimentId> experiment;
  std::optional<WorkloadId> workload;
  std::optional<RunStatus> status;
  // Continue after this run of an earlier answer (newest first by start, then id).
  std::optional<std::pair<UtcTime, RunId>> before;
  std::size_t limit = 100;
  bool facts = false;
};
struct RunPage {
  std::vector<Run> runs;
  std::int64_t total = 0;  // that match, all pages
};

struct Series {
  SeriesId id;
  metric::Owner owner = metric::Owner::kRun;
  // Hex of the run or workload. Of a host's series: of the workload whose runs were on the host
  // while these points were measured.
  std::string owner_id;
  std::string host;  // of a host's series: its name
  metric::Kind kind = metric::Kind::kGauge;
  metric::Aggregation aggregation = metric::Aggregation::kMean;
  std::string name;
  std::string source;
  std::string unit;
  // As of this answer, over finite values; `points` counts NaN and infinities, too.
  std::int64_t points = 0;
  std::int64_t nan = 0;
  UtcTime first, last_time;
  std::optional<std::int64_t> first_step,
      last_step;                         // of the earliest point; of the point that gave `last`
  std::optional<double> last, min, max;  // last: the newest finite value
  double sum = 0;
};

// ---- the rest of a run
struct Phase {
  std::int64_t session = 0;  // ids are unique within it
  std::uint64_t id = 0;
  std::uint64_t parent = 0;
  std::string name, type, lane;
  codec::PhaseKind kind = codec::PhaseKind::kCompute;
  std::optional<UtcTime> start, end;
  std::vector<std::uint64_t> links;
  codec::Attributes attributes;
};
// Where a list of phases stands, by their begins.
struct PhasePlace {
  UtcTime start;
  std::int64_t session = 0;
  std::uint64_t id = 0;
};
// What is wrong with a run's phases, as far as counting tells.
struct PhaseCounts {
  std::int64_t phases = 0;           // that have begun
  std::int64_t unended = 0;          // of these
  std::int64_t ends_alone = 0;       // ends whose begin never came
  std::int64_t unknown_parents = 0;  // phases whose parent is not there
  std::int64_t backwards = 0;        // that end before they begin
};
struct StoredEvent {
  UtcTime time;
  std::string name, origin;
  codec::Attributes attributes;
};
struct LogChunk {
  std::int64_t row = 0;
  codec::LogStream stream = codec::LogStream::kStdout;
  std::int64_t offset = 0;
  UtcTime time;
  std::string bytes;
};
struct LogQuery {
  RunId run;
  std::optional<codec::LogStream> stream;
  std::int64_t after_row = 0;  // of an earlier answer
  std::size_t limit = 256;     // chunks
};
// One output stream as a whole.
struct LogExtent {
  codec::LogStream stream = codec::LogStream::kStdout;
  std::int64_t end = 0;                                     // bytes the run wrote, as far as known
  std::vector<std::pair<std::int64_t, std::int64_t>> gaps;  // [from, to) that is not kept
};

struct StoreInfo {
  std::string location;
  int schema_version = 0;
  std::int64_t bytes = 0;
  std::string problem;  // of sealing, empty when it goes well
};

// Counted since the store was opened, by this process.
struct StoreActivity {
  std::uint64_t points = 0;                         // that became durable
  std::size_t waiting_rows = 0, waiting_bytes = 0;  // in batch rows that the sealer knows of
};

// ---- what goes
struct RemoveOptions {
  // Runs that are still running, too. Nothing stops them: what they send from then on is
  // acknowledged and ignored.
  bool force = false;
  bool dry_run = false;  // only says what would go
};
struct Removal {
  std::vector<RunId> runs;  // that were there
  std::int64_t points = 0;  // of the runs' own series
  std::int64_t bytes = 0;   // of points, summaries and output, as stored
};
// Runs that ended, the oldest first, go when they ended longer ago than `age`, and for as long as
// points, summaries and output take more than `bytes`.
struct Retention {
  std::optional<Nanos> age;
  std::optional<std::int64_t> bytes;
};

namespace sql {
class Connection;
class LatestMetrics;
// A snapshot of the database, and what is remembered of metrics' latest values.
struct Reading {
  Connection& db;
  LatestMetrics& latest;
};
}  // namespace sql
using Inspect = std::function<Result<>(sql::Reading&)>;
// May be called again after another server's writes came between: what it changes but the database
// it sets anew. kConflict is such a lost race; any other error takes back what it wrote.
using Change = std::function<Result<>(sql::Connection&)>;

class Store {
 public:
  virtual ~Store() = default;

  // kUnavailable, for good: the store's files were deleted, moved or replaced, so that what is
  // written is lost. No write is acknowledged from then on. Costs a few microseconds.
  [[nodiscard]] virtual Result<> intact() const { return {}; }

  // Frames of any sessions in the order given, decoded by codec::decode_frame before. One
  // transaction with whatever else is waiting (group commit). A frame wholly at or below
  // durable_seq is acknowledged and ignored. An Error means that nothing of this call was stored
  // (disk full, I/O): retry.
  virtual Result<AppendResult> append(std::span<const codec::Frame> frames) = 0;
  // Only if `before` agrees, in the same transaction. A refused frame takes all of the call back,
  // what `before` wrote too, whatever the acks say.
  virtual Result<AppendResult> append(std::span<const codec::Frame> frames,
                                      const Change& before) = 0;
  // In one transaction with whatever else is waiting; durable when this returns.
  virtual Result<> change(const Change& change) = 0;
  // In one snapshot.
  virtual Result<> inspect(const Inspect& inspect) = 0;
  virtual Result<std::optional<Ack>> session(SessionId id) = 0;

  virtual Result<std::vector<Experiment>> experiments() = 0;
  virtual Result<std::vector<Workload>> workloads(std::optional<ExperimentId> experiment) = 0;
  virtual Result<RunPage> runs(const RunFilter& filter) = 0;
  virtual Result<std::optional<Run>> run(RunId id) = 0;
  // Ids of runs whose id starts with the hex prefix (at most 2: enough to say "ambiguous"), or
  // whose name is exactly `text`, newest first.
  virtual Result<std::vector<RunId>> find_runs(std::string_view text) = 0;
  // Series of the run, of its workload, and of its host while runs of the workload were on it.
  virtual Result<std::vector<Series>> series_of(RunId run) = 0;
  virtual Result<std::vector<Series>> series(std::span<const SeriesId> ids) = 0;
  // Of the runs' own series, those whose name ends in `suffix` (case-sensitive): for one value per
  // row of a list.
  virtual Result<std::vector<std::pair<RunId, Series>>> series_ending(std::span<const RunId> runs,
                                                                      std::string_view suffix) = 0;
  // Calls `read` with a view of the points of these series, which must not outlive the call; an
  // error of `read` is given back. Memory grows with the series asked for (at most about 16,000
  // points each) and not with what is stored.
  virtual Result<> view(std::span<const SeriesId> series,
                        const std::function<Result<>(PointView&)>& read) = 0;
  // The same where charts are read from a replica, but for what was acknowledged: all of it is
  // here.
  virtual Result<> fresh_view(std::span<const SeriesId> series,
                              const std::function<Result<>(PointView&)>& read) = 0;
  virtual Result<std::vector<Phase>> phases(RunId run) = 0;
  // At most `limit` of those that have begun, in the order of PhasePlace.
  virtual Result<std::vector<Phase>> phases_after(RunId run, const std::optional<PhasePlace>& place,
                                                  std::size_t limit) = 0;
  virtual Result<PhaseCounts> count_phases(RunId run) = 0;
  // Phases (session, id) that others link to, at most `limit`, in no order.
  virtual Result<std::vector<std::pair<std::int64_t, std::uint64_t>>> linked_phases(
      RunId run, std::size_t limit) = 0;
  virtual Result<std::vector<StoredEvent>> events(RunId run) = 0;
  virtual Result<std::vector<LogChunk>> logs(const LogQuery& query) = 0;
  virtual Result<std::vector<LogExtent>> log_extents(RunId run) = 0;
  virtual Result<StoreInfo> info() = 0;
  // Reads nothing; any thread.
  [[nodiscard]] virtual StoreActivity activity() const = 0;
  // Runs that are there no more are left aside. They are gone for every reader when this returns;
  // their rows go piece by piece in the background. Frames of theirs that come later are
  // acknowledged and ignored. kConflict: one of them is running, and none is removed. A workload
  // goes with its last run, and so does an experiment.
  virtual Result<Removal> remove_runs(std::span<const RunId> runs,
                                      const RemoveOptions& options) = 0;
  // With all its runs; kNotFound.
  virtual Result<Removal> remove_experiment(ExperimentId id, const RemoveOptions& options) = 0;
  virtual Result<Removal> prune(const Retention& retention, UtcTime now, bool dry_run) = 0;
  // Lets every point that is in a batch row rise at once (this happens by itself in time);
  // `settle`: as if all sessions had ended; what was removed is gone from the tables, too. For
  // tests, benchmarks and `corral store`.
  virtual Result<> seal(bool settle) = 0;
};

}  // namespace corral::store
