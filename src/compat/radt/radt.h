// radT's runs and the batches of spans that its client uploads. Pure, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "codec/frame.h"
#include "core/result.h"

namespace corral::mlflow {

// ---- runs: experiment > workload > run
//
// radT logs the params of a run's row in the plan in one batch: workload, letter, listeners. Only
// these decide: radT calls the run "(<workload> <letter>) <name>", Corral's own plans "<name>".

struct RadtRun {
  std::string workload;  // as the plan names it: the rows that start together
  std::string letter;    // "0", "1_A", "0_3g.20gb": devices and collocation
};

// Returns nullopt if these are not the params of a radT run: a script may have its own param
// "workload".
std::optional<RadtRun> radt_run(std::span<const std::pair<std::string, std::string>> params);

// ---- spans: artifacts radt-trace/spans-NNNNNN.jsonl.gz of its client (since 0.2.30)
//
// Lines of gzipped JSON: ["s", id, parent or null, trace, name, attributes or null, start ns] and
// ["e", id, end ns], where ids are integers of one process. A begin and its end may lie in
// different batches, and either may be lost: they become phases of one id that meet in the store. A
// file that was cut short (its client was killed) gives its whole lines. Spans with a `thread_id`
// have a lane of their own. Arrows (in_flow_id, out_flow_id) become links if both ends are in one
// file. Memory is bounded, however large the unpacked file is.

struct RadtBatch {
  std::int64_t begins = 0;
  std::int64_t ends = 0;
  std::int64_t bad = 0;    // lines that are none of these
  bool truncated = false;  // it ends too early, or is damaged from somewhere on
};

inline constexpr std::string_view kRadtFolder = "radt-trace/";
inline constexpr std::string_view kRadtLane = "radt";  // for threads that name no lane
inline constexpr std::size_t kRadtLineBytes = 1u << 20;
// Limit of records in one file: the client closes it after 200,000.
inline constexpr std::int64_t kRadtRecords = 20'000'000;
// Limits of a decompressed file, in bytes and as a multiple of its length; real records compress
// far less.
inline constexpr std::size_t kRadtBytes = 16u << 20;
inline constexpr std::size_t kRadtRatio = 100;

// Returns true if this artifact of a run is a batch of spans.
bool is_radt_batch(std::string_view path);

using TakePhases = std::function<Result<>(std::span<const codec::PhaseRecord>)>;
// Calls `take` with batches of phases that fit in one frame; its error stops the reading and is
// returned. kInvalidArgument: not gzip; kTooLarge: a limit was exceeded.
Result<RadtBatch> read_radt_spans(std::string_view gzip, const TakePhases& take);

}  // namespace corral::mlflow
