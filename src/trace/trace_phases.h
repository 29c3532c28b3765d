// TracePhases: the events of a profiler's trace as phases of a run (docs/import.md).
//
// A thread of the trace is a lane, and so is each stream of a GPU and each category of asynchronous
// events of a process. Kept are annotations, waits for a device, and what a device executed;
// operators on request. All else is counted by what it is. Names that PyTorch gives its loop become
// those of Corral's capture: "step", "data wait", "optimizer". An event's number is its phase's id,
// so that the same trace gives the same phases each time. Memory grows with the phases, and with 16
// bytes for each launch. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "codec/frame.h"
#include "core/result.h"
#include "trace/chrome_events.h"

namespace corral::trace {

struct TraceOptions {
  std::string host = "trace";  // first part of the lanes
  std::string source = {};     // file, an attribute of the phase around all
  bool operators = false;      // keep them too
  // With the one around all, as many as are explained.
  std::size_t most_phases = (2U << 20U) - 1;
};

struct TraceCounts {
  std::uint64_t events = 0;
  std::uint64_t phases = 0, lanes = 0, steps = 0;
  std::uint64_t open = 0;                         // phases whose end is missing; they stay open
  std::map<std::string, std::uint64_t> left_out;  // by what it is: "operators"
  UtcTime begin, end;                             // first and last of all phases
};

class TracePhases {
 public:
  explicit TracePhases(TraceOptions options) : options_(std::move(options)) {}

  void add(const ChromeEvent& event);
  // After all events. kUnprocessable: none of them is a phase.
  Result<TraceCounts> arrange(const ChromeHeader& header);
  // Hands over the phases, by lane and begin, after arrange(); stops at the first error.
  using Take = std::function<Result<>(codec::PhaseRecord phase)>;
  Result<> each(const Take& take) const;

 private:
  struct Kept {
    std::int64_t begin = 0, end = 0;  // ns since the trace's base; arrange() makes them UTC
    std::uint64_t id = 0;
    std::int64_t number = 0;  // a step's; a device's phase: its correlation, then queued_ns
    std::uint32_t name = 0, lane = 0;
    codec::PhaseKind kind = codec::PhaseKind::kCompute;
    bool open = false, numbered = false;
  };
  enum class Place : std::uint8_t { kThread, kStream, kAsynchronous };
  struct Lane {
    std::string process, thread;  // ids; of a stream: its device and its number
    Place place = Place::kThread;
    std::string name = {};                // arrange() makes it
    std::vector<std::size_t> begun = {};  // B without its E so far; kNotKept for others
  };
  struct Launch {
    std::int64_t correlation = 0, begin = 0;
    bool driver = false;  // within the runtime's call of the same number
  };
  static constexpr std::size_t kNotKept = static_cast<std::size_t>(-1);

  void add_metadata(const ChromeEvent& event);
  void add_complete(const ChromeEvent& event);
  void end_one(std::vector<std::size_t>& begun, const ChromeEvent& event);
  // Index of the phase, or kNotKept.
  std::size_t keep(const ChromeEvent& event);
  std::uint32_t lane_of(const ChromeEvent& event, Place place);
  std::uint32_t text_number(std::string_view text);
  void place_in_time(const ChromeHeader& header);
  void find_launches();
  void name_lanes(const ChromeHeader& header);
  [[nodiscard]] codec::PhaseRecord whole() const;  // the phase around all
  [[nodiscard]] codec::PhaseRecord record_of(const Kept& kept) const;
  [[nodiscard]] std::string lane_name(const Lane& lane, bool kineto) const;

  TraceOptions options_;
  TraceCounts counts_;
  std::vector<Kept> kept_;
  std::vector<Launch> launches_;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint32_t> text_numbers_, lane_numbers_;
  std::vector<Lane> lanes_;
  std::string trace_lane_, key_;
  // From metadata: of a process, and of "process NUL thread".
  std::unordered_map<std::string, std::string> process_names_, thread_names_;
  std::unordered_map<std::string, std::vector<std::size_t>> asynchronous_;  // begun, by id
};

}  // namespace corral::trace
