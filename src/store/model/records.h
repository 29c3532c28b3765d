// Records: the inputs and answers of a store, independent of its database.
//
// Values without I/O. Times are UTC (the session's anchor applied).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/frame.h"
#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "metric/catalogue.h"

namespace corral::store {

// ---- ingest
struct Ack {
  SessionId session;
  std::uint64_t durable_seq = 0;  // every number up to this one is stored (or covered by a gap) and
                                  // will never be stored again
};
struct Refusal {
  std::size_t index = 0;  // position of the frame in the call
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
constexpr std::string_view status_name(RunStatus status) {
  constexpr std::array<std::string_view, 5> kNames = {"running", "finished", "failed", "stopped",
                                                      "unknown"};
  const auto index = static_cast<std::size_t>(status);
  return index < kNames.size() ? kNames[index] : "unknown";
}

// Archived and trashed runs are left out of lists. Archived ones stay for good, trashed ones are
// removed after kTrashKept.
enum class Lifecycle : std::int8_t { kArchived = -1, kActive = 0, kDeleted = 1 };
constexpr std::string_view lifecycle_name(Lifecycle lifecycle) {
  if (lifecycle == Lifecycle::kActive) return "active";
  return lifecycle == Lifecycle::kArchived ? "archived" : "trashed";
}

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
  std::string creator;  // the user who recorded it; empty: not known
  Lifecycle lifecycle = Lifecycle::kActive;
  std::optional<UtcTime> trashed;  // since when it is in the trash
  // Facts: info values are JSON text. Empty in lists unless asked for.
  std::vector<std::pair<std::string, std::string>> params, tags, info, unavailable, drops;
};
struct RunFilter {
  std::optional<ExperimentId> experiment;
  std::optional<WorkloadId> workload;
  std::optional<RunStatus> status;
  Lifecycle lifecycle = Lifecycle::kActive;
  // Continue after this run of an earlier answer (newest first by start, then id).
  std::optional<std::pair<UtcTime, RunId>> before;
  std::size_t limit = 100;
  bool facts = false;
};
struct RunPage {
  std::vector<Run> runs;
  std::int64_t total = 0;  // matching runs on all pages
};

struct Series {
  SeriesId id;
  metric::Owner owner = metric::Owner::kRun;
  // Hex ID of the run or workload. For a host's series: ID of the workload whose runs were on the
  // host while these points were measured.
  std::string owner_id;
  std::string host;  // name of the host, for a host's series
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
      last_step;                         // at the earliest point; at the point that gave `last`
  std::optional<double> last, min, max;  // last: the newest finite value
  bool ends_nan = false;                 // points newer than `last` are NaN or infinite
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
// A position in a list of phases, which is ordered by their begins.
struct PhasePlace {
  UtcTime start;
  std::int64_t session = 0;
  std::uint64_t id = 0;
};
// The faults of a run's phases, as far as counting tells.
struct PhaseCounts {
  std::int64_t phases = 0;           // phases that have begun
  std::int64_t unended = 0;          // phases without an end
  std::int64_t ends_alone = 0;       // ends whose begin never came
  std::int64_t unknown_parents = 0;  // phases whose parent is not there
  std::int64_t backwards = 0;        // phases that end before they begin
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
// The number of a stream of a run's output. Each of several supervisors (ingest/members.h) has
// streams of its own.
constexpr std::int64_t stored_stream(codec::LogStream stream, std::int64_t member) {
  return member * 4 + static_cast<std::int64_t>(stream);
}
constexpr codec::LogStream stream_of(std::int64_t stored) {
  return static_cast<codec::LogStream>(stored % 4);
}

// The output of all supervisors.
struct LogQuery {
  RunId run;
  std::optional<codec::LogStream> stream;
  std::int64_t after_row = 0;  // last row of an earlier answer
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
  std::string problem;  // problem of sealing; empty if there is none
};

struct StoreTime {
  UtcTime time;
  bool of_this_machine = true;  // else the clock of a database that may be elsewhere
};

// Counted since the store was opened, by this process.
struct StoreActivity {
  std::uint64_t points = 0;                         // points that became durable
  std::size_t waiting_rows = 0, waiting_bytes = 0;  // in batch rows that the sealer knows of
};

// ---- what goes
struct RemoveOptions {
  // Also removes runs that are still running. They are not stopped; their later frames are
  // acknowledged and ignored.
  bool force = false;
  bool dry_run = false;  // only says what would go
};
struct Removal {
  std::vector<RunId> runs;  // runs that existed
  std::int64_t points = 0;  // points of the runs' own series
  std::int64_t bytes = 0;   // stored bytes of points, summaries and output
};
// Runs in the trash are removed after that.
inline constexpr Nanos kTrashKept = std::chrono::days(30);
// Ended runs are removed, the oldest first, if they ended longer ago than `age`, and while points,
// summaries and output take more than `bytes`.
struct Retention {
  std::optional<Nanos> age;
  std::optional<std::int64_t> bytes;
};

}  // namespace corral::store
