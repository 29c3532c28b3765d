// Frames: the unit of transfer from a training host to the store, and the content of a batch row
// (docs/format-frame.md).
//
// A frame belongs to one session and covers the sequence numbers [first, last] of it: the numbers
// of its segment's slots, or of a supervisor's own frames. The store takes a session's frames in
// order and without gaps; frames that a server rejected for good are covered by a Gap, so that the
// loss is on record. Times are the session's CLOCK_BOOTTIME.
//
// FrameHeader and the bodies are plain data; encode turns a body into a whole frame, decode_frame
// checks length, version and crc32c before anything is looked at, and decode_* never reads past its
// bytes. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"
#include "metric/catalogue.h"

namespace corral::codec {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;

enum class FrameKind : std::uint8_t {
  kSession = 1,  // the writer: must be the first frame of a session; may come again (same content)
  kSchema = 2,   // series id -> name, source, owner, unit; before the first samples of that series
  kSamples = 3,  // columns of values
  kPhases = 4,   // begins and ends of phases
  kFacts = 5,    // params, tags, run details
  kEvents = 6,
  kLog = 7,      // one chunk of output
  kRunEnd = 8,   // the end of the run
  kGap = 9,      // sequence numbers that carry nothing, or that were refused or lost
  kBundle = 10,  // several bodies of kinds 2 to 6 that share one range of sequence numbers: one
                 // flush of a process
};

struct FrameHeader {
  FrameKind kind = FrameKind::kSession;
  SessionId session;
  std::uint64_t first = 0;  // sequence numbers start at 1
  std::uint64_t last = 0;
};

// The writer of the session. Run details come as facts, so that they never hold up the start.
struct SessionBody {
  RunId run;
  WorkloadId workload;
  std::string experiment;     // name; the store gives it an id
  std::string workload_name;  // empty: the run is a workload of its own
  std::string run_name;
  std::string host;
  std::string machine;  // id of the host's machine (sys/machine_id.h); empty: it has no timeline
  std::string role;     // "supervisor", "process", "import"
  std::int64_t pid = 0;
  std::optional<std::int64_t> rank;  // rank from torchrun, srun, mpirun
  std::string boot_id;
  ClockAnchor anchor;
  BootTime started;  // start of the writer; for role "supervisor": the run's start
  // Of a supervisor that records the run together with others, each a rank or a host of one job:
  // how often the job was started anew before. nullopt: no others record it.
  std::optional<std::uint32_t> attempt = {};
  bool operator==(const SessionBody&) const = default;
};

struct SeriesDef {
  std::uint32_t id = 0;  // within the session
  metric::Owner owner = metric::Owner::kRun;
  metric::Kind kind = metric::Kind::kGauge;
  metric::Aggregation aggregation = metric::Aggregation::kMean;
  std::string name;
  std::string source;  // "" = the owner as a whole; "cpu3", "nvme0n1", "eth0", "rank1"
  std::string unit;
  bool operator==(const SeriesDef&) const = default;
};
struct SchemaBody {
  std::vector<SeriesDef> series;
};

// One column: a value per row where `present` is set. Missing is not NaN.
struct Column {
  std::uint32_t series = 0;
  std::vector<bool> present;   // as long as `times`; empty = all present
  std::vector<double> values;  // values of present rows only, in row order; any bit pattern
  bool operator==(const Column&) const = default;
};
// Columns that share a time (and step) column.
struct SampleGroup {
  std::vector<BootTime> times;      // in the order of logging; need not ascend
  std::vector<std::int64_t> steps;  // empty: the rows have no step
  std::vector<Column> columns;
  bool operator==(const SampleGroup&) const = default;
};
struct SamplesBody {
  std::vector<SampleGroup> groups;
};

using Attributes =
    std::vector<std::pair<std::string, std::string>>;  // value: JSON text of a string, number, bool
                                                       // or null

enum class PhaseKind : std::uint8_t { kCompute = 0, kWait = 1, kIo = 2, kComm = 3, kControl = 4 };
// A begin, an end, or both at once. Ids are unique within the session; 0 = none.
struct PhaseRecord {
  std::uint64_t id = 0;
  std::uint64_t parent = 0;
  std::optional<BootTime> begin;
  std::optional<BootTime> end;
  PhaseKind kind = PhaseKind::kCompute;
  std::string name;  // name at the begin; empty for ends
  std::string type;  // path of type names: "train/epoch"
  std::string lane;  // "host/process/thread", rank in front of the process
  std::vector<std::uint64_t> links;
  Attributes attributes;
  bool operator==(const PhaseRecord&) const = default;
};
struct PhasesBody {
  std::vector<PhaseRecord> phases;
};

enum class FactKind : std::uint8_t { kParam = 0, kTag = 1, kInfo = 2, kUnavailable = 3, kDrop = 4 };
// Info values are JSON text; kUnavailable: key = source, value = reason; kDrop: key = "points" |
// "frames" | "ticks", value = total so far.
struct Fact {
  FactKind kind = FactKind::kParam;
  std::string key;
  std::string value;
  bool operator==(const Fact&) const = default;
};
struct FactsBody {
  std::vector<Fact> facts;
};

struct Event {
  BootTime time;
  std::string name;
  std::string origin;  // "user" or "corral"
  Attributes attributes;
  bool operator==(const Event&) const = default;
};
struct EventsBody {
  std::vector<Event> events;
};

enum class LogStream : std::uint8_t { kStdout = 1, kStderr = 2, kTty = 3 };
struct LogBody {
  BootTime time;  // when the supervisor read it
  LogStream stream = LogStream::kStdout;
  std::int64_t offset = 0;  // in the stream
  std::string bytes;        // at most limits::kLogChunkBytes
  bool operator==(const LogBody&) const = default;
};

enum class EndReason : std::uint8_t {
  kExit = 0,
  kSignal = 1,
  kMaxTime = 2,
  kInterrupt = 3,
  kUnknown = 4,
  kNotStarted = 5
};
struct RunEndBody {
  BootTime time;
  EndReason reason = EndReason::kExit;
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> exit_signal;
  bool operator==(const RunEndBody&) const = default;
};

enum class GapReason : std::uint8_t { kEmpty = 0, kRefused = 1, kCorrupt = 2 };
struct GapBody {
  GapReason reason = GapReason::kEmpty;
  std::string message;  // the rejected item and the reason
};

// The tags by which a supervisor tells how its run ended (run/outcome.h).
inline constexpr std::string_view kOutcomeTag = "corral.outcome";
inline constexpr std::string_view kOutcomeReasonTag = "corral.outcome.reason";
inline bool is_outcome(const Fact& fact) {
  return fact.kind == FactKind::kTag && (fact.key == kOutcomeTag || fact.key == kOutcomeReasonTag);
}

// The event by which a supervisor says when its run's command could execute: its time is the run's
// start. It may come twice: the second is better known (a container's first instruction, after the
// start of its tool). A store keeps the time and no event.
inline constexpr std::string_view kRunBegan = "run began";
inline bool is_run_begin(const Event& event) {
  return event.origin == "corral" && event.name == kRunBegan;
}
// The event that a gap leaves behind, without a time; nothing for numbers that never carried
// anything.
std::optional<Event> event_of_gap(const FrameHeader& header, const GapBody& gap);

// `kind` of the header is set by each.
Bytes encode(const FrameHeader& header, const SessionBody& body);
Bytes encode(const FrameHeader& header, const SchemaBody& body);
Bytes encode(const FrameHeader& header, const SamplesBody& body);
Bytes encode(const FrameHeader& header, const PhasesBody& body);
Bytes encode(const FrameHeader& header, const FactsBody& body);
Bytes encode(const FrameHeader& header, const EventsBody& body);
Bytes encode(const FrameHeader& header, const LogBody& body);
Bytes encode(const FrameHeader& header, const RunEndBody& body);
Bytes encode(const FrameHeader& header, const GapBody& body);

// Collects the bodies of one flush; empty bodies are left out. finish() makes a kBundle frame of
// them.
class Bundle {
 public:
  void add(const SchemaBody& body);
  void add(const SamplesBody& body);
  void add(const PhasesBody& body);
  void add(const FactsBody& body);
  void add(const EventsBody& body);
  [[nodiscard]] bool empty() const { return sections_.empty(); }
  [[nodiscard]] std::size_t size() const;  // bytes of the bodies so far
  // Series that it declares.
  [[nodiscard]] std::span<const SeriesDef> declared() const { return declared_; }
  [[nodiscard]] Bytes finish(const FrameHeader& header) const;

 private:
  void add(FrameKind kind, Bytes body);
  std::vector<std::pair<FrameKind, Bytes>> sections_;
  std::vector<SeriesDef> declared_;
};

// A frame whose length, version and checksum were found good. `body` is decompressed and owned,
// `raw` views the input.
struct Frame {
  FrameHeader header;
  Bytes body;
  ByteView raw;
};
inline constexpr std::size_t kFrameHeaderBytes = 56;

// Length of the frame that starts the bytes, from its header alone: for splitting a stream.
// kInvalidArgument when these bytes start no frame; 0 when more bytes are needed.
Result<std::size_t> frame_length(ByteView bytes);
// Length of the frame whose header these bytes are, body not needed.
Result<std::size_t> frame_length_of_header(ByteView header);
// kCorruption (crc), kUnsupported (newer version), kTooLarge, kInvalidArgument.
Result<Frame> decode_frame(ByteView bytes);

// The parts of a bundle in their order, each as a frame of its own kind with the bundle's header
// and no `raw`; any other frame gives itself.
Result<std::vector<Frame>> sections(Frame frame);

// kInvalidArgument names the field and the byte in the body. Limits of core/limits.h are checked.
Result<SessionBody> decode_session(const Frame& frame);
Result<SchemaBody> decode_schema(const Frame& frame);
Result<SamplesBody> decode_samples(const Frame& frame);
Result<PhasesBody> decode_phases(const Frame& frame);
Result<FactsBody> decode_facts(const Frame& frame);
Result<EventsBody> decode_events(const Frame& frame);
Result<LogBody> decode_log(const Frame& frame);
Result<RunEndBody> decode_run_end(const Frame& frame);
Result<GapBody> decode_gap(const Frame& frame);

}  // namespace corral::codec
